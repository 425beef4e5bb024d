"""What a worker makes of settings and traffic on real Kafka: sub-units, tenants' own policies, plans made anew."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import NewPartitions

from hotshard import AsyncRegistry, partition_key
from hotshard.core.wire.event import Finding, Ineffective, PlanChange
from hotshard.core.wire.route import Route, RouteState
from tests.support.eventually import eventually
from tests.support.exactness import counted, told
from tests.support.topics import Sent, admin, create_topic, producing, read_topic, send_all
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from hotshard.core.wire.event import Told
    from hotshard.core.wire.report import WindowReport
    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS: Final = 12
PER_S: Final = 500
#: Low floors, as the test's load is small.
POLICY: Final = {"floor_act_per_s": 20, "floor_fast": 50, "slow_view_s": 5, "resize_s": 2, "hold_s": 600}
LOUD, QUIET, DENIED = (
    partition_key("loud", "stream"),
    partition_key("quiet", "stream"),
    partition_key("other", "stream"),
)


class Sending:
    """Records that follow no route: a share of each of some keys, the rest of many small tenants; all to recipients."""

    def __init__(self, topic: str, shares: Mapping[str, float], *, most_to: str | None = None) -> None:
        self.topic = topic
        self.shares = dict(shares)
        self._most_to = most_to
        self._draw = random.Random(5)  # noqa: S311 - nothing is secret here

    def records(self, count: int) -> list[Sent]:
        keys = self._draw.choices([*self.shares, ""], [*self.shares.values(), 1 - sum(self.shares.values())], k=count)
        return [Sent((key or self._small()).encode(), b"v", headers=[("to", self._to(key))]) for key in keys]

    def _small(self) -> str:
        return partition_key(f"t{self._draw.randrange(100)}", f"e{self._draw.randrange(20)}")

    def _to(self, key: str) -> bytes:
        if key and self._most_to is not None and self._draw.random() < 0.9:
            return self._most_to.encode()
        return b"r%d" % self._draw.randrange(200)


@asynccontextmanager
async def sending(bootstrap: str, *topics: Sending) -> AsyncIterator[None]:
    """Send to all of them until the end of the block, ``PER_S`` a second each."""

    async def send() -> None:
        async with producing(bootstrap, linger_ms=5) as producer:
            due_s = time.monotonic()
            while True:
                for each in topics:
                    await send_all(producer, each.topic, each.records(PER_S // 10))
                due_s += 0.1
                await asyncio.sleep(max(0.0, due_s - time.monotonic()))  # the pace of the traffic

    task = asyncio.create_task(send())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def watched(
    kafka: ApacheKafka, redis: RedisServer, folder: Path, topics: Mapping[str, Mapping[str, Any]], name: str
) -> AsyncIterator[Install]:
    """A worker on topics that are there."""
    given = {topic: {"ordering": "none", "mode": "active", **POLICY, **rows} for topic, rows in topics.items()}
    install = Install(folder, kafka.bootstrap, redis.url, f"{name}-hs", given, {"window_s": 1, "grace_s": 10})
    worker = WorkerProcess(install)
    try:
        worker.start()
        await worker.assigned()
        yield install
        assert worker.stop() == 0
    finally:
        worker.end()


async def told_of(install: Install, topic: str) -> list[Told]:
    return [event.data for event in await told(install) if event.data.topic == topic]


async def changes(install: Install, topic: str) -> list[tuple[str, str, str | None, str]]:
    return [
        (event.data.topic, event.type, event.data.key, event.data.reason)
        for event in await told(install)
        if isinstance(event.data, PlanChange) and event.data.topic == topic
    ]


async def reports(install: Install, topic: str) -> list[WindowReport]:
    return (await counted(install.bootstrap, install.windows, topic)).reports


async def test_a_key_is_split_where_its_discriminator_is_spread_and_not_where_one_sub_unit_has_nearly_all(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    skewed, spread = f"{fresh_topic_name}-skewed", f"{fresh_topic_name}-spread"
    topics = {topic: {"discriminator": "header:to"} for topic in (skewed, spread)}
    for topic in topics:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
    async with watched(kafka, redis_server, tmp_path, topics, fresh_topic_name) as install:
        loads = Sending(skewed, {LOUD: 0.4}, most_to="all"), Sending(spread, {LOUD: 0.4})
        async with sending(kafka.bootstrap, *loads):

            async def judged() -> bool:
                causes = [report.cause for report in await reports(install, skewed)]
                given = [each[1:3] for each in await changes(install, spread)]
                return causes.count("hot_discriminator") > 1 and ("plan.activated", LOUD) in given

            await eventually(judged, what="windows say that the discriminator is hot")
        assert await changes(install, skewed) == [(skewed, "plan.proposed", LOUD, "hot_discriminator")]
        async with AsyncRegistry(install.redis_url, namespace=install.name) as registry:
            assert list(registry.shards_of(skewed, LOUD)) == [LOUD]
            assert len(registry.shards_of(spread, LOUD)) > 2


async def test_a_plan_that_nobody_follows_is_given_up_and_one_by_partition_is_made_anew_when_its_topic_grows(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    """Each takes half a minute, so they go on side by side: two topics of one worker."""
    unheard, growing = f"{fresh_topic_name}-unheard", f"{fresh_topic_name}-growing"
    rows = {
        "deny": [DENIED.replace("\x1f", "\\u001f")],  # as TOML has it
        "groups": [f"{unheard}-readers"],
        "tenants": {
            "loud": {"retire_ineffective": True},
            "quiet": {"on_share": 1.0, "tenant_on_share": 1.0},
        },
    }
    await create_topic(kafka.bootstrap, unheard, PARTITIONS)
    await create_topic(kafka.bootstrap, growing, PARTITIONS // 2)
    topics: dict[str, dict[str, Any]] = {unheard: rows, growing: {"carry": "partition"}}
    async with (
        watched(kafka, redis_server, tmp_path, topics, fresh_topic_name) as install,
        asyncio.TaskGroup() as both,
    ):
        both.create_task(nobody_follows(install, unheard))
        both.create_task(it_grows(install, growing))
    keys = {record.key for record in await read_topic(kafka.bootstrap, growing)}
    assert HOT.encode() in keys
    assert not any(key is not None and key.startswith(HOT.encode() + b"\x1f") for key in keys)


async def nobody_follows(install: Install, topic: str) -> None:
    """Settings of tenants and keys decide, and what does not help is told and given up."""
    load = Sending(topic, {QUIET: 0.25, DENIED: 0.25})
    async with reading(install.bootstrap, topic, f"{topic}-readers"), sending(install.bootstrap, load):

        async def named() -> bool:
            return any(isinstance(each, Finding) for each in await told_of(install, topic))

        await eventually(named, what="the key that is not to be touched is named")
        load.shares[LOUD] = 0.25

        async def given_up() -> list[tuple[str, str | None, str]]:
            found = [each[1:] for each in await changes(install, topic)]
            return found if ("plan.retired", LOUD, "ineffective") in found else []

        found = await eventually(given_up, what="the plan is given up")
        events = await told_of(install, topic)
    hot = {each.key for each in events if isinstance(each, Finding)}
    assert hot == {LOUD, DENIED, "loud", "other"}
    assert {key for _, key, _ in found} == {LOUD}
    (missed,) = [each for each in events if isinstance(each, Ineffective)]
    assert (missed.reason, missed.retired) == ("producers_without_library", True)
    assert missed.imbalance_measured > missed.imbalance_promised
    looked = [report for report in await reports(install, topic) if "lag" not in report.unjudged]
    assert looked, "the group's lag is read while load is uneven"
    assert all(report.numbers["members"] == 1 for report in looked)


async def it_grows(install: Install, topic: str) -> None:
    """Where the partition is given a key is split as it is, and anew when the topic has more partitions."""
    async with (
        AsyncRegistry(install.redis_url, namespace=install.name) as registry,
        Traffic(install.bootstrap, topic, per_s=600, flood=0.4, registry=registry) as traffic,
    ):
        first = await eventually(lambda: route_of(registry, topic))
        assert first is not None
        assert (first.partition_count, first.suffixes) == (PARTITIONS // 2, ())
        traffic.places.clear()
        await eventually(lambda: set(first.partitions) <= set(traffic.places))
        async with admin(install.bootstrap) as client:
            await client.create_partitions({topic: NewPartitions(total_count=PARTITIONS)})

        def planned_anew() -> Route | None:
            route = route_of(registry, topic)
            return route if route is not None and route.partition_count == PARTITIONS else None

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


def route_of(registry: AsyncRegistry, topic: str) -> Route | None:
    """The route that a producer obeys for the hot key."""
    held = registry._follower._held.get(topic)  # noqa: SLF001 - what a producer holds is not shown elsewhere
    one = None if held is None else held.entries.get(HOT.encode())
    return None if one is None or one.route.state is not RouteState.ACTIVE else one.route


@asynccontextmanager
async def reading(bootstrap: str, topic: str, group: str) -> AsyncIterator[None]:
    """A group with one member that reads the topic and commits."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_commit_interval_ms=500)
    await consumer.start()

    async def read() -> None:
        async for _ in consumer:
            pass

    task = asyncio.create_task(read())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await consumer.stop()
