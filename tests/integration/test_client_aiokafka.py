"""The wrapped producer on a real Kafka: records land where the plan says, and nothing else changes."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from hotshard import AsyncRegistry, MemoryRegistry, shard
from hotshard.core.partitioners import partition_of
from hotshard.core.topic import Carry
from tests.support.registry import KEY, route, state
from tests.support.topics import create_topic, read_topic

if TYPE_CHECKING:
    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration

BASE = KEY.encode()
PARTITIONS = 12
WANTED = (2, 5, 7, 11)
MAX_REQUEST_BYTES = 2_000


def suffixes_for(partitions: tuple[int, ...]) -> list[str]:
    """Suffixes that Kafka's own partitioner sends to just these partitions."""
    place = partition_of("murmur2", PARTITIONS)
    found = {place(f"{KEY}\x1f{n:x}".encode()): f"{n:x}" for n in range(500)}
    return [found[partition] for partition in partitions]


@pytest.fixture
async def topic(kafka: ApacheKafka, fresh_topic_name: str) -> str:
    await create_topic(kafka.bootstrap, fresh_topic_name, PARTITIONS)
    return fresh_topic_name


@pytest.fixture
def memory(topic: str) -> MemoryRegistry:
    made = MemoryRegistry()
    hot = route(topic=topic, suffixes=suffixes_for(WANTED), partitions=WANTED)
    by_partition = route(
        b"\x00\xff", (), topic=topic, partitions=(0, 1), partition_count=PARTITIONS, carry=Carry.PARTITION
    )
    of_more = route(b"\x00\xfe", (), topic=topic, partitions=(0, 1), partition_count=24, carry=Carry.PARTITION)
    made.store.publish(state(1, hot, by_partition, of_more, topic=topic))
    return made


async def test_a_hot_key_lands_on_the_partitions_of_its_plan(
    kafka: ApacheKafka, topic: str, memory: MemoryRegistry
) -> None:
    async with (
        AsyncRegistry(memory, [topic]) as registry,
        shard(AIOKafkaProducer(bootstrap_servers=kafka.bootstrap), registry) as producer,
    ):
        for n in range(40):
            await producer.send(topic, b"%d" % n, BASE, headers=[("n", b"%d" % n)], timestamp_ms=1_000 + n)
            await producer.send_and_wait(topic, b"cold", b"acme\x1fcold-%d" % n)
            await producer.send(topic, b"binary", b"\x00\xff")
            await producer.send(topic, b"placed", BASE, partition=3)
        assert registry.counters.route_errors == 0
    stored = await read_topic(kafka.bootstrap, topic)
    hot = [record for record in stored if record.key is not None and record.key.startswith(BASE + b"\x1f")]
    assert Counter(record.partition for record in hot) == dict.fromkeys(WANTED, 10)
    assert sorted(int(record.value or b"") for record in hot) == list(range(40))
    for record in hot:
        number = record.value or b""
        assert record.headers == (("n", number), ("hotshard-base", BASE), ("hotshard-epoch", b"1.1"))
        assert record.timestamp_ms == 1_000 + int(number)
    place = partition_of("murmur2", PARTITIONS)
    cold = [record for record in stored if record.value == b"cold"]
    assert len(cold) == 40
    assert all(record.partition == place(record.key or b"") and not record.headers for record in cold)
    assert Counter((r.key, r.partition) for r in stored if r.value == b"binary") == {
        (b"\x00\xff", 0): 20,
        (b"\x00\xff", 1): 20,
    }
    assert Counter((r.key, r.partition) for r in stored if r.value == b"placed") == {(BASE, 3): 40}


