"""The job's hands on twins: a mirror and a panes consumer without Kafka, doors that note what is asked of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
from faust.types import TP

from hotshard.core.deciding.decider import TopicDecider
from hotshard.core.slab import Slab
from hotshard.core.wire import pane as wire
from hotshard.core.wire import state
from hotshard.core.wire.event import Event
from hotshard.core.wire.report import WindowReport
from hotshard.core.wire.state import TopicHead
from hotshard.doors.clock import ManualClock
from hotshard.doors.kafka.contract import Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import HotshardError, UnavailableError
from hotshard.job.commands import CommandReader
from hotshard.job.decide import Deciding, Seating
from hotshard.job.observe import Observer, Observing
from hotshard.job.registry import RegistryKeeper
from hotshard.job.routed import Routed
from hotshard.job.says import Says
from hotshard.job.seat import OwnTopics, Seat, SeatDoors
from hotshard.job.sources import Source
from tests.support.deciding import PLACE, SOURCE, TOPIC, Traffic, setup, spec
from tests.support.eventually import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hotshard.core.wire.route import Route
    from hotshard.doors.kafka.contract import Log, Speaker
    from hotshard.doors.kafka.memory import MemoryPublisher

PANES: Final = "hs-panes"
STATE: Final = "hs-state"
WINDOWS: Final = "hs-windows"
EVENTS: Final = "hs-events"


def memory_kafka(clock: ManualClock, partitions: int = 2) -> MemoryKafka:
    """An in-memory Kafka with hotshard's own topics."""
    kafka = MemoryKafka(clock=clock)
    for name in (PANES, STATE, WINDOWS, EVENTS):
        kafka.cluster.create(TopicWanted(name=name, partitions=partitions))
    return kafka


class Gate:
    """Where a call stops until the test lets it go on; open unless it was closed."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._reached = asyncio.Event()

    def close(self) -> None:
        self._open.clear()
        self._reached.clear()

    def open(self) -> None:
        self._open.set()

    @property
    def is_closed(self) -> bool:
        return not self._open.is_set()

    async def reached(self) -> None:
        """Wait until somebody waits here."""
        await asyncio.wait_for(self._reached.wait(), PATIENCE_S)

    async def __call__(self) -> None:
        self._reached.set()
        await self._open.wait()


@dataclass
class Mirror:
    """A source and the observe group: what is committed, and what is asked, in ``steps``."""

    steps: list[tuple[str, Any]] = field(default_factory=list)
    committed_at: dict[TP, int] = field(default_factory=dict)
    earliest_at: dict[TP, int] = field(default_factory=dict)
    latest_at: dict[TP, int] = field(default_factory=dict)
    generation: int = 1
    #: So many of the next commits are refused; so many take place, but the answer is lost.
    refuse: int = 0
    lose_answers: int = 0
    #: So many of the next questions or seeks fail.
    fail: int = 0
    seeks: dict[TP, int] = field(default_factory=dict)
    at_commit: Gate = field(default_factory=Gate)
    at_question: Gate = field(default_factory=Gate)
    at_seek: Gate = field(default_factory=Gate)

    async def commit_once(self, offsets: Mapping[TP, int], generation: int) -> bool:
        await self.at_commit()
        self.steps.append(("commit", dict(offsets)))
        if generation != self.generation:
            return False
        if self.refuse:
            self.refuse -= 1
            return False
        self.committed_at.update(offsets)
        if self.lose_answers:
            self.lose_answers -= 1
            return False
        return True

    async def committed(self, places: Collection[TP]) -> Mapping[TP, int]:
        await self.at_question()
        self._check()
        return {place: self.committed_at[place] for place in places if place in self.committed_at}

    async def earliest(self, places: Collection[TP]) -> Mapping[TP, int]:
        self._check()
        return {place: self.earliest_at.get(place, 0) for place in places}

    async def latest(self, places: Collection[TP]) -> Mapping[TP, int]:
        self._check()
        return {place: self.latest_at[place] for place in places}

    async def marks(self) -> Mapping[TP, tuple[int, int, int]]:
        return {}

    async def seek_back(self, offsets: Mapping[TP, int]) -> None:
        await self.at_seek()
        self._check()
        self.steps.append(("seek", dict(offsets)))
        for place, offset in offsets.items():
            self.seeks[place] = self.seeks.get(place, 0) + 1
            del offset

    def _check(self) -> None:
        if self.fail:
            self.fail -= 1
            raise UnavailableError("the mirror in memory was made to fail")


class NotingPublisher:
    """Publishes to the in-memory Kafka, and notes it among the mirror's steps."""

    def __init__(self, inner: MemoryPublisher, steps: list[tuple[str, Any]]) -> None:
        self._inner = inner
        self._steps = steps
        self.gate = Gate()
        self.error: HotshardError | None = None

    async def start(self) -> None: ...

    async def publish(self, outs: Sequence[Out]) -> None:
        await self.gate()
        if self.error is not None:
            raise self.error
        await self._inner.publish(outs)
        self._steps.append(("publish", [wire.decode(out.value or b"") for out in outs]))

    async def stop(self) -> None: ...


