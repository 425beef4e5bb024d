"""From heat to routes: what is proposed, given to producers, resized and retired. One step, no I/O."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.deciding.drafting import Drafts, given, why_not_given
from hotshard.core.deciding.proposing import Proposer, Sight, unhindered
from hotshard.core.deciding.wishes import Wishes
from hotshard.core.planning.resize import same_shards
from hotshard.core.planning.verdict import Plan, Refusal
from hotshard.core.topic import Mode, TopicSpec
from hotshard.core.wire.event import EventType
from hotshard.core.wire.route import Route, RouteState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.deciding.moment import Measured, Moment
    from hotshard.core.deciding.proposing import Hindrance

_NOTHING: Final[Mapping[bytes, Measured]] = MappingProxyType({})


class Turn(NamedTuple):
    """A route that changed, and what is told of it."""

    told: tuple[EventType, ...]
    route: Route


class Router:
    """Turns the heat of one topic, and what people want of it, into routes in its book.

    Steps that change a route must be at rising moments, as its epoch is the moment's.
    """

    def __init__(
        self, spec: TopicSpec, book: RouteBook, wishes: Wishes | None = None, hindrance: Hindrance = unhindered
    ) -> None:
        self._spec = spec
        self._book = book
        self._wishes = wishes or Wishes(spec)
        self._drafts = Drafts(spec)
        self._proposer = Proposer(spec, book, hindrance)

    def step(
        self,
        hot: Mapping[bytes, Measured],
        loads: Sequence[float],
        moment: Moment,
        pinned: Mapping[bytes, Measured] = _NOTHING,
    ) -> tuple[Turn, ...]:
        """Bring the routes in line with what is hot; ``loads``, of every partition, may be left out when nothing is.

        ``pinned`` are the keys that a person wants split, as measured, hot or not; none while a view is not whole.
        While a person has frozen the topic no route is changed, but what a person wants retired is.
        """
        turns = [*self.obey(moment)]
        if self._wishes.frozen is None:
            turns += [
                self._retire(route, reason, moment)
                for route in self._book.live()
                if (reason := self._why_ended(route, hot)) is not None
            ]
            if self._spec.mode is not Mode.OBSERVE:
                sight = Sight({**pinned, **hot}, loads, moment)
                for key in sorted(sight.keys, key=lambda key: (-sight.keys[key].load, key)):
                    turns += self._consider(key, sight, pinned=key in pinned)
        self._wishes.forget_past(moment.now_ms)
        self._book.forget_past(moment.now_ms)
        return tuple(turns)

    def obey(self, moment: Moment) -> tuple[Turn, ...]:
        """Retire what a person wants retired, and what did not help.

        May be asked at any moment: an epoch is given once to each key.
        """
        return tuple(
            self._retire(route, self._wishes.why_paused(route.base_key, moment.now_ms), moment)
            for route in self._book.live()
            if self._wishes.paused(route.base_key, moment.now_ms) and route.epoch < moment.epoch
        )

    def _why_ended(self, route: Route, hot: Mapping[bytes, Measured]) -> str | None:
        """Why a route that stands is to be retired, or None."""
        key = route.base_key
        if self._wishes.never(key):
            return "pinned_never"
        if key not in hot and key not in self._wishes.kept():
            return "cooled"
        withdrawn = route.state is RouteState.ACTIVE and not self._given(key, route)
        return why_not_given(self._spec) if withdrawn or self._spec.mode is Mode.OBSERVE else None

    def _consider(self, key: bytes, sight: Sight, *, pinned: bool) -> tuple[Turn, ...]:
        measured, moment = sight.keys[key], sight.moment
        if self._wishes.never(key) or self._wishes.paused(key, moment.now_ms):
            return ()
        route = self._book.get(key)
        standing = route if route is not None and route.state is not RouteState.RETIRED else None
        if standing is None:
            if not (measured.worth_acting or (pinned and any(sight.loads))):
                return ()
        elif self._waits(standing) and self._proposer.stands(standing, len(sight.loads)):
            return self._put(measured, self._proposer.as_it_stands(standing), moment)
        elif moment.now_ms - standing.changed_ms < (measured.policy or self._spec.policy).resize_s * 1000:
            return ()
        wanted = self._wishes.split(key) if pinned else None
        verdict = self._proposer.verdict(key, sight, standing=standing, pinned=wanted)
        if verdict is None:
            past = standing is not None and self._proposer.is_past(standing, measured, len(sight.loads))
            return (self._retire(standing, "partitions_changed", moment),) if past and standing is not None else ()
        return () if standing is not None and _same(standing, verdict) else self._put(measured, verdict, moment)

    def _given(self, key: bytes, plan: Plan | Route) -> bool:
        """Whether this plan is given to producers."""
        return given(self._spec, consent=self._wishes.consents(key, plan))

    def _waits(self, route: Route) -> bool:
        """Whether a route was only proposed, and may be given to producers now."""
        return route.state is RouteState.PROPOSED and bool(route.partitions) and self._given(route.base_key, route)

    # -- what is done ----------------------------------------------------------------------------

    def _put(self, hot: Measured, verdict: Plan | Refusal, moment: Moment) -> tuple[Turn, ...]:
        key = verdict.key
        before = self._book.get(key)
        active = isinstance(verdict, Plan) and self._given(key, verdict)
        if before is not None and before.state is RouteState.ACTIVE and not active:
            # What producers obey ends in the open: another plan has to be consented to, or there is none.
            reason = why_not_given(self._spec) if isinstance(verdict, Plan) else str(verdict.reason)
            return (self._retire(before, reason, moment), *self._put(hot, verdict, moment))
        if isinstance(verdict, Plan):
            route = self._drafts.planned(verdict, hot, before, moment, active=active)
        else:
            route = self._drafts.refused(verdict, hot, before, moment)
        self._book.put(route)
        if active:
            self._wishes.given(key, route)
        else:
            self._wishes.ended(key)
        new = before is None or before.state is RouteState.RETIRED or not before.partitions
        proposed = (EventType.PLAN_PROPOSED,) if new or not active else ()
        told = (*proposed, EventType.PLAN_ACTIVATED) if active else proposed
        return (Turn(told, route),)

    def _retire(self, route: Route, reason: str, moment: Moment) -> Turn:
        retired = self._drafts.retired(route, reason, moment)
        self._book.put(retired)
        self._wishes.ended(route.base_key)
        return Turn((EventType.PLAN_RETIRED,), retired)


def _same(standing: Route, verdict: Plan | Refusal) -> bool:
    if isinstance(verdict, Refusal):
        return not standing.partitions and standing.reason == verdict.reason
    return same_shards(standing, verdict)
