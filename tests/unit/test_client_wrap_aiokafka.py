"""The wrapper against an aiokafka producer that has the real signatures and no broker."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from aiokafka.partitioner import DefaultPartitioner, murmur2

from hotshard import AsyncRegistry, MemoryRegistry, shard
from hotshard.client.wrap.aiokafka import ShardedAIOKafkaProducer
from hotshard.core.planning.shards import shard_of
from hotshard.core.topic import Carry
from tests.support.eventually import eventually
from tests.support.offline import OfflineProducer
from tests.support.registry import KEY, TOPIC, route, state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BASE = KEY.encode()
SHARDS = {f"{KEY}\x1f{n}".encode() for n in range(3)}
MARKS = [("hotshard-base", BASE), ("hotshard-epoch", b"1.1")]


class Recorder(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka has no types
    """Keeps what it is given, and makes the errors it is told to make."""

    def __init__(self, key_serializer: Any = None) -> None:  # noqa: ANN401 - as aiokafka takes it
        super().__init__(key_serializer=key_serializer)
        self.sent: list[tuple[Any, ...]] = []
        self.errors: list[BaseException] = []
        self.open = 0
        self.fails_on_headers: BaseException | None = None

    async def send(  # noqa: PLR0917 - aiokafka's own signature
        self,
        topic: str,
        value: Any = None,  # noqa: ANN401
        key: Any = None,  # noqa: ANN401
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Any = None,  # noqa: ANN401
    ) -> asyncio.Future[str]:
        if headers and self.fails_on_headers is not None:
            raise self.fails_on_headers
        self.sent.append((topic, value, key, partition, timestamp_ms, headers))
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        done.set_result("metadata")
        return done

    async def start(self) -> None:
        self.open += 1

    async def stop(self) -> None:
        self.open -= 1

    def __del__(self) -> None:
        """The real one warns that it was never stopped; here nothing was started."""


@pytest.fixture
async def registry() -> AsyncIterator[AsyncRegistry]:
    memory = MemoryRegistry()
    memory.split(TOPIC, KEY, ("0", "1", "2"))
    async with AsyncRegistry(memory) as made:
        yield made


async def test_a_routed_key_is_spread_and_marked(registry: AsyncRegistry) -> None:
    recorder = Recorder()
    producer = shard(recorder, registry)
    for _ in range(6):
        assert await (await producer.send(TOPIC, b"v", BASE)) == "metadata"
        assert await producer.send_and_wait(TOPIC, value=b"v", key=BASE) == "metadata"
    assert {sent[2] for sent in recorder.sent} == SHARDS
    assert all(sent[3:] == (None, None, MARKS) for sent in recorder.sent)


async def test_headers_and_timestamps_of_the_record_are_kept(registry: AsyncRegistry) -> None:
    recorder = Recorder()
    own = [("trace", b"1"), ("hotshard-base", b"of another")]
    producer = shard(recorder, registry)
    await producer.send(TOPIC, b"v", BASE, timestamp_ms=5, headers=own)
    await producer.send(TOPIC, b"v", BASE, headers=iter(own))
    assert [sent[4:] for sent in recorder.sent] == [(5, [*own, *MARKS]), (None, [*own, *MARKS])]
    assert own == [("trace", b"1"), ("hotshard-base", b"of another")]


async def test_the_payload_is_not_copied(registry: AsyncRegistry) -> None:
    recorder = Recorder()
    payload = bytearray(b"large")
    await shard(recorder, registry, discriminator=lambda _, value, __: bytes(value)).send(TOPIC, payload, BASE)
    assert recorder.sent[0][1] is payload


@pytest.mark.parametrize(
    ("key", "partition", "topic"),
    [
        (None, None, TOPIC), (BASE, 0, TOPIC), (BASE, None, "unknown"), (b"other", None, TOPIC),
        (b"\xff\x00", None, TOPIC), (bytearray(BASE), None, TOPIC), (memoryview(BASE), None, TOPIC),
    ],
)  # fmt: skip
async def test_everything_else_goes_out_untouched(
    registry: AsyncRegistry,
    key: Any,  # noqa: ANN401 - whatever aiokafka takes
    partition: int | None,
    topic: str,
) -> None:
    recorder = Recorder()
    await shard(recorder, registry).send(topic, b"v", key, partition, 7, [("a", b"b")])
    await shard(recorder, registry).send(topic, b"v", key, partition)
    assert recorder.sent[0] == (topic, b"v", key, partition, 7, [("a", b"b")])
    assert recorder.sent[1] == (topic, b"v", key, partition, None, None)
    assert recorder.sent[0][2] is key
    assert registry.counters.route_errors == 0


async def test_one_discriminator_keeps_its_shard(registry: AsyncRegistry) -> None:
    recorder = Recorder()
    seen = []

    def user(key: bytes, value: bytes, headers: Any) -> bytes:  # noqa: ANN401
        seen.append((key, value, headers))
        return value

    producer = shard(recorder, registry, discriminator=user)
    for n in range(60):
        await producer.send(TOPIC, f"user-{n % 20}".encode(), BASE, headers=[("h", b"1")])
    for sent in recorder.sent:
        assert sent[2] == BASE + f"\x1f{shard_of(sent[1], 3)}".encode()
    assert seen[0] == (BASE, b"user-0", [("h", b"1")])
    await producer.send(TOPIC, b"v", b"other")
    assert len(seen) == 60, "keys without a route are not looked into"


@pytest.mark.parametrize("answer", [7, ValueError("no user"), ["x"]])
async def test_a_failing_discriminator_sends_on_the_base_key(
    registry: AsyncRegistry,
    answer: Any,  # noqa: ANN401 - whatever it may give
) -> None:
    def discriminator(*_: object) -> Any:  # noqa: ANN401
        if isinstance(answer, Exception):
            raise answer
        return answer

    recorder = Recorder()
    await shard(recorder, registry, discriminator=discriminator).send(TOPIC, b"v", BASE, headers=[("a", b"b")])
    assert recorder.sent == [(TOPIC, b"v", BASE, None, None, [("a", b"b")])]
    assert registry.counters.route_errors == 1


async def test_keys_for_a_serializer_are_left_alone_unless_they_are_said_to_be_text(registry: AsyncRegistry) -> None:
    recorder = Recorder(key_serializer=str.encode)
    await shard(recorder, registry).send(TOPIC, b"v", KEY)
    await shard(recorder, registry, text_keys=True).send(TOPIC, b"v", KEY)
    assert recorder.sent[0][2] == KEY
    assert recorder.sent[1][2].encode() in SHARDS


@pytest.mark.parametrize("error", [MessageSizeTooLargeError("large"), AssertionError("partition"), KeyError("codec")])
async def test_a_record_that_only_routing_made_impossible_goes_out_on_its_base_key(
    registry: AsyncRegistry, error: Exception
) -> None:
    recorder = Recorder()
    recorder.fails_on_headers = error
    await shard(recorder, registry).send(TOPIC, b"v", BASE)
    assert recorder.sent == [(TOPIC, b"v", BASE, None, None, None)]
    assert registry.counters.route_errors == 1


@pytest.mark.parametrize("error", [KafkaTimeoutError("full"), asyncio.CancelledError()])
async def test_an_error_of_kafka_itself_is_not_tried_twice(registry: AsyncRegistry, error: BaseException) -> None:
    recorder = Recorder()
    recorder.fails_on_headers = error
    with pytest.raises(type(error)):
        await shard(recorder, registry).send(TOPIC, b"v", BASE)
    assert recorder.sent == []


async def test_a_route_by_partition_gives_the_partition() -> None:
    memory = MemoryRegistry()
    memory.store.publish(state(1, route(suffixes=(), partitions=(4, 6), carry=Carry.PARTITION)))
    recorder = Recorder()
    async with AsyncRegistry(memory) as registry:
        producer = shard(recorder, registry)
        for _ in range(4):
            await producer.send(TOPIC, b"v", BASE)
    assert {sent[2:4] for sent in recorder.sent} == {(BASE, 4), (BASE, 6)}


@pytest.mark.parametrize(
    ("seen", "given"),
    [(set(), True), (set(range(64)), True), (set(range(63)), False), (set(range(128)), False)],
)
async def test_partitions_are_given_only_where_the_topic_has_as_many_as_the_route_was_made_for(
    monkeypatch: pytest.MonkeyPatch,
    seen: set[int],
    given: bool,  # noqa: FBT001 -- what is expected
) -> None:
    memory = MemoryRegistry()
    memory.store.publish(state(1, route(suffixes=(), partitions=(4, 6), partition_count=64, carry=Carry.PARTITION)))
    recorder = Recorder()
    looks: list[None] = []
    monkeypatch.setattr(recorder.client.cluster, "partitions_for_topic", lambda _topic: seen or None)
    monkeypatch.setattr(recorder.client, "force_metadata_update", lambda: looks.append(None))
    async with AsyncRegistry(memory) as registry:
        producer = shard(recorder, registry)
        await producer.send(TOPIC, b"v", BASE)
        await producer.send(TOPIC, b"v", BASE)
        assert {sent[2:4] for sent in recorder.sent} == ({(BASE, 4), (BASE, 6)} if given else {(BASE, None)})
        assert registry.counters.other_partition_count == (0 if given else 2)
    assert len(looks) == (len(seen) == 63), "Kafka is asked again, once in a while, when the plan knows more partitions"


async def test_a_suffix_is_followed_whatever_the_count(
    monkeypatch: pytest.MonkeyPatch, registry: AsyncRegistry
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(recorder.client.cluster, "partitions_for_topic", lambda _topic: set(range(500)))
    await shard(recorder, registry).send(TOPIC, b"v", BASE)
    assert recorder.sent[0][2] in SHARDS


async def test_all_else_is_the_producers_own(registry: AsyncRegistry) -> None:
    recorder = Recorder()
    async with shard(recorder, registry) as producer:
        assert isinstance(producer, ShardedAIOKafkaProducer)
        assert recorder.open == 1
        assert producer.wrapped is recorder
        assert producer.sent is recorder.sent
        assert producer.transaction == recorder.transaction
        recorder.sent = []
        assert producer.sent is recorder.sent, "as it is now"
        assert copy.copy(producer).wrapped is recorder
        with pytest.raises(AttributeError):
            producer.no_such_thing  # noqa: B018 - looked up on purpose
    assert recorder.open == 0


@pytest.mark.parametrize("name", ["send", "send_and_wait"])
@pytest.mark.parametrize("routes", [True, False])
async def test_signatures_are_those_of_aiokafka(registry: AsyncRegistry, name: str, routes: bool) -> None:  # noqa: FBT001 - parametrized
    def parameters(of: object) -> list[tuple[str, Any, Any]]:
        found = inspect.signature(getattr(of, name)).parameters.values()
        return [(one.name, one.kind, one.default) for one in found]

    producer = Recorder(None if routes else str.encode)
    assert parameters(shard(producer, registry)) == parameters(producer)


@pytest.mark.parametrize("name", ["send", "send_and_wait"])
@pytest.mark.parametrize(("topic", "key"), [("unknown", BASE), (TOPIC, b"other"), (TOPIC, None)])
async def test_a_record_that_is_not_routed_gets_the_producers_own_coroutine(
    registry: AsyncRegistry, name: str, topic: str, key: bytes | None
) -> None:
    given = getattr(shard(Recorder(), registry), name)(topic, b"v", key)
    assert given.cr_code is getattr(Recorder, name).__code__
    await given


@pytest.mark.parametrize("key", [BASE, b"other"])
async def test_a_send_can_be_made_a_task(registry: AsyncRegistry, key: bytes) -> None:
    producer = shard(Recorder(), registry)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(producer.send_and_wait(topic=TOPIC, key=key, value=b"v")) for _ in range(3)]
    assert [task.result() for task in tasks] == ["metadata"] * 3


@pytest.mark.parametrize("given", [(("a", b"b"),), iter([("a", b"b")])])
async def test_headers_of_any_kind_become_a_list(registry: AsyncRegistry, given: Any) -> None:  # noqa: ANN401 - any iterable
    recorder = Recorder()
    await shard(recorder, registry).send(TOPIC, b"v", b"other", headers=given)
    assert recorder.sent[0][5] == [("a", b"b")]


async def test_a_route_that_comes_or_goes_is_seen_by_the_next_send() -> None:
    recorder, memory = Recorder(), MemoryRegistry()
    async with AsyncRegistry(memory) as registry:
        producer = shard(recorder, registry)
        await producer.send(TOPIC, b"v", BASE)
        memory.split(TOPIC, KEY, ("0", "1", "2"))
        await eventually(lambda: registry.route(TOPIC, BASE).key != BASE)
        await producer.send(TOPIC, b"v", BASE)
        registry.disabled = True
        await producer.send(TOPIC, b"v", BASE)
        registry.disabled = False
        await producer.send(TOPIC, b"v", BASE)
    assert [sent[2] in SHARDS for sent in recorder.sent] == [False, True, False, True]


async def test_shards_go_where_the_partitioner_would_put_them_also_when_partitions_are_added(
    registry: AsyncRegistry,
) -> None:
    producer = OfflineProducer(TOPIC, 12)
    wrapped, partitioner = shard(producer, registry), DefaultPartitioner()
    for partitions in (12, 13, 48):
        producer.learn(TOPIC, partitions)
        producer.written.clear()
        for _ in range(6):
            await wrapped.send(TOPIC, b"v", BASE)
        assert {written.key for written in producer.written} == SHARDS
        for written in producer.written:
            assert written.partition == partitioner(written.key, list(range(partitions)), [])
            assert written.headers == MARKS


async def test_the_partitioner_is_asked_once_a_shard(registry: AsyncRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[bytes] = []

    def counted(key: bytes) -> int:
        hashed.append(key)
        return int(murmur2(key))

    monkeypatch.setattr("aiokafka.partitioner.murmur2", counted)
    wrapped = shard(OfflineProducer(TOPIC, 12), registry)
    for _ in range(30):
        await wrapped.send_and_wait(TOPIC, b"v", BASE)
    assert Counter(hashed) == dict.fromkeys(SHARDS, 1)


async def test_a_producer_that_is_wrapped_again_and_again_hears_its_metadata_once(registry: AsyncRegistry) -> None:
    producer = OfflineProducer(TOPIC, 12)
    for _ in range(6):
        await shard(producer, registry).send(TOPIC, b"v", BASE)
    assert len(producer.client.cluster._listeners) == 1  # noqa: SLF001 - aiokafka does not tell


async def test_what_was_worked_out_for_a_producer_goes_with_it(registry: AsyncRegistry) -> None:
    producer = OfflineProducer(TOPIC, 12)
    await shard(producer, registry).send(TOPIC, b"v", BASE)
    cluster = weakref.ref(producer.client.cluster)
    del producer
    gc.collect()
    assert cluster() is None


async def test_headers_that_are_none_are_refused_at_the_call(registry: AsyncRegistry) -> None:
    wrapped = shard(OfflineProducer(TOPIC, 12), registry)
    with pytest.raises(TypeError):
        wrapped.send(TOPIC, b"v", b"other", headers=7)


async def test_a_partition_that_is_gone_by_then_sends_on_the_base_key(
    registry: AsyncRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = OfflineProducer(TOPIC, 48)
    wrapped = shard(producer, registry)
    for _ in range(3):
        await wrapped.send(TOPIC, b"v", BASE)
    # A topic made anew, between the choice and the check of aiokafka.
    monkeypatch.setattr(producer.client.cluster, "partitions_for_topic", lambda _topic: {0})
    monkeypatch.setattr(producer.client.cluster, "available_partitions_for_topic", lambda _topic: {0})
    producer.written.clear()
    for _ in range(3):
        await wrapped.send(TOPIC, b"v", BASE)
    assert [(written.partition, written.key) for written in producer.written] == [(0, BASE)] * 3
    assert registry.counters.route_errors == 3


class LastByte(DefaultPartitioner):  # type: ignore[misc]  # aiokafka has no types
    def __call__(self, key: bytes, all_partitions: list[int], _available: list[int]) -> int:
        return key[-1] % len(all_partitions)


async def test_another_partitioner_decides_itself(registry: AsyncRegistry) -> None:
    producer = OfflineProducer(TOPIC, 12, partitioner=LastByte())
    wrapped = shard(producer, registry)
    for _ in range(6):
        await wrapped.send(TOPIC, b"v", BASE)
    assert {written.key for written in producer.written} == SHARDS
    assert all(written.key is not None and written.partition == written.key[-1] % 12 for written in producer.written)


async def test_a_key_serializer_comes_before_the_partitioner(registry: AsyncRegistry) -> None:
    producer = OfflineProducer(TOPIC, 12, key_serializer=str.encode)
    wrapped, partitioner = shard(producer, registry, text_keys=True), DefaultPartitioner()
    for _ in range(6):
        await wrapped.send(TOPIC, b"v", KEY)
    assert {written.key for written in producer.written} == SHARDS
    assert all(written.partition == partitioner(written.key, list(range(12)), []) for written in producer.written)


async def test_the_name_that_tells_of_a_key_serializer_is_still_there() -> None:
    assert Recorder()._key_serializer is None  # noqa: SLF001 - what the wrapper looks at
    assert Recorder(str.encode)._key_serializer is str.encode  # noqa: SLF001


@pytest.mark.parametrize("producer", [object(), None, "producer", AIOKafkaProducer])
def test_another_producer_is_refused_with_what_is_possible(producer: Any) -> None:  # noqa: ANN401
    with pytest.raises(TypeError, match=r"aiokafka\.AIOKafkaProducer.*registry\.route"):
        shard(producer, MemoryRegistry())  # type: ignore[arg-type]  # it is not looked at
