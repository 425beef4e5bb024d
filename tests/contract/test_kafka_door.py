"""One suite for the Kafka door: in memory, on Apache Kafka, and (without transactions) on the embedded broker."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest
from aiokafka import AIOKafkaProducer

from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.contract import Log, Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.doors.kafka.real import AioKafka
from hotshard.errors import (
    FencedError,
    MissingTopicError,
    RefusedError,
    TopicMismatchError,
    UnavailableError,
)
from tests.support.eventually import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hotshard.doors.kafka.contract import Admin, Kafka, Publisher, Reader, Speaker


class LeaveOpen(Protocol):
    async def __call__(self, transactional_id: str, outs: Sequence[Out]) -> None:
        """Write in a transaction of the id that is not ended."""


@dataclass
class Place:
    """A Kafka under test, and a topic with three partitions in it."""

    kafka: Kafka
    topic: str
    publisher: Publisher
    reader: Reader
    admin: Admin
    leave_open: LeaveOpen

    def speaker(self, name: str = "a") -> Speaker:
        return self.kafka.speaker(f"{self.topic}-{name}")

    def out(self, value: str, partition: int = 0) -> Out:
        return Out(self.topic, value.encode(), b"k", partition)

    async def values(self, partition: int = 0) -> list[str]:
        return texts(await self.reader.read_all(self.topic, partition))

    async def has_something(self) -> bool:
        return bool(await self.values())


def texts(logs: Sequence[Log]) -> list[str]:
    return [(log.value or b"").decode() for log in logs]


@contextlib.asynccontextmanager
async def placed(kafka: Kafka, topic: str, leave_open: LeaveOpen) -> AsyncIterator[Place]:
    place = Place(kafka, topic, kafka.publisher(), kafka.reader(), kafka.admin(), leave_open)
    await place.admin.ensure(TopicWanted(name=topic, partitions=3))
    yield place
    await place.publisher.stop()
    await place.reader.stop()
    await place.admin.stop()


@contextlib.asynccontextmanager
async def in_memory(topic: str) -> AsyncIterator[Place]:
    kafka = MemoryKafka(timeout_s=0.2)

    async def leave_open(transactional_id: str, outs: Sequence[Out]) -> None:
        kafka.cluster.leave_open(transactional_id, outs)

    async with placed(kafka, topic, leave_open) as place:
        yield place


@contextlib.asynccontextmanager
async def on_broker(bootstrap: str, topic: str) -> AsyncIterator[Place]:
    dying: list[AIOKafkaProducer] = []

    async def leave_open(transactional_id: str, outs: Sequence[Out]) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
        dying.append(producer)
        await producer.start()
        await producer.begin_transaction()
        for out in outs:
            await producer.send_and_wait(out.topic, out.value, out.key, out.partition)

    kafka = AioKafka(KafkaConnection(bootstrap_servers=(bootstrap,)), timeout_s=10)
    async with placed(kafka, topic, leave_open) as place:
        yield place
    for producer in dying:
        await producer.stop()


@pytest.fixture(params=["memory", pytest.param("apache", marks=pytest.mark.integration)])
async def place(request: pytest.FixtureRequest, fresh_topic_name: str) -> AsyncIterator[Place]:
    """Everything that has transactions."""
    if request.param == "memory":
        async with in_memory(fresh_topic_name) as found:
            yield found
    else:
        async with on_broker(request.getfixturevalue("kafka").bootstrap, fresh_topic_name) as found:
            yield found


@pytest.fixture(
    params=[
        "memory",
        pytest.param("kafka", marks=pytest.mark.integration),
        pytest.param("embedded_kafka", marks=[pytest.mark.integration, pytest.mark.embedded]),
    ]
)
async def any_place(request: pytest.FixtureRequest, fresh_topic_name: str) -> AsyncIterator[Place]:
    """Everything, also what has no transactions."""
    if request.param == "memory":
        async with in_memory(fresh_topic_name) as found:
            yield found
    else:
        async with on_broker(request.getfixturevalue(request.param).bootstrap, fresh_topic_name) as found:
            yield found


# Publisher and reader


async def test_what_is_published_is_read_in_order_with_its_key_and_offset(any_place: Place) -> None:
    await any_place.publisher.publish([any_place.out(f"v{number}", number % 2) for number in range(500)])
    for partition in (0, 1):
        logs = await any_place.reader.read_all(any_place.topic, partition)
        assert texts(logs) == [f"v{number}" for number in range(partition, 500, 2)]
        assert [log.offset for log in logs] == list(range(250))
        assert {(log.topic, log.partition, log.key) for log in logs} == {(any_place.topic, partition, b"k")}
        assert all(log.timestamp_ms > 1_700_000_000_000 for log in logs)


async def test_an_empty_partition_reads_as_nothing(any_place: Place) -> None:
    assert await any_place.values(2) == []


async def test_a_key_without_a_partition_lands_where_murmur2_says(any_place: Place) -> None:
    await any_place.publisher.publish([Out(any_place.topic, b"v", key) for key in (b"21", b"foobar")])
    found = {log.key: number for number in range(3) for log in await any_place.reader.read_all(any_place.topic, number)}
    assert found == {b"21": (-973932308 & 0x7FFFFFFF) % 3, b"foobar": (-790332482 & 0x7FFFFFFF) % 3}


async def test_a_tombstone_and_a_message_without_key_come_back_as_they_are(any_place: Place) -> None:
    await any_place.publisher.publish([Out(any_place.topic, None, b"k", 0), Out(any_place.topic, b"v", None, 0)])
    logs = await any_place.reader.read_all(any_place.topic, 0)
    assert [(log.key, log.value) for log in logs] == [(b"k", None), (None, b"v")]


async def test_publishing_nothing_does_nothing(any_place: Place) -> None:
    await any_place.publisher.publish([])
    assert await any_place.admin.end_offsets(any_place.topic) == {0: 0, 1: 0, 2: 0}


async def test_publishing_to_a_missing_topic_says_so_and_makes_none(any_place: Place) -> None:
    with pytest.raises(MissingTopicError, match="'nowhere-at-all'"):
        await any_place.publisher.publish([Out("nowhere-at-all", b"v")])
    assert await any_place.admin.partitions("nowhere-at-all") is None


async def test_publishing_goes_on_after_an_error(any_place: Place) -> None:
    with pytest.raises(TopicMismatchError, match="3 partitions"):
        await any_place.publisher.publish([any_place.out("v", 7)])
    await any_place.publisher.publish([any_place.out("w")])
    assert await any_place.values() == ["w"]


async def test_a_message_that_the_broker_will_never_take_is_refused(any_place: Place) -> None:
    with pytest.raises(RefusedError):
        await any_place.publisher.publish([Out(any_place.topic, bytes(2_000_000), b"k", 0)])


async def test_reading_a_missing_topic_says_so(any_place: Place) -> None:
    with pytest.raises(MissingTopicError, match="'nowhere-at-all'"):
        await any_place.reader.read_all("nowhere-at-all", 0)


async def test_following_gives_what_stands_and_what_comes(any_place: Place) -> None:
    await any_place.publisher.publish([any_place.out("old", number) for number in range(3)])
    following = any_place.reader.follow(any_place.topic, {0: 1})
    seen: list[Log] = []
    async with asyncio.timeout(PATIENCE_S):
        async for logs in following:
            seen += logs
            if len(seen) == 2:
                await any_place.publisher.publish([any_place.out("new", number) for number in (1, 0)])
            if len(seen) == 4:
                break
    await following.aclose()
    by_partition = {number: [texts([log])[0] for log in seen if log.partition == number] for number in range(3)}
    assert by_partition == {0: ["new"], 1: ["old", "new"], 2: ["old"]}


async def test_following_a_missing_topic_says_so(any_place: Place) -> None:
    following = any_place.reader.follow("nowhere-at-all")
    with pytest.raises(MissingTopicError):
        await anext(following)


# Admin


async def test_a_missing_topic_is_made_once_and_its_count_told(any_place: Place) -> None:
    wanted = TopicWanted(name=f"{any_place.topic}-new", partitions=5, config={"cleanup.policy": "compact"})
    assert await any_place.admin.partitions(wanted.name) is None
    assert await any_place.admin.ensure(wanted) == 5
    assert await any_place.admin.ensure(wanted, exact=True) == 5
    assert await any_place.admin.partitions(wanted.name) == 5


async def test_another_count_is_told_and_refused_where_it_must_be_exact(any_place: Place) -> None:
    wanted = TopicWanted(name=any_place.topic, partitions=8)
    assert await any_place.admin.ensure(wanted) == 3
    with pytest.raises(TopicMismatchError, match="has 3 partitions and the settings say 8"):
        await any_place.admin.ensure(wanted, exact=True)


async def test_several_workers_may_make_the_same_topic_at_once(any_place: Place) -> None:
    wanted = TopicWanted(name=f"{any_place.topic}-race", partitions=2)
    admins = [any_place.kafka.admin() for _ in range(4)]
    assert await asyncio.gather(*(admin.ensure(wanted) for admin in admins)) == [2] * 4
    for admin in admins:
        await admin.stop()


async def test_offsets_are_told_per_partition(any_place: Place) -> None:
    for value in ("v", "w"):
        await any_place.publisher.publish([any_place.out(value, 1)])
    assert await any_place.admin.end_offsets(any_place.topic) == {0: 0, 1: 2, 2: 0}
    assert await any_place.admin.start_offsets(any_place.topic) == {0: 0, 1: 0, 2: 0}
    with pytest.raises(MissingTopicError):
        await any_place.admin.end_offsets("nowhere-at-all")


# Speaker without transactions


async def test_without_transactions_a_speaker_says_the_same(any_place: Place) -> None:
    speaker = any_place.kafka.speaker("id", transactional=False)
    with pytest.raises(UnavailableError):
        await speaker.say([any_place.out("too early")])
    await speaker.take()
    assert await speaker.say([any_place.out("a"), any_place.out("b", 1), any_place.out("c")]) == (0, 0, 1)
    assert await speaker.say([]) == ()
    await speaker.stop()
    assert await any_place.values() == ["a", "c"]


async def test_without_transactions_a_speaker_must_be_taken_again_after_an_error(any_place: Place) -> None:
    speaker = any_place.kafka.speaker("id", transactional=False)
    await speaker.take()
    with pytest.raises(MissingTopicError):
        await speaker.say([Out("nowhere-at-all", b"v")])
    with pytest.raises(UnavailableError):
        await speaker.say([any_place.out("v")])
    await speaker.take()
    await speaker.say([any_place.out("v")])
    await speaker.stop()


# Speaker with transactions


async def test_what_is_said_stands_with_its_offsets_and_a_control_record_behind_it(place: Place) -> None:
    speaker = place.speaker()
    await speaker.take()
    assert await speaker.say([place.out("a"), place.out("b", 1), place.out("c")]) == (0, 0, 1)
    assert await speaker.say([place.out("d")]) == (3,)
    await speaker.stop()
    assert await place.values() == ["a", "c", "d"]
    assert await place.values(1) == ["b"]
    assert await place.admin.end_offsets(place.topic) == {0: 5, 1: 2, 2: 0}


async def test_saying_nothing_does_nothing(place: Place) -> None:
    speaker = place.speaker()
    await speaker.take()
    assert await speaker.say([]) == ()
    await speaker.stop()
    assert await place.admin.end_offsets(place.topic) == {0: 0, 1: 0, 2: 0}


async def test_a_speaker_that_has_not_taken_its_id_cannot_speak(place: Place) -> None:
    with pytest.raises(UnavailableError):
        await place.speaker().say([place.out("v")])


async def test_the_older_holder_of_an_id_is_fenced_until_it_takes_it_back(place: Place) -> None:
    older, newer = place.speaker(), place.speaker()
    await older.take()
    await older.say([place.out("older")])
    await newer.take()
    for _ in range(2):
        with pytest.raises(FencedError):
            await older.say([place.out("zombie")])
    await newer.say([place.out("newer")])
    assert await place.values() == ["older", "newer"]
    await older.take()
    await older.say([place.out("again")])
    with pytest.raises(FencedError):
        await newer.say([place.out("zombie")])
    await older.stop()
    await newer.stop()
    assert await place.values() == ["older", "newer", "again"]


async def test_two_ids_do_not_fence_each_other(place: Place) -> None:
    first, second = place.speaker("a"), place.speaker("b")
    await first.take()
    await second.take()
    await first.say([place.out("a")])
    await second.say([place.out("b")])
    await first.stop()
    await second.stop()
    assert await place.values() == ["a", "b"]


async def test_taking_aborts_what_a_dead_speaker_left_open_and_reading_passes_it(place: Place) -> None:
    await place.leave_open(f"{place.topic}-a", [place.out("half"), place.out("half", 1)])
    speaker = place.speaker()
    await speaker.take()
    assert await place.values() == []
    assert await place.values(1) == []
    assert await speaker.say([place.out("whole")]) == (2,)
    await speaker.stop()
    assert await place.values() == ["whole"]


async def test_a_foreign_open_transaction_holds_up_reading_only_until_it_ends(place: Place) -> None:
    await place.publisher.publish([place.out("before")])
    await place.leave_open(f"{place.topic}-b", [place.out("open")])
    reading = asyncio.create_task(place.values())
    speaker = place.speaker("b")
    await asyncio.sleep(0)
    await speaker.take()
    await speaker.stop()
    assert await reading == ["before"]


async def test_following_passes_control_records_and_aborted_messages(place: Place) -> None:
    speaker = place.speaker()
    await place.leave_open(f"{place.topic}-a", [place.out("aborted")])
    await speaker.take()
    await speaker.say([place.out("a")])
    await speaker.say([place.out("b")])
    await speaker.stop()
    following = place.reader.follow(place.topic)
    seen: list[Log] = []
    async with asyncio.timeout(PATIENCE_S):
        async for logs in following:
            seen += logs
            if len(seen) == 2:
                break
    await following.aclose()
    assert texts(seen) == ["a", "b"]


async def test_a_transaction_that_cannot_be_written_leaves_nothing(place: Place) -> None:
    speaker = place.speaker()
    await speaker.take()
    with pytest.raises(MissingTopicError):
        await speaker.say([place.out("half"), Out("nowhere-at-all", b"v")])
    with pytest.raises(UnavailableError):
        await speaker.say([place.out("untaken")])
    await speaker.take()
    assert await place.values() == []
    await speaker.say([place.out("whole")])
    await speaker.stop()
    assert await place.values() == ["whole"]


async def test_a_large_transaction_is_one(place: Place) -> None:
    speaker = place.speaker()
    await speaker.take()
    outs = [Out(place.topic, bytes(20_000), b"%d" % number, 0) for number in range(200)]
    await speaker.say(outs)
    await speaker.stop()
    logs = await place.reader.read_all(place.topic, 0)
    assert [log.key for log in logs] == [out.key for out in outs]


async def test_what_was_said_is_seen_by_a_follower_soon(place: Place) -> None:
    speaker = place.speaker()
    await speaker.take()
    await speaker.say([place.out("a")])
    await eventually(place.has_something, what="the commit is visible")
    await speaker.stop()
