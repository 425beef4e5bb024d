"""What stands in the registry for the demo's topic, and since when."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from hotshard.core.wire.route import HotKind
from hotshard.doors.redis import entries
from hotshard.errors import HotshardError, WireError

if TYPE_CHECKING:
    from hotshard.core.wire.route import HotEntry, Route
    from hotshard.doors.clock import Clock
    from hotshard.doors.redis.contract import CommandDoor, RawHash, RegistryReader

_WAIT_S: Final = 1.0
_RETRY_S: Final = 0.2


class RegistryWatch:
    """Follows the log of the registry and looks at the entries after each change of the topic."""

    def __init__(self, reader: RegistryReader, door: CommandDoor, topic: str, clock: Clock) -> None:
        self._reader = reader
        self._door = door
        self._topic = topic
        self._clock = clock
        self._ahead_ms = 0.0
        self._entered: list[tuple[bytes, int]] = []
        #: Hot keys, and routes, as they stand now.
        self.hot: dict[bytes, HotEntry] = {}
        self.routes: dict[bytes, Route] = {}

    async def run(self) -> None:
        """Follow until cancelled; an outage is waited for."""
        after: bytes | None = None
        while True:
            try:
                after = await self._begin() if after is None else await self._follow(after)
            except HotshardError:
                after = None
                await self._reader.reset()
                await asyncio.sleep(_RETRY_S)

    def entered_ms(self, name: bytes, since_ms: int) -> int | None:
        """When a hot key was first entered at or after ``since_ms``, by our clock; None when it was not."""
        return min((at_ms for entered, at_ms in self._entered if entered == name and at_ms >= since_ms), default=None)

    async def _begin(self) -> bytes:
        asked_ms = self._clock.now_ms()
        snapshot = await self._reader.snapshot((self._topic,))
        self._ahead_ms = ahead_ms(snapshot.now_ms, asked_ms, self._clock.now_ms())
        self._take_routes(snapshot.routes[self._topic])
        await self._take_hot(self._clock.now_ms())
        return snapshot.last_id

    async def _follow(self, after: bytes) -> bytes:
        for entry_id, fields in await self._reader.changes(after, _WAIT_S):
            after = entry_id
            with contextlib.suppress(WireError):
                change = entries.read_change(fields)
                if change.topic == self._topic:
                    await self._changed(change)
        return after

    async def _changed(self, change: entries.Change) -> None:
        if change.hot:
            await self._take_hot(self._local_ms(change.at_ms))
        if change.routes or change.reread:
            snapshot = await self._reader.snapshot((self._topic,))
            self._take_routes(snapshot.routes[self._topic])

    async def _take_hot(self, at_ms: int) -> None:
        found = await self._door.hot(self._topic)
        before, self.hot = self.hot, {entry.name: entry for entry in found if entry.kind is HotKind.KEY}
        self._entered += [(name, at_ms) for name in self.hot if name not in before]

    def _take_routes(self, fields: RawHash) -> None:
        self.routes = {}
        for field, value in (fields or {}).items():
            with contextlib.suppress(WireError):
                self.routes[field] = entries.read_route(self._topic, field, value)

    def _local_ms(self, redis_ms: int) -> int:
        return round(redis_ms - self._ahead_ms)


def ahead_ms(theirs_ms: int, asked_ms: int, answered_ms: int) -> float:
    """How far another clock is ahead of ours; 0 where what it said between two moments of ours fits to ours."""
    if asked_ms - 1 <= theirs_ms <= answered_ms + 1:
        return 0.0
    return theirs_ms - (asked_ms + answered_ms) / 2


async def heard_ms(reader: RegistryReader, topic: str) -> tuple[int | None, int]:
    """When the detector of ``topic`` was last heard of, None for never, and what time it is: Redis' clock (ms).

    Raises:
        UnavailableError, RefusedError: Redis does not answer.

    """
    snapshot = await reader.snapshot((topic,))
    try:
        mark = entries.read_mark(snapshot.meta or {}, topic)
    except WireError:
        mark = None
    return (None if mark is None else mark.at_ms), snapshot.now_ms
