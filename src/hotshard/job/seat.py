"""A seat: one partition of the panes topic, held by this worker, with a decider for each of its topics.

Taking a seat fences whoever held it before, reads the state to its end, and tells where to hear on.
All that its deciders have to say goes into one transaction.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotshard.core.deciding.anew import begun_anew
from hotshard.core.deciding.decider import TopicDecider
from hotshard.core.wire import event, pane, report, state
from hotshard.core.wire.route import Route
from hotshard.doors.kafka.contract import Admin, Log, Out, Reader, Speaker
from hotshard.errors import WireError
from hotshard.job.quiet import Teller

if TYPE_CHECKING:
    from hotshard.core.deciding.said import Said

log = logging.getLogger("hotshard.seat")

#: Makes the decider of a topic from what the state holds of it.
MakeDecider = Callable[[str, state.TopicHead | None, Collection[Route]], TopicDecider]


@dataclass(frozen=True, slots=True)
class OwnTopics:
    """Names of hotshard's own topics."""

    panes: str
    state: str
    windows: str
    events: str


@dataclass(frozen=True, slots=True)
class Stored:
    """The state of one panes partition: heads and routes by topic."""

    heads: Mapping[str, state.TopicHead]
    routes: Mapping[str, Mapping[bytes, Route]]


def read_state(records: Iterable[Log], tell: Teller | None = None) -> Stored:
    """The newest of every record; damaged ones are said and left out."""
    tell = tell or Teller(log)
    heads: dict[str, state.TopicHead] = {}
    routes: dict[str, dict[bytes, Route]] = {}
    for record in records:
        try:
            topic, base, value = state.read(record.key, record.value)
        except WireError as error:
            tell("state", f"state topic, partition {record.partition}, offset {record.offset}: {error}")
            continue
        if isinstance(value, state.TopicHead):
            heads[topic] = value
        elif base is not None and value is not None:
            routes.setdefault(topic, {})[base] = value
        elif base is not None:
            routes.get(topic, {}).pop(base, None)
    return Stored(heads, routes)


@dataclass(frozen=True, slots=True)
class SeatDoors:
    """What a seat needs of Kafka. The speaker is its own, and holds the transactional id of its partition."""

    speaker: Speaker
    reader: Reader
    admin: Admin


class Seat:
    """One partition of the panes topic."""

    def __init__(self, partition: int, *, topics: OwnTopics, doors: SeatDoors, make: MakeDecider) -> None:
        self.partition = partition
        self._topics = topics
        self._speaker, self._reader, self._admin = doors.speaker, doors.reader, doors.admin
        self._make = make
        self._tell = Teller(log)
        self.deciders: dict[str, TopicDecider] = {}
        #: To be set before it is taken, when the panes topic was made again.
        self.begins_anew = False
        #: Messages that could not be read, or of topics that the settings do not name.
        self.skipped = 0
        #: Processor time that its deciders took the last time they were asked.
        self.took_s = 0.0

    async def take(self, names: Collection[str]) -> int:
        """Take the seat for these topics; returns the offset in the panes topic to hear from."""
        await self._speaker.take()
        stored = read_state(await self._reader.read_all(self._topics.state, self.partition), self._tell)
        heads = {name: begun_anew(head) if self.begins_anew else head for name, head in stored.heads.items()}
        self.deciders = {
            name: self._make(name, heads.get(name), tuple(stored.routes.get(name, {}).values())) for name in names
        }
        starts = [head.replay_from for name, head in heads.items() if name in self.deciders]
        # A topic that is new here begins with the others; where all are new, at the beginning.
        position = max(min(starts, default=0), (await self.reach()).start)
        self.passed(position)
        return position

    async def reach(self) -> range:
        """The messages that the panes topic still holds of this partition (the embedded broker tells of fewer)."""
        starts = await self._admin.start_offsets(self._topics.panes)
        ends = await self._admin.end_offsets(self._topics.panes)
        start = starts.get(self.partition, 0)
        return range(start, max(start, ends.get(self.partition, 0)))

    def hear(self, value: bytes | None, at: int, now_ms: int) -> None:
        """Hear the message at offset ``at``. A damaged one is counted and skipped."""
        try:
            message = pane.decode(value or b"")
            decider = self.deciders.get(message.topic)
            if decider is None:
                self.skipped += 1
            else:
                decider.hear(message, at, now_ms)
        except WireError as error:
            self.skipped += 1
            self._tell("damaged", f"panes topic, partition {self.partition}, offset {at}: {error}")
        except Exception as fault:
            self.skipped += 1
            self._tell("fault", f"panes topic, partition {self.partition}, offset {at}: {fault!r} while hearing it")
            log.debug("hearing failed", exc_info=True)
        self.passed(at + 1)

    def passed(self, position: int) -> None:
        """Everything before ``position`` has been heard."""
        for decider in self.deciders.values():
            decider.passed(position)

    async def say(self, now_ms: int) -> tuple[Said, ...]:
        """Let every decider decide, and write what they say in one transaction.

        Raises:
            FencedError, UnavailableError, RefusedError: as the speaker says; the seat must be taken again.

        """
        began_s = time.thread_time()
        said = tuple(s for decider in self.deciders.values() if (s := decider.decide(now_ms)) is not None)
        self.took_s = time.thread_time() - began_s
        if said:
            await self._speaker.say([out for one in said for out in self._outs(one)])
        return said

    async def leave(self) -> None:
        await self._speaker.stop()

    def _outs(self, said: Said) -> Iterable[Out]:
        topic = said.head.topic
        key = topic.encode()
        for base, route in said.routes.items():
            value = None if route is None else state.encode(route)
            yield Out(self._topics.state, value, state.route_key(topic, base), self.partition)
        yield Out(self._topics.state, state.encode(said.head), state.head_key(topic), self.partition)
        for one in said.reports:
            yield Out(self._topics.windows, report.encode(one), key)
        for told in said.events:
            yield Out(self._topics.events, event.encode(told), key)
