"""From heat to routes: what is proposed, given to producers, resized and retired. One step, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hotshard.core.deciding.book import RouteBook, earlier_of
from hotshard.core.keys import tenant_of
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import resize, stands
from hotshard.core.planning.score import spread, with_load, without_load
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.verdict import Plan, PlanReason, Refusal, RefusalReason
from hotshard.core.topic import Mode, Ordering, TopicSpec
from hotshard.core.wire.event import EventType
from hotshard.core.wire.names import key_text
from hotshard.core.wire.route import Epoch, Route, RouteState, Treatment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Refusals that may be over in a moment: the key stays hot, nothing is proposed for it.
_PASSING = frozenset({RefusalReason.NOT_WORTH, RefusalReason.PARTITION_NOT_ABOVE})
_REFUSED_TREATMENT = {RefusalReason.PER_KEY_ORDER: Treatment.REKEY}


class Measured(NamedTuple):
    """A hot key as measured now: its load in the view, where that lies, its share of the topic and bounds."""

    load: float
    current: Mapping[int, float]
    share: float
    lower: int
    upper: int
    #: Whether its load is above the floor from which something is done.
    worth_acting: bool


class Turn(NamedTuple):
    """A route that changed, and what is told of it."""

    told: tuple[EventType, ...]
    route: Route


@dataclass(frozen=True, slots=True)
class Moment:
    """When: the registry's epoch, the offset in the panes topic heard last, the worker's clock."""

    registry_epoch: int
    at: int
    now_ms: int

    @property
    def epoch(self) -> Epoch:
        return Epoch(self.registry_epoch, self.at)


class Router:
    """Turns the heat of one topic into routes in its book."""

    def __init__(self, spec: TopicSpec, book: RouteBook) -> None:
        self._spec = spec
        self._book = book
        self._readable_ms = round(spec.readable_s * 1000)
        self._partitioner = partitioner(spec.partitioner)

    @property
    def obeyed(self) -> bool:
        """Whether this topic's plans are given to producers."""
        return self._spec.mode is Mode.ACTIVE and self._spec.ordering is Ordering.NONE

    def step(self, hot: Mapping[bytes, Measured], loads: Sequence[float], moment: Moment) -> tuple[Turn, ...]:
        """Bring the routes in line with what is hot; ``loads`` is the measured load of every partition."""
        turns = [self._retire(route, moment, "cooled") for route in self._book.live() if route.base_key not in hot]
        turns += [
            self._retire(route, moment, f"mode_{self._spec.mode}")
            for route in self._book.live()
            if self._spec.mode is Mode.OBSERVE or (route.state is RouteState.ACTIVE and not self.obeyed)
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
        if standing is None and not hot[key].worth_acting:
            return ()
        if standing is not None and moment.now_ms - standing.changed_ms < self._spec.policy.resize_s * 1000:
            return ()
        if standing is not None and not hot[key].load:
            return ()  # nothing of the key is in the view: whether it has cooled is not for a plan to say
        verdict = self._verdict(key, standing, hot, loads, moment)
        if verdict is None or (standing is not None and self._same(standing, verdict)):
            return ()
        return (self._put(key, hot[key], verdict, moment),)

    def _verdict(
        self,
        key: bytes,
        standing: Route | None,
        hot: Mapping[bytes, Measured],
        loads: Sequence[float],
        moment: Moment,
    ) -> Plan | Refusal | None:
        """A plan, a lasting refusal, or None: nothing to change."""
        refusal = forbidden(key, self._spec, copartitioned=self._spec.copartitioned)
        if refusal is not None:
            return refusal
        background, policy = self._background(key, hot, loads), self._spec.policy
        load = HotLoad(key, hot[key].load, hot[key].current)
        terms = Terms(partitioner=self._partitioner, eps=policy.eps, max_shards=policy.max_shards)
        if standing is not None and standing.suffixes and self._stands(standing, len(loads)):
            resized = resize(load, standing, background, terms)
            if resized is not None and not self._may_be_cut(standing, resized, moment):
                resized = None
            return resized or self._as_plan(standing)
        verdict = plan_split(load, background, terms)
        return None if isinstance(verdict, Refusal) and verdict.reason in _PASSING else verdict

    def _may_be_cut(self, standing: Route, plan: Plan, moment: Moment) -> bool:
        """A plan grows at once, and is cut only when it has stood for the hold: a flood that ends retires it whole."""
        grows = len(plan.suffixes) >= len(standing.suffixes)
        return grows or moment.now_ms - standing.changed_ms >= self._spec.policy.hold_s * 1000

    def _background(self, key: bytes, hot: Mapping[bytes, Measured], loads: Sequence[float]) -> list[float]:
        """The load of every partition without ``key``, the other hot keys being where their routes send them."""
        rest = list(loads)
        for other, measured in hot.items():
            rest = without_load(rest, measured.current)
            route = self._book.get(other)
            if other == key:
                continue
            if route is not None and route.partitions and self._stands(route, len(loads)):
                rest = with_load(rest, spread(measured.load, route.partitions))
            else:
                rest = with_load(rest, measured.current)
        return rest

    def _stands(self, route: Route, partitions: int) -> bool:
        return route.partitioner == self._partitioner.name and stands(
            route.base_key, route, self._partitioner, partitions
        )

    def _as_plan(self, route: Route) -> Plan | None:
        """A proposed route that may be given to producers now is planned as it stands."""
        if not (self.obeyed and route.state is RouteState.PROPOSED):
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
        )

    def _same(self, standing: Route, verdict: Plan | Refusal) -> bool:
        if isinstance(verdict, Refusal):
            return not standing.suffixes and standing.reason == verdict.reason
        waits = self.obeyed and standing.state is RouteState.PROPOSED
        return standing.suffixes == verdict.suffixes and standing.partitions == verdict.partitions and not waits

    def _put(self, key: bytes, hot: Measured, verdict: Plan | Refusal, moment: Moment) -> Turn:
        before = self._book.get(key)
        planned = verdict if isinstance(verdict, Plan) else None
        active = planned is not None and self.obeyed
        tenant = tenant_of(key, self._spec.layout)
        text, b64 = key_text(key)
        route = Route(
            topic=self._spec.name,
            key=text,
            key_b64=b64,
            tenant=None if tenant is None else tenant.decode(errors="replace"),
            treatment=Treatment.SPLIT
            if planned
            else _REFUSED_TREATMENT.get(RefusalReason(verdict.reason), Treatment.ISOLATE),
            state=RouteState.ACTIVE if active else RouteState.PROPOSED,
            epoch=moment.epoch,
            suffixes=planned.suffixes if planned else (),
            partitions=planned.partitions if planned else (),
            partition_count=planned.partition_count if planned else 0,
            partitioner=self._partitioner.name,
            ordering=self._spec.ordering,
            since_ms=before.since_ms
            if before is not None and before.state is not RouteState.RETIRED
            else moment.now_ms,
            changed_ms=moment.now_ms,
            share=hot.share,
            lower=hot.lower,
            upper=hot.upper,
            reason=self._why(verdict, active=active),
            imbalance_before=planned.imbalance_before if planned else None,
            imbalance_after=planned.imbalance_after if planned else None,
            earlier=() if before is None else earlier_of(before, moment.now_ms + self._readable_ms),
        )
        self._book.put(route)
        new = before is None or before.state is RouteState.RETIRED
        proposed = (EventType.PLAN_PROPOSED,) if new or not active else ()
        return Turn((*proposed, *((EventType.PLAN_ACTIVATED,) if active else ())), route)

    def _why(self, verdict: Plan | Refusal, *, active: bool) -> str:
        """The reason code: of the plan, or why it is only proposed."""
        if active or isinstance(verdict, Refusal):
            return str(verdict.reason)
        return f"mode_{self._spec.mode}" if self._spec.mode is not Mode.ACTIVE else f"ordering_{self._spec.ordering}"

    def _retire(self, route: Route, moment: Moment, reason: str) -> Turn:
        retired = msgspec.structs.replace(
            route,
            state=RouteState.RETIRED,
            epoch=moment.epoch,
            suffixes=(),
            partitions=(),
            changed_ms=moment.now_ms,
            reason=reason,
            earlier=earlier_of(route, moment.now_ms + self._readable_ms),
        )
        self._book.put(retired)
        return Turn((EventType.PLAN_RETIRED,), retired)
