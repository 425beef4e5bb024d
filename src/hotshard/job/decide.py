"""Deciding: the seats this worker holds hear the panes topic, and say what their deciders decide.

No rule lives here. An outage is waited for; a seat in doubt is taken again from the state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from faust.types import TP

from hotshard.core.partitioners import partition_of
from hotshard.errors import FencedError, HotshardError
from hotshard.job.resting import rest_s
from hotshard.report.told import event_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hotshard.core.deciding.decider import TopicDecider
    from hotshard.doors.clock import Clock
    from hotshard.job.registry import RegistryKeeper
    from hotshard.job.says import Says
    from hotshard.job.seat import Seat

log = logging.getLogger("hotshard.decide")

#: Deciders are asked this often when nothing is heard.
TICK_S: Final = 0.25
RETRY_S: Final = 1.0
#: A seat that was taken over is given back by the group within this time, or taken away.
FENCED_S: Final = 2.0
#: A rebalance is not held up longer than this for the connections of seats that are left.
LEAVE_S: Final = 1.0
#: So often a message that does not come is sought.
MAX_SEEKS: Final = 5
_STATE: Final = "the state topic"
_PANES: Final = "the panes topic"


class PanesConsumer(Protocol):
    """What deciding asks of the consumer that feeds it: after it returns, nothing is heard from before the seek."""

    async def seek_back(self, offsets: Mapping[TP, int]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seating:
    """The panes topic, which topics are decided on, and how a seat for one of its partitions is made."""

    panes_topic: str
    partitions: int
    topics: Collection[str]
    make_seat: Callable[[int], Seat]

    def names(self, partition: int) -> tuple[str, ...]:
        """The topics whose messages are on a partition of the panes topic."""
        place = partition_of("murmur2", self.partitions)
        return tuple(name for name in sorted(self.topics) if place(name.encode()) == partition)


class Deciding:
    """The seats of this worker."""

    def __init__(self, seating: Seating, *, keeper: RegistryKeeper, clock: Clock, says: Says) -> None:
        self._seating = seating
        self._keeper = keeper
        self._clock = clock
        self._says = says
        self._seats: dict[int, Seat] = {}
        #: The message each seat hears next, and how often it was sought.
        self._expected: dict[int, int] = {}
        self._sought: dict[int, int] = {}
        #: Seats that heard a later message than that, and those that heard an earlier one.
        self._to_seek: set[int] = set()
        self._to_check: set[int] = set()
        #: Seats in doubt, and when they may be taken again; and those whose messages begin anew.
        self._lost: dict[int, float] = {}
        self._anew: set[int] = set()
        self._heard = asyncio.Event()
        self.consumer: PanesConsumer | None = None

    # -- what the consumer group says ------------------------------------------------------------

    async def assigned(self, places: Collection[TP]) -> Mapping[TP, int]:
        """Take the seats of these partitions; returns where each is heard from."""
        await self.revoked()
        ours = [place for place in places if place.topic == self._seating.panes_topic]
        return {place: self._sit(*await self._taken(place.partition)) for place in ours}

    async def revoked(self) -> None:
        """Leave all seats; Kafka fences what might still be said for them."""
        seats, self._seats = self._seats, {}
        for places in (self._to_seek, self._to_check, self._anew):
            places.clear()
        for known in (self._expected, self._sought, self._lost):
            known.clear()
        for seat in seats.values():
            self._release(seat)
        await self._leave(*seats.values())

    # -- what the agent says ---------------------------------------------------------------------

    def hear(self, partition: int, offset: int, value: bytes | None) -> None:
        """Hear one message. One that does not follow on is not heard: it is sought again first."""
        seat = self._seats.get(partition)
        if seat is None or partition in self._lost or not self._follows(partition, offset):
            return
        self._expected[partition] = offset + 1
        seat.hear(value, offset, self._clock.now_ms())
        self._heard.set()

    def _follows(self, partition: int, offset: int) -> bool:
        """Whether this is the message to be heard next; if not, what is to be done is seen to in the next round.

        The panes topic has no holes, so one in between was dropped on its way, or is deleted. An earlier
        one was heard before, or the topic was made again.
        """
        expected = self._expected[partition]
        if offset == expected:
            self._sought.pop(partition, None)
            return True
        if offset < expected:
            self._to_check.add(partition)
            return False
        if self._sought.get(partition, 0) >= MAX_SEEKS:
            self._tell_gone(partition, expected, offset)
            return True
        self._to_seek.add(partition)
        return False

    # -- what people command ---------------------------------------------------------------------

    def speaking(self) -> tuple[TopicDecider, ...]:
        """The deciders of the seats that are held and not in doubt."""
        held = (seat for partition, seat in self._seats.items() if partition not in self._lost)
        return tuple(decider for seat in held for decider in seat.deciders.values() if decider.caught_up)

    def renew(self, topics: Collection[str]) -> None:
        """Make the deciders of these topics anew, from the state: what they were made with has changed."""
        for seat in self._seats.values():
            if not seat.deciders.keys().isdisjoint(topics):
                self._doubt(seat, 0.0)
        self._heard.set()

    def look(self) -> None:
        """Decide soon: something was heard."""
        self._heard.set()

    # -- what is done all the while --------------------------------------------------------------

    async def decide_forever(self) -> None:
        """Decide and say until cancelled."""
        while True:
            await self._something_heard()
            await self.decide_once()
            await asyncio.sleep(rest_s(sum(seat.took_s for seat in self._seats.values())))

    async def decide_once(self) -> None:
        """One round: let every seat say what it has to, take again those in doubt, seek what was missed."""
        for seat in tuple(self._seats.values()):
            if self._holds(seat) and seat.partition not in self._lost:
                await self._decide(seat)
        now_s = self._clock.monotonic_s()
        for partition in [each for each, from_s in self._lost.items() if from_s <= now_s]:
            if partition in self._seats:
                await self._take_again(self._seats[partition])
        await self._put_in_order()

    async def _something_heard(self) -> None:
        try:
            async with asyncio.timeout(TICK_S):
                await self._heard.wait()
        except TimeoutError:
            pass
        self._heard.clear()

    async def _decide(self, seat: Seat) -> None:
        try:
            said = await seat.say(self._clock.now_ms())
        except FencedError:
            # By its new owner, or by a worker that has lost it and does not know yet. If the group still gives it
            # to us in a while, it is taken again; the state topic holds what was said meanwhile.
            log.info("partition %d of the panes topic has been taken over", seat.partition)
            self._doubt(seat, FENCED_S)
        except HotshardError as error:
            self._says.waiting(_STATE, error)
            self._doubt(seat, 0.0)
        except Exception as fault:  # noqa: BLE001 - no fault of ours ends the worker
            self._says.failed(f"deciding failed; partition {seat.partition} is taken again from the state", fault)
            self._doubt(seat, RETRY_S)
        else:
            if said:
                self._says.well(_STATE)
            for told in (event for one in said for event in one.events):
                log.info("%s", event_line(told))
            if self._holds(seat):
                for one in said:
                    self._keeper.keep(one.registry)

    def _holds(self, seat: Seat) -> bool:
        """Whether the seat is still ours: while we wait, the group may take it away, and give it again."""
        return self._seats.get(seat.partition) is seat

    def _doubt(self, seat: Seat, wait_s: float) -> None:
        """After an unknown outcome the state topic says what stands."""
        if self._holds(seat):
            self._lost[seat.partition] = self._clock.monotonic_s() + wait_s

    # -- seats -----------------------------------------------------------------------------------

    async def _take_again(self, old: Seat) -> None:
        partition = old.partition
        try:
            self._release(old)
            await self._leave(old)
            if not self._holds(old):
                return
            seat, position = await self._taken(partition)
            if not self._holds(old):
                await self._leave(seat)
                return
            self._seats[partition] = seat
            if self.consumer is not None:
                await self.consumer.seek_back({TP(self._seating.panes_topic, partition): position})
            self._says.well(_STATE)
            if self._holds(seat):
                self._sit(seat, position)
        except HotshardError as error:
            self._says.waiting(_STATE, error)
            self._put_off(partition)
        except Exception as fault:  # noqa: BLE001 - no fault of ours ends the worker, or keeps other seats waiting
            self._says.failed(f"partition {partition} could not be taken again from the state", fault)
            self._put_off(partition)

    def _put_off(self, partition: int) -> None:
        if partition in self._lost:
            self._lost[partition] = self._clock.monotonic_s() + RETRY_S

    async def _taken(self, partition: int) -> tuple[Seat, int]:
        """A seat that holds its transactional id and knows the state, and where it is to be heard from."""
        seat = self._seating.make_seat(partition)
        seat.begins_anew = partition in self._anew
        try:
            return seat, await seat.take(self._seating.names(partition))
        except BaseException:
            await self._leave(seat)
            raise

    def _sit(self, seat: Seat, position: int) -> int:
        """From now on the seat is ours, and is heard from ``position``, which has been sought."""
        self._seats[seat.partition] = seat
        self._expected[seat.partition] = position
        self._sought.pop(seat.partition, None)
        self._to_seek.discard(seat.partition)
        self._to_check.discard(seat.partition)
        self._anew.discard(seat.partition)
        self._lost.pop(seat.partition, None)
        for decider in seat.deciders.values():
            registry = decider.registry_state()
            if registry is not None:
                self._keeper.keep(registry)
        return position

    async def _put_in_order(self) -> None:
        """See to the seats that heard a message which does not follow on."""
        for partition in sorted(self._to_seek | self._to_check):
            seat = self._seats.get(partition)
            try:
                if seat is not None and partition not in self._lost:
                    await self._look(seat)
            except HotshardError as error:
                self._says.waiting(_PANES, error)
                return
            self._to_seek.discard(partition)
            self._to_check.discard(partition)

    async def _look(self, seat: Seat) -> None:
        held, partition = await seat.reach(), seat.partition
        self._says.well(_PANES)
        if not self._holds(seat):
            return
        if partition in self._to_check and held.stop < self._expected[partition]:
            log.warning("panes topic, partition %d: it was made again, or has lost what was read of it", partition)
            self._anew.add(partition)
            self._doubt(seat, 0.0)
        elif partition in self._to_seek:
            await self._seek(seat, held.start)

    async def _seek(self, seat: Seat, first: int) -> None:
        """Read again from the message that should have come, or from the first that there still is."""
        partition = seat.partition
        if first > self._expected[partition]:
            self._tell_gone(partition, self._expected[partition], first)
            seat.passed(first)
            self._expected[partition] = first
        if self.consumer is not None:
            await self.consumer.seek_back({TP(self._seating.panes_topic, partition): self._expected[partition]})
        self._sought[partition] = self._sought.get(partition, 0) + 1

    def _tell_gone(self, partition: int, start: int, end: int) -> None:
        log.warning("panes topic, partition %d: messages %d to %d are gone", partition, start, end - 1)

    def _release(self, seat: Seat) -> None:
        for topic in seat.deciders:
            self._keeper.release(topic)

    async def _leave(self, *seats: Seat) -> None:
        with contextlib.suppress(TimeoutError, HotshardError):
            async with asyncio.timeout(LEAVE_S):
                await asyncio.gather(*(seat.leave() for seat in seats))
