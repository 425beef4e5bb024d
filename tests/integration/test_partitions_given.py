"""The whole chain where producers give the partition: a key is split as it is, and anew when the topic grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from aiokafka.admin import NewPartitions

from hotshard import AsyncRegistry
from hotshard.core.wire.route import Route, RouteState
from tests.support.eventually import eventually
from tests.support.topics import admin, create_topic, read_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

BEFORE, AFTER = 6, 12
POLICY: Final = {"floor_act_per_s": 20, "floor_fast": 50, "slow_view_s": 5, "resize_s": 2, "hold_s": 600, "off_s": 600}


def route_of(registry: AsyncRegistry, topic: str) -> Route | None:
    """The route that a producer obeys for the hot key."""
    held = registry._follower._held.get(topic)  # noqa: SLF001 - what a producer holds is not shown elsewhere
    one = None if held is None else held.entries.get(HOT.encode())
    return None if one is None or one.route.state is not RouteState.ACTIVE else one.route


async def test_a_key_is_split_by_partition_and_anew_when_the_topic_grows(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic = fresh_topic_name
    await create_topic(kafka.bootstrap, topic, BEFORE)
    topics = {topic: {"ordering": "none", "mode": "active", "carry": "partition", **POLICY}}
    install = Install(tmp_path, kafka.bootstrap, redis_server.url, f"{topic}-hs", topics)
    worker = WorkerProcess(install)
    try:
        worker.start()
        await worker.assigned()
        async with (
            AsyncRegistry(install.redis_url, namespace=install.name) as registry,
            Traffic(kafka.bootstrap, topic, per_s=600, flood=0.4, registry=registry) as traffic,
        ):
            first = await eventually(lambda: route_of(registry, topic))
            assert first is not None
            assert (first.partition_count, first.suffixes) == (BEFORE, ())
            traffic.places.clear()
            await eventually(lambda: set(first.partitions) <= set(traffic.places))
            async with admin(kafka.bootstrap) as client:
                await client.create_partitions({topic: NewPartitions(total_count=AFTER)})

            def planned_anew() -> Route | None:
                route = route_of(registry, topic)
                return route if route is not None and route.partition_count == AFTER else None

            second = await eventually(planned_anew)
            assert second is not None
            # It may have grown before.
            assert second.earlier[-1].partitions[: len(first.partitions)] == first.partitions

            async def lies_where_the_route_says() -> bool:
                traffic.places.clear()
                await eventually(lambda: traffic.places.total() > 200)
                route = route_of(registry, topic)
                return route is not None and set(traffic.places) == set(route.partitions)

            await eventually(lies_where_the_route_says)
            assert traffic.failed == 0
        assert worker.stop() == 0
    finally:
        worker.end()
    keys = {record.key for record in await read_topic(kafka.bootstrap, topic)}
    assert HOT.encode() in keys
    assert not any(key is not None and key.startswith(HOT.encode() + b"\x1f") for key in keys)
