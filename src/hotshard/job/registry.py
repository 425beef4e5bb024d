"""Keeping Redis as the state says: written after the transaction, beaten every second, written again when empty."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from hotshard.errors import HotshardError

if TYPE_CHECKING:
    from hotshard.core.wire.route import TopicState
    from hotshard.doors.redis.contract import RegistryDoor
    from hotshard.job.says import Says

BEAT_S: Final = 1.0
_SUBJECT: Final = "Redis"


class RegistryKeeper:
    """Holds the newest state per topic and sees to it that Redis has it. No outage of Redis stops anything."""

    def __init__(self, door: RegistryDoor, says: Says) -> None:
        self._door = door
        self._says = says
        self._newest: dict[str, TopicState] = {}
        self._unwritten: set[str] = set()
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

    @property
    def behind(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._unwritten)

    async def close(self) -> None:
        await self._door.close()

    async def run(self) -> None:
        """Write and beat until cancelled."""
        while True:
            try:
                await self._write()
                await self._beat()
                self._says.well(_SUBJECT)
            except HotshardError as error:
                self._says.waiting(_SUBJECT, error)
                await asyncio.sleep(BEAT_S)
            await self._next_beat()

    async def _next_beat(self) -> None:
        try:
            async with asyncio.timeout(BEAT_S):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _write(self) -> None:
        for topic in tuple(self._unwritten):
            state = self._newest.get(topic)
            if state is None:
                self._unwritten.discard(topic)
                continue
            await self._door.publish(state)
            if self._newest.get(topic) is state:
                self._unwritten.discard(topic)

    async def _beat(self) -> None:
        for topic, state in tuple(self._newest.items()):
            if topic in self._unwritten:
                continue
            if not await self._door.beat(topic, state.epoch, state.version):
                self._unwritten.add(topic)
                self._wake.set()
