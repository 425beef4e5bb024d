"""Several sources, of other partition counts than production's, are one topic to whoever decides."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest

from hotshard import AsyncRegistry
from hotshard.core.partitioners import partition_of
from tests.support.eventually import eventually
from tests.support.exactness import counted, told
from tests.support.topics import create_topic, read_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.core.wire.report import WindowReport
    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PRODUCTION: Final = 12


async def test_two_mirrors_of_a_topic_are_counted_together_by_the_partitions_of_production(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic, sources = fresh_topic_name, [f"dc1.{fresh_topic_name}", f"dc2.{fresh_topic_name}"]
    for source, partitions in zip(sources, (3, 2), strict=True):
        await create_topic(kafka.bootstrap, source, partitions)
    production = {"partitions": PRODUCTION, "partitions_from": "computed"}
    topics = {topic: {"sources": sources, **production, "ordering": "none", "mode": "active"}}
    install = Install(tmp_path, kafka.bootstrap, redis_server.url, f"{topic}-hs", topics, {"window_s": 1, "grace_s": 2})
    worker = WorkerProcess(install)
    try:
        worker.start()
        await worker.assigned()
        async with (
            AsyncRegistry(install.redis_url, namespace=install.name) as registry,
            Traffic(kafka.bootstrap, sources[0], flood=0.4) as one,
            Traffic(kafka.bootstrap, sources[1], flood=0.4, seed=8) as two,
        ):
            await eventually(lambda: len(registry.shards_of(topic, HOT)) > 2)
            sent = await one.stop() + await two.stop()
        await eventually(lambda: _reported(install, topic, sent))
        reports = (await counted(install.bootstrap, install.windows, topic)).reports
        assert_tiled(reports)
        loads = Counter[int]()
        for report in reports:
            loads.update({each.partition: each.load for each in report.partitions})
        place_of = partition_of("murmur2", PRODUCTION)
        keys = [each.key or b"" for source in sources for each in await read_topic(kafka.bootstrap, source)]
        assert +loads == Counter(map(place_of, keys))
        assert {event.data.topic for event in await told(install)} == {topic}
        assert worker.stop() == 0
    finally:
        worker.end()


async def _reported(install: Install, topic: str, sent: int) -> bool:
    return (await counted(install.bootstrap, install.windows, topic)).records == sent


def assert_tiled(reports: list[WindowReport]) -> None:
    """The ranges of every partition of every source follow one another without a seam."""
    ranges = sorted((each.source, each.partition, each.start, each.end) for report in reports for each in report.ranges)
    assert len({each[:2] for each in ranges}) == 5
    assert all(before[3] == after[2] for before, after in pairwise(ranges) if before[:2] == after[:2])
