"""A stretch of a real topic: all of it, once, and nobody notices."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from hotshard.cli.inputs import Input, add_input_flags, open_input
from hotshard.core.topic import KeyLayout, PartitionsFrom
from hotshard.demo.servers import free_port
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.real import AioKafka
from hotshard.doors.kafka.stretch import StretchRecords
from hotshard.errors import MissingTopicError, RefusedError, UnavailableError
from tests.support.eventually import PATIENCE_S
from tests.support.topics import Sent, admin, create_topic, produce, producing, send_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hotshard.core.slab import Slab
    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration


def now_ms() -> int:
    """Asked when a test runs: the tests before it may take longer than what is read back."""
    return time.time_ns() // 1_000_000


def opened(*words: str) -> Input:
    parser = argparse.ArgumentParser()
    add_input_flags(parser, {})
    return open_input(parser.parse_args(words), {})


async def read(*words: str) -> list[Slab]:
    """Read a stretch whole, and check what holds for every one."""

    def whole() -> list[Slab]:
        with opened(*words) as source:
            slabs = list(source.slabs())
            done, total, unit, rows = source.records.progress
            assert (done, unit) == (total, "offsets")
            assert rows == sum(len(slab) + slab.skipped for slab in slabs)
            return slabs

    slabs = await asyncio.to_thread(whole)
    ends: dict[int, int] = {}
    for slab in slabs:
        assert ends.setdefault(slab.partition, slab.start) == slab.start
        assert len(slab) + slab.skipped <= slab.end - slab.start
        ends[slab.partition] = slab.end
    return slabs


def keys(slabs: list[Slab]) -> Counter[tuple[int, bytes | None]]:
    return Counter((slab.partition, key) for slab in slabs for key in slab.keys)


async def groups_and_commits(bootstrap: str) -> tuple[list[object], int]:
    async with admin(bootstrap) as client:
        groups = await client.list_consumer_groups()
        topics = await client.list_topics()
    return sorted(groups), "__consumer_offsets" in topics


async def test_all_of_a_topic_is_read_once_and_no_group_appears(own_kafka: ApacheKafka) -> None:
    bootstrap = own_kafka.bootstrap
    await create_topic(bootstrap, "orders", 3)
    at_ms = now_ms()
    sent = [Sent(b"k%d" % (n % 50), b"v" * (n % 7), n % 3, at_ms) for n in range(30_000)]
    await produce(bootstrap, "orders", [*sent, Sent(None, b"v", 1, at_ms)], linger_ms=20)
    slabs = await read(f"kafka://{bootstrap}/orders")
    assert keys(slabs) == Counter((each.partition, each.key) for each in [*sent, Sent(None, b"v", 1)])
    assert sum(size for slab in slabs for size in slab.sizes) == sum(
        len(each.key or b"") + len(each.value or b"") for each in [*sent, Sent(None)]
    )
    assert {at for slab in slabs for at in slab.timestamps} == {at_ms}
    # a broker makes this topic when the first group is looked for
    assert await groups_and_commits(bootstrap) == ([], False)


async def test_a_topic_that_goes_on_being_written_is_read_to_its_end_of_the_beginning(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 2)
    async with producing(kafka.bootstrap) as producer:
        await send_all(producer, fresh_topic_name, [Sent(b"before", partition=n % 2) for n in range(5_000)])
        writing = asyncio.create_task(write_on(producer, fresh_topic_name))
        try:
            for _ in range(3):
                async with asyncio.timeout(PATIENCE_S):
                    found = keys(await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--last", "all"))
                assert sum(count for (_, key), count in found.items() if key == b"before") == 5_000
        finally:
            writing.cancel()
            await asyncio.wait({writing})


async def write_on(producer: object, topic: str) -> None:
    while True:
        await send_all(producer, topic, [Sent(b"meanwhile", partition=n % 2) for n in range(500)])


async def test_only_what_is_not_older_is_read(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 2, {"retention.ms": "-1"})
    ages_s = [7200, 3700, 3500, 700, 500, 30]
    now_ms = time.time_ns() // 1_000_000
    await produce(
        kafka.bootstrap,
        fresh_topic_name,
        [Sent(b"%d" % age, b"v", 0, now_ms - age * 1000) for age in ages_s],
        linger_ms=0,
    )
    where = f"kafka://{kafka.bootstrap}/{fresh_topic_name}"
    for last, expected in ((None, 2), ("12m", 3), ("1h", 4), ("1d", 6), ("all", 6), ("1s", 0)):
        words = () if last is None else ("--last", last)
        found = [key for slab in await read(where, *words) for key in slab.keys]
        assert found == [b"%d" % age for age in ages_s[len(ages_s) - expected :]], last


async def test_an_empty_topic_and_one_without_recent_records_are_told(
    kafka: ApacheKafka, fresh_topic_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 2)
    assert await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}") == []
    assert capsys.readouterr().err == (
        f"hotshard: {fresh_topic_name}: nothing was written in that time;"
        " --last says how far back is read, --last all: all\n"
    )


async def test_a_missing_topic_is_told_and_not_made(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    with pytest.raises(MissingTopicError, match=f"topic '{fresh_topic_name}' does not exist on Kafka at .*; create it"):
        await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}")
    async with admin(kafka.bootstrap) as client:
        assert fresh_topic_name not in await client.list_topics()


async def test_a_server_that_is_none_is_told() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    with pytest.raises(UnavailableError, match=f"Kafka at {nowhere} does not answer"):
        await read(f"kafka://{nowhere}/orders")


async def test_transactions_are_read_as_the_settings_say(
    kafka: ApacheKafka, fresh_topic_name: str, tmp_path: Path
) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 1)
    settings = tmp_path / "settings.toml"
    async with producing(kafka.bootstrap, transactional_id=fresh_topic_name) as producer:
        for key, commit in ((b"committed", True), (b"aborted", False), (b"committed", True)):
            await producer.begin_transaction()
            await send_all(producer, fresh_topic_name, [Sent(key)] * 10)
            await (producer.commit_transaction() if commit else producer.abort_transaction())
        await producer.begin_transaction()
        await send_all(producer, fresh_topic_name, [Sent(b"open")] * 10)
        found = {}
        for level in ("read_committed", "read_uncommitted"):
            settings.write_text(f'[worker]\nisolation_level = "{level}"\n')
            words = (f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--config", str(settings))
            found[level] = Counter(key for slab in await read(*words) for key in slab.keys)
        await producer.abort_transaction()
    assert found["read_committed"] == {b"committed": 20}
    assert found["read_uncommitted"] == {b"committed": 20, b"aborted": 10, b"open": 10}


async def test_deleted_records_are_not_waited_for(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 1)
    await produce(kafka.bootstrap, fresh_topic_name, [Sent(b"k%d" % n) for n in range(40)], linger_ms=20)
    reader = AioKafka(KafkaConnection(bootstrap_servers=(kafka.bootstrap,))).stretches()

    def read_while_they_are_deleted() -> list[Slab]:
        with contextlib.closing(StretchRecords(reader, fresh_topic_name, now_ms=now_ms(), last_ms=None)) as records:
            asyncio.run(delete_before(kafka.bootstrap, fresh_topic_name, 35))
            return list(records)

    during = await asyncio.to_thread(read_while_they_are_deleted)
    assert (during[0].start, during[-1].end, sum(map(len, during))) == (0, 40, 5)
    after = await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--last", "all")
    assert (after[0].start, after[-1].end, sum(map(len, after))) == (35, 40, 5)


async def delete_before(bootstrap: str, topic: str, offset: int) -> None:
    async with admin(bootstrap) as client:
        await client.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=offset)})


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_compressed_batches_are_unpacked(kafka: ApacheKafka, fresh_topic_name: str, codec: str) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 1)
    sent = [Sent(b"k%d" % (n % 9), b"v" * 100) for n in range(5_000)]
    await produce(kafka.bootstrap, fresh_topic_name, sent, compression_type=codec, linger_ms=20)
    found = await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}")
    assert keys(found) == Counter((0, each.key) for each in sent)


async def test_records_larger_than_a_share_of_the_memory_are_read(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    """Of 200 partitions each may bring 80 kB at a time, but a batch comes whole."""
    await create_topic(kafka.bootstrap, fresh_topic_name, 200)
    sent = [Sent(b"k%d" % n, b"v" * (600_000 if n % 40 == 0 else 10), n % 200) for n in range(400)]
    await produce(kafka.bootstrap, fresh_topic_name, sent, max_request_size=2_000_000, max_batch_size=1_000_000)
    found = await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}")
    assert keys(found) == Counter((each.partition, each.key) for each in sent)


async def test_partitions_come_side_by_side_in_time(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    """One holds 20,000 records of ten minutes, the other 200."""
    await create_topic(kafka.bootstrap, fresh_topic_name, 2, {"retention.ms": "-1"})
    began_ms = time.time_ns() // 1_000_000 - 600_000
    busy = [Sent(b"busy", b"v", 0, began_ms + n * 30) for n in range(20_000)]
    quiet = [Sent(b"quiet", b"v", 1, began_ms + n * 3000) for n in range(200)]
    await produce(kafka.bootstrap, fresh_topic_name, [*quiet, *busy], linger_ms=50)
    latest = [began_ms, began_ms]
    for slab in await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--last", "1h"):
        latest[slab.partition] = slab.timestamps[-1]
        assert abs(latest[0] - latest[1]) < 30_000
    assert latest == [busy[-1].timestamp_ms, quiet[-1].timestamp_ms], "all of it was read"


async def test_a_source_stands_for_its_production_topic(
    kafka: ApacheKafka, fresh_topic_name: str, tmp_path: Path
) -> None:
    production, source = fresh_topic_name, f"dc1.{fresh_topic_name}"
    await create_topic(kafka.bootstrap, production, 12)
    await create_topic(kafka.bootstrap, source, 3)
    await create_topic(kafka.bootstrap, f"{production}-other", 5)
    for topic in (production, source, f"{production}-other"):  # a broker may not know a new one at once
        await produce(kafka.bootstrap, topic, [Sent(b"k")])
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'[mirror]\nbootstrap_servers = ["{kafka.bootstrap}"]\n[topics.{production}]\n'
        f'sources = ["{source}"]\npartitions_from = "computed"\npartitioner = "crc32"\nlayout = "entity"\n'
    )

    def looked_at(word: str) -> tuple[str, PartitionsFrom, int | None, str]:
        with opened(word, "--config", str(settings)) as found:
            return found.spec.name, found.spec.partitions_from, found.partitions, found.spec.partitioner

    assert await asyncio.to_thread(looked_at, f"kafka:///{source}") == (
        production,
        PartitionsFrom.COMPUTED,
        12,
        "crc32",
    )
    assert await asyncio.to_thread(looked_at, f"kafka:///{production}") == (
        production,
        PartitionsFrom.SOURCE,
        12,
        "crc32",
    )
    other = await asyncio.to_thread(looked_at, f"kafka://{kafka.bootstrap}/{production}-other")
    assert other == (f"{production}-other", PartitionsFrom.SOURCE, 5, "murmur2")


@pytest.mark.parametrize(
    ("settings", "key", "expected"),
    [
        ("", b"acme\x1forder", KeyLayout.TENANT_ENTITY),
        ("", b"order", KeyLayout.ENTITY),
        ("[defaults]\nlayout = 'tenant'\n", b"order", KeyLayout.TENANT),
        ("[topics.{topic}]\n", b"order", KeyLayout.TENANT_ENTITY),
    ],
)
async def test_how_keys_are_built_is_told_from_them_unless_settings_say_it(
    kafka: ApacheKafka, fresh_topic_name: str, tmp_path: Path, *, settings: str, key: bytes, expected: KeyLayout
) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 1)
    await produce(kafka.bootstrap, fresh_topic_name, [Sent(key)] * 10)
    file = tmp_path / "settings.toml"
    file.write_text(settings.replace("{topic}", fresh_topic_name))

    def layout() -> KeyLayout:
        with opened(f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--config", str(file)) as source:
            assert sum(map(len, source.slabs())) == 10
            return source.spec.layout

    assert await asyncio.to_thread(layout) is expected


async def test_tenants_stand_where_the_settings_say(kafka: ApacheKafka, fresh_topic_name: str, tmp_path: Path) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 2)
    sent = [Sent(b"k", b'{"part":%d}' % n, n % 2, headers=[("who", b"t%d" % (n % 5))]) for n in range(100)]
    await produce(kafka.bootstrap, fresh_topic_name, sent)
    file = tmp_path / "settings.toml"
    file.write_text(f'[topics.{fresh_topic_name}]\ntenant = "header:who"\ndiscriminator = "json:part"\n')
    slabs = await read(f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--config", str(file))
    tenants = Counter((slab.partition, tenant) for slab in slabs for tenant in slab.tenants or ())
    assert tenants == Counter((n % 2, b"t%d" % (n % 5)) for n in range(100))
    parts = sorted(int(part or b"") for slab in slabs for part in slab.discriminators or ())
    assert parts == list(range(100))


async def test_reading_goes_on_after_an_outage_and_ends_with_one_that_lasts(
    shaky_kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    await create_topic(shaky_kafka.bootstrap, fresh_topic_name, 1)
    # more than is fetched at once, twice over
    await produce(shaky_kafka.bootstrap, fresh_topic_name, [Sent(b"k", b"v" * 1000)] * 12_000, linger_ms=20)

    def read_through(trouble: Callable[[], None], timeout_s: float) -> int:
        kafka = AioKafka(KafkaConnection(bootstrap_servers=(shaky_kafka.bootstrap,)), timeout_s=timeout_s)
        records = StretchRecords(kafka.stretches(), fresh_topic_name, now_ms=now_ms(), last_ms=None)
        with contextlib.closing(records):
            slabs = iter(records)
            first = next(slabs)
            trouble()
            return len(first) + sum(map(len, slabs))

    def restart() -> None:
        shaky_kafka.kill()
        shaky_kafka.start()

    assert await asyncio.to_thread(read_through, restart, 30) == 12_000
    with pytest.raises(UnavailableError, match="does not answer"):
        await asyncio.to_thread(read_through, shaky_kafka.kill, 2)


async def test_an_interrupted_reading_lets_go_of_its_connections(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name, 1)
    await produce(kafka.bootstrap, fresh_topic_name, [Sent(b"k")] * 1000)

    def begin() -> int:
        with opened(f"kafka://{kafka.bootstrap}/{fresh_topic_name}") as source:
            for slab in source.slabs():
                return len(slab)
        return 0

    assert await asyncio.to_thread(begin) == 1000


async def test_a_login_comes_from_the_settings(
    locked_kafka: ApacheKafka, fresh_topic_name: str, tmp_path: Path
) -> None:
    await create_topic(locked_kafka.bootstrap, fresh_topic_name, 1)
    await produce(locked_kafka.bootstrap, fresh_topic_name, [Sent(b"k")] * 10)
    settings = tmp_path / "settings.toml"
    words = (f"kafka://{locked_kafka.sasl_bootstrap}/{fresh_topic_name}", "--config", str(settings))
    login = '[mirror]\nsecurity_protocol = "SASL_PLAINTEXT"\nsasl_username = "ann"\nsasl_password = "{}"\n'
    settings.write_text(login.format("right"))
    assert sum(map(len, await read(*words))) == 10
    settings.write_text(login.format("wrong"))
    with pytest.raises(RefusedError, match=r"refused the connection .* check sasl_username"):
        await read(*words)
