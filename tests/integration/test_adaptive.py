"""As many shards as the flood needs: more for a larger one, and more when it grows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest

from hotshard import AsyncRegistry
from hotshard.core.wire.event import EventType, PlanChange
from tests.support.eventually import eventually
from tests.support.exactness import told
from tests.support.topics import create_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS: Final = 12
#: Low floors, as the test's load is small; nothing is cut or let go while it runs.
POLICY: Final = {
    "floor_act_per_s": 20,
    "floor_fast": 50,
    "slow_view_s": 5,
    "resize_s": 2,
    "hold_s": 600,
    "off_s": 600,
}


async def test_a_larger_flood_gets_more_shards_and_a_growing_one_more_at_the_end(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    growing, large = f"{fresh_topic_name}-growing", f"{fresh_topic_name}-large"
    for topic in (growing, large):
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
    settings = {"ordering": "none", "mode": "active", **POLICY}
    topics = {growing: settings, large: settings}
    install = Install(tmp_path, kafka.bootstrap, redis_server.url, f"{fresh_topic_name}-hs", topics)
    worker = WorkerProcess(install)
    try:
        worker.start()
        await worker.assigned()
        async with (
            AsyncRegistry(install.redis_url, namespace=install.name) as registry,
            Traffic(kafka.bootstrap, growing, per_s=600, registry=registry) as small,
            Traffic(kafka.bootstrap, large, per_s=600, registry=registry) as much,
        ):
            await eventually(lambda: small.acked > 1500 and much.acked > 1500)
            small.flood, much.flood = 0.1, 0.4
            before, of_large = await eventually(lambda: fewer_than(install, growing, large))
            small.flood = 0.4
            grown = await eventually(lambda: more_than(install, growing, before))
            small.places.clear()
            await eventually(lambda: set(grown.partitions) <= set(small.places))
        for standing, changed in pairwise(await plans(install, growing)):
            shared = min(len(standing.suffixes), len(changed.suffixes))
            assert changed.suffixes[:shared] == standing.suffixes[:shared]
            assert changed.partitions[:shared] == standing.partitions[:shared]
        for plan in (of_large, grown):
            assert len(set(plan.partitions)) == len(plan.suffixes)
        assert worker.stop() == 0
    finally:
        worker.end()


async def plans(install: Install, topic: str) -> list[PlanChange]:
    """The plans that were given to producers, in their order."""
    found = [
        event.data
        for event in await told(install)
        if event.type is EventType.PLAN_ACTIVATED and isinstance(event.data, PlanChange) and event.data.topic == topic
    ]
    assert all(plan.key == HOT for plan in found)
    return found


async def fewer_than(install: Install, small: str, large: str) -> tuple[PlanChange, PlanChange] | None:
    """The plans of both topics, when that of the first has fewer shards."""
    of_small, of_large = await plans(install, small), await plans(install, large)
    if of_small and of_large and 1 < len(of_small[-1].suffixes) < len(of_large[-1].suffixes):
        return of_small[-1], of_large[-1]
    return None


async def more_than(install: Install, topic: str, before: PlanChange) -> PlanChange | None:
    newest = (await plans(install, topic))[-1]
    return newest if len(newest.suffixes) > len(before.suffixes) + 1 else None
