"""One suite for stretches of a topic: in memory and on Apache Kafka."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from hotshard.core.fields import FieldReader, parse_field
from hotshard.doors.clock import SystemClock
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.contract import Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.doors.kafka.real import AioKafka
from hotshard.errors import MissingTopicError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from hotshard.core.slab import Slab
    from hotshard.doors.kafka.contract import Kafka
    from hotshard.doors.kafka.stretch import Stretch, StretchReader

_HOUR_MS = 3_600_000


@dataclass
class Place:
    """A Kafka under test, and a topic with three partitions in it."""

    kafka: Kafka
    topic: str
    #: Leaves a transaction open with these messages.
    leave_open: Callable[[list[Out]], Awaitable[None]]

    async def publish(self, *partitions: int) -> None:
        publisher = self.kafka.publisher()
        await publisher.publish([self.out(partition) for partition in partitions])
        await publisher.stop()

    def out(self, partition: int) -> Out:
        return Out(self.topic, b"value", b"key", partition)

    async def read(self, *, since_ms: int | None = None, committed: bool = False) -> tuple[Stretch, list[Slab]]:
        async with self.reader(committed=committed) as reader:
            stretch = await reader.find(self.topic, since_ms)
            return stretch, await whole(reader, stretch)

    @contextlib.asynccontextmanager
    async def reader(
        self, *, committed: bool = False, fields: FieldReader | None = None
    ) -> AsyncIterator[StretchReader]:
        reader = self.kafka.stretches(committed=committed, fields=fields)
        try:
            yield reader
        finally:
            await reader.stop()


async def whole(reader: StretchReader, stretch: Stretch) -> list[Slab]:
    """Fetch until nothing is left, checking that each call moves something on and passes no end."""
    positions, found = dict(stretch.starts), []
    while wanted := {
        number: (at, stretch.ends[number]) for number, at in positions.items() if at < stretch.ends[number]
    }:
        before = dict(positions)
        for number, slabs in (await reader.fetch(stretch.topic, wanted)).items():
            for slab in slabs:
                assert (slab.partition, slab.start) == (number, positions[number])
                assert len(slab) + slab.skipped <= slab.end - slab.start
                assert slab.end <= stretch.ends[number]
                positions[number] = slab.end
                found.append(slab)
        assert positions != before
    return found


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.integration)])
async def place(request: pytest.FixtureRequest, fresh_topic_name: str) -> AsyncIterator[Place]:
    async with contextlib.AsyncExitStack() as stack:
        if request.param == "memory":
            found = in_memory(fresh_topic_name)
        else:
            found = on_broker(request.getfixturevalue("kafka").bootstrap, fresh_topic_name, stack)
        admin = found.kafka.admin()
        await admin.ensure(TopicWanted(name=fresh_topic_name, partitions=3))
        await admin.stop()
        yield found


def in_memory(topic: str) -> Place:
    kafka = MemoryKafka()

    async def leave_open(outs: list[Out]) -> None:
        kafka.cluster.leave_open(topic, outs)

    return Place(kafka, topic, leave_open)


def on_broker(bootstrap: str, topic: str, stack: contextlib.AsyncExitStack) -> Place:
    async def leave_open(outs: list[Out]) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic)
        stack.push_async_callback(producer.stop)
        await producer.start()
        await producer.begin_transaction()
        for out in outs:
            await producer.send_and_wait(out.topic, out.value, out.key, out.partition)

    return Place(AioKafka(KafkaConnection(bootstrap_servers=(bootstrap,))), topic, leave_open)


async def test_a_stretch_has_every_partition_and_reaches_to_the_ends(place: Place) -> None:
    await place.publish(*[0] * 250, *[2] * 10)
    stretch, slabs = await place.read()
    assert (stretch.starts, stretch.ends) == ({0: 0, 1: 0, 2: 0}, {0: 250, 1: 0, 2: 10})
    assert stretch.offsets == 260
    assert [key for slab in slabs for key in slab.keys] == [b"key"] * 260
    assert {size for slab in slabs for size in slab.sizes} == {8}


async def test_what_is_written_afterwards_does_not_belong_to_it(place: Place) -> None:
    await place.publish(*[0] * 10)
    async with place.reader() as reader:
        stretch = await reader.find(place.topic, None)
        await place.publish(*[0] * 10)
        assert sum(map(len, await whole(reader, stretch))) == 10


async def test_it_begins_with_the_first_record_that_is_not_older(place: Place) -> None:
    await place.publish(*[0] * 10)
    now_ms = SystemClock().now_ms()
    assert (await place.read(since_ms=now_ms - _HOUR_MS))[0].offsets == 10
    later, slabs = await place.read(since_ms=now_ms + _HOUR_MS)
    assert (later.starts, later.ends, slabs) == ({0: 10, 1: 0, 2: 0}, {0: 10, 1: 0, 2: 0}, [])


async def test_a_topic_that_does_not_exist_is_told(place: Place) -> None:
    async with place.reader() as reader:
        with pytest.raises(MissingTopicError, match="does not exist"):
            await reader.find(f"{place.topic}-none", None)


async def test_tenants_are_read_from_values(place: Place) -> None:
    publisher = place.kafka.publisher()
    await publisher.publish(
        [Out(place.topic, value, b"k", 0) for value in (b'{"who":"acme"}', b"{", b'{"who":7}', b"{}")]
    )
    await publisher.stop()
    fields = FieldReader(parse_field("json:who"), parse_field("none"))
    async with place.reader(fields=fields) as reader:
        slabs = await whole(reader, await reader.find(place.topic, None))
    assert [tenant for slab in slabs for tenant in slab.tenants or ()] == [b"acme", None, b"7", None]
    assert sum(slab.damaged for slab in slabs) == 1
    assert all(slab.discriminators is None for slab in slabs)


async def test_an_open_transaction_is_read_or_is_the_end(place: Place) -> None:
    await place.publish(*[0] * 5)
    await place.leave_open([place.out(0), place.out(0)])
    await place.publish(*[0] * 5)
    assert (await place.read())[0].ends[0] == 12
    stretch, slabs = await place.read(committed=True)
    assert (stretch.ends[0], sum(map(len, slabs))) == (5, 5)
