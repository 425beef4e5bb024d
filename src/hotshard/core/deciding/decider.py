"""One topic, decided: messages of the panes topic go in, and out comes what is to be said.

A decider is a state machine without I/O. Made from a :class:`TopicHead` it hears messages from
``replay_from`` on, in silence until ``done``, and then goes on as if nothing had happened.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from hotshard.core.deciding import events
from hotshard.core.deciding.book import RouteBook
from hotshard.core.deciding.commanded import Commanded
from hotshard.core.deciding.finding import with_cause
from hotshard.core.deciding.heat import TopicHeat
from hotshard.core.deciding.judging import Judging
from hotshard.core.deciding.moment import Moment
from hotshard.core.deciding.routing import Router
from hotshard.core.deciding.said import Said
from hotshard.core.deciding.stands import BELIEVED_MS, Stands
from hotshard.core.deciding.wishes import Wishes
from hotshard.core.panes.ledger import Ledger
from hotshard.core.panes.reporting import window_report
from hotshard.core.panes.windows import Windows
from hotshard.core.wire.event import EventType
from hotshard.core.wire.orders import Seen
from hotshard.core.wire.pane import Pane, PaneMessage
from hotshard.core.wire.route import Epoch, Route, TopicState
from hotshard.core.wire.state import TopicHead

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from hotshard.core.causes.evidence import LagEvidence
    from hotshard.core.deciding.judging import Judged
    from hotshard.core.deciding.routing import Turn
    from hotshard.core.deciding.stands import Present
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.command import Page, StreamId
    from hotshard.core.wire.event import Event, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a decider is made with, beside the state."""

    spec: TopicSpec
    #: Partition count in production, and of each source.
    partitions: int
    sources: Mapping[str, int]
    namespace: str
    window_ms: int
    grace_ms: int


