"""One topic, decided: messages of the panes topic go in, and out comes what is to be said.

A decider is a state machine without I/O. Made from a :class:`TopicHead` it hears messages from
``replay_from`` on, in silence until ``done``, and then goes on as if nothing had happened.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotshard.core.deciding import events
from hotshard.core.deciding.book import RouteBook
from hotshard.core.deciding.heat import TopicHeat
from hotshard.core.deciding.routing import Moment, Router
from hotshard.core.deciding.said import Said
from hotshard.core.deciding.stands import Stands
from hotshard.core.panes.ledger import Ledger
from hotshard.core.panes.reporting import window_report
from hotshard.core.panes.windows import Windows
from hotshard.core.wire.pane import Pane, PaneMessage
from hotshard.core.wire.route import Route, TopicState
from hotshard.core.wire.state import TopicHead

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.event import Event, EventType, Finding, PlanChange
    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.route import Epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a decider is made with, beside the state."""

    spec: TopicSpec
    #: Partition count in production.
    partitions: int
    namespace: str
    window_ms: int
    grace_ms: int


class TopicDecider:
    """Decides for one topic. ``at`` is always an offset in the panes topic, ``now_ms`` the worker's clock."""

    def __init__(self, setup: Setup, head: TopicHead | None, routes: Collection[Route], *, now_ms: int) -> None:
        self._setup = setup
        self._head = head
        self._registry_epoch = now_ms if head is None else head.registry_epoch
        self._state_version = 0 if head is None else head.state_version
        self._replay_from = 0 if head is None else head.replay_from
        self._silent_until = 0 if head is None else head.done
        #: The next message to be heard.
        self._next = self._replay_from
        self._caught_up = False
        self._ledger = Ledger(() if head is None else head.expected)
        self._windows = Windows(
            window_ms=setup.window_ms, grace_ms=setup.grace_ms, memory=None if head is None else head.windows
        )
        self._stands = Stands()
        self._book = RouteBook(routes)
        self._heat = TopicHeat(setup.spec, setup.partitions, head)
        self._router = Router(setup.spec, self._book)
        #: Messages that the views need: when they were heard, and where they stand.
        self._viewed: deque[tuple[int, int]] = deque()
        self._last_said: TopicState | None = None

    # -- hearing ---------------------------------------------------------------------------------

    def hear(self, message: PaneMessage, at: int, now_ms: int) -> None:
        """Hear the message at offset ``at``; messages come in the order of their offsets."""
        if at < self._next:
            return
        self._next = at + 1
        if isinstance(message, Pane):
            confirmed = self._ledger.pane(message, at)
            self._look(message, at)
        else:
            self._stands.hear(message, now_ms)
            confirmed = self._ledger.progress(message, at)
        for each in confirmed:
            self._windows.add(each)

    def passed(self, position: int) -> None:
        """Every message before ``position``, of whichever topic, has been heard."""
        self._caught_up = self._caught_up or position >= self._silent_until

    @property
    def caught_up(self) -> bool:
        """Whether all that was said before is known, so that this decider may speak."""
        return self._caught_up

    def _look(self, pane: Pane, at: int) -> None:
        """Show a live pane to the views."""
        self._stands.counted(pane)
        if not pane.live:
            return
        self._heat.put(pane)
        self._viewed.append((pane.cut_ms, at))

    # -- deciding --------------------------------------------------------------------------------

    def decide(self, now_ms: int) -> Said | None:
        """What is to be said now, or None.

        What is returned has become this decider's state: it must be written before the decider is asked
        again, or the decider be dropped and made anew from the state.
        """
        if not self._caught_up:
            return None
        moment = Moment(self._registry_epoch, max(0, self._next - 1), now_ms)
        told = self._decide_heat(moment)
        reports = self._close_windows(now_ms)
        routes = self._book.take_changed()
        if not (told or reports or routes):
            return None
        self._state_version += 1
        head = self._make_head(now_ms)
        self._last_said = self._registry_state(head)
        return Said(head=head, routes=routes, reports=reports, events=told, registry=self._last_said)

    def registry_state(self) -> TopicState | None:
        """What Redis is to hold now; None before anything was said of this topic."""
        if self._last_said is None and self._head is not None:
            self._last_said = self._registry_state(self._head)
        return self._last_said

    def _decide_heat(self, moment: Moment) -> tuple[Event, ...]:
        stands = self._stands.present(moment.now_ms)
        self._heat.settle(moment.now_ms, self._book.aliases, stands.completeness)
        found = self._heat.step(moment)
        turns = self._router.step(self._heat.hot_loads(), self._heat.loads, moment)
        told = [self._event(each.kind, each.finding, each.epoch, moment) for each in found]
        told += [
            self._event(kind, events.plan_change(turn.route), turn.route.epoch, moment)
            for turn in turns
            for kind in turn.told
        ]
        return tuple(told)

    def _event(self, kind: EventType, data: Finding | PlanChange, epoch: Epoch, moment: Moment) -> Event:
        return events.event(kind, data, namespace=self._setup.namespace, epoch=epoch, at_ms=moment.now_ms)

    def _close_windows(self, now_ms: int) -> tuple[WindowReport, ...]:
        closed = self._windows.close(now_ms, self._stands.present(now_ms).partitions)
        hot_keys, hot_tenants = self._heat.hot_keys, self._heat.hot_tenants
        return tuple(
            window_report(each, self._setup.spec, hot_keys=hot_keys, hot_tenants=hot_tenants) for each in closed
        )

    # -- state -----------------------------------------------------------------------------------

    def _make_head(self, now_ms: int) -> TopicHead:
        replay_from = self._oldest_needed(now_ms)
        head = TopicHead(
            topic=self._setup.spec.name,
            registry_epoch=self._registry_epoch,
            state_version=self._state_version,
            at_ms=now_ms,
            replay_from=replay_from,
            done=self._next,
            expected=self._ledger.expected_at(replay_from),
            windows=self._windows.memory(),
            keys=self._heat.key_memory,
            tenants=self._heat.tenant_memory,
            hot=self._heat.hot_entries(),
        )
        self._ledger.forget_before(replay_from)
        return head

    def _oldest_needed(self, now_ms: int) -> int:
        """The oldest message that an unconfirmed pane, an open window or a view still needs."""
        horizon_ms = now_ms - round(self._setup.spec.policy.slow_view_s * 1000)
        while self._viewed and self._viewed[0][0] < horizon_ms:
            self._viewed.popleft()
        viewed = self._viewed[0][1] if self._viewed else None
        needed: Iterable[int | None] = (self._ledger.oldest_open(), self._windows.oldest_needed(), viewed, self._next)
        return min(each for each in needed if each is not None)

    def _registry_state(self, head: TopicHead) -> TopicState:
        return TopicState(
            topic=head.topic,
            epoch=head.registry_epoch,
            version=head.state_version,
            at_ms=head.at_ms,
            routes=self._book.all(),
            hot=head.hot,
        )
