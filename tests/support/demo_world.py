"""A world in memory for the demo's stage: a topic, producers that route, and a detector that looks at the topic."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from hotshard.core.keys import base_key, with_suffix
from hotshard.core.partitioners import partition_of
from hotshard.core.topic import Mode, Ordering
from hotshard.core.wire.names import key_text
from hotshard.core.wire.route import Epoch, HotEntry, HotKind, Route, RouteState, TopicState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from hotshard.client.tasks import AsyncRegistry
    from hotshard.doors.redis.memory import MemoryRegistry

TOPIC = "orders"


class Record(NamedTuple):
    partition: int
    key: bytes
    timestamp: int


class MemoryTopic:
    """Partitioned as Kafka would; read once."""

    def __init__(self, partitions: int, registry: AsyncRegistry) -> None:
        self._place = partition_of("murmur2", partitions)
        self._registry = registry
        self._news: dict[int, list[Record]] = defaultdict(list)
        self.seen: defaultdict[bytes, int] = defaultdict(int)

    async def send(self, topic: str, value: bytes, *, key: bytes) -> Awaitable[object]:
        assert topic == TOPIC
        assert value
        routed = self._registry.route(topic, key).key
        self._news[self._place(routed)].append(Record(self._place(routed), routed, time.time_ns() // 1_000_000))
        self.seen[base_key(routed)] += 1
        delivery = asyncio.get_running_loop().create_future()
        delivery.set_result(None)
        return delivery

    async def getmany(self, *, timeout_ms: int) -> Mapping[Any, Sequence[Any]]:
        await asyncio.sleep(min(0.005, timeout_ms / 1000))
        news, self._news = self._news, defaultdict(list)
        return news


class MemoryDetector:
    """Stands for a worker: names one key while it is sent often, and splits it when the mode is active."""

    def __init__(self, topic: MemoryTopic, registry: MemoryRegistry, key: bytes, partitions: int) -> None:
        self._topic = topic
        self._registry = registry
        self._key = key
        place = partition_of("murmur2", partitions)
        self._suffixes = {place(with_suffix(key, str(n))): str(n) for n in range(500)}
        self._versions = count(1)
        self._task: asyncio.Task[None] | None = None
        self.modes: list[Mode] = []

    async def start(self, mode: Mode) -> None:
        assert self._task is None
        self.modes.append(mode)
        self._task = asyncio.create_task(self._detect(mode))

    async def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def _detect(self, mode: Mode) -> None:
        hot, before = False, self._topic.seen[self._key]
        while True:
            await asyncio.sleep(0.05)
            now = self._topic.seen[self._key]
            if (now > before) is not hot:
                hot = now > before
                await self._registry.publish(self._state(mode, hot=hot))
            before = now

    def _state(self, mode: Mode, *, hot: bool) -> TopicState:
        now_ms, version = time.time_ns() // 1_000_000, next(self._versions)
        text, b64 = key_text(self._key)
        entry = HotEntry(
            topic=TOPIC,
            kind=HotKind.KEY,
            key=text,
            key_b64=b64,
            since_ms=now_ms,
            share=0.5,
            lower=1,
            upper=9,
            load_per_s=9.0,
        )
        state = RouteState.RETIRED if not hot else RouteState.ACTIVE if mode is Mode.ACTIVE else RouteState.PROPOSED
        places = sorted(self._suffixes) if hot else []
        route = Route(
            topic=TOPIC,
            key=text,
            key_b64=b64,
            state=state,
            epoch=Epoch(registry=1, offset=version),
            suffixes=tuple(self._suffixes[place] for place in places),
            partitions=tuple(places),
            partition_count=len(self._suffixes),
            partitioner="murmur2",
            ordering=Ordering.NONE,
            since_ms=now_ms,
            changed_ms=now_ms,
        )
        return TopicState(
            topic=TOPIC, epoch=1, version=version, at_ms=now_ms, routes=(route,), hot=(entry,) if hot else ()
        )
