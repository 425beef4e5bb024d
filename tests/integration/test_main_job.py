"""The main job on real Kafka and Redis: a flood is named, split over distinct partitions, and let go."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from hotshard import AsyncRegistry, partition_key, shard
from hotshard.core.wire.event import Event, EventType
from tests.support.eventually import eventually
from tests.support.exactness import counted
from tests.support.topics import create_topic, read_topic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS = 12
POLICY = {"hold_s": 3, "off_s": 2, "resize_s": 2}


async def traffic(producer: AIOKafkaProducer, topic: str, *, seconds: float, flood: float, per_s: int = 3000) -> int:
    """200 tenants, and one key with ``flood`` of the load; returns how many records were sent."""
    hot, rng, sent = partition_key("noisy", "stream"), random.Random(7), 0
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        while sent < elapsed * per_s:
            key = hot if rng.random() < flood else partition_key(f"t{rng.randrange(200)}", f"e{rng.randrange(50)}")
            await producer.send(topic, key=key.encode(), value=b"x" * 20)
            sent += 1
        await asyncio.sleep(0.01)
    await producer.flush()
    return sent


@pytest.fixture
async def install(kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path) -> Install:
    await create_topic(kafka.bootstrap, fresh_topic_name, PARTITIONS)
    return Install(
        tmp_path,
        kafka.bootstrap,
        redis_server.url,
        f"{fresh_topic_name}-hs",
        {fresh_topic_name: {"ordering": "none", "mode": "active", **POLICY}},
        {"window_s": 2, "grace_s": 5},
    )


@pytest.fixture
async def worker(install: Install) -> AsyncIterator[WorkerProcess]:
    process = WorkerProcess(install)
    process.start()
    await process.assigned()
    yield process
    process.end()


async def events(install: Install) -> list[Event]:
    return [
        msgspec.json.decode(record.value or b"", type=Event)
        for record in await read_topic(install.bootstrap, install.events, committed=True)
    ]


async def test_a_flood_is_named_split_over_distinct_partitions_and_let_go(
    install: Install, worker: WorkerProcess
) -> None:
    (topic,) = install.topics
    async with AsyncRegistry(install.redis_url, namespace=install.name) as registry:
        producer = shard(AIOKafkaProducer(bootstrap_servers=install.bootstrap, linger_ms=5), registry)
        await producer.start()
        sent = await traffic(producer, topic, seconds=4, flood=0.0)
        sent += await traffic(producer, topic, seconds=10, flood=0.3)
        routed = registry.shards_of(topic, partition_key("noisy", "stream"))
        sent += await traffic(producer, topic, seconds=14, flood=0.0)
        await producer.stop()
    told = await events(install)
    kinds = [event.type for event in told]
    assert EventType.HOTKEY_DETECTED in kinds, worker.log
    assert EventType.PLAN_ACTIVATED in kinds, worker.log
    assert len(routed) > 2
    assert EventType.PLAN_RETIRED in kinds, worker.log
    detected = next(event.data for event in told if event.type is EventType.HOTKEY_DETECTED)
    assert detected.key == partition_key("noisy", "stream")
    total = await eventually(lambda: _all_counted(install, topic, sent), within_s=30)
    assert total == sent
    assert worker.stop() == 0


async def _all_counted(install: Install, topic: str, sent: int) -> int:
    found = await counted(install.bootstrap, install.windows, topic)
    return found.records if found.records >= sent else 0
