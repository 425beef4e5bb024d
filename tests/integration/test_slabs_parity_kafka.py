"""On a real broker, whatever lies in a topic: slabs, joined records and plain aiokafka agree."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from faust.types import TP

from tests.support.eventually import eventually
from tests.support.mirror import ends_of, make_mirror, mirroring, running
from tests.support.topics import Sent, Stored, admin, create_topic, produce, producing, read_topic, send_all

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hotshard.core.slab import Slab
    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration

_CODECS = ("gzip", "snappy", "lz4", "zstd")


def _rows(count: int, partitions: int = 2, size: int = 20) -> list[Sent]:
    return [Sent(b"k%d" % (n % 17), b"v" * (n % size), n % partitions, 1000 + n) for n in range(count)]


class Fill:
    """Fills topics of one broker; producers whose transactions are to stay open live as long as it does."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.stack = AsyncExitStack()

    async def topic(self, name: str, partitions: int = 2, config: Mapping[str, str] | None = None) -> None:
        await create_topic(self.bootstrap, name, partitions, {"retention.ms": "-1", **(config or {})})

    async def transactional(self, name: str) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap, transactional_id=name)
        await producer.start()
        self.stack.push_async_callback(producer.stop)
        return producer

    async def codecs(self, name: str) -> None:
        await self.topic(name)
        for codec in (None, *_CODECS, None):
            await produce(self.bootstrap, name, _rows(300), compression_type=codec, linger_ms=20)

    async def odd(self, name: str) -> None:
        """Tombstones, null and empty keys, headers."""
        await self.topic(name)
        kinds = [(None, b""), (b"", b""), (None, b"v"), (b"k", None), (b"", None), (b"\x00\x00\x00\x07avro", b"v")]
        rows = [Sent(*kinds[n % 6], n % 2, 5 + n, [("h", b"x"), ("", b"")] if n % 3 else []) for n in range(120)]
        await produce(self.bootstrap, name, rows, linger_ms=20)

    async def large(self, name: str) -> None:
        """Records of 1 MB between small ones."""
        await self.topic(name, config={"max.message.bytes": "4194304"})
        rows = [Sent(b"k%d" % n, b"v" * (1_000_000 if n % 4 == 0 else 10), n % 2) for n in range(12)]
        await produce(self.bootstrap, name, rows, max_request_size=2_000_000, max_batch_size=2_000_000)

    async def brokers_time(self, name: str) -> None:
        await self.topic(name, config={"message.timestamp.type": "LogAppendTime"})
        await produce(self.bootstrap, name, _rows(200), linger_ms=20)

    async def transactions(self, name: str) -> None:
        """Committed, aborted, two interleaved, plain in between, and one left open."""
        await self.topic(name)
        one, two = await self.transactional(f"{name}-1"), await self.transactional(f"{name}-2")
        for turn in range(6):
            await one.begin_transaction()
            await two.begin_transaction()
            for part in range(3):
                await send_all(one, name, _rows(9 + part))
                await send_all(two, name, _rows(7 + part))
            await (one.abort_transaction() if turn % 2 else one.commit_transaction())
            await produce(self.bootstrap, name, _rows(5))
            await (two.abort_transaction() if turn % 3 else two.commit_transaction())
        await one.begin_transaction()
        await send_all(one, name, _rows(10))
        await produce(self.bootstrap, name, _rows(5))

    async def nothing_but_aborted(self, name: str) -> None:
        await self.topic(name)
        producer = await self.transactional(name)
        for _ in range(5):
            await producer.begin_transaction()
            await send_all(producer, name, _rows(20))
            await producer.abort_transaction()

    async def compacted(self, name: str) -> None:
        """Gaps within batches, and whole batches gone; also such as once were transactions."""
        config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"}
        await self.topic(name, 1, config)
        producer = await self.transactional(name)
        for turn in range(4):
            await produce(self.bootstrap, name, [Sent(b"k%d" % (n % 5), b"v", 0) for n in range(40)], linger_ms=20)
            await producer.begin_transaction()
            await send_all(producer, name, [Sent(b"k%d" % (n + turn), b"v", 0) for n in range(5)])
            await producer.commit_transaction()
        before = len(await read_topic(self.bootstrap, name))

        async def fewer() -> bool:
            await produce(self.bootstrap, name, [Sent(b"roll", b"v", 0)])
            return len(await read_topic(self.bootstrap, name)) < before

        await eventually(fewer, what="compaction")
        # No more of it from here on: the topic is read several times, and must be the same each time.
        async with admin(self.bootstrap) as client:
            kept = {"cleanup.policy": "delete", "retention.ms": "-1"}
            await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, kept)])
        seen: list[list[Stored]] = []

        async def settled() -> bool:
            seen.append(await read_topic(self.bootstrap, name))
            return len(seen) > 5 and all(each == seen[-1] for each in seen[-5:])

        await eventually(settled, what="the end of compaction")

    async def deleted(self, name: str) -> None:
        """The first records are gone, up to the middle of a batch."""
        await self.topic(name)
        await produce(self.bootstrap, name, _rows(200), linger_ms=50)
        client = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await client.start()
        await client.delete_records({TopicPartition(name, n): RecordsToDelete(before_offset=7 + n) for n in range(2)})
        await client.close()

    async def empty(self, name: str) -> None:
        await self.topic(name)


