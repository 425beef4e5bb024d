"""The main job on real Kafka and Redis: a flood is named, split over distinct partitions, and let go."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from hotshard import AsyncRegistry, base_key, describe_skew, partition_key, shard
from hotshard.core.wire.event import EventType, Finding, PlanChange
from tests.support.eventually import eventually
from tests.support.exactness import counted, told
from tests.support.topics import create_topic, read_topic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from hotshard.core.wire.report import WindowReport
    from hotshard.demo.servers import ApacheKafka, RedisServer
    from tests.support.topics import Stored

pytestmark = pytest.mark.integration

PARTITIONS = 12
HOT = partition_key("noisy", "stream")
POLICY = {"hold_s": 3, "off_s": 2, "resize_s": 2}


async def traffic(producer: AIOKafkaProducer, topic: str, *, seconds: float, flood: float, per_s: int = 3000) -> int:
    """200 tenants, and one key with ``flood`` of the load; returns how many records were sent."""
    rng, sent = random.Random(7), 0  # noqa: S311 - nothing is secret here
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        while sent < elapsed * per_s:
            key = HOT if rng.random() < flood else partition_key(f"t{rng.randrange(200)}", f"e{rng.randrange(50)}")
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


async def test_a_flood_is_named_split_over_distinct_partitions_and_let_go(
    install: Install, worker: WorkerProcess
) -> None:
    (topic,) = install.topics
    async with AsyncRegistry(install.redis_url, namespace=install.name) as registry:
        producer = shard(AIOKafkaProducer(bootstrap_servers=install.bootstrap, linger_ms=5), registry)
        await producer.start()
        sent = await traffic(producer, topic, seconds=4, flood=0.0)
        sent += await traffic(producer, topic, seconds=10, flood=0.3)
        assert len(registry.shards_of(topic, HOT)) > 2
        sent += await traffic(producer, topic, seconds=14, flood=0.0)
        await producer.stop()
    found = await told(install)
    detected = next((event.data for event in found if event.type is EventType.HOTKEY_DETECTED), None)
    assert isinstance(detected, Finding), worker.log
    assert detected.key == HOT
    plans = [event.data for event in found if event.type is EventType.PLAN_ACTIVATED]
    assert EventType.PLAN_RETIRED in {event.type for event in found}, worker.log
    await eventually(lambda: _all_counted(install, topic, sent))
    records = await read_topic(install.bootstrap, topic)
    assert len(records) == sent
    assert_spread(plans, records)
    assert_bounds_hold((await counted(install.bootstrap, install.windows, topic)).reports, records)
    assert worker.stop() == 0


def assert_spread(plans: Sequence[object], records: Sequence[Stored]) -> None:
    """Every shard lies where its plan says, which is no other shard's place, and at last no partition stands out."""
    places: dict[bytes, set[int]] = defaultdict(set)
    for plan in plans:
        assert isinstance(plan, PlanChange)
        assert len(set(plan.partitions)) == len(plan.suffixes)
        for suffix, partition in zip(plan.suffixes, plan.partitions, strict=True):
            places[f"{HOT}\x1f{suffix}".encode()].add(partition)
    hot = [each for each in records if base_key(each.key or b"") == HOT.encode()]
    strays = [each for each in hot if each.key != HOT.encode() and {each.partition} != places[each.key or b""]]
    assert strays == []
    ended_ms = max(each.timestamp_ms for each in hot)
    loads = Counter(each.partition for each in records if ended_ms - 3000 < each.timestamp_ms <= ended_ms)
    assert describe_skew(loads).imbalance < 2, "it is 4.3 when nothing is split"


def assert_bounds_hold(reports: Sequence[WindowReport], records: Sequence[Stored]) -> None:
    """Every true count of the ranges of a report is within its bounds, and all above the threshold are listed."""
    by_place = {each[:2]: base_key(each.key or b"").decode() for each in records}
    for report in reports:
        ranges = [(each.partition, offset) for each in report.ranges for offset in range(each.start, each.end)]
        exact = Counter(by_place[place] for place in ranges)
        assert report.guaranteed
        assert report.records == len(ranges)
        assert {key for key, count in exact.items() if count > report.threshold} <= {row.key for row in report.keys}
        assert [row for row in report.keys if not row.lower <= exact[row.key or ""] <= row.upper] == []
    assert any(HOT in {row.key for row in report.keys} for report in reports)


async def _all_counted(install: Install, topic: str, sent: int) -> bool:
    return (await counted(install.bootstrap, install.windows, topic)).records == sent
