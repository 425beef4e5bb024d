"""What is hot in a stretch: the policy's own rules, on the stretch as a long view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.policy.chance import beyond_chance
from hotshard.core.policy.evidence import Heat, Part, Totals, ViewTotals, own_part
from hotshard.core.policy.rules import Limits, hot_reason, limits
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hotshard.core.policy.choosing import Policies
    from hotshard.core.policy.thresholds import Policy

_NO_VIEW: Final = Totals(0, 0.0)


class Named(NamedTuple):
    """A name with the bounds of its load."""

    name: bytes
    lower: int
    upper: int


class Hot(NamedTuple):
    """A name that is hot in a stretch; ``lower`` and ``share`` are what is left when chance has been allowed for."""

    name: bytes
    lower: int
    upper: int
    share: float


class Amount(NamedTuple):
    """A stretch as a whole."""

    #: Load of all records, those without a key included.
    load: int
    records: int
    span_s: float
    #: Load by production partition.
    loads: Mapping[int, int]
    #: The largest load of one record.
    largest_record: int = 1

    @property
    def mean_record(self) -> float:
        return self.load / self.records if self.records else 1.0


class Heating:
    """Decides with a topic's policy, and those of its tenants.

    Scan's floor for naming is on the stretch, which is cut by it, and not on a name in it: a stretch of a slow
    stream lasts longer, and what has most of it is hot there. So no rate is asked of a name, but a bound that
    allows for chance (:func:`~hotshard.core.policy.chance.beyond_chance`), as a stretch may be a small sample.
    """

    def __init__(self, policies: Policies, partitions: int, place: Callable[[bytes], int | None] | None) -> None:
        self._policies = policies
        self._place = place
        self._limits = {
            (kind, id(policy)): _of_a_stretch(policy, partitions, kind) for kind in HotKind for policy in policies.all
        }

    def keys(self, rows: Iterable[Named], amount: Amount, owner: Callable[[bytes], bytes | None]) -> list[Hot]:
        """The hot keys among ``rows``, which stand by falling upper bound; ``owner`` gives a key's tenant."""
        return self._hot(HotKind.KEY, rows, amount, owner)

    def tenants(self, rows: Iterable[Named], amount: Amount) -> list[Hot]:
        return self._hot(HotKind.TENANT, rows, amount, lambda name: name)

    def _hot(
        self, kind: HotKind, rows: Iterable[Named], amount: Amount, owner: Callable[[bytes], bytes | None]
    ) -> list[Hot]:
        if amount.load <= 0:
            return []
        views = ViewTotals(_NO_VIEW, Totals(amount.load, amount.span_s))
        least, mean = self._least(kind, amount), amount.mean_record
        found = []
        for row in rows:
            if row.upper < least:
                break
            lower = beyond_chance(row.lower, mean, amount.largest_record)
            bounds = Named(row.name, lower, row.upper)
            to = self._limits[kind, id(self._policies.of_tenant(owner(row.name)))]
            part = self._own_part(bounds, amount) if to.on_partition_share is not None else None
            if hot_reason(Heat(row.name, None, bounds, None, part), views, to) is not None:
                found.append(Hot(row.name, lower, row.upper, views.slow.share(lower)))
        return found

    def _least(self, kind: HotKind, amount: Amount) -> float:
        """No load below this is hot by any rule."""
        return min(_least_load(self._limits[kind, id(policy)], amount) for policy in self._policies.all)

    def _own_part(self, bounds: Named, amount: Amount) -> Part | None:
        partition = None if self._place is None else self._place(bounds.name)
        return None if partition is None else own_part(bounds, {partition: bounds.lower}, amount.loads)


def _of_a_stretch(policy: Policy, partitions: int, kind: HotKind) -> Limits:
    return replace(limits(policy, partitions, kind), name_per_s=0.0, slow_from_s=0.0)


def _least_load(to: Limits, amount: Amount) -> float:
    if to.on_partition_share is not None:
        return 1
    by_rate = [] if to.on_per_s is None else [to.on_per_s * amount.span_s]
    return min([to.on_share * amount.load, *by_rate])
