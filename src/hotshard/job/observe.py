"""Observing: slabs are counted per partition, and panes are cut by publishing first and committing then.

No rule lives here: what is due, what is counted and what may be published is decided in
:mod:`hotshard.core.panes.cutting`. This is the hand that carries it out.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from faust.types import TP

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.panes.pulse import Pulse
from hotshard.core.wire import pane as wire
from hotshard.doors.kafka.contract import Out, Publisher
from hotshard.errors import HotshardError
from hotshard.job.held import MAX_WAITING, Held
from hotshard.job.progress import progress_of
from hotshard.job.quiet import Teller
from hotshard.job.starts import Offsets, Starts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from hotshard.core.slab import Slab
    from hotshard.doors.clock import Clock
    from hotshard.job.routed import Routed
    from hotshard.job.says import Says
    from hotshard.job.sources import Source

log = logging.getLogger("hotshard.observe")

LOOK_S: Final = 0.025
EARLY_S: Final = 0.1
PROGRESS_S: Final = 1.0
#: Panes due within this time are cut along with those that are due.
ALONG_MS: Final = 200
_PANES: Final = "the panes topic"
_OFFSETS: Final = "the offsets of the group on the sources"


class MirrorConsumer(Offsets, Protocol):
    """What the observer asks of the consumer that feeds it."""

    async def marks(self) -> Mapping[TP, tuple[int, int, int]]: ...

    async def seek_back(self, offsets: Mapping[TP, int]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Observing:
    """What is observed, and how it is told. Lengths are milliseconds."""

    sources: Mapping[str, Source]
    worker: str
    panes_topic: str
    window_ms: int
    pane_ms: int = 1000
    #: Sources that are new to a group which has members already; their partitions begin at the end.
    new: frozenset[str] = frozenset()


class Observer:
    """The partitions of the sources that this worker holds."""

    def __init__(self, what: Observing, *, publisher: Publisher, routed: Routed, clock: Clock, says: Says) -> None:
        self._what = what
        self._publisher = publisher
        self._routed = routed
        self._clock = clock
        self._says = says
        self._held = Held()
        self._starts = Starts(what.new)
        #: By production topic, made anew with every assignment.
        self._pulses: dict[str, Pulse] = {}
        self._early_at_s = 0.0
        #: Whether the last round committed panes behind which others wait.
        self._panes_wait = False
        self._tell = Teller(log)
        self.consumer: MirrorConsumer | None = None
        #: Records counted since start, and slabs that came too late to be used.
        self.records = 0
        self.stale_slabs = 0

    # -- what the consumer group says ------------------------------------------------------------

    async def assigned(self, places: Collection[TP], generation: int) -> Mapping[TP, int]:
        """Start counting these partitions; returns where each starts."""
        self._held.renew(generation)
        starts = await self._starts.find(self._consumer(), dict.fromkeys(places), generation)
        self._pulses = {name: self._pulse(name, places) for name in {self._source(each).spec.name for each in places}}
        if self._held.generation != generation:
            return {}  # taken away meanwhile
        for place, start in starts.items():
            self._open(place, start)
        return starts

    def revoked(self) -> None:
        """The partitions are taken away: uncommitted panes are dropped, the next owner counts them again."""
        self._held.renew()

    # -- what the agent says ---------------------------------------------------------------------

    async def take(self, slab: Slab, is_current: Callable[[], bool]) -> None:
        """Count a slab. Waits while the partition's panes cannot be published.

        ``is_current`` tells whether neither a rebalance nor a seek came since the slab was fetched.
        """
        place = TP(slab.topic, slab.partition)
        panes = await self._held.with_room(place)
        current = slab.generation == self._held.generation and self._held.takes_slabs(place) and is_current()
        if panes is None or not current:
            self.stale_slabs += 1
        elif slab.start != panes.position:
            # Records were deleted before they were read, or the topic was made again.
            self.stale_slabs += 1
            self._held.misplace(place, slab.high_watermark)
        else:
            panes.add(slab, self._clock.now_ms(), self._routed.aliases(self._source(place).spec.name))
            self.records += len(slab)
            if panes.waiting > MAX_WAITING:
                await self._held.with_room_in_all()

    async def take_safely(self, slab: Slab, is_current: Callable[[], bool]) -> None:
        """As :meth:`take`; a fault of our own ends nothing: what is uncommitted is counted again."""
        try:
            await self.take(slab, is_current)
        except Exception as fault:  # noqa: BLE001 - whatever it is
            self._says.failed(f"{slab.topic}-{slab.partition}: a slab could not be counted and is read again", fault)
            self._held.doubt([TP(slab.topic, slab.partition)])

    # -- what is done all the while --------------------------------------------------------------

    async def cut_forever(self) -> None:
        """Cut what is due until cancelled. While sealed panes wait, as in a backlog, there is no rest."""
        while True:
            await self.cut_once()
            await asyncio.sleep(0 if self._panes_wait else LOOK_S)

    async def tell_progress_forever(self) -> None:
        """Say once a second how far each partition is, until cancelled."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            await self._guarded(self.tell_progress, _PANES)

    async def cut_once(self) -> None:
        """One round: all partitions that are due, one flush, one commit; then those in doubt are opened anew."""
        self._panes_wait = False
        await self._guarded(self._cut_due, _PANES)
        await self._guarded(self._realign, _OFFSETS)

    async def finish(self) -> None:
        """Cut everything that is open, as far as Kafka takes it."""
        self._seal(self._held.trusted)
        while any(panes.waiting for panes in self._held.trusted.values()):
            await self._round(early=False)
        # So that the last panes are confirmed without waiting for the next owner.
        await self.tell_progress()

    async def tell_progress(self) -> None:
        """Say how far each partition is.

        Raises:
            UnavailableError, RefusedError: as the publisher says.

        """
        ends = {place: end for place, (_, end, _) in (await self._consumer().marks()).items()}
        what, now_ms = self._what, self._clock.now_ms()
        messages = progress_of(self._held, ends, what.sources, worker=what.worker, now_ms=now_ms)
        if out := [self._out(message) for message in messages]:
            await self._publisher.publish(out)

    # -- cutting ---------------------------------------------------------------------------------

    async def _cut_due(self) -> None:
        now_ms, now_s = self._clock.now_ms(), self._clock.monotonic_s()
        early = now_s - self._early_at_s >= EARLY_S
        if early:
            self._early_at_s = now_s
        trusted = self._held.trusted
        if any(panes.due(now_ms) for panes in trusted.values()):
            self._seal({place: panes for place, panes in trusted.items() if panes.due(now_ms + ALONG_MS)})
        self._seal(self._held.misaligned)
        await self._round(early=early)

    def _seal(self, held: Mapping[TP, PartitionPanes]) -> None:
        now_ms = self._clock.now_ms()
        for panes in held.values():
            panes.seal(now_ms)

    async def _round(self, *, early: bool) -> None:
        trusted = self._held.trusted
        heads = {place: (panes, head) for place, panes in trusted.items() if (head := panes.publishable())}
        versions = [head for _, head in heads.values()]
        if early:
            now_ms = self._clock.now_ms()
            versions += [v for panes in trusted.values() if (v := panes.early(now_ms)) is not None]
        if not versions:
            return
        await self._publisher.publish([self._out(version) for version in versions])
        self._says.well(_PANES)
        await self._commit(heads)

    async def _commit(self, heads: Mapping[TP, tuple[PartitionPanes, wire.Pane]]) -> None:
        by_generation: dict[int, dict[TP, int]] = defaultdict(dict)
        for place, (_, head) in heads.items():
            by_generation[head.generation][place] = head.end
        for generation, ends in by_generation.items():
            good = await self._consumer().commit_once(ends, generation)
            for place, end in ends.items():
                panes = heads[place][0]
                if not self._held.holds(place, panes):
                    continue
                if good:
                    panes.committed(end)
                    self._panes_wait = self._panes_wait or panes.waiting > 0
                    self._tell_aside(place, panes)
                else:
                    self._held.doubt([place])
        self._held.changed()

    def _tell_aside(self, place: TP, panes: PartitionPanes) -> None:
        for aside in panes.take_put_aside():
            where = "" if aside.offset is None else f" at offset {aside.offset}"
            what = f"{aside.records} records{where} could not be counted: {aside.reason}"
            self._tell(place, f"{place.topic}-{place.partition}: {what}", logging.ERROR)

    async def _realign(self) -> None:
        """After any doubt: drop what is uncommitted, and read on from the committed offset."""
        self._held.doubt(place for place, panes in self._held.misaligned.items() if not panes.waiting)
        doubted, generation = self._held.doubted, self._held.generation
        if not doubted:
            return
        marks = {place: self._held.watermark(place) for place in doubted}
        starts = await self._starts.find(self._consumer(), marks, generation)
        opened = {
            place: self._open(place, starts[place])
            for place, panes in doubted.items()
            if self._held.holds(place, panes)
        }
        await self._consumer().seek_back({place: panes.position for place, panes in opened.items()})
        self._says.well(_OFFSETS)
        for place, panes in opened.items():
            if self._held.holds(place, panes):
                self._held.trust(place)
        self._held.changed()

    # -- small things ----------------------------------------------------------------------------

    async def _guarded(self, step: Callable[[], Awaitable[None]], subject: str) -> None:
        """Nothing ends the worker: an outage is waited for, after a fault of our own everything is counted again."""
        try:
            await step()
        except HotshardError as error:
            self._says.waiting(subject, error)
        except Exception as fault:  # noqa: BLE001 - whatever it is
            self._says.failed("observing failed; everything uncommitted is counted again", fault)
            self._held.doubt(self._held.panes)

    def _open(self, place: TP, start: int) -> PartitionPanes:
        source = self._source(place)
        panes = PartitionPanes(
            spec=source.spec,
            source=place.topic,
            partition=place.partition,
            worker=self._what.worker,
            start=start,
            generation=self._held.generation,
            now_ms=self._clock.now_ms(),
            window_ms=self._what.window_ms,
            pane_ms=self._what.pane_ms,
            partition_of=source.partition_of,
            pulse=self._pulses.get(source.spec.name),
        )
        self._held.open(place, panes)
        return panes

    def _pulse(self, topic: str, places: Collection[TP]) -> Pulse:
        """What these partitions of a topic have counted of late; they are some of all there are."""
        sources = {name: source for name, source in self._what.sources.items() if source.spec.name == topic}
        every = sum(source.partitions for source in sources.values())
        here = sum(place.topic in sources for place in places)
        first = next(iter(sources.values()))
        return Pulse(first.spec, first.production or first.partitions, min(1.0, here / max(1, every)))

    def _source(self, place: TP) -> Source:
        return self._what.sources[place.topic]

    def _out(self, message: wire.PaneMessage) -> Out:
        return Out(topic=self._what.panes_topic, key=message.topic.encode(), value=wire.encode(message))

    def _consumer(self) -> MirrorConsumer:
        if self.consumer is None:
            raise RuntimeError("the observer has no consumer yet")
        return self.consumer
