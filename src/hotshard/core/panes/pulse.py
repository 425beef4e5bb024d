"""What a worker has counted of a topic in the last moments: enough to say early what the policy will say of it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from hotshard.core.keys import tenant_of
from hotshard.core.panes.sliding import Bounds
from hotshard.core.policy.choosing import Policies
from hotshard.core.policy.evidence import Heat, Part, Totals
from hotshard.core.policy.rules import Limits, flood_reason, least_flood, limits
from hotshard.core.topic import KeyLayout, Place
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import Pane, Row

#: Rows with less than one in so many of their pane's load are not remembered.
_PART: Final = 64
_NOTHING: Final = Bounds(0, 0)

#: A source partition.
Where = tuple[str, int]
_N = TypeVar("_N", bytes, int)


def worth_noting(rows: Iterable[Row], load: int) -> dict[bytes, int]:
    """The lower bounds of the rows that have a good part of their pane's load, some 64 at most."""
    least = max(1, load // _PART)
    return {row.key: row.lower for row in rows if row.lower >= least}


class _Sealed(NamedTuple):
    cut_ms: int
    load: int
    unkeyed_load: int
    loads: Mapping[int, int]
    tenants: Mapping[bytes, int]


class _Looked(NamedTuple):
    """What an open pane held when it was last looked at."""

    load: int
    tenants: Mapping[bytes, int]


class Pulse:
    """The short view of a topic as far as this worker counts it, for all its partitions together.

    It holds what was sealed within the short view, and of open panes what they held when they were last looked
    at. ``partitions`` is the partition count in production; ``completeness`` the part of the topic's source
    partitions that this worker has, the others being taken to carry as much. All it says is a lower bound set
    against the policy's own rules, so that nothing is told early which the policy would not turn hot.
    """

    def __init__(self, spec: TopicSpec, partitions: int, completeness: float = 1.0) -> None:
        self._policies = Policies(spec.policy, spec.tenant_policies)
        every = self._policies.all
        self._keys = {id(policy): limits(policy, partitions, HotKind.KEY) for policy in every}
        self._tenants = {id(policy): limits(policy, partitions, HotKind.TENANT) for policy in every}
        #: How often a partition noted a tenant as hot that it had not: the others then look for their part.
        self.turns = 0
        self._tenants_beside = spec.tenant.place is not Place.KEY
        #: Whether records have tenants, in their keys or beside them.
        self.has_tenants = spec.layout is not KeyLayout.ENTITY or self._tenants_beside
        self._layout = KeyLayout.ENTITY if self._tenants_beside else spec.layout
        self._span_ms = round(spec.policy.fast_view_s * 1000)
        self._completeness = completeness
        self._since_ms: int | None = None
        self._sealed: deque[_Sealed] = deque()
        self._open: dict[Where, _Looked] = {}
        #: What open panes held when a version of them was told.
        self._told: dict[Where, int] = {}
        self._told_load = 0
        #: The load of the open pane of each partition; asked for only while this has just begun.
        self._members: dict[Where, Callable[[], int]] = {}
        self._members_load: tuple[int, int] = (-1, 0)
        self._least_at: tuple[int, float] = (-1, 0.0)
        #: Of what was sealed: its load, by production partition, and by tenant; and of what is open.
        self._load = self._open_load = 0
        #: Load of records without a key that count for the tenant beside them.
        self._unkeyed_load = 0
        self._loads: dict[int, int] = {}
        self._by_tenant: dict[bytes, int] = {}
        self._open_by_tenant: dict[bytes, int] = {}

    @property
    def span_ms(self) -> int:
        return self._span_ms

    @property
    def wants_parts(self) -> bool:
        """Whether the part of its own partition makes any key hot."""
        return any(to.on_partition_share is not None for to in self._keys.values())

    @property
    def has_tenant_policies(self) -> bool:
        return len(self._keys) > 1

    @property
    def wants_settled(self) -> bool:
        """Whether a look needs what is settled only: where keys lie, or who stands beside them."""
        return self.wants_parts or (self.has_tenant_policies and self._tenants_beside)

    def join(self, where: Where, open_load: Callable[[], int], now_ms: int) -> None:
        """A partition is counted from now on; ``open_load`` tells about the load of its open pane."""
        self._since_ms = now_ms if self._since_ms is None else min(self._since_ms, now_ms)
        self._members[where] = open_load
        self._drop_open(where)

    # -- what is counted -------------------------------------------------------------------------

    def seal(self, where: Where, pane: Pane) -> None:
        """A pane is complete: what was open of it is no more."""
        self._drop_open(where)
        load = sum(pane.loads.values())
        tenants = worth_noting(pane.tenants.rows, load)
        sealed = _Sealed(pane.cut_ms, load, pane.unkeyed_load, pane.loads, tenants)
        self._sealed.append(sealed)
        self._load += load
        self._unkeyed_load += pane.unkeyed_load
        add_up(self._loads, sealed.loads, 1)
        add_up(self._by_tenant, sealed.tenants, 1)

    def look(self, where: Where, load: int, tenants: Mapping[bytes, int]) -> None:
        """Note what an open pane holds: its load, and that of its heaviest tenants."""
        self._drop_look(where)
        self._open[where] = _Looked(load, tenants)
        self._open_load += load
        add_up(self._open_by_tenant, tenants, 1)

    def tell(self, where: Where, load: int) -> None:
        """A version of an open pane with so much load is told, and so in the views of those who decide."""
        self._told_load += load - self._told.get(where, 0)
        self._told[where] = load

    # -- tenants ---------------------------------------------------------------------------------

    def may_have_hot_tenants(self, open_load: int, now_ms: int) -> bool:
        """Whether there is load enough for any tenant to be hot, with so much in the pane that is asked about."""
        self._expire(now_ms)
        view = self._totals(now_ms, self._open_load + open_load)
        return any(view.load >= least_flood(view, to) for to in self._tenants.values())

    def tenant_load(self, tenant: bytes) -> int:
        """The load of a tenant in the short view, all partitions added up."""
        return self._by_tenant.get(tenant, 0) + self._open_by_tenant.get(tenant, 0)

    def hot_tenants(self, tenants: Iterable[bytes], now_ms: int) -> dict[bytes, int]:
        """Those of the tenants that the policy turns hot on what is known here, with their load."""
        self._expire(now_ms)
        open_load = max(self._open_load, self._told_load, self._young_load(now_ms))
        view = self._totals(now_ms, open_load + self._unkeyed_load)
        least = min(least_flood(view, to) for to in self._tenants.values())
        return {
            tenant: load
            for tenant in tenants
            if (load := self.tenant_load(tenant)) >= least
            and floods(tenant, load, None, view, self._tenants[id(self._policies.of_tenant(tenant))])
        }

    # -- what keys are held against --------------------------------------------------------------

    def view(self, where: Where, open_load: int, now_ms: int) -> Totals:
        """The short view with ``open_load`` in the pane that is asked about.

        Open panes of others are in no view until a version of them is told. Only while this has just begun they
        are counted all the same, as nothing of theirs was sealed.
        """
        self._expire(now_ms)
        young = self._young_load(now_ms)
        others = young - self._members[where]() if young and where in self._members else 0
        return self._totals(now_ms, open_load + max(others, self._told_load - self._told.get(where, 0)))

    def _young_load(self, now_ms: int) -> int:
        """The load of all open panes, as long as this is shorter than the short view; then 0."""
        if self._since_ms is None or now_ms - self._since_ms >= self._span_ms:
            return 0
        if self._members_load[0] != now_ms:
            self._members_load = (now_ms, sum(load() for load in self._members.values()))
        return self._members_load[1]

    def least(self, view: Totals, own_load: float) -> float:
        """Below this no key of a partition with ``own_load`` in the short view turns hot by it."""
        return min(least_flood(view, to, own_load) for to in self._keys.values())

    def least_by_sealed(self, now_ms: int) -> float:
        """A bound below :meth:`least`, by what is sealed alone; the same for all partitions at a moment."""
        if self._least_at[0] != now_ms:
            self._expire(now_ms)
            self._least_at = (now_ms, self.least(self._totals(now_ms, 0), 0.0))
        return self._least_at[1]

    def limits_of(self, tenant: bytes | None) -> Limits:
        """The limits of the keys of a tenant."""
        return self._keys[id(self._policies.of_tenant(tenant))]

    def load_of(self, partition: int | None) -> int:
        """The sealed load of a production partition."""
        return 0 if partition is None else self._loads.get(partition, 0)

    def tenant_in(self, key: bytes) -> bytes | None:
        return tenant_of(key, self._layout)

    # -- keeping up ------------------------------------------------------------------------------

    def _totals(self, now_ms: int, open_load: int) -> Totals:
        since_ms = now_ms if self._since_ms is None else min(self._since_ms, now_ms)
        span_s = min(now_ms - since_ms, self._span_ms) / 1000
        return Totals(self._load + open_load, span_s, self._completeness)

    def _expire(self, now_ms: int) -> None:
        if self._since_ms is not None:
            self._since_ms = min(self._since_ms, now_ms)
        # What was cut later than now is from before the clock was set back.
        while self._sealed and not 0 <= now_ms - self._sealed[0].cut_ms < self._span_ms:
            old = self._sealed.popleft()
            self._load -= old.load
            self._unkeyed_load -= old.unkeyed_load
            add_up(self._loads, old.loads, -1)
            add_up(self._by_tenant, old.tenants, -1)

    def _drop_open(self, where: Where) -> None:
        self._drop_look(where)
        self._told_load -= self._told.pop(where, 0)

    def _drop_look(self, where: Where) -> None:
        looked = self._open.pop(where, None)
        if looked is not None:
            self._open_load -= looked.load
            add_up(self._open_by_tenant, looked.tenants, -1)


def floods(key: bytes, load: int, part: Part | None, view: Totals, to: Limits) -> bool:
    """Whether the short view turns a key with this lower bound hot."""
    return flood_reason(Heat(key, Bounds(load, load), _NOTHING, part), view, to) is not None


def add_up(sums: dict[_N, int], loads: Mapping[_N, int], sign: int) -> None:
    """Add ``loads`` to sums, or take them away; a sum of nothing is let go."""
    for name, load in loads.items():
        total = sums.get(name, 0) + sign * load
        if total:
            sums[name] = total
        else:
            sums.pop(name, None)
