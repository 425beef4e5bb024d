"""Deciding: the seats this worker holds hear the panes topic, and say what their deciders decide.

No rule lives here. An outage is waited for; a seat in doubt is taken again from the state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, Protocol

from faust.types import TP

from hotshard.core.partitioners import partitioner
from hotshard.errors import FencedError, HotshardError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hotshard.doors.clock import Clock
    from hotshard.job.registry import RegistryKeeper
    from hotshard.job.says import Says
    from hotshard.job.seat import Seat

log = logging.getLogger("hotshard.decide")

#: Deciders are asked this often when nothing is heard.
TICK_S: Final = 0.25
#: Least time between two rounds, so that a flood of messages costs rounds, not a round each.
REST_S: Final = 0.02
RETRY_S: Final = 1.0
#: A seat that was taken over is given back by the group within this time, or taken away.
FENCED_S: Final = 2.0
#: A rebalance is not held up longer than this for the connections of seats that are left.
LEAVE_S: Final = 1.0
#: After a seek, messages from before it may still come for this long.
RESEEK_S: Final = 2.0


class PanesConsumer(Protocol):
    """What deciding asks of the consumer that feeds it."""

    async def seek_back(self, offsets: Mapping[TP, int]) -> None: ...


class Deciding:
    """The seats of this worker."""

    def __init__(
        self,
        *,
        panes_topic: str,
        panes_partitions: int,
        topics: Collection[str],
        make_seat: Callable[[int], Seat],
        keeper: RegistryKeeper,
        clock: Clock,
        says: Says,
    ) -> None:
        self._panes_topic = panes_topic
        place = partitioner("murmur2").partition
        self._names: dict[int, tuple[str, ...]] = {
            partition: tuple(name for name in sorted(topics) if place(name.encode(), panes_partitions) == partition)
            for partition in range(panes_partitions)
        }
        self._make_seat = make_seat
        self._keeper = keeper
        self._clock = clock
        self._says = says
        self._seats: dict[int, Seat] = {}
        self._expected: dict[int, int] = {}
        self._sought: dict[int, tuple[int, float]] = {}
        self._to_seek: set[int] = set()
        #: Seats in doubt, and when they may be taken again.
        self._lost: dict[int, float] = {}
        self._heard = asyncio.Event()
        self.consumer: PanesConsumer | None = None

    async def assigned(self, places: Collection[TP]) -> Mapping[TP, int]:
        """Take the seats of these partitions; returns where each is heard from."""
        await self.revoked()
        return {place: await self._take(place.partition) for place in places if place.topic == self._panes_topic}

    async def revoked(self) -> None:
        """Leave all seats; Kafka fences what might still be said for them."""
        seats, self._seats = self._seats, {}
        self._expected.clear()
        self._lost.clear()
        for seat in seats.values():
            self._release(seat)
        with contextlib.suppress(TimeoutError, HotshardError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*(seat.leave() for seat in seats.values()))

    def hear(self, partition: int, offset: int, value: bytes | None) -> None:
        """Hear one message. One that does not follow on is not heard: it is sought again first."""
        seat = self._seats.get(partition)
        if seat is None or partition in self._lost or not self._follows(partition, offset):
            return
        self._expected[partition] = offset + 1
        seat.hear(value, offset, self._clock.now_ms())
        self._heard.set()

    def _follows(self, partition: int, offset: int) -> bool:
        """Whether this is the message to be heard next.

        The panes topic has no holes, so a later offset is left over from before a seek, or what lay
        between was deleted. Which of the two is told by seeking: what comes again after a while stands.
        """
        expected = self._expected[partition]
        if offset <= expected:
            return offset == expected
        now_s = self._clock.monotonic_s()
        sought, at_s = self._sought.get(partition, (-1, now_s))
        if sought == expected and now_s - at_s > RESEEK_S:
            log.warning("panes topic, partition %d: messages %d to %d are gone", partition, expected, offset - 1)
            return True
        if sought != expected:
            self._sought[partition] = (expected, now_s)
            self._to_seek.add(partition)
        return False

    async def _seek(self) -> None:
        places = {
            TP(self._panes_topic, partition): self._expected[partition]
            for partition in self._to_seek
            if partition in self._seats
        }
        self._to_seek.clear()
        if places and self.consumer is not None:
            await self.consumer.seek_back(places)

    async def decide_forever(self) -> None:
        """Decide and say until cancelled."""
        while True:
            try:
                async with asyncio.timeout(TICK_S):
                    await self._heard.wait()
            except TimeoutError:
                pass
            self._heard.clear()
            for seat in tuple(self._seats.values()):
                await self._decide(seat)
            await self._take_again()
            await self._seek()
            await asyncio.sleep(REST_S)

    async def _decide(self, seat: Seat) -> None:
        if seat.partition in self._lost:
            return
        try:
            for said in await seat.say(self._clock.now_ms()):
                if self._seats.get(seat.partition) is seat:
                    self._keeper.keep(said.registry)
            self._says.well("the state topic")
        except FencedError:
            # Its new owner, or a worker that has lost it and does not know yet. If the group still gives it to
            # us in a while, it is taken again; the state topic holds what was said meanwhile.
            log.info("partition %d of the panes topic has been taken over", seat.partition)
            self._lost[seat.partition] = self._clock.monotonic_s() + FENCED_S
        except HotshardError as error:
            self._says.waiting("the state topic", error)
            self._lost[seat.partition] = 0.0
        except Exception:
            log.exception("deciding failed; partition %d is taken again from the state", seat.partition)
            self._lost[seat.partition] = 0.0

    def _release(self, seat: Seat) -> None:
        for topic in seat.deciders:
            self._keeper.release(topic)

    async def _take_again(self) -> None:
        """After an unknown outcome the state topic says what stands."""
        now_s = self._clock.monotonic_s()
        for partition in [each for each, from_s in self._lost.items() if from_s <= now_s]:
            seat = self._seats.get(partition)
            try:
                if seat is not None:
                    self._release(seat)
                    await seat.leave()
                    position = await self._take(partition)
                    if self.consumer is not None:
                        await self.consumer.seek_back({TP(self._panes_topic, partition): position})
                self._lost.pop(partition, None)
            except HotshardError as error:
                self._says.waiting("the state topic", error)
                await asyncio.sleep(RETRY_S)

    async def _take(self, partition: int) -> int:
        seat = self._make_seat(partition)
        position = await seat.take(self._names[partition])
        self._seats[partition] = seat
        self._expected[partition] = position
        self._sought[partition] = (position, self._clock.monotonic_s())
        for decider in seat.deciders.values():
            registry = decider.registry_state()
            if registry is not None:
                self._keeper.keep(registry)
        return position