_KINDS: tuple[Callable[[Fill, str], Awaitable[None]], ...] = (
    Fill.codecs,
    Fill.odd,
    Fill.large,
    Fill.brokers_time,
    Fill.transactions,
    Fill.nothing_but_aborted,
    Fill.compacted,
    Fill.deleted,
    Fill.empty,
)
_NAMES = [kind.__name__ for kind in _KINDS]


class Column(NamedTuple):
    """A partition as it was read."""

    start: int
    end: int
    keys: list[bytes | None]
    sizes: list[int]
    timestamps: list[int]


class Way(NamedTuple):
    """A way to read."""

    slabs: bool
    committed: bool
    fetch_bytes: int = 1_048_576


class Readings(NamedTuple):
    """Everything that was read, by way; what plain aiokafka read, where partitions begin and end, by isolation."""

    slabs: dict[Way, dict[TP, list[Slab]]]
    stock: dict[Way, list[str]]
    plain: dict[bool, dict[str, list[Stored]]]
    starts: dict[TP, int]
    ends: dict[bool, dict[TP, int]]


_WAYS = [Way(slabs, committed) for slabs in (True, False) for committed in (True, False)] + [Way(True, True, 65_536)]  # noqa: FBT003


@pytest.fixture(scope="module")
def readings(kafka: ApacheKafka) -> Readings:
    """All kinds of topics, read in all ways: once."""
    return asyncio.run(_read_all(kafka.bootstrap))


async def _read_all(bootstrap: str) -> Readings:
    fill = Fill(bootstrap)
    async with fill.stack:
        for kind in _KINDS:
            await kind(fill, kind.__name__)
        ends = {committed: await ends_of(bootstrap, *_NAMES, committed=committed) for committed in (True, False)}
        found = Readings({}, {}, {}, await ends_of(bootstrap, *_NAMES, first=True), ends)
        for committed in (True, False):
            found.plain[committed] = {name: await read_topic(bootstrap, name, committed=committed) for name in _NAMES}
        for number, way in enumerate(_WAYS):
            await _read(bootstrap, f"parity{number}", way, found)
        return found


async def _read(bootstrap: str, group: str, way: Way, found: Readings) -> None:
    settings = {"slabs": way.slabs, "committed": way.committed, "consumer_max_fetch_size": way.fetch_bytes}
    async with mirroring(bootstrap, *_NAMES, group=group, **settings) as mirror:
        await mirror.until({tp: end for tp, end in found.ends[way.committed].items() if end > found.starts[tp]})
        mirror.assert_tiled()
        found.slabs[way] = dict(mirror.taken)
        found.stock[way] = list(mirror.stock)


