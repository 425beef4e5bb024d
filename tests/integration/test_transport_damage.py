"""What cannot be read is stepped over and counted, in both ways of reading; on a real broker."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.consumer import fetcher
from aiokafka.record.memory_records import MemoryRecords
from faust.types import TP

from hotshard.doors.kafka.slabs import hook
from hotshard.doors.kafka.slabs.sample import Record, batch
from hotshard.job.transport import AsIs, feed
from tests.support.eventually import eventually
from tests.support.mirror import make_mirror, mirroring, running
from tests.support.raw import produce_raw
from tests.support.topics import Sent, create_topic, produce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration

BOTH_WAYS = pytest.mark.parametrize("slabs", [True, False], ids=["slabs", "stock"])


def _rows(count: int, key: bytes = b"k") -> list[Sent]:
    return [Sent(key, b"v", 0, 1000 + n) for n in range(count)]


def _bad(count: int) -> Sequence[Record]:
    return [Record(b"bad", b"12345", 7, [(b"\xff\xfe", b"x")])] * count


@BOTH_WAYS
@pytest.mark.parametrize("gzipped", [True, False], ids=["gzip", "plain"])
async def test_records_with_damaged_headers_all_count(
    kafka: ApacheKafka, fresh_topic_name: str, *, slabs: bool, gzipped: bool
) -> None:
    name = fresh_topic_name
    await create_topic(kafka.bootstrap, name, 2)
    await produce(kafka.bootstrap, name, [*_rows(50), Sent(b"other", b"v", 1)])
    for _ in range(3):
        await produce_raw(kafka.bootstrap, name, batch(0, [Record(b"good"), *_bad(4)], gzipped=gzipped))
        await produce(kafka.bootstrap, name, _rows(10))
    async with mirroring(kafka.bootstrap, name, group=name, slabs=slabs) as mirror:
        await mirror.until({TP(name, 0): 95, TP(name, 1): 1})
        mirror.assert_tiled()
        assert mirror.keys(name).count(b"bad") == 12
        assert mirror.keys(name).count(b"good") == 3
        assert (len(mirror.keys(name)), mirror.skipped()) == (96, 0)
        assert {size for s in mirror.taken[TP(name, 0)] for key, size in zip(s.keys, s.sizes) if key == b"bad"} == {8}  # noqa: B905


@BOTH_WAYS
async def test_a_batch_that_the_disk_has_damaged_is_skipped_counted_and_said_once(
    kafka: ApacheKafka, fresh_topic_name: str, *, slabs: bool, caplog: pytest.LogCaptureFixture
) -> None:
    at, name = kafka.bootstrap, fresh_topic_name
    await create_topic(at, name, 2)
    for turn in range(5):
        await produce(at, name, [*_rows(20, b"turn%d" % turn), Sent(b"other", b"v", 1)], linger_ms=100)
    log_file = kafka.folder / "data" / f"{name}-0" / "00000000000000000000.log"
    whole = log_file.read_bytes()
    place = whole.index(b"turn2") + 2
    with log_file.open("r+b") as file:
        file.seek(place)
        file.write(bytes([whole[place] ^ 0xFF]))
    with caplog.at_level(logging.WARNING, "hotshard.transport"):
        async with mirroring(at, name, group=name, slabs=slabs) as mirror:
            await mirror.until({TP(name, 0): 100, TP(name, 1): 5})
            mirror.assert_tiled()
            assert mirror.skipped() == 20
            assert {key for key in mirror.keys(name) if key} == {b"turn0", b"turn1", b"turn3", b"turn4", b"other"}
            assert len(mirror.keys(name)) == 85
            await produce(at, name, _rows(5))
            await mirror.until({TP(name, 0): 105})
    (said,) = [text for record in caplog.records if "damaged" in (text := record.getMessage())]
    assert f"{name}[0]: a damaged batch at offset 40" in said
    assert "20 records skipped" in said


async def test_damage_in_a_topic_read_as_records_is_stepped_over(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    ours, theirs = fresh_topic_name, f"{fresh_topic_name}-records"
    offsets: list[tuple[int, bytes]] = []
    for name in (ours, theirs):
        await create_topic(kafka.bootstrap, name, 1)
        await produce(kafka.bootstrap, name, _rows(20))
        await produce_raw(kafka.bootstrap, name, batch(0, _bad(5)))
        await produce(kafka.bootstrap, name, _rows(20))
    mirror = make_mirror(kafka.bootstrap, [ours], group=ours)

    async def take(stream: Any) -> None:  # noqa: ANN401 - Faust's stream
        async for event in stream.events():
            offsets.append((event.message.offset, event.value))  # noqa: PERF401 - as they come

    mirror.app.agent(mirror.app.topic(theirs, schema=AsIs(), acks=False))(take)
    async with running(mirror):
        await mirror.until({TP(ours, 0): 45})
        mirror.assert_tiled()
        await eventually(lambda: len(offsets) >= 40)
    assert offsets == [(offset, b"v") for offset in (*range(20), *range(25, 45))]


async def test_a_hook_that_fails_in_the_middle_loses_nothing(
    kafka: ApacheKafka, fresh_topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, calls, swap = fresh_topic_name, [0], hook.swap

    def fail_sometimes(*arguments: Any) -> None:  # noqa: ANN401
        calls[0] += 1
        if calls[0] == 4:
            raise AttributeError("renamed")
        swap(*arguments)

    await create_topic(kafka.bootstrap, name, 3)
    rows = [Sent(b"k%d" % n, b"v", n % 3) for n in range(3000)]
    await produce(kafka.bootstrap, name, rows, max_batch_size=1024)
    mirror = make_mirror(kafka.bootstrap, [name], group=name, consumer_max_fetch_size=4096)
    monkeypatch.setattr(hook, "swap", fail_sometimes)
    monkeypatch.setattr(feed, "self_check", lambda: None)
    async with running(mirror):
        await mirror.until({TP(name, part): 1000 for part in range(3)})
        mirror.assert_tiled()
        assert sorted(mirror.keys(name), key=str) == sorted((row.key for row in rows), key=str)
        assert mirror.stock == ["a fetch could not be made to yield slabs (AttributeError: renamed)"]


async def test_a_failed_self_check_means_the_stock_way(
    kafka: ApacheKafka, fresh_topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise AttributeError("_records_iterator")

    name = fresh_topic_name
    await create_topic(kafka.bootstrap, name, 1)
    await produce(kafka.bootstrap, name, _rows(50))
    monkeypatch.setattr(feed, "self_check", fail)
    async with mirroring(kafka.bootstrap, name, group=name) as mirror:
        await mirror.until({TP(name, 0): 50})
        assert len(mirror.keys(name)) == 50
        assert mirror.stock == ["the self-check failed (AttributeError: _records_iterator)"]
    assert fetcher.MemoryRecords is MemoryRecords, "what could not be checked is not left in aiokafka"