class Watching:
    """An observer of one source of some partitions, on twins, with a clock turned by hand."""

    def __init__(self, *partitions: int, sources: Mapping[str, int] | None = None, new: bool = False) -> None:
        self.clock = ManualClock()
        self.kafka = memory_kafka(self.clock)
        self.mirror = Mirror()
        self.publisher = NotingPublisher(self.kafka.publisher(), self.mirror.steps)
        self.places = [TP(SOURCE, each) for each in partitions or (0,)]
        counts = sources or {SOURCE: 6}
        what = Observing(
            sources={name: Source(spec(sources=(name,)), count) for name, count in counts.items()},
            worker="w1",
            panes_topic=PANES,
            window_ms=10_000,
            new=frozenset(counts) if new else frozenset(),
        )
        self.observer = Observer(
            what, publisher=self.publisher, routed=Routed(), clock=self.clock, says=Says(self.clock)
        )
        self.observer.consumer = self.mirror
        self.current = True

    async def assigned(self, *, generation: int = 1, places: Sequence[TP] | None = None) -> Mapping[TP, int]:
        self.mirror.generation = generation
        return await self.observer.assigned(self.places if places is None else places, generation)

    def slab(self, start: int, count: int = 10, *, place: TP | None = None, generation: int = 0, end: int = 0) -> Slab:
        """Records ``[start, start + count)`` of one key, as fetched now."""
        at = place or self.places[0]
        return Slab(
            topic=at.topic,
            partition=at.partition,
            start=start,
            end=start + count,
            generation=generation or self.mirror.generation,
            high_watermark=end or start + count,
            keys=[b"acme\x1fe1"] * count,
            sizes=[20] * count,
            timestamps=[self.clock.now_ms()] * count,
        )

    async def take(self, start: int, count: int = 10, **more: Any) -> None:  # noqa: ANN401 - see slab
        await self.observer.take_safely(self.slab(start, count, **more), lambda: self.current)

    async def cut(self, seconds: float = 1.1) -> None:
        """Let time pass and do one round."""
        self.clock.advance(seconds)
        await self.observer.cut_once()

    @property
    def steps(self) -> list[str]:
        return [step for step, _ in self.mirror.steps]

    def published(self) -> list[wire.Pane]:
        return [
            message
            for step, messages in self.mirror.steps
            if step == "publish"
            for message in messages
            if isinstance(message, wire.Pane)
        ]

    def ranges(self, place: TP | None = None) -> list[tuple[int, int]]:
        """The offsets of each pane that was published, in order."""
        partition = (place or self.places[0]).partition
        return [(pane.start, pane.end) for pane in self.published() if pane.partition == partition]


async def turns(count: int = 5) -> None:
    """Let the loop turn, so that whatever can go on has gone on."""
    for _ in range(count):
        await asyncio.sleep(0)


