"""The main job on the embedded broker, with ``transactions = off``; the other tests here show it on Apache Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hotshard import AsyncRegistry
from hotshard.core.wire.event import EventType
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.real import AioKafka
from hotshard.errors import UnavailableError
from tests.support.eventually import eventually
from tests.support.exactness import assert_exact, told
from tests.support.topics import create_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.demo.servers import EmbeddedKafka, RedisServer

pytestmark = pytest.mark.integration


@pytest.mark.embedded
async def test_a_broker_without_transactions_is_told_with_what_to_do(embedded_kafka: EmbeddedKafka) -> None:
    speaker = AioKafka(KafkaConnection(bootstrap_servers=(embedded_kafka.bootstrap,))).speaker("id")
    with pytest.raises(UnavailableError, match=r"no transactions, set worker\.transactions to false") as caught:
        await speaker.take()
    assert "\n" not in str(caught.value)


@pytest.mark.embedded
async def test_a_flood_is_split_and_every_record_is_counted_across_a_restart(
    embedded_kafka: EmbeddedKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic, at = fresh_topic_name, embedded_kafka.bootstrap
    await create_topic(at, topic, 6)
    settings = {"window_s": 1, "grace_s": 2, "transactions": False, "session_timeout_s": 2}
    topics = {topic: {"ordering": "none", "mode": "active"}}
    install = Install(tmp_path, at, redis_server.url, f"{topic}-hs", topics, settings)
    worker = WorkerProcess(install)
    try:
        worker.start()
        await worker.assigned()
        async with (
            AsyncRegistry(install.redis_url, namespace=install.name) as registry,
            Traffic(at, topic, flood=0.4, registry=registry, idempotent=False) as traffic,
        ):
            await eventually(lambda: len(registry.shards_of(topic, HOT)) > 2)
            traffic.places.clear()
            await eventually(lambda: len(traffic.places) > 1)
            assert worker.stop() == 0
            worker.start()
            await worker.assigned()
            assert len(registry.shards_of(topic, HOT)) > 2
            await assert_exact(install, topic, traffic)
        assert worker.stop() == 0
        kinds = {event.type for event in await told(install)}
        assert {EventType.HOTKEY_DETECTED, EventType.PLAN_ACTIVATED} <= kinds
    finally:
        worker.end()
