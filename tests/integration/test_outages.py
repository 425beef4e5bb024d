"""Redis and Kafka go away and come back: producers keep sending, the worker goes on by itself, nothing is lost."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import redis

from hotshard import AsyncRegistry, RegistryState
from hotshard.doors.redis.layout import Layout, meta_fields
from tests.support.eventually import eventually
from tests.support.exactness import assert_exact, counted
from tests.support.topics import create_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS = 6
#: Plans that stand, so that what comes back can be compared with what was there.
LASTING = {"hold_s": 600, "off_s": 600, "resize_s": 600}


@pytest.fixture(autouse=True)
def quiet_client(caplog: pytest.LogCaptureFixture) -> None:
    """aiokafka shouts about an outage in the test's own producer, too."""
    caplog.set_level(logging.CRITICAL, logger="aiokafka")


async def make_install(kafka: ApacheKafka, redis_server: RedisServer, topic: str, folder: Path) -> Install:
    await create_topic(kafka.bootstrap, topic, PARTITIONS)
    return Install(
        folder,
        kafka.bootstrap,
        redis_server.url,
        f"{topic}-hs",
        {topic: {"ordering": "none", "mode": "active", **LASTING}},
        {"window_s": 1, "grace_s": 2},
    )


class Redis:
    """What stands in a Redis of one topic."""

    def __init__(self, server: RedisServer, install: Install, topic: str) -> None:
        self._client = redis.Redis.from_url(server.url)
        self._layout = Layout(install.name)
        self._topic = topic

    def routes(self) -> dict[bytes, bytes]:
        found: Any = self._client.hgetall(self._layout.routes(self._topic))
        return dict(found)

    def epoch_and_version(self) -> tuple[int, int]:
        found: Any = self._client.hgetall(self._layout.meta)
        epoch, version, _ = meta_fields(self._topic)
        return int(found[epoch.encode()]), int(found[version.encode()])

    def close(self) -> None:
        self._client.close()


async def test_producers_keep_sending_and_routes_come_back_when_redis_is_stopped_and_starts_again_empty(
    kafka: ApacheKafka, own_redis: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic = fresh_topic_name
    install = await make_install(kafka, own_redis, topic, tmp_path)
    worker, inside = WorkerProcess(install), Redis(own_redis, install, topic)
    try:
        worker.start()
        await worker.assigned()
        registry = AsyncRegistry(install.redis_url, namespace=install.name, stale_after_s=2)
        async with registry, Traffic(install.bootstrap, topic, flood=0.4, registry=registry) as traffic:
            await eventually(lambda: len(registry.shards_of(topic, HOT)) > 2)
            shards = registry.shards_of(topic, HOT)
            before, mark = inside.routes(), inside.epoch_and_version()

            own_redis.stop()
            await eventually(lambda: registry.state is RegistryState.STALE)
            line = await worker.says("waiting for Redis")
            assert own_redis.url.split("@")[-1].split("/")[2] in line
            traffic.places.clear()
            await _grows(traffic)
            assert registry.shards_of(topic, HOT) == shards
            assert len(traffic.places) == len(shards) - 1
            reported = (await counted(install.bootstrap, install.windows, topic)).records
            await eventually(lambda: _more_reported(install, topic, reported))

            own_redis.start()
            assert await eventually(inside.routes) == before
            again = inside.epoch_and_version()
            assert again[0] == mark[0]
            assert again[1] >= mark[1]
            await eventually(lambda: registry.state is RegistryState.READY)
            assert registry.shards_of(topic, HOT) == shards
            await worker.says("Redis is there again")

            await assert_exact(install, topic, traffic)
        assert worker.stop() == 0
        assert worker.recent.count("waiting for Redis") <= 2
    finally:
        inside.close()
        worker.end()


async def _grows(traffic: Traffic) -> None:
    aim = traffic.acked + 2 * traffic.per_s
    await eventually(lambda: traffic.acked > aim)


async def _more_reported(install: Install, topic: str, than: int) -> bool:
    return (await counted(install.bootstrap, install.windows, topic)).records > than


async def test_the_worker_goes_on_by_itself_when_kafka_is_stopped_or_killed_and_comes_back(
    shaky_kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic = fresh_topic_name
    install = await make_install(shaky_kafka, redis_server, topic, tmp_path)
    worker, late = WorkerProcess(install), WorkerProcess(install, 1)
    try:
        worker.start()
        await worker.assigned()
        async with Traffic(install.bootstrap, topic) as traffic:
            await eventually(lambda: _more_reported(install, topic, 0))
            shaky_kafka.stop()
            late.start()
            await worker.says("waiting for")
            line = await late.says("waiting for Kafka")
            assert shaky_kafka.bootstrap in line
            assert late.stop() == 0
            shaky_kafka.start()
            await _grows(traffic)
            reported = traffic.acked
            await eventually(lambda: _more_reported(install, topic, reported))

            shaky_kafka.pause()
            assert worker.stop() == 0
            shaky_kafka.resume()
            worker.start()
            await worker.assigned()

            shaky_kafka.kill()
            await worker.says("waiting for")
            assert worker.stop() == 0
            late.start()
            await late.says("waiting for Kafka")
            shaky_kafka.start()
            await late.assigned()
            await assert_exact(install, topic, traffic)
        assert late.stop() == 0
    finally:
        worker.end()
        late.end()