def _columns(found: dict[TP, list[Slab]], topic: str) -> dict[int, Column]:
    columns = {}
    for tp, slabs in found.items():
        if tp.topic == topic:
            columns[tp.partition] = Column(
                slabs[0].start,
                slabs[-1].end,
                [key for slab in slabs for key in slab.keys],
                [size for slab in slabs for size in slab.sizes],
                [at for slab in slabs for at in slab.timestamps],
            )
    return columns


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("topic", _NAMES)
def test_slabs_and_joined_records_agree(readings: Readings, topic: str, *, committed: bool) -> None:
    slabs = _columns(readings.slabs[Way(True, committed)], topic)  # noqa: FBT003
    assert slabs == _columns(readings.slabs[Way(False, committed)], topic)  # noqa: FBT003
    assert bool(slabs) is (topic != "empty")


@pytest.mark.parametrize("topic", _NAMES)
def test_slabs_of_small_fetches_agree_with_those_of_large_ones(readings: Readings, topic: str) -> None:
    assert _columns(readings.slabs[_WAYS[-1]], topic) == _columns(readings.slabs[_WAYS[0]], topic)


@pytest.mark.parametrize("committed", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("topic", _NAMES)
def test_slabs_hold_what_aiokafka_reads(readings: Readings, topic: str, *, committed: bool) -> None:
    stored = readings.plain[committed][topic]
    for partition, column in _columns(readings.slabs[Way(True, committed)], topic).items():  # noqa: FBT003
        mine = [record for record in stored if record.partition == partition]
        assert column.keys == [record.key for record in mine]
        assert column.sizes == [len(record.key or b"") + len(record.value or b"") for record in mine]
        assert column.timestamps == [record.timestamp_ms for record in mine]


@pytest.mark.parametrize("way", _WAYS, ids=str)
def test_slabs_reach_from_the_first_offset_to_the_end_of_what_can_be_read(readings: Readings, way: Way) -> None:
    ends = readings.ends[way.committed]
    for tp, slabs in readings.slabs[way].items():
        assert (slabs[0].start, slabs[-1].end) == (readings.starts[tp], ends[tp])
        assert {slab.high_watermark for slab in slabs} == {ends[tp]}
        assert all(slab.skipped == 0 and slab.generation > 0 for slab in slabs)


@pytest.mark.parametrize("way", _WAYS, ids=str)
def test_the_stock_way_is_told_once_and_only_when_it_is_taken(readings: Readings, way: Way) -> None:
    assert readings.stock[way] == ([] if way.slabs else ["switched off in the settings"])


def test_no_slab_is_larger_than_it_may_be(readings: Readings) -> None:
    assert max(len(slab) for found in readings.slabs.values() for slabs in found.values() for slab in slabs) <= 20_000


async def test_reading_may_begin_anywhere_inside_a_batch(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    starts = dict(enumerate((0, 1, 37, 98, 99)))
    await create_topic(kafka.bootstrap, fresh_topic_name, len(starts))
    async with producing(kafka.bootstrap, linger_ms=50, compression_type="lz4") as producer:
        await send_all(producer, fresh_topic_name, [Sent(b"%d" % n, b"v", part) for n in range(100) for part in starts])

    async def begin(_: frozenset[TP]) -> dict[TP, int]:
        return {TP(fresh_topic_name, part): start for part, start in starts.items()}

    mirror = make_mirror(kafka.bootstrap, [fresh_topic_name], group=fresh_topic_name)
    mirror.consumer.start_positions = begin
    async with running(mirror):
        await mirror.until({TP(fresh_topic_name, part): 100 for part in starts})
        mirror.assert_tiled()
        for part, start in starts.items():
            column = _columns(mirror.taken, fresh_topic_name)[part]
            assert (column.start, column.end) == (start, 100)
            assert column.keys == [b"%d" % n for n in range(start, 100)]
