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
from hotshard.core.wire import pane as wire
from hotshard.doors.kafka.contract import Out, Publisher
from hotshard.errors import HotshardError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from hotshard.core.slab import Slab
    from hotshard.doors.clock import Clock
    from hotshard.job.routed import Routed
    from hotshard.job.says import Says
    from hotshard.job.sources import Source

log = logging.getLogger("hotshard.observe")

#: Sealed panes a partition may have waiting for their commit before its slabs have to wait.
MAX_WAITING: Final = 2
LOOK_S: Final = 0.025
EARLY_S: Final = 0.1
PROGRESS_S: Final = 1.0
#: Panes due within this time are cut along with those that are due.
ALONG_MS: Final = 200


class MirrorConsumer(Protocol):
    """What the observer asks of the consumer that feeds it."""

    async def commit_once(self, offsets: Mapping[TP, int], generation: int) -> bool: ...

    async def committed(self, places: Collection[TP]) -> Mapping[TP, int]: ...

    async def earliest(self, places: Collection[TP]) -> Mapping[TP, int]: ...

    async def marks(self) -> Mapping[TP, tuple[int, int, int]]: ...

    async def seek_back(self, offsets: Mapping[TP, int]) -> None: ...


@dataclass(frozen=True, slots=True)
class PaneTimes:
    """Lengths in milliseconds."""

    window_ms: int
    pane_ms: int


