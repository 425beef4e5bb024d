"""Every record is counted exactly once, wherever a worker is killed and whatever becomes of its partitions."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

import pytest

from hotshard import AsyncRegistry
from hotshard.core.wire import pane
from hotshard.core.wire.event import PlanChange
from tests.support import faulty
from tests.support.eventually import eventually
from tests.support.exactness import assert_exact, faults, told, truth
from tests.support.topics import create_topic, read_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import FAULTY, Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS = 6
POLICY = {"hold_s": 3, "off_s": 2, "resize_s": 2}
#: A place in the group of its own, given back at once to whoever comes with the same name.
STATIC: Final = {"HOTSHARD_WORKER_INSTANCE_ID": "one"}
#: A dead worker is missed after this.
SHORT: Final = {"HOTSHARD_WORKER_SESSION_TIMEOUT_S": "2"}


@pytest.fixture
async def install(kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path) -> Install:
    await create_topic(kafka.bootstrap, fresh_topic_name, PARTITIONS)
    return Install(
        tmp_path,
        kafka.bootstrap,
        redis_server.url,
        f"{fresh_topic_name}-hs",
        {fresh_topic_name: {"ordering": "none", "mode": "active", **POLICY}},
        {"window_s": 1, "grace_s": 2, "pane_ms": 250},
    )


@pytest.fixture
def workers(install: Install) -> Iterator[list[WorkerProcess]]:
    """Two that are not started, with a fault built in when their environment says so."""
    made = [WorkerProcess(install, number, module=FAULTY) for number in range(2)]
    yield made
    for each in made:
        each.end()


@pytest.fixture
def topic(install: Install) -> str:
    (name,) = install.topics
    return name


async def die_at(worker: WorkerProcess, point: str, count: int, **env: str) -> None:
    worker.start(FAULTY_POINT=point, FAULTY_COUNT=str(count), **env)
    assert await worker.ended() == faulty.REACHED, f"{point}: {worker.recent}"


async def begun(worker: WorkerProcess, **env: str) -> None:
    """Begin the group, so that everything sent from now on is to be counted."""
    worker.start(**env)
    await worker.assigned()


async def panes_of(install: Install, worker: str) -> list[pane.Pane]:
    """The versions of panes that a worker published so far."""
    messages = [pane.decode(record.value or b"") for record in await read_topic(install.bootstrap, install.panes)]
    return [each for each in messages if isinstance(each, pane.Pane) and each.worker == worker]


KILLS: Final = (
    (faulty.TAKEN, 1),
    (faulty.PUBLISHED, 6),
    (faulty.COMMITTED, 6),
    (faulty.IN_TRANSACTION, 2),
    (faulty.BEFORE_REDIS, 1),
    (faulty.REPLAYING, 5),
    (faulty.AFTER_REDIS, 1),
)


async def test_a_kill_at_any_point_of_the_protocol_loses_and_doubles_nothing(
    install: Install, topic: str, workers: list[WorkerProcess]
) -> None:
    worker, _ = workers
    await begun(worker, **STATIC)
    async with (
        AsyncRegistry(install.redis_url, namespace=install.name) as registry,
        Traffic(install.bootstrap, topic, registry=registry) as traffic,
    ):
        worker.kill()
        for point, count in KILLS:
            if point == faulty.BEFORE_REDIS:
                traffic.flood = 0.4  # it is about to get its first route
            await die_at(worker, point, count, **STATIC)
        worker.start(**STATIC)
        await eventually(lambda: len(registry.shards_of(topic, HOT)) > 1)
        await assert_exact(install, topic, traffic)
        plans = [event.data for event in await told(install) if isinstance(event.data, PlanChange)]
        assert len(registry.shards_of(topic, HOT)) == 1 + len(plans[-1].suffixes)
    assert worker.stop() == 0


async def test_the_check_finds_it_when_a_pane_is_committed_before_it_is_published(
    install: Install, topic: str, workers: list[WorkerProcess]
) -> None:
    worker, _ = workers
    await begun(worker, **STATIC)
    async with Traffic(install.bootstrap, topic) as traffic:
        worker.kill()
        await die_at(worker, faulty.COMMITTED_FIRST, 6, FAULTY_ORDER="commit_first", **STATIC)
        await begun(worker, **STATIC)
        await traffic.stop()
        exact = await truth(install.bootstrap, topic)
        found = await faults(install, topic, exact, still_s=4)
    assert [fault for fault in found if "expected, the next range is" in fault], found


async def test_kills_at_random_moments_with_workers_coming_and_going_lose_and_double_nothing(
    install: Install, topic: str, workers: list[WorkerProcess]
) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    print("seed", seed)  # noqa: T201 - shown when the test fails
    rng = random.Random(seed)  # noqa: S311 - nothing is secret here
    worker, second = workers
    await begun(worker, **SHORT)
    async with (
        AsyncRegistry(install.redis_url, namespace=install.name) as registry,
        Traffic(install.bootstrap, topic, flood=0.3, registry=registry) as traffic,
    ):
        for number in range(8):
            if number in {1, 5}:
                second.start(**SHORT)
            if number == 3:
                await second.assigned()
                assert second.stop() == 0
            if rng.random() < 0.7:
                await worker.assigned()
            await asyncio.sleep(rng.uniform(0, 1.5))  # the random moment itself
            worker.kill()
            if number < 7:
                worker.start(**SHORT)
        await second.assigned()
        await assert_exact(install, topic, traffic)
    assert second.stop() == 0


async def test_a_worker_paused_past_its_session_and_one_that_loses_partitions_change_nothing(
    install: Install, topic: str, workers: list[WorkerProcess]
) -> None:
    first, second = workers
    await begun(first, **SHORT)
    async with Traffic(install.bootstrap, topic) as traffic:
        await eventually(lambda: panes_of(install, "w0"))
        first.pause()
        await begun(second, **SHORT)
        assert second.holds == PARTITIONS
        await eventually(lambda: panes_of(install, "w1"))
        first.resume()
        await eventually(lambda: first.holds == second.holds == PARTITIONS // 2)
        before = len(await panes_of(install, "w0"))
        await eventually(lambda: _more_panes(install, before))
        await assert_exact(install, topic, traffic)
    assert first.stop() == 0
    assert second.stop() == 0


async def _more_panes(install: Install, than: int) -> bool:
    return len(await panes_of(install, "w0")) > than
