"""The evidence of one closed window: from what was counted in it, what is hot, and which plans stand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from hotshard.core.causes.evidence import Evidence, HotName
from hotshard.core.deciding.book import LIVE
from hotshard.core.panes.placing import partition_of_names
from hotshard.core.panes.tenancy import Tenancy, window_subs, window_tenant
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.terms import terms_of
from hotshard.core.policy.evidence import Heat, Totals, own_part
from hotshard.core.policy.fairness import bearable_load
from hotshard.core.policy.rules import limits, surely_keeps
from hotshard.core.topic import Load, PartitionsFrom
from hotshard.core.wire.names import key_bytes
from hotshard.core.wire.route import HotKind, RouteState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hotshard.core.causes.evidence import LagEvidence
    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.planning.situation import Terms
    from hotshard.core.policy.choosing import Policies
    from hotshard.core.policy.evidence import Part
    from hotshard.core.policy.rules import Limits
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.report import HeavyReport, WindowReport

#: Heaviest keys of the topic whose places are looked at, and names told of the hottest partition.
_LISTED: Final = 20
_TOP: Final = 10

Places = dict[int, int]


@dataclass(frozen=True, kw_only=True)
class Gatherer:
    """Gathers evidence of a topic with so many production partitions.

    Where the source has production's partitions the window's lists say where a key lies; where they are
    computed the partitioner does, and no key can be seen to lie elsewhere.
    """

    spec: TopicSpec
    partitions: int
    book: RouteBook
    policies: Policies

    def evidence(
        self,
        closed: ClosedWindow,
        report: WindowReport,
        *,
        hot_keys: AbstractSet[bytes],
        hot_tenants: AbstractSet[bytes],
        lag: tuple[LagEvidence, ...] = (),
    ) -> Evidence:
        """Evidence of ``closed``, whose report is ``report``; it says nothing of windows before."""
        loads = tuple(closed.loads.get(partition, 0) for partition in range(self.partitions))
        listed = tuple(_name(row) for row in report.keys[:_LISTED])
        places = self.places_of(closed, {*listed, *hot_keys})
        keyed = Totals(sum(loads), (closed.end_ms - closed.start_ms) / 1000)
        every = keyed._replace(load=keyed.load + closed.totals.unkeyed_load)
        hot = _named(report.keys, hot_keys)
        parts = {name: own_part(row, places.get(name, {}), closed.loads) for name, row in hot}
        keys = self._hot(HotKind.KEY, hot, keyed, parts)
        tenants = self._hot(HotKind.TENANT, _named(report.tenants, hot_tenants), every, {})
        tenancy = Tenancy.of_window(closed, self.spec) if tenants else None
        return Evidence(
            partitions=self.partitions,
            partitioner=partitioner(self.spec.partitioner).name,
            eps=self.spec.policy.eps,
            loads=loads,
            records=report.records,
            unkeyed=report.unkeyed,
            unkeyed_loads=self._unkeyed(closed, loads),
            # Of none a worker tells that does not count them.
            distinct_keys=report.distinct_keys or None,
            top_of_hottest=self._top(closed, report, places),
            hot_keys=tuple(self._key(name, closed, places.get(name.name, {})) for name in keys),
            hot_tenants=tuple(self._tenant(name, closed, tenancy) for name in tenants),
            scattered=self._scattered(listed, places),
            lag=lag[0] if lag else None,
            more_lags=lag[1:],
            listed=listed,
            capacity_per_s=self.spec.policy.partition_capacity_per_s,
            completeness=report.completeness,
            span_s=(closed.end_ms - closed.start_ms) / 1000,
            start_ms=closed.start_ms,
            end_ms=closed.end_ms,
        )

    # -- where keys lie --------------------------------------------------------------------------

    def places_of(self, closed: ClosedWindow, names: AbstractSet[bytes]) -> Mapping[bytes, Places]:
        """The load by partition of these base keys, under all their names."""
        places: defaultdict[bytes, Places] = defaultdict(dict)
        for wire, there in self.wires_of(closed, names).items():
            base = self.book.aliases.get(wire, wire)
            for partition, load in there.items():
                places[base][partition] = places[base].get(partition, 0) + load
        return places

    def wires_of(self, closed: ClosedWindow, names: AbstractSet[bytes]) -> Mapping[bytes, Places]:
        """The load by partition of every key on the wire that stands for one of these base keys."""
        if not names:
            return {}
        wanted = {wire for wire, base in self.book.aliases.items() if base in names} | set(names)
        computed = partition_of_names(self.spec, self.partitions)
        found: defaultdict[bytes, Places] = defaultdict(dict)
        for part in closed.lists:
            for row in part.keys.rows:
                if row.lower and row.key in wanted:
                    place = part.partition if computed is None else computed(row.key)
                    if place is not None and place < self.partitions:
                        found[row.key][place] = found[row.key].get(place, 0) + row.upper
        return found

    def home(self, key: bytes) -> int | None:
        """Where a base key lies without a plan."""
        return partitioner(self.spec.partitioner).partition(key, self.partitions)

    def _scattered(
        self, listed: Iterable[bytes], places: Mapping[bytes, Places]
    ) -> tuple[tuple[bytes, tuple[tuple[int, int], ...]], ...]:
        """Heavy keys without a plan that lie on two partitions, or on another than theirs."""
        if self.spec.partitions_from is PartitionsFrom.COMPUTED:
            return ()
        free = (name for name in listed if name not in self.book.aliases or self._is_only_proposed(name))
        return tuple((name, _by_load(places[name])) for name in free if places.get(name, {}).keys() - {self.home(name)})

    def _is_only_proposed(self, name: bytes) -> bool:
        """Whether no producer was ever given a plan for it."""
        route = self.book.get(name)
        return route is not None and route.state is RouteState.PROPOSED and not route.earlier

    def _top(
        self, closed: ClosedWindow, report: WindowReport, places: Mapping[bytes, Places]
    ) -> tuple[tuple[bytes, int], ...]:
        """The heaviest keys of the hottest partition."""
        hottest = report.skew.hottest
        if hottest is None:
            return ()
        loads: dict[bytes, int] = {name: there[hottest] for name, there in places.items() if hottest in there}
        if self.spec.partitions_from is PartitionsFrom.SOURCE:
            for part in closed.lists:
                if part.partition == hottest:
                    for row in part.keys.rows[: _TOP + _LISTED]:
                        if self.book.aliases.get(row.key, row.key) not in places:
                            loads[row.key] = loads.get(row.key, 0) + row.upper
        else:
            loads = self._placed(report, hottest) | loads
        return tuple(nlargest(_TOP, loads.items(), key=lambda item: (item[1], item[0])))

    def _placed(self, report: WindowReport, hottest: int) -> dict[bytes, int]:
        """Of the listed keys, those that the partitioner puts there."""
        free = ((_name(row), row.estimate) for row in report.keys)
        return {name: load for name, load in free if name not in self.book.aliases and self.home(name) == hottest}

    def _unkeyed(self, closed: ClosedWindow, loads: tuple[int, ...]) -> tuple[int, ...]:
        """Records without a key by partition, as far as that is known: all records less those with a key."""
        known = self.spec.partitions_from is PartitionsFrom.SOURCE and self.spec.load is Load.RECORDS
        if not known or not closed.totals.unkeyed or closed.totals.failed:
            return ()
        records = [0] * self.partitions
        for each in closed.ranges:
            if each.partition >= self.partitions:
                return ()
            records[each.partition] += each.records
        return tuple(max(0, all_there - keyed) for all_there, keyed in zip(records, loads, strict=True))

    # -- what is hot -----------------------------------------------------------------------------

    def _hot(
        self,
        kind: HotKind,
        hot: Iterable[tuple[bytes, HeavyReport]],
        window: Totals,
        parts: Mapping[bytes, Part | None],
    ) -> tuple[HotName, ...]:
        """Of what is hot, what holds in this window what keeps it hot; ``parts`` are of their own partitions' load."""
        return tuple(
            HotName(
                name=name,
                lower=row.lower,
                upper=row.upper,
                share=window.share(row.lower),
                tenant=None if row.tenant is None else row.tenant.encode(),
            )
            for name, row in hot
            if surely_keeps(Heat(name, None, row, None, parts.get(name)), window, self._limits(kind, name, row))
        )

    def _limits(self, kind: HotKind, name: bytes, row: HeavyReport) -> Limits:
        tenant = name if kind is HotKind.TENANT else row.tenant and row.tenant.encode()
        return limits(self.policies.of_tenant(tenant or None), self.partitions, kind)

    def _key(self, key: HotName, closed: ClosedWindow, places: Places) -> HotName:
        """A hot key with where it lies, its sub-units, and what is done about it."""
        route = self.book.get(key.name)
        refusal = forbidden(key.name, self.spec)
        by_partition = _by_load(places)
        subs = window_subs(key.name, key.upper, closed)
        return replace(
            key,
            partitions=tuple(place for place, _ in by_partition),
            by_partition=by_partition,
            refusal=None if refusal is None else str(refusal.reason),
            routed=route is not None and route.state in LIVE - {RouteState.PROPOSED} and bool(route.partitions),
            largest_sub=None if subs is None else subs.largest_sub,
            subs=None if subs is None else subs.subs,
            terms=self._terms(key, closed),
        )

    def _terms(self, key: HotName, closed: ClosedWindow) -> Terms:
        """On which terms its tenant's policy would have it split."""
        policy = self.policies.of_tenant(key.tenant)
        per_s = policy.partition_capacity_per_s
        capacity = None if per_s is None else per_s * (closed.end_ms - closed.start_ms) / 1000
        return terms_of(self.spec, policy, capacity=capacity or None)

    def _tenant(self, tenant: HotName, closed: ClosedWindow, tenancy: Tenancy | None) -> HotName:
        """A hot tenant with where it lies and of what it is made."""
        made = None if tenancy is None else window_tenant(tenant.name, closed, tenancy, self.book.aliases)
        places: Places = {}
        if self.spec.partitions_from is PartitionsFrom.SOURCE:
            for part in closed.lists:
                for row in part.tenants.rows:
                    if row.key == tenant.name and part.partition < self.partitions:
                        places[part.partition] = places.get(part.partition, 0) + row.upper
        return replace(
            tenant,
            by_partition=_by_load(places),
            partitions=tuple(place for place, _ in _by_load(places)),
            largest_key=None if made is None else made.largest_key,
            keys=None if made is None else made.keys,
            bearable=self._bearable(tenant, closed),
        )

    def _bearable(self, tenant: HotName, closed: ClosedWindow) -> float | None:
        """What it may have of the topic. How many tenants there are is taken as fair only where all are known."""
        totals = closed.totals
        return bearable_load(
            tenant.lower,
            sum(closed.loads.values()) + totals.unkeyed_load,
            share=limits(self.policies.of_tenant(tenant.name), self.partitions, HotKind.TENANT).keep_share,
            tenants=totals.distinct_tenants if totals.all_tenants else None,
        )


def _named(rows: Iterable[HeavyReport], hot: AbstractSet[bytes]) -> Sequence[tuple[bytes, HeavyReport]]:
    """The rows of what is hot, by name, the heaviest first."""
    found = ((name, row) for row in rows if (name := _name(row)) in hot)
    return sorted(found, key=lambda each: (-each[1].lower, each[0]))


def _name(row: HeavyReport) -> bytes:
    """The name as it travels."""
    return key_bytes(None, row.key_b64) if row.key_b64 is not None else key_bytes(row.key, None)


def _by_load(places: Places) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(places.items(), key=lambda each: (-each[1], each[0])))
