"""From heat to routes: what is proposed, given to producers, resized and retired. One step, no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.deciding.drafting import Drafts, given, why_not_given
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import resize, same_shards, stands
from hotshard.core.planning.score import spread, with_load, without_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.terms import terms_of
from hotshard.core.planning.verdict import Plan, PlanReason, Refusal, RefusalReason
from hotshard.core.topic import Mode, TopicSpec
from hotshard.core.wire.event import EventType
from hotshard.core.wire.route import Route, RouteState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.deciding.moment import Measured, Moment

#: Refusals that may be over in a moment: the key stays hot, nothing is proposed for it.
_PASSING: Final = frozenset({RefusalReason.NOT_WORTH, RefusalReason.PARTITION_NOT_ABOVE})


class Turn(NamedTuple):
    """A route that changed, and what is told of it."""

    told: tuple[EventType, ...]
    route: Route


class Router:
    """Turns the heat of one topic into routes in its book.

    Steps that change a route must be at rising moments, as its epoch is the moment's.
    """

    def __init__(self, spec: TopicSpec, book: RouteBook) -> None:
        self._spec = spec
        self._book = book
        self._drafts = Drafts(spec)
        self._terms = terms_of(spec)

    def step(self, hot: Mapping[bytes, Measured], loads: Sequence[float], moment: Moment) -> tuple[Turn, ...]:
        """Bring the routes in line with what is hot; ``loads``, of every partition, may be left out when nothing is."""
        turns = [self._retire(route, "cooled", moment) for route in self._book.live() if route.base_key not in hot]
        turns += [
            self._retire(route, why_not_given(self._spec), moment)
            for route in self._book.live()
            if self._spec.mode is Mode.OBSERVE or (route.state is RouteState.ACTIVE and not given(self._spec))
        ]
        if self._spec.mode is not Mode.OBSERVE:
            for key in sorted(hot, key=lambda key: (-hot[key].load, key)):
                turns += self._consider(key, hot, loads, moment)
        self._book.forget_past(moment.now_ms)
        return tuple(turns)

    def _consider(
        self, key: bytes, hot: Mapping[bytes, Measured], loads: Sequence[float], moment: Moment
    ) -> tuple[Turn, ...]:
        route = self._book.get(key)
        standing = route if route is not None and route.state is not RouteState.RETIRED else None
        if standing is None:
            if not hot[key].worth_acting:
                return ()
        elif moment.now_ms - standing.changed_ms < self._spec.policy.resize_s * 1000:
            return ()
        verdict = self._verdict(key, standing, hot, loads, moment)
        if verdict is None or (standing is not None and self._same(standing, verdict)):
            return ()
        return self._put(hot[key], verdict, moment)

    # -- what to do ------------------------------------------------------------------------------

    def _verdict(
        self,
        key: bytes,
        standing: Route | None,
        hot: Mapping[bytes, Measured],
        loads: Sequence[float],
        moment: Moment,
    ) -> Plan | Refusal | None:
        """A plan, a lasting refusal, or None: nothing to change."""
        refusal = forbidden(key, self._spec)
        if refusal is not None:
            return refusal
        measured = hot[key]
        if standing is not None and not (measured.load and measured.worth_fitting):
            return None  # whether it has cooled is not for a plan to say
        background = self._background(key, hot, loads)
        if standing is None or not standing.partitions:
            return self._new(HotLoad(key, measured.load, measured.current), background)
        if self._stands(standing, len(loads)):
            return self._fitted(standing, measured, background, moment)
        # Its shards may lie anywhere: planned as if it had none.
        return self._new(HotLoad(key, measured.load, None), background)

    def _new(self, load: HotLoad, background: Sequence[float]) -> Plan | Refusal | None:
        verdict = plan_split(load, background, self._terms)
        return None if isinstance(verdict, Refusal) and verdict.reason in _PASSING else verdict

    def _fitted(self, standing: Route, measured: Measured, background: Sequence[float], moment: Moment) -> Plan | None:
        """The standing plan with more shards at once, or with fewer when it has stood for the hold.

        So a flood that ends retires its plan whole.
        """
        load = HotLoad(standing.base_key, measured.load, measured.current)
        plan = resize(load, standing, background, self._terms)
        if plan is not None and plan.shards < len(standing.partitions):
            policy = self._spec.policy
            # As a flood ends, the long view shows it smaller and smaller: that is no reason to cut.
            least_s = max(policy.hold_s, 2 * policy.slow_view_s)
            held = moment.now_ms - standing.changed_ms < least_s * 1000
            plan = None if held else plan
        return plan or self._as_plan(standing)

    def _background(self, key: bytes, hot: Mapping[bytes, Measured], loads: Sequence[float]) -> list[float]:
        """The load of every partition without ``key``, the other hot keys being where their routes send them."""
        rest = list(loads)
        for other, measured in hot.items():
            rest = without_load(rest, measured.current)
            if other != key:
                rest = with_load(rest, self._expected(other, measured, len(loads)))
        return rest

    def _expected(self, key: bytes, measured: Measured, partitions: int) -> Mapping[int, float]:
        """Where the load of a hot key lies once its route is followed."""
        route = self._book.get(key)
        if route is None or not route.partitions or not self._stands(route, partitions):
            return measured.current
        return spread(measured.load, route.partitions)

    def _stands(self, route: Route, partitions: int) -> bool:
        return stands(route.base_key, route, self._terms, partitions)

    def _as_plan(self, route: Route) -> Plan | None:
        """A proposed route that may be given to producers now is planned as it stands."""
        if not self._waits(route):
            return None
        return Plan(
            key=route.base_key,
            suffixes=route.suffixes,
            partitions=route.partitions,
            partition_count=route.partition_count,
            partitioner=route.partitioner,
            imbalance_before=route.imbalance_before or 0.0,
            imbalance_after=route.imbalance_after or 0.0,
            reason=PlanReason.WITHIN_TOLERANCE,
            also_partitioner=route.also_partitioner,
            carry=route.carry,
        )

    def _waits(self, route: Route) -> bool:
        return route.state is RouteState.PROPOSED and given(self._spec)

    def _same(self, standing: Route, verdict: Plan | Refusal) -> bool:
        if isinstance(verdict, Refusal):
            return not standing.partitions and standing.reason == verdict.reason
        return same_shards(standing, verdict) and not self._waits(standing)

    # -- what is done ----------------------------------------------------------------------------

    def _put(self, hot: Measured, verdict: Plan | Refusal, moment: Moment) -> tuple[Turn, ...]:
        before = self._book.get(verdict.key)
        if isinstance(verdict, Plan):
            route = self._drafts.planned(verdict, hot, before, moment)
        elif before is not None and before.state is RouteState.ACTIVE:
            ended = self._retire(before, str(verdict.reason), moment)
            return (ended, *self._put(hot, verdict, moment))
        else:
            route = self._drafts.refused(verdict, hot, before, moment)
        self._book.put(route)
        active = route.state is RouteState.ACTIVE
        new = before is None or before.state is RouteState.RETIRED
        proposed = (EventType.PLAN_PROPOSED,) if new or not active else ()
        told = (*proposed, EventType.PLAN_ACTIVATED) if active else proposed
        return (Turn(told, route),)

    def _retire(self, route: Route, reason: str, moment: Moment) -> Turn:
        retired = self._drafts.retired(route, reason, moment)
        self._book.put(retired)
        return Turn((EventType.PLAN_RETIRED,), retired)
