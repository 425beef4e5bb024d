"""The registry in this process: the same semantics as in Redis, for tests, the users' own included.

One :class:`MemoryRegistry` stands for a Redis. Threads and event loops may share it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hotshard.core.wire.command import Page, read_id, write_command
from hotshard.core.wire.names import key_text
from hotshard.core.wire.route import Epoch, Route, RouteState, TopicState
from hotshard.doors.clock import Clock, SystemClock
from hotshard.doors.redis import entries
from hotshard.doors.redis.commands import FIELD, read_entry
from hotshard.doors.redis.store import Store

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hotshard.core.wire.command import Command, StreamId
    from hotshard.core.wire.route import HotEntry
    from hotshard.doors.redis.contract import Beat, Desk, RawChange, RawHash, RawSnapshot


class MemoryRegistry:
    """The detector's door, a person's door, and a source of readers, all on one registry in memory.

    In a user's test it stands for the address of a Redis: ``Registry(MemoryRegistry())``.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.store = Store(self._clock)

    async def publish(self, state: TopicState) -> bool:
        return self.store.publish(state)

    async def beat(self, topic: str, epoch: int, version: int) -> bool:
        return self.store.beat(topic, epoch, version)

    async def beats(self, beats: Sequence[Beat]) -> tuple[bool, ...]:
        return tuple(self.store.beat(*each) for each in beats)

    async def commands(self, after: StreamId, limit: int = 100) -> Page:
        newest, found = self.store.commands_after(str(after).encode(), limit)
        return Page(read_id(newest), tuple(read_entry(*change) for change in found))

    async def command(self, command: Command) -> StreamId:
        return read_id(self.store.add_command({FIELD: write_command(command)}))

    async def hot(self, topic: str) -> tuple[HotEntry, ...]:
        return entries.readable_hot(topic, self.store.hot(topic))

    async def desk(self, topics: Collection[str] | None = None) -> Desk:
        return self.store.desk(topics)

    async def close(self) -> None:
        """Nothing is held that would have to be given back."""

    def reader(self) -> MemoryReader:
        """A reader for one task."""
        return MemoryReader(self.store)

    def blocking_reader(self) -> MemoryBlockingReader:
        """A reader for one thread."""
        return MemoryBlockingReader(self.store)

    def split(self, topic: str, key: str | bytes, suffixes: Sequence[str]) -> Route:
        """Put an active split of ``key`` over ``suffixes`` into the registry, as a detector would; for tests.

        Without suffixes the split is taken back. Ordering is ``none``.
        """
        base = key.encode() if isinstance(key, str) else key
        text, b64 = key_text(base)
        snapshot = self.store.snapshot((topic,))
        held = entries.read_mark(snapshot.meta or {}, topic)
        epoch, version = (held.epoch, held.version + 1) if held is not None else (1, 1)
        now_ms = self._clock.now_ms()
        route = Route(
            topic=topic,
            key=text,
            key_b64=b64,
            state=RouteState.ACTIVE if suffixes else RouteState.RETIRED,
            epoch=Epoch(registry=epoch, offset=version),
            suffixes=tuple(suffixes),
            partitions=tuple(range(len(suffixes))),
            partition_count=max(1, len(suffixes)),
            partitioner="murmur2",
            since_ms=now_ms,
            changed_ms=now_ms,
            reason="test",
        )
        fields = snapshot.routes[topic] or {}
        others = (entries.read_route(topic, field, value) for field, value in fields.items() if field != base)
        self.store.publish(TopicState(topic=topic, epoch=epoch, version=version, at_ms=now_ms, routes=(*others, route)))
        return route


class MemoryReader:
    """:class:`~hotshard.doors.redis.contract.RegistryReader` on a registry in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def snapshot(self, topics: Collection[str] | None) -> RawSnapshot:
        return self._store.snapshot(topics)

    async def changes(self, after: bytes, wait_s: float) -> list[RawChange]:
        with self._store.watching() as changed:
            if found := self._store.later(after):
                return found
            try:
                async with asyncio.timeout(wait_s):
                    await changed.wait()
            except TimeoutError:
                return []
        return self._store.later(after)

    async def meta(self, topics: Collection[str] | None) -> RawHash:
        del topics  # all of it contains their part
        return self._store.meta()

    async def reset(self) -> None:
        """No connection is held."""


class MemoryBlockingReader:
    """:class:`~hotshard.doors.redis.contract.BlockingReader` on a registry in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ended = False

    def snapshot(self, topics: Collection[str] | None) -> RawSnapshot:
        return self._store.snapshot(topics)

    def changes(self, after: bytes, wait_s: float) -> list[RawChange]:
        return self._store.wait_later(after, wait_s, lambda: self._ended)

    def meta(self, topics: Collection[str] | None) -> RawHash:
        del topics  # all of it contains their part
        return self._store.meta()

    def reset(self) -> None:
        """No connection is held."""

    def interrupt(self) -> None:
        self._ended = True
        self._store.wake()
