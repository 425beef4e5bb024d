"""One suite for looking at consumer groups from outside: in memory, and on Apache Kafka; and lag made of it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from hotshard.core.causes.lag import GroupLag, LagState, lag_of
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.contract import GroupLook, Out, TopicWanted
from hotshard.doors.kafka.lag import read_lag
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.doors.kafka.real import AioKafka
from hotshard.errors import MissingTopicError
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from hotshard.doors.kafka.contract import Admin, Kafka


class Consumers(Protocol):
    """A group at work."""

    async def commit(self, offsets: Mapping[int, int]) -> None:
        """As a group without members commits."""

    async def join(self) -> None:
        """One member, which is given all partitions."""

    async def leave_open(self) -> None:
        """A transaction with a message on partition 0 that is not ended."""


@dataclass
class Place:
    kafka: Kafka
    topic: str
    group: str
    admin: Admin
    consumers: Consumers

    async def look(self) -> GroupLook:
        return await self.admin.group(self.group, self.topic)

    async def write(self, partition: int, count: int) -> None:
        publisher = self.kafka.publisher()
        await publisher.publish([Out(self.topic, b"v", b"k", partition)] * count)
        await publisher.stop()


class InMemory:
    def __init__(self, kafka: MemoryKafka, topic: str) -> None:
        self._kafka, self._topic = kafka, topic

    def _put(self, look: GroupLook) -> None:
        self._kafka.cluster.groups["g", self._topic] = look

    async def commit(self, offsets: Mapping[int, int]) -> None:
        self._put(GroupLook(committed=offsets, members=0))

    async def join(self) -> None:
        self._put(GroupLook(committed={}, members=1, owners=dict.fromkeys(range(3), "member")))

    async def leave_open(self) -> None:
        self._kafka.cluster.leave_open("t", [Out(self._topic, b"v", b"k", 0)])


class OnBroker:
    def __init__(self, bootstrap: str, group: str, topic: str, stack: contextlib.AsyncExitStack) -> None:
        self._bootstrap, self._group, self._topic, self._stack = bootstrap, group, topic, stack

    async def _consumer(self, *topics: str) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            *topics, bootstrap_servers=self._bootstrap, group_id=self._group, enable_auto_commit=False
        )
        await consumer.start()
        self._stack.push_async_callback(consumer.stop)
        return consumer

    async def commit(self, offsets: Mapping[int, int]) -> None:
        consumer = await self._consumer()
        places = {TopicPartition(self._topic, partition): offset for partition, offset in offsets.items()}
        consumer.assign(list(places))
        await consumer.commit(places)

    async def join(self) -> None:
        await self._consumer(self._topic)

    async def leave_open(self) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=self._bootstrap, transactional_id=f"{self._topic}-open")
        await producer.start()
        self._stack.push_async_callback(producer.stop)
        await producer.begin_transaction()
        await producer.send_and_wait(self._topic, b"v", b"k", 0)


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.integration)])
async def place(request: pytest.FixtureRequest, fresh_topic_name: str) -> AsyncIterator[Place]:
    async with contextlib.AsyncExitStack() as stack:
        kafka: Kafka
        consumers: Consumers
        group = "g" if request.param == "memory" else f"{fresh_topic_name}-g"
        if request.param == "memory":
            kafka = memory = MemoryKafka(timeout_s=0.2)
            consumers = InMemory(memory, fresh_topic_name)
        else:
            bootstrap = request.getfixturevalue("kafka").bootstrap
            kafka = AioKafka(KafkaConnection(bootstrap_servers=(bootstrap,)), timeout_s=10)
            consumers = OnBroker(bootstrap, group, fresh_topic_name, stack)
        admin = kafka.admin()
        stack.push_async_callback(admin.stop)
        await admin.ensure(TopicWanted(name=fresh_topic_name, partitions=3))
        yield Place(kafka, fresh_topic_name, group, admin, consumers)


async def test_a_group_that_does_not_exist_has_nothing_and_no_members(place: Place) -> None:
    assert await place.look() == GroupLook(committed={}, members=0)


async def test_a_topic_that_does_not_exist_is_told(place: Place) -> None:
    with pytest.raises(MissingTopicError):
        await place.admin.group(place.group, "nowhere-at-all")
    with pytest.raises(MissingTopicError):
        await place.admin.stable_offsets("nowhere-at-all")


async def test_committed_offsets_are_told_without_members(place: Place) -> None:
    await place.write(0, 5)
    await place.consumers.commit({0: 3, 1: 0})
    assert await place.look() == GroupLook(committed={0: 3, 1: 0}, members=0)


async def test_a_member_is_told_with_its_partitions(place: Place) -> None:
    await place.consumers.join()

    async def has_all() -> bool:
        return len((await place.look()).owners) == 3

    await eventually(has_all)
    look = await place.look()
    assert look.members == 1
    assert set(look.owners) == {0, 1, 2}
    assert len(set(look.owners.values())) == 1


async def test_an_open_transaction_keeps_the_stable_offset_back(place: Place) -> None:
    await place.write(0, 2)
    assert await place.admin.stable_offsets(place.topic) == {0: 2, 1: 0, 2: 0}
    await place.consumers.leave_open()
    assert await place.admin.stable_offsets(place.topic) == {0: 2, 1: 0, 2: 0}
    assert await place.admin.end_offsets(place.topic) == {0: 3, 1: 0, 2: 0}


async def test_lag_is_read_from_offsets(place: Place) -> None:
    await place.write(0, 7)
    await place.write(1, 4)
    await place.consumers.commit({0: 3})
    lag = await read_lag(place.admin, place.group, place.topic)
    assert [lag_of(each) for each in lag.partitions] == [4, None, 0]
    assert list(GroupLag(lag).states.values()) == [LagState.STOPPED, LagState.NO_COMMIT, LagState.EMPTY]


async def test_what_is_in_an_open_transaction_is_no_lag(place: Place) -> None:
    await place.write(0, 2)
    await place.consumers.leave_open()
    await place.consumers.commit({0: 2})
    lag = await read_lag(place.admin, place.group, place.topic)
    assert lag_of(lag.partitions[0]) == 0


async def test_two_looks_tell_what_moved(place: Place) -> None:
    await place.write(0, 10)
    await place.write(1, 10)
    await place.consumers.commit({0: 1, 1: 2})
    before = await read_lag(place.admin, place.group, place.topic)
    await place.write(0, 5)
    await place.consumers.commit({0: 1, 1: 8})
    lag = await read_lag(place.admin, place.group, place.topic, before=before, since_s=120.0)
    stuck, moving, _ = lag.partitions
    assert (stuck.committed_before, stuck.committed, stuck.end_before, stuck.end) == (1, 1, 10, 15)
    assert (moving.committed_before, moving.committed) == (2, 8)
    assert {each.since_s for each in lag.partitions} == {120.0}
