"""Topics of a running broker: made, filled and read whole, with aiokafka."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence


class Sent(NamedTuple):
    """A record to produce."""

    key: bytes | None
    value: bytes | None = b"v"
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Sequence[tuple[str, bytes]] = ()


class Stored(NamedTuple):
    """A record as it lies in a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


@asynccontextmanager
async def admin(bootstrap: str) -> AsyncIterator[Any]:
    """Give a started ``AIOKafkaAdminClient``."""
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


async def create_topic(bootstrap: str, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
    """Make a topic; raises the broker's refusal."""
    async with admin(bootstrap) as client:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, topic_configs=dict(config or {}))
        answer = await client.create_topics([topic])
    for _, code, *reason in answer.topic_errors:
        if code:
            raise RuntimeError(f"topic {name} not made: {code} {reason}")


@asynccontextmanager
async def producing(bootstrap: str, **settings: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - passed through
    """Give a started ``AIOKafkaProducer``."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, **settings)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def send_all(producer: Any, topic: str, records: Iterable[Sent]) -> None:  # noqa: ANN401 - aiokafka has no types
    """Send through a started producer and wait for every acknowledgement."""
    acks = [
        await producer.send(
            topic,
            key=record.key,
            value=record.value,
            partition=record.partition,
            timestamp_ms=record.timestamp_ms,
            headers=list(record.headers),
        )
        for record in records
    ]
    await producer.flush()
    for ack in acks:
        await ack


async def produce(bootstrap: str, topic: str, records: Iterable[Sent], **settings: Any) -> None:  # noqa: ANN401
    """Send records with a producer of their own; ``settings`` go to it (``compression_type``, ``linger_ms``)."""
    async with producing(bootstrap, **settings) as producer:
        await send_all(producer, topic, records)


async def read_topic(bootstrap: str, topic: str, *, committed: bool = False) -> list[Stored]:
    """Return the records from the beginning to the end as of now, by partition, then offset.

    ``committed`` reads as read_committed does: without aborted transactions, and up to the first open one.
    """
    async with admin(bootstrap) as client:
        (described,) = await client.describe_topics([topic])
    assigned = [TopicPartition(topic, number) for number in sorted(p["partition"] for p in described["partitions"])]
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed" if committed else "read_uncommitted",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        return await _read(consumer, assigned, committed=committed)
    finally:
        await consumer.stop()


async def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """Return where each partition ends, aborted and control records included."""
    async with admin(bootstrap) as client:
        (described,) = await client.describe_topics([topic])
    places = [TopicPartition(topic, part["partition"]) for part in described["partitions"]]
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        ends = await consumer.end_offsets(places)
    finally:
        await consumer.stop()
    return {place.partition: end for place, end in ends.items()}


async def _read(consumer: Any, assigned: list[Any], *, committed: bool) -> list[Stored]:  # noqa: ANN401
    consumer.assign(assigned)
    await consumer.seek_to_beginning(*assigned)
    ends = await consumer.end_offsets(assigned)

    def end(tp: Any) -> int:  # noqa: ANN401 - aiokafka has no types
        # the embedded broker's answer lags; the high watermark of its fetches is right
        return int(ends[tp] if committed else max(ends[tp], consumer.highwater(tp) or 0))

    records: list[Stored] = []
    while [tp for tp in assigned if await consumer.position(tp) < end(tp)]:
        for tp, batch in (await consumer.getmany(timeout_ms=200)).items():
            records += [
                Stored(tp.partition, r.offset, r.timestamp, r.key, r.value, r.headers)
                for r in batch
                if r.offset < end(tp)
            ]
    return sorted(records, key=lambda record: record[:2])
