"""Keeping Redis as the state says: written after the transaction, beaten every second, written again when empty."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from hotshard.errors import HotshardError, RefusedError

if TYPE_CHECKING:
    from hotshard.core.wire.route import TopicState
    from hotshard.doors.redis.contract import RegistryDoor
    from hotshard.job.says import Says

BEAT_S: Final = 1.0
#: The state of a topic given to another worker may be refused this often before the group has told us.
_REFUSALS: Final = 3
_SUBJECT: Final = "Redis"


class RegistryKeeper:
    """Holds the newest state per topic and sees to it that Redis has it. No outage of Redis stops anything."""

    def __init__(self, door: RegistryDoor, says: Says) -> None:
        self._door = door
        self._says = says
        self._newest: dict[str, TopicState] = {}
        self._unwritten: set[str] = set()
        #: How often in turn Redis turned out to hold something newer than ours.
        self._refused: Counter[str] = Counter()
        self._wake = asyncio.Event()

    def keep(self, state: TopicState) -> None:
        """From now on Redis is to hold ``state`` for its topic."""
        self._newest[state.topic] = state
        self._unwritten.add(state.topic)
        self._wake.set()

    def release(self, topic: str) -> None:
        """Another worker keeps this topic from now on."""
        self._newest.pop(topic, None)
        self._unwritten.discard(topic)
        self._refused.pop(topic, None)

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
                await self._next_beat()
            else:
                self._says.waiting(_SUBJECT, trouble)
                await asyncio.sleep(BEAT_S)

    async def _write_and_beat(self) -> HotshardError | None:
        """Returns what went wrong; what is refused of one topic does not keep others from being beaten."""
        trouble: HotshardError | None = None
        for step in (self._write, self._beat):
            try:
                await step()
            except RefusedError as error:
                trouble = error
            except HotshardError as error:
                return error
        return trouble

    async def _next_beat(self) -> None:
        try:
            async with asyncio.timeout(BEAT_S):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _write(self) -> None:
        """Write what is not written yet. A topic that is refused does not hold up the others."""
        refused: RefusedError | None = None
        for topic in sorted(self._unwritten):
            try:
                await self._write_one(topic)
            except RefusedError as error:
                refused = error
        if refused is not None:
            raise refused

    async def _write_one(self, topic: str) -> bool:
        """Write the newest state of a topic; False when Redis already holds as new a one, or a newer one."""
        state = self._newest.get(topic)
        written = state is not None and await self._door.publish(state)
        if self._newest.get(topic) is state:
            self._unwritten.discard(topic)
        return written

    async def _beat(self) -> None:
        for topic, state in tuple(self._newest.items()):
            if topic in self._unwritten or self._newest.get(topic) is not state:
                continue
            if await self._door.beat(topic, state.epoch, state.version) or await self._write_one(topic):
                self._at_one(topic)
            elif self._newest.get(topic) is state:
                self._overtaken(topic)

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
