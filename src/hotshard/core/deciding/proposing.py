"""What is to be done about one key: a plan, a refusal, or nothing. Values in, values out; no route is changed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import outgrown, resize, stands
from hotshard.core.planning.score import spread, with_load, without_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.terms import pinned as pinned_terms
from hotshard.core.planning.terms import terms_of
from hotshard.core.planning.verdict import Plan, PlanReason, Refusal, RefusalReason
from hotshard.core.wire.route import RouteState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.deciding.moment import Measured, Moment
    from hotshard.core.planning.situation import Terms
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.route import Route

#: Refusals that may be over in a moment: the key stays hot, nothing is proposed for it.
_PASSING: Final = frozenset({RefusalReason.NOT_WORTH, RefusalReason.PARTITION_NOT_ABOVE})


#: What makes a split of a key useless at this moment, or None.
Hindrance = Callable[[bytes], Refusal | None]


def unhindered(_: bytes) -> Refusal | None:
    return None


class Sight(NamedTuple):
    """What one step sees: the keys that are hot or pinned, as measured, the load of every partition, and when."""

    keys: Mapping[bytes, Measured]
    loads: Sequence[float]
    moment: Moment


class Proposer:
    """Plans for the keys of one topic, on what its routes make of the loads."""

    def __init__(self, spec: TopicSpec, book: RouteBook, hindrance: Hindrance = unhindered) -> None:
        self._spec = spec
        self._book = book
        self._hindrance = hindrance
        self._terms = terms_of(spec)

    def verdict(self, key: bytes, sight: Sight, *, standing: Route | None, pinned: int | None) -> Plan | Refusal | None:
        """A plan, a lasting refusal, or None: nothing to change.

        ``pinned``: a person wants the key split over so many shards, 0 for as many as the plan finds.
        """
        refusal = forbidden(key, self._spec)
        if refusal is None and pinned is None and (standing is None or standing.state is RouteState.PROPOSED):
            refusal = self._hindrance(key)
        if refusal is not None:
            return refusal
        measured, loads = sight.keys[key], sight.loads
        if standing is not None and pinned is None and not (measured.load and measured.worth_fitting):
            return None  # whether it has cooled is not for a plan to say
        terms = self._terms_of(measured)
        terms = terms if pinned is None else pinned_terms(terms, pinned)
        background = self._background(key, sight)
        hot = HotLoad(key, measured.load, measured.current, measured.largest_sub)
        if standing is None or not standing.partitions:
            return _new(hot, background, terms)
        if not self.stands(standing, len(loads)):
            # Its shards may lie anywhere: planned as if it had none.
            return _new(hot._replace(current=None), background, terms)
        if (refusal := outgrown(hot, background, terms)) is not None:
            return refusal
        plan = resize(hot, standing, background, terms)
        return None if plan is None or self._is_held(plan, standing, sight, pinned) else plan

    def is_past(self, route: Route, measured: Measured, partitions: int) -> bool:
        """Whether a plan was made for another partition count, or other settings, and none is needed any more.

        Not asked of what is not measured whole: a plan is not given up for want of sight.
        """
        sure = bool(measured.load) and measured.worth_fitting
        return bool(route.partitions) and sure and not self.stands(route, partitions)

    def _terms_of(self, measured: Measured) -> Terms:
        """The terms of a key: those of its tenant's policy, a partition's capacity being that for the loads' time."""
        policy = measured.policy or self._spec.policy
        capacity_per_s = policy.partition_capacity_per_s
        capacity = None if capacity_per_s is None or not measured.loads_s else capacity_per_s * measured.loads_s
        return terms_of(self._spec, policy, capacity=capacity)

    def stands(self, route: Route, partitions: int) -> bool:
        """Whether the shards of a route still land where it says."""
        return stands(route.base_key, route, self._terms, partitions)

    def as_it_stands(self, route: Route) -> Plan | Refusal:
        """A route that was only proposed, as the plan that may be given to producers now."""
        after = route.imbalance_after or 0.0
        within = after <= 1 + self._terms.eps
        return forbidden(route.base_key, self._spec) or Plan(
            key=route.base_key,
            suffixes=route.suffixes,
            partitions=route.partitions,
            partition_count=route.partition_count,
            partitioner=route.partitioner,
            imbalance_before=route.imbalance_before or 0.0,
            imbalance_after=after,
            reason=PlanReason.WITHIN_TOLERANCE if within else PlanReason.BEST_EFFORT,
            also_partitioner=route.also_partitioner,
            carry=route.carry,
            own_before=route.own_before,
            own_after=route.own_after,
        )

    def _is_held(self, plan: Plan, standing: Route, sight: Sight, pinned: int | None) -> bool:
        """Whether it is too soon to cut: a plan grows at once, and is cut when it has stood for the hold.

        So a flood that ends retires its plan whole. How many shards a person wants waits for nothing.
        """
        if pinned or plan.shards >= len(standing.partitions):
            return False
        policy = sight.keys[standing.base_key].policy or self._spec.policy
        # As a flood ends, the long view shows it smaller and smaller: that is no reason to cut.
        least_s = max(policy.hold_s, 2 * policy.slow_view_s)
        return sight.moment.now_ms - standing.changed_ms < least_s * 1000

    def _background(self, key: bytes, sight: Sight) -> list[float]:
        """The load of every partition without ``key``, the other hot keys being where their routes send them."""
        rest = list(sight.loads)
        for other, measured in sight.keys.items():
            rest = without_load(rest, measured.current)
            if other != key:
                rest = with_load(rest, self._expected(other, measured, len(rest)))
        return rest

    def _expected(self, key: bytes, measured: Measured, partitions: int) -> Mapping[int, float]:
        """Where the load of a hot key lies once its route is followed."""
        route = self._book.get(key)
        if route is None or not route.partitions or not self.stands(route, partitions):
            return measured.current
        return spread(measured.load, route.partitions)


def _new(load: HotLoad, background: Sequence[float], terms: Terms) -> Plan | Refusal | None:
    verdict = plan_split(load, background, terms)
    return None if isinstance(verdict, Refusal) and verdict.reason in _PASSING else verdict
