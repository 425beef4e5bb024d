"""The main job on real Kafka and Redis: a flood is named, split over distinct partitions, and let go."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest

from hotshard import AsyncRegistry, base_key, describe_skew
from hotshard.core.wire.event import EventType, Finding, PlanChange
from tests.support.eventually import eventually
from tests.support.exactness import counted, told
from tests.support.topics import create_topic, read_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from hotshard.core.wire.report import WindowReport
    from hotshard.demo.servers import ApacheKafka, RedisServer
    from tests.support.topics import Stored

pytestmark = pytest.mark.integration

PARTITIONS = 12
PER_S = 2000
#: The hot key's part of the load, while it is hot.
FLOOD = 0.3
POLICY = {"hold_s": 3, "off_s": 2, "resize_s": 2}


@pytest.fixture
async def install(kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path) -> Install:
    await create_topic(kafka.bootstrap, fresh_topic_name, PARTITIONS)
    return Install(
        tmp_path,
        kafka.bootstrap,
        redis_server.url,
        f"{fresh_topic_name}-hs",
        {fresh_topic_name: {"ordering": "none", "mode": "active", **POLICY}},
        {"window_s": 2, "grace_s": 2},
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
    async with (
        AsyncRegistry(install.redis_url, namespace=install.name) as registry,
        Traffic(install.bootstrap, topic, per_s=PER_S, registry=registry) as traffic,
    ):
        await eventually(lambda: traffic.acked > 2 * PER_S)
        traffic.flood = FLOOD
        await eventually(lambda: len(registry.shards_of(topic, HOT)) > 2)
        traffic.places.clear()
        await eventually(lambda: traffic.places.total() > 7 * FLOOD * PER_S)
        traffic.flood = 0.0
        await eventually(lambda: _is_let_go(install))
        sent = await traffic.stop()
    found = await told(install)
    detected = next((event.data for event in found if event.type is EventType.HOTKEY_DETECTED), None)
    assert isinstance(detected, Finding), worker.log
    assert detected.key == HOT
    plans = [event.data for event in found if event.type is EventType.PLAN_ACTIVATED]
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


async def _is_let_go(install: Install) -> bool:
    return EventType.PLAN_RETIRED in {event.type for event in await told(install)}


async def _all_counted(install: Install, topic: str, sent: int) -> bool:
    return (await counted(install.bootstrap, install.windows, topic)).records == sent