class Observer:
    """The partitions of the sources that this worker holds."""

    def __init__(
        self,
        *,
        sources: Mapping[str, Source],
        times: PaneTimes,
        panes_topic: str,
        worker: str,
        publisher: Publisher,
        routed: Routed,
        clock: Clock,
        says: Says,
    ) -> None:
        self._sources = sources
        self._times = times
        self._panes_topic = panes_topic
        self._worker = worker
        self._publisher = publisher
        self._routed = routed
        self._clock = clock
        self._says = says
        self._panes: dict[TP, PartitionPanes] = {}
        self._generation = -1
        self._misaligned: set[TP] = set()
        self._doubted: set[TP] = set()
        self._watermarks: dict[TP, int] = {}
        self._room = asyncio.Condition()
        self._early_at_s = 0.0
        self.consumer: MirrorConsumer | None = None
        #: Records counted since start, and those of slabs that came too late to be used.
        self.records = 0
        self.stale_slabs = 0

    # -- what the consumer group says ------------------------------------------------------------

    async def assigned(self, places: Collection[TP], generation: int) -> Mapping[TP, int]:
        """Start counting these partitions from their committed offsets; returns where each starts.

        A partition without a committed offset appeared after the group began (a new group commits
        its start for all of them beforehand): it begins at its earliest record.
        """
        consumer = self._consumer()
        self._drop_all()
        self._generation = generation
        if not places:
            return {}
        committed = await consumer.committed(places)
        earliest = await consumer.earliest(places)
        starts = {place: _start(committed.get(place), earliest[place], None) for place in places}
        fresh = {place: start for place, start in starts.items() if committed.get(place) != start}
        if fresh and not await consumer.commit_once(fresh, generation):
            log.info("start offsets could not be committed yet; the next pane's commit does it")
        for place, start in starts.items():
            self._open(place, start)
        return starts

    def revoked(self) -> None:
        """The partitions are taken away: uncommitted panes are dropped, the next owner counts them again."""
        self._drop_all()

    # -- what the agent says ---------------------------------------------------------------------

    async def take(self, slab: Slab, is_current: Callable[[], bool]) -> None:
        """Count a slab. Waits while the partition's panes cannot be published.

        ``is_current`` tells whether neither a rebalance nor a seek came since the slab was fetched.
        """
        place = TP(slab.topic, slab.partition)
        panes = await self._room_for(place)
        if panes is None or slab.generation != self._generation or place in self._misaligned or not is_current():
            self.stale_slabs += 1
        elif slab.start != panes.position:
            self._misplaced(place, slab)
        else:
            panes.add(slab, self._clock.now_ms(), self._routed.aliases(self._sources[slab.topic].spec.name))
            self.records += len(slab)

    async def take_safely(self, slab: Slab, is_current: Callable[[], bool]) -> None:
        """As :meth:`take`; a fault of our own ends nothing: what is uncommitted is counted again."""
        try:
            await self.take(slab, is_current)
        except Exception:
            log.exception("%s-%d: a slab at %d could not be counted", slab.topic, slab.partition, slab.start)
            self._doubted.add(TP(slab.topic, slab.partition))

    async def _room_for(self, place: TP) -> PartitionPanes | None:
        panes = self._panes.get(place)
        if panes is None or panes.waiting < MAX_WAITING:
            return panes
        async with self._room:
            await self._room.wait_for(lambda: (p := self._panes.get(place)) is None or p.waiting < MAX_WAITING)
        return self._panes.get(place)

    def _misplaced(self, place: TP, slab: Slab) -> None:
        """A slab that does not follow on: records were deleted before they were read, or the topic was made again."""
        self.stale_slabs += 1
        self._watermarks[place] = slab.high_watermark
        self._misaligned.add(place)

    # -- what is done all the while --------------------------------------------------------------

    async def cut_forever(self) -> None:
        """Cut what is due until cancelled."""
        while True:
            await self._guarded(self.cut_once)
            await asyncio.sleep(LOOK_S)

    async def tell_progress_forever(self) -> None:
        """Say once a second how far each partition is, until cancelled."""
        while True:
            await asyncio.sleep(PROGRESS_S)
            await self._guarded(self.tell_progress)

    async def finish(self) -> None:
        """Cut everything that is open, as far as Kafka takes it."""
        now_ms = self._clock.now_ms()
        for panes in self._panes.values():
            panes.seal(now_ms)
        while any(panes.waiting for panes in self._panes.values()):
            await self._round(early=False)
            if self._doubted:
                return

    async def cut_once(self) -> None:
        """One round: all partitions that are due, one flush, one commit."""
        now_ms, now_s = self._clock.now_ms(), self._clock.monotonic_s()
        early = now_s - self._early_at_s >= EARLY_S
        if early:
            self._early_at_s = now_s
        held = tuple(self._panes.items())
        if any(panes.due(now_ms) for _, panes in held):
            for _, panes in held:
                if panes.due(now_ms + ALONG_MS):
                    panes.seal(now_ms)
        await self._round(early=early)
        await self._realign()

    async def _round(self, *, early: bool) -> None:
        heads = {place: (panes, head) for place, panes in self._panes.items() if (head := panes.publishable())}
        versions = [head for _, head in heads.values()]
        if early:
            now_ms = self._clock.now_ms()
            versions += [v for panes in self._panes.values() if (v := panes.early(now_ms)) is not None]
        if not versions:
            return
        await self._publisher.publish([self._out(version) for version in versions])
        self._says.well("the panes topic")
        await self._commit(heads)

    async def _commit(self, heads: Mapping[TP, tuple[PartitionPanes, wire.Pane]]) -> None:
        by_generation: dict[int, dict[TP, int]] = defaultdict(dict)
        for place, (_, head) in heads.items():
            by_generation[head.generation][place] = head.end
        for generation, ends in by_generation.items():
            good = await self._consumer().commit_once(ends, generation)
            for place, end in ends.items():
                panes = heads[place][0]
                if self._panes.get(place) is not panes:
                    continue
                if good:
                    panes.committed(end, self._clock.now_ms())
                else:
                    self._doubted.add(place)
        async with self._room:
            self._room.notify_all()

    async def _realign(self) -> None:
        """After any doubt: drop the pane, and read on from the committed offset."""
        for place in tuple(self._misaligned - self._doubted):
            panes = self._panes.get(place)
            if panes is None:
                self._misaligned.discard(place)
                continue
            panes.seal(self._clock.now_ms())
            if not panes.waiting:
                self._doubted.add(place)
        doubted = {place: self._panes[place] for place in self._doubted if place in self._panes}
        if not doubted:
            self._doubted.clear()
            return
        committed = await self._consumer().committed(doubted)
        earliest = await self._consumer().earliest(doubted)
        starts = {
            place: _start(committed.get(place), earliest[place], self._watermarks.pop(place, None)) for place in doubted
        }
        for place, panes in doubted.items():
            if self._panes.get(place) is panes:
                self._open(place, starts[place])
        self._doubted -= doubted.keys()
        self._misaligned -= doubted.keys()
        await self._consumer().seek_back({p: s for p, s in starts.items() if p in self._panes})
        async with self._room:
            self._room.notify_all()

    async def tell_progress(self) -> None:
        marks = await self._consumer().marks()
        by_source: dict[str, list[wire.Mark]] = defaultdict(list)
        for place, panes in self._panes.items():
            _, end, _ = marks.get(place, (0, panes.position, 0))
            by_source[place.topic].append(
                wire.Mark(
                    place.partition, panes.committed_start, panes.position, max(end, panes.position), self._generation
                )
            )
        outs = [self._out(message) for message in self._progress(by_source)]
        if outs:
            await self._publisher.publish(outs)

    def _progress(self, by_source: Mapping[str, list[wire.Mark]]) -> Iterable[wire.Progress]:
        for name, marks in by_source.items():
            source = self._sources[name]
            yield wire.Progress(
                topic=source.spec.name,
                source=name,
                worker=self._worker,
                sent_ms=self._clock.now_ms(),
                partitions=source.partitions,
                marks=tuple(marks),
            )

    # -- small things ----------------------------------------------------------------------------

    async def _guarded(self, step: Callable[[], object]) -> None:
        try:
            result = step()
            if asyncio.iscoroutine(result):
                await result
        except HotshardError as error:
            self._says.waiting("the panes topic", error)
        except Exception:
            # A fault of our own must not end the worker: what is uncommitted is counted again.
            log.exception("a round failed; everything uncommitted is counted again")
            self._doubted.update(self._panes)

    def _open(self, place: TP, start: int) -> None:
        source = self._sources[place.topic]
        self._panes[place] = PartitionPanes(
            spec=source.spec,
            source=place.topic,
            partition=place.partition,
            worker=self._worker,
            start=start,
            generation=self._generation,
            now_ms=self._clock.now_ms(),
            window_ms=self._times.window_ms,
            pane_ms=self._times.pane_ms,
            partition_of=source.partition_of,
        )

    def _drop_all(self) -> None:
        self._panes.clear()
        self._misaligned.clear()
        self._doubted.clear()
        self._watermarks.clear()

    def _out(self, message: wire.PaneMessage) -> Out:
        return Out(topic=self._panes_topic, key=message.topic.encode(), value=wire.encode(message), partition=None)

    def _consumer(self) -> MirrorConsumer:
        if self.consumer is None:
            raise RuntimeError("the observer has no consumer yet")
        return self.consumer


def _start(committed: int | None, earliest: int, watermark: int | None) -> int:
    """Where to read on: the committed offset, or the earliest record where that offset is no longer there.

    ``watermark`` is given where records told it; an end offset asked for is not trusted, as the
    embedded broker answers one that is too low.
    """
    if committed is None or committed < earliest or (watermark is not None and committed > watermark):
        return earliest
    return committed