class GatedSpeaker:
    """A speaker of the in-memory Kafka with gates in front of what it does."""

    def __init__(self, inner: Speaker, gates: Gates) -> None:
        self._inner = inner
        self._gates = gates
        self.stopped = False

    async def take(self) -> None:
        await self._gates.take()
        await self._inner.take()

    async def say(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        await self._gates.say()
        offsets = await self._inner.say(outs)
        await self._gates.said()
        return offsets

    async def stop(self) -> None:
        await self._gates.stop()
        self.stopped = True
        await self._inner.stop()


@dataclass
class Gates:
    take: Gate = field(default_factory=Gate)
    say: Gate = field(default_factory=Gate)
    said: Gate = field(default_factory=Gate)
    stop: Gate = field(default_factory=Gate)


class Deciders:
    """A worker's deciding half on twins. Several may share one in-memory Kafka, as workers do."""

    def __init__(
        self,
        kafka: MemoryKafka,
        clock: ManualClock,
        *,
        topics: Sequence[str] = (TOPIC,),
        partitions: int = 2,
        registry: MemoryRegistry | None = None,
        **of_each: Any,  # noqa: ANN401 - any field of the topics' specs
    ) -> None:
        self.kafka = kafka
        self.clock = clock
        self.gates = Gates()
        self.speakers: list[GatedSpeaker] = []
        self.positions: dict[int, int] = {}
        self.seeks: list[Mapping[TP, int]] = []
        self.at_seek = Gate()
        self.fail_seeks = 0
        self.registry = registry or MemoryRegistry(clock)
        self.says = Says(clock)
        self.keeper = RegistryKeeper(self.registry, self.says)
        self._setups = {name: setup(replace(spec(**of_each), name=name)) for name in topics}
        seating = Seating(panes_topic=PANES, partitions=partitions, topics=topics, make_seat=self._seat)
        self.seating = seating
        self.deciding = Deciding(seating, keeper=self.keeper, clock=clock, says=self.says)
        self.deciding.consumer = self
        self.commands = CommandReader(self.registry, self.deciding, clock=clock, says=self.says)

    def _seat(self, partition: int) -> Seat:
        speaker = GatedSpeaker(self.kafka.speaker(f"seat-{partition}"), self.gates)
        self.speakers.append(speaker)
        return Seat(
            partition,
            topics=OwnTopics(panes=PANES, state=STATE, windows=WINDOWS, events=EVENTS),
            doors=SeatDoors(speaker, self.kafka.reader(), self.kafka.admin()),
            make=self._decider,
        )

    def _decider(self, topic: str, head: TopicHead | None, routes: Collection[Route]) -> TopicDecider:
        return TopicDecider(self._setups[topic], head, routes, now_ms=self.clock.now_ms())

    def recount(self, topic: str, partitions: int) -> None:
        """Production has so many partitions now."""
        self._setups[topic] = replace(self._setups[topic], partitions=partitions)
        self.deciding.renew([topic])

    # -- what the consumer does ------------------------------------------------------------------

    async def seek_back(self, offsets: Mapping[TP, int]) -> None:
        await self.at_seek()
        if self.fail_seeks:
            self.fail_seeks -= 1
            raise UnavailableError("seeking was made to fail")
        self.seeks.append(dict(offsets))
        for place, offset in offsets.items():
            self.positions[place.partition] = offset

    async def assigned(self, *partitions: int) -> Mapping[TP, int]:
        """The group gives these, or all."""
        places = [TP(PANES, each) for each in partitions or range(self.seating.partitions)]
        starts = await self.deciding.assigned(places)
        self.positions = {place.partition: start for place, start in starts.items()}
        return starts

    async def revoked(self) -> None:
        self.positions = {}
        await self.deciding.revoked()

    def read(self) -> None:
        """Hand out what there is."""
        for number in tuple(self.positions):
            for log in self.messages(number):
                self.positions[number] = log.offset + 1
                self.deciding.hear(number, log.offset, log.value)

    def messages(self, partition: int) -> list[Log]:
        return self.kafka.cluster.partition(PANES, partition).committed(self.positions.get(partition, 0), 1 << 30)

    async def round(self, seconds: float = 0.0) -> None:
        """Let time pass, read what there is, what people command too, and decide."""
        self.clock.advance(seconds)
        self.read()
        await self.commands.read_safely()
        await self.deciding.decide_once()

    # -- what stands on hotshard's own topics ----------------------------------------------------

    def written(self, topic: str) -> list[Log]:
        return [log for each in self.kafka.cluster.partitions(topic) for log in each.committed(0, 1 << 30)]

    def events(self) -> list[Event]:
        return [msgspec.json.decode(log.value or b"", type=Event) for log in self.written(EVENTS)]

    def reports(self) -> list[WindowReport]:
        return [msgspec.json.decode(log.value or b"", type=WindowReport) for log in self.written(WINDOWS)]

    def heads(self) -> list[TopicHead]:
        found = (state.read(log.key, log.value).value for log in self.written(STATE))
        return [each for each in found if isinstance(each, TopicHead)]


class Producing:
    """Traffic as it comes onto the panes topic: seconds of it, of one production topic."""

    def __init__(self, kafka: MemoryKafka, clock: ManualClock, topic: str = TOPIC) -> None:
        self.traffic = Traffic(now_ms=clock.now_ms())
        self._publisher = kafka.publisher()
        self._clock = clock
        self._topic = topic

    async def second(self, loads: Mapping[bytes, int]) -> None:
        """Everything is counted and told that came in the last second."""
        self.traffic.now_ms = self._clock.now_ms()
        places: dict[int, dict[bytes, int]] = {}
        for name, load in loads.items():
            places.setdefault(PLACE(name), {})[name] = load
        for partition, held in sorted(places.items()):
            await self.publish(self.traffic.cut(partition, held, topic=self._topic))
        await self.publish(self.traffic.progress(topic=self._topic))

    async def publish(self, message: wire.PaneMessage | bytes) -> None:
        value = message if isinstance(message, bytes) else wire.encode(message)
        await self._publisher.publish([Out(topic=PANES, key=self._topic.encode(), value=value)])

    @property
    def records(self) -> int:
        return sum(self.traffic.counted.values())
