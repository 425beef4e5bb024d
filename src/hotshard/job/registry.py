"""Keeping Redis as the state says: written after the transaction, beaten every second, written again when empty.

How often at most, whatever the traffic: :mod:`hotshard.core.pacing`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

from hotshard.core.pacing import Haste, Pacing, haste_of
from hotshard.doors.redis.contract import Beat
from hotshard.errors import HotshardError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hotshard.core.wire.route import TopicState
    from hotshard.doors.redis.contract import RegistryDoor
    from hotshard.job.says import Says

BEAT_S: Final = 1.0
#: Topics of which one call says that they are kept.
BEATS_AT_ONCE: Final = 100
#: The state of a topic given to another worker may be refused this often before the group has told us.
_REFUSALS: Final = 3
_SUBJECT: Final = "Redis"


class RegistryKeeper:
    """Holds the newest state per topic and sees to it that Redis has it. No outage of Redis stops anything.

    ``monotonic_s`` tells the seconds by which writes are paced.
    """

    def __init__(self, door: RegistryDoor, says: Says, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._door = door
        self._says = says
        self._monotonic_s = monotonic_s
        self._pacing = Pacing(BEAT_S)
        self._newest: dict[str, TopicState] = {}
        #: What Redis was given last, or held already; of a topic not asked for yet, the state it was taken with.
        self._told: dict[str, TopicState] = {}
        #: Topics of which it is not known yet whether Redis holds what we were given: most often it does.
        self._unasked: set[str] = set()
        #: Topics of which Redis does not hold what it was told.
        self._lost: set[str] = set()
        #: Topics whose newest state is to be written, and what of it is new.
        self._unwritten: dict[str, Haste] = {}
        #: How often in turn Redis turned out to hold something newer than ours.
        self._refused: Counter[str] = Counter()
        self._beat_at_s = 0.0
        self._wake = asyncio.Event()

    def keep(self, state: TopicState) -> None:
        """From now on Redis is to hold ``state`` for its topic."""
        topic = state.topic
        self._newest[topic] = state
        if topic not in self._told:
            self._told[topic] = state
            self._unasked.add(topic)
        self._line_up(topic)
        self._wake.set()

    def release(self, topic: str) -> None:
        """Another worker keeps this topic from now on."""
        for known in (self._newest, self._told, self._unwritten, self._refused):
            known.pop(topic, None)
        self._unasked.discard(topic)
        self._lost.discard(topic)

    @property
    def behind(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._unwritten)

    async def close(self) -> None:
        await self._door.close()

    async def run(self) -> None:
        """Write and beat until cancelled."""
        while True:
            self._wake.clear()
            trouble = await self._write_and_beat()
            if trouble is None:
                self._says.well(_SUBJECT)
                await self._next()
            else:
                self._says.waiting(_SUBJECT, trouble)
                await asyncio.sleep(BEAT_S)

    async def _write_and_beat(self) -> HotshardError | None:
        """Returns what went wrong; what is refused of one topic does not keep others from being beaten."""
        trouble: HotshardError | None = None
        # What Redis answers to the beat tells what need not be written.
        for step in (self._beat_or_ask, self._write):
            try:
                await step()
            except RefusedError as error:
                trouble = error
            except HotshardError as error:
                return error
        return trouble

    async def _next(self) -> None:
        """Wait for the next beat, for what may be written before, or until something is to be kept."""
        now_s = self._monotonic_s()
        waits = [self._pacing.wait_s(topic, now_s, haste) for topic, haste in self._unwritten.items()]
        try:
            async with asyncio.timeout(max(0.0, min([self._beat_at_s - now_s, *waits]))):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _write(self) -> None:
        """Write what is not written yet and may be written now. A topic that is refused does not hold up the others."""
        refused: RefusedError | None = None
        for topic in self._in_turn():
            try:
                if self._may_write(topic):
                    await self._write_one(topic)
            except RefusedError as error:
                refused = error
        if refused is not None:
            raise refused

    def _in_turn(self) -> list[str]:
        """What is unwritten: in order of haste, and of the same haste first what has waited longest."""
        return sorted(
            self._unwritten, key=lambda topic: (self._unwritten[topic], self._pacing.published_s(topic), topic)
        )

    def _may_write(self, topic: str) -> bool:
        """Whether it is (still) unwritten, and its turn has come."""
        haste = self._unwritten.get(topic)
        return haste is not None and not self._pacing.wait_s(topic, self._monotonic_s(), haste) > 0

    async def _write_one(self, topic: str) -> None:
        """Write the newest state of a topic."""
        state, haste, lost = self._newest[topic], self._unwritten[topic], topic in self._lost
        self._pacing.published(topic, self._monotonic_s(), haste)
        written = await self._door.publish(state)
        if not written:
            self._pacing.not_written(haste)
        newest = self._newest.get(topic)
        if newest is None:
            return
        self._holds(topic, state)
        if written:
            self._at_one(topic)
        elif lost and newest is state:
            self._overtaken(topic)

    def _holds(self, topic: str, state: TopicState) -> None:
        """Redis holds this state, or a newer one."""
        self._told[topic] = state
        self._unasked.discard(topic)
        self._lost.discard(topic)
        self._line_up(topic)

    def _line_up(self, topic: str) -> None:
        """Tell what of the newest state is to be written, if anything."""
        told, newest = self._told[topic], self._newest[topic]
        if topic in self._lost or topic in self._unasked:
            self._unwritten[topic] = min(Haste.WHOLE, haste_of(told, newest))
        elif newest is told:
            self._unwritten.pop(topic, None)
        else:
            self._unwritten[topic] = haste_of(told, newest)

    async def _beat_or_ask(self) -> None:
        if self._monotonic_s() >= self._beat_at_s:
            self._beat_at_s = self._monotonic_s() + BEAT_S
            await self._beat()
        elif self._unasked:
            await self._beat_of(sorted(self._unasked))

    async def _beat(self) -> None:
        """Say of all topics that they are kept."""
        await self._beat_of(tuple(self._told))

    async def _beat_of(self, topics: Iterable[str]) -> None:
        """Say of these topics that they are kept, many in one round trip, and hear which of them Redis holds."""
        told = ((topic, self._told[topic]) for topic in topics if topic in self._told)
        while some := tuple(islice(told, BEATS_AT_ONCE)):
            beats = [Beat(topic, state.epoch, state.version) for topic, state in some]
            for (topic, state), held in zip(some, await self._door.beats(beats), strict=True):
                if self._told.get(topic) is state:  # neither released nor written anew meanwhile
                    self._answered(topic, state, held=held)

    def _answered(self, topic: str, state: TopicState, *, held: bool) -> None:
        if held:
            self._holds(topic, state)
            self._at_one(topic)
        else:
            self._unasked.discard(topic)
            self._lost.add(topic)
            self._line_up(topic)

    def _at_one(self, topic: str) -> None:
        if self._refused.pop(topic, 0) >= _REFUSALS:
            self._says.well(_registry_of(topic))

    def _overtaken(self, topic: str) -> None:
        """Redis holds a newer state: the topic's next owner has written it, or another detector has."""
        self._refused[topic] += 1
        if self._refused[topic] >= _REFUSALS:
            self._says.waiting(
                _registry_of(topic), "Redis holds a newer state than this worker; give each detector a namespace"
            )


def _registry_of(topic: str) -> str:
    return f"the registry of topic {topic}"