class TopicDecider:
    """Decides for one topic. ``at`` is always an offset in the panes topic, ``now_ms`` the worker's clock."""

    def __init__(self, setup: Setup, head: TopicHead | None, routes: Collection[Route], *, now_ms: int) -> None:
        self._setup = setup
        self._spec = setup.spec
        self._head = head
        #: What stands in the state topic of this; a new one is made when the first message is heard.
        self._registry_epoch = now_ms if head is None else head.registry_epoch
        self._state_version = 0 if head is None else head.state_version
        self._told_at = -1 if head is None else head.told_at
        self._silent_until = 0 if head is None else head.done
        #: The next message to be heard.
        self._next = 0 if head is None else head.replay_from
        self._caught_up = False
        expected = () if head is None else head.expected
        self._ledger = Ledger(each for each in expected if each.source in setup.sources)
        self._windows = Windows(
            window_ms=setup.window_ms, grace_ms=setup.grace_ms, memory=None if head is None else head.windows
        )
        self._stands = Stands(setup.sources, now_ms)
        self._book = RouteBook(routes)
        self._heat = TopicHeat(setup.spec, setup.partitions, head, now_ms)
        self._wishes = Wishes(setup.spec, None if head is None else head.orders, self._heat.owners.of)
        self._commanded = Commanded(setup.spec, self._wishes, self._book, Seen() if head is None else head.seen)
        self._judging = Judging(
            setup.spec, setup.partitions, self._book, self._heat.policies, None if head is None else head.judging
        )
        self._router = Router(setup.spec, self._book, self._wishes, self._judging.hindrance)
        #: Messages that views and stands need: about when they were sent, and where they stand.
        self._recent: deque[tuple[int, int]] = deque()

    # -- hearing ---------------------------------------------------------------------------------

    def hear(self, message: PaneMessage, at: int, now_ms: int) -> None:
        """Hear the message at offset ``at``; messages come in the order of their offsets."""
        if at < self._next:
            return
        self._next = at + 1
        if message.source not in self._setup.sources:
            return  # watched once, and no more: what is open of it would hold the replay back for ever
        if isinstance(message, Pane):
            confirmed = self._ledger.pane(message, at)
            self._stands.counted(message, now_ms)
            if message.live:
                self._heat.put(message)
            sent_ms = message.cut_ms
        else:
            confirmed = self._ledger.progress(message, at)
            self._stands.hear(message, now_ms)
            sent_ms = message.sent_ms
        # A worker's clock may be ahead of ours.
        self._recent.append((min(sent_ms, now_ms), at))
        for each in confirmed:
            self._windows.add(each)

    @property
    def commands_after(self) -> StreamId | None:
        """Where the next commands are to be read from; None while it may not speak, and would not obey."""
        return self._commanded.reading.position if self._caught_up else None

    def read_commands_again(self) -> None:
        """The stream of commands may be another one now: read it from its start. What was obeyed is not again."""
        self._commanded.reading.again()

    def command(self, page: Page, now_ms: int) -> None:
        """Hear what people command: entries of the commands stream read after :attr:`commands_after`.

        What is obeyed is told, and remembered, with what is decided next.
        """
        if self._caught_up:
            self._commanded.hear(page, now_ms, known=self._head is not None)

    def passed(self, position: int) -> None:
        """Every message before ``position``, of whichever topic, has been heard."""
        self._caught_up = self._caught_up or position >= self._silent_until

    @property
    def caught_up(self) -> bool:
        """Whether all that was said before is known, so that this decider may speak."""
        return self._caught_up

    # -- deciding --------------------------------------------------------------------------------

    def decide(self, now_ms: int) -> Said | None:
        """What is to be said now, or None.

        What is returned has become this decider's state: it must be written before the decider is asked
        again, or the decider be dropped and made anew from the state.
        """
        if not self._caught_up:
            return None
        present = self._stands.present(now_ms)
        moment = Moment(self._registry_epoch, self._next - 1, now_ms)
        told = (*self._tell_orders(moment), *self._judge(moment, present.completeness))
        judged = tuple(self._close_windows(now_ms, present))
        told += tuple(each for window in judged for each in self._tell_judged(window, moment))
        reports = tuple(each.report for each in judged)
        routes = self._book.take_changed()
        if not (told or reports or routes or self._is_unsaid()):
            return None
        self._state_version += 1
        self._head = self._make_head(now_ms)
        registry = self._registry_state(self._head)
        return Said(head=self._head, routes=routes, reports=reports, events=told, registry=registry)

    def registry_state(self) -> TopicState | None:
        """What Redis is to hold now; None before anything was said of this topic."""
        return None if self._head is None else self._registry_state(self._head)

    def _is_unsaid(self) -> bool:
        """Whether the state must be written although there is nothing to tell.

        What is hot, or since when it is cold, decides what is told later. And without a head nobody
        would know from where on this topic must be heard again.
        """
        if self._head is None:
            return self._next > 0
        if self._head.orders != self._wishes.orders() or self._head.seen is not self._commanded.reading.seen:
            return True
        return (self._head.keys, self._head.tenants) != (self._heat.key_memory, self._heat.tenant_memory)

    def _judge(self, moment: Moment, completeness: float) -> tuple[Event, ...]:
        """Let heat and routes turn. One message causes one turn at most: so epochs rise, and no id is given twice.

        What a person wants retired waits for no message.
        """
        self._heat.settle(moment.now_ms, self._book.aliases, completeness)
        if moment.at <= self._told_at:
            return self._tell_turns(self._router.obey(moment), moment)
        found = self._heat.step(moment)
        told = [
            self._event(each.kind, with_cause(each, self._heat, self._spec), moment.epoch, moment) for each in found
        ]
        told += self._tell_turns(self._route(moment, completeness), moment)
        if told:
            self._told_at = moment.at
        return tuple(told)

    def _route(self, moment: Moment, completeness: float) -> tuple[Turn, ...]:
        hot = self._heat.hot_loads()
        pinned = self._heat.measured(self._wishes.to_split(hot)) if completeness >= 1 else {}
        return self._router.step(hot, self._heat.loads if hot or pinned else (), moment, pinned)

    def _tell_turns(self, turns: Iterable[Turn], moment: Moment) -> tuple[Event, ...]:
        return tuple(
            self._event(kind, events.plan_change(turn.route), turn.route.epoch, moment)
            for turn in turns
            for kind in turn.told
        )

    def _tell_orders(self, moment: Moment) -> tuple[Event, ...]:
        """Tell what came of the commands that were heard."""
        told = (events.ordered(self._spec.name, done) for done in self._commanded.take_done())
        return tuple(self._event(kind, data, moment.epoch, moment) for kind, data in told)

    def _event(self, kind: EventType, data: Told, epoch: Epoch, moment: Moment) -> Event:
        return events.event(kind, data, namespace=self._setup.namespace, epoch=epoch, at_ms=moment.now_ms)

    def _close_windows(self, now_ms: int, present: Present) -> Iterable[Judged]:
        hot_keys, hot_tenants = self._heat.hot_keys, self._heat.hot_tenants
        for closed in self._windows.close(now_ms, present.partitions):
            report = window_report(
                closed,
                self._spec,
                partitions=self._setup.partitions,
                aliases=self._book.aliases,
                hot_keys=hot_keys,
                hot_tenants=hot_tenants,
            )
            yield self._judging.window(closed, report, hot_keys=hot_keys, hot_tenants=hot_tenants)

    def _tell_judged(self, judged: Judged, moment: Moment) -> Iterable[Event]:
        """What a window showed that lasts: its epoch is the window's end, that of a plan the plan's own."""
        if judged.skewed is not None:
            epoch = Epoch(self._registry_epoch, judged.skewed.end_ms)
            yield self._event(EventType.PARTITION_SKEW, judged.skewed, epoch, moment)
        for missed in judged.ineffective:
            retired = missed.retired and self._commanded.obeying.give_up(missed, moment.now_ms)
            told = msgspec.structs.replace(missed, retired=retired)
            yield self._event(EventType.PLAN_INEFFECTIVE, told, told.epoch, moment)

    @property
    def topic(self) -> str:
        return self._spec.name

    @property
    def wants_lag(self) -> tuple[str, ...]:
        """The groups whose lag is to be read: the topic's."""
        return self._spec.groups if self._caught_up else ()

    @property
    def is_wrong(self) -> bool:
        """Whether the window told last said that something is wrong, so that lag is to be read more often."""
        return self._judging.is_wrong

    def hear_lag(self, lag: Iterable[LagEvidence]) -> None:
        """The lag of the topic's groups as it was just read, for the windows that close until the next is heard."""
        self._judging.hear_lag(lag)

    # -- state -----------------------------------------------------------------------------------

    def _make_head(self, now_ms: int) -> TopicHead:
        needed = self._oldest_needed(now_ms)
        oldest_open = self._ledger.oldest_open()
        head = TopicHead(
            topic=self._spec.name,
            registry_epoch=self._registry_epoch,
            state_version=self._state_version,
            at_ms=now_ms,
            replay_from=needed if oldest_open is None else min(needed, oldest_open),
            done=self._next,
            expected=self._ledger.expected_at(needed),
            windows=self._windows.memory(),
            keys=self._heat.key_memory,
            tenants=self._heat.tenant_memory,
            hot=self._heat.hot_entries(),
            told_at=self._told_at,
            orders=self._wishes.orders(),
            seen=self._commanded.reading.seen,
            judging=self._judging.memory(),
        )
        self._ledger.forget_before(needed)
        return head

    def _oldest_needed(self, now_ms: int) -> int:
        """The oldest message that an open window, a view or a stand still needs; open panes come on top of it."""
        horizon_ms = now_ms - max(BELIEVED_MS, round(self._spec.policy.slow_view_s * 1000))
        while self._recent and self._recent[0][0] < horizon_ms:
            self._recent.popleft()
        recent = self._recent[0][1] if self._recent else None
        needed: Iterable[int | None] = (self._windows.oldest_needed(), recent, self._next)
        return min(each for each in needed if each is not None)

    def _registry_state(self, head: TopicHead) -> TopicState:
        return TopicState(
            topic=head.topic,
            epoch=head.registry_epoch,
            version=head.state_version,
            at_ms=head.at_ms,
            routes=self._book.all(),
            hot=head.hot,
            orders=head.orders,
            mode=self._spec.mode,
        )