async def test_partitions_of_another_count_than_the_topic_has_are_not_given(
    kafka: ApacheKafka, topic: str, memory: MemoryRegistry
) -> None:
    async with (
        AsyncRegistry(memory, [topic]) as registry,
        shard(AIOKafkaProducer(bootstrap_servers=kafka.bootstrap), registry) as producer,
    ):
        await producer.partitions_for(topic)
        for _ in range(4):
            await producer.send_and_wait(topic, b"v", b"\x00\xfe")
        assert registry.counters.other_partition_count == 4
        assert registry.counters.route_errors == 0
    stored = await read_topic(kafka.bootstrap, topic)
    home = partition_of("murmur2", PARTITIONS)(b"\x00\xfe")
    assert Counter((record.key, record.partition) for record in stored) == {(b"\x00\xfe", home): 4}


async def test_the_records_of_one_discriminator_stay_together_and_in_order(
    kafka: ApacheKafka, topic: str, memory: MemoryRegistry
) -> None:
    users = [f"user-{n % 17}" for n in range(340)]
    async with (
        AsyncRegistry(memory, [topic]) as registry,
        shard(
            AIOKafkaProducer(bootstrap_servers=kafka.bootstrap),
            registry,
            discriminator=lambda _, value, __: value.split(b" ")[0],
        ) as producer,
    ):
        for n, user in enumerate(users):
            await producer.send(topic, f"{user} {n}".encode(), BASE)
    stored = await read_topic(kafka.bootstrap, topic)
    by_user = itertools.groupby(
        sorted(stored, key=lambda record: (record.value or b"").split(b" ")[0]),
        key=lambda record: (record.value or b"").split(b" ")[0],
    )
    seen = 0
    for _, records in by_user:
        of_user = sorted(records, key=lambda record: record.offset)
        seen += 1
        assert len({(record.partition, record.key) for record in of_user}) == 1
        numbers = [int((record.value or b"").split(b" ")[1]) for record in of_user]
        assert numbers == sorted(numbers)
        assert len(numbers) == 20
    assert seen == 17
    assert {record.partition for record in stored} == set(WANTED)


async def test_transactions_work_through_the_wrapper(kafka: ApacheKafka, topic: str, memory: MemoryRegistry) -> None:
    settings = {"bootstrap_servers": kafka.bootstrap, "transactional_id": topic, "acks": "all"}
    async with AsyncRegistry(memory) as registry, shard(AIOKafkaProducer(**settings), registry) as producer:
        async with producer.transaction():
            await producer.send(topic, b"kept", BASE)
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"lost", BASE)
        await producer.abort_transaction()
    assert [record.value for record in await read_topic(kafka.bootstrap, topic, committed=True)] == [b"kept"]


async def test_a_record_that_fits_only_without_suffix_and_headers_still_goes_out(
    kafka: ApacheKafka, topic: str, memory: MemoryRegistry
) -> None:
    settings = {"bootstrap_servers": kafka.bootstrap, "max_request_size": MAX_REQUEST_BYTES}
    async with AsyncRegistry(memory) as registry, shard(AIOKafkaProducer(**settings), registry) as producer:
        sizes = range(MAX_REQUEST_BYTES - 200, MAX_REQUEST_BYTES)
        fitting = 0
        for size in sizes:
            try:
                await producer.wrapped.send(topic, bytes(size), BASE, partition=3)
            except Exception:  # noqa: BLE001 - the size from which on not even the base key fits
                break
            fitting += 1
            await producer.send_and_wait(topic, bytes(size), BASE)
        assert 0 < fitting < len(sizes)
        assert 20 < registry.counters.route_errors < fitting
    stored = await read_topic(kafka.bootstrap, topic)
    assert len(stored) == 2 * fitting


async def test_keys_of_text_go_through_the_producers_own_serializer(
    kafka: ApacheKafka, topic: str, memory: MemoryRegistry
) -> None:
    def serializer(key: str) -> bytes:
        return key.encode()

    settings = {"bootstrap_servers": kafka.bootstrap, "key_serializer": serializer}
    async with (
        AsyncRegistry(memory) as registry,
        shard(AIOKafkaProducer(**settings), registry, text_keys=True) as producer,
    ):
        for _ in range(8):
            await producer.send(topic, b"v", KEY)
    stored = await read_topic(kafka.bootstrap, topic)
    assert Counter(record.partition for record in stored) == dict.fromkeys(WANTED, 2)
