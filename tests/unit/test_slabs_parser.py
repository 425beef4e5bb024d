"""Batches as bytes become slabs; what cannot be read stops there, or is stepped over."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from aiokafka import codec

from hotshard.core.fields import FieldReader, parse_field
from hotshard.doors.kafka.slabs.parser import CrcError, DamageError, Reading, slabs
from hotshard.doors.kafka.slabs.sample import ABORT, Record, batch, marker, record_bytes, varint
from hotshard.doors.kafka.slabs.sound import KeptRecords
from hotshard.doors.kafka.slabs.tolerant import TolerantBatches

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.slab import Slab

_ROWS = [Record(b"k%d" % n, b"v" * n, 1000 + n) for n in range(6)]


def _read(data: bytes, position: int = 0, limit: int = 100, **settings: object) -> list[Slab]:
    reading = Reading("t", 3, KeptRecords(data), position, **settings)  # type: ignore[arg-type]  # by name
    return list(slabs(reading, limit))


def _rescued(data: bytes, position: int = 0, end: int = 1000, *, crcs: bool = True, committed: bool = False) -> Slab:
    batches = TolerantBatches(data, end)
    reading = Reading("t", 3, batches, position, check_crcs=crcs, read_committed=committed, rescue=batches.rescue)
    (slab,) = slabs(reading, 100)
    return slab


def _broken_crc(data: bytes) -> bytes:
    return data[:17] + bytes([data[17] ^ 1]) + data[18:]


def test_a_run_of_batches_becomes_one_slab() -> None:
    (slab,) = _read(batch(5, _ROWS) + batch(11, _ROWS[:1]), position=5)
    assert (slab.topic, slab.partition, slab.start, slab.end) == ("t", 3, 5, 12)
    assert slab.keys == [row.key for row in _ROWS] + [b"k0"]
    assert slab.sizes == [2, 3, 4, 5, 6, 7, 2]
    assert slab.timestamps == [1000, 1001, 1002, 1003, 1004, 1005, 1000]
    assert slab.skipped == 0


def test_a_full_slab_ends_inside_a_batch_and_the_next_follows_on() -> None:
    read = _read(batch(0, _ROWS) + batch(6, _ROWS), limit=4)
    assert [(slab.start, slab.end, len(slab)) for slab in read] == [(0, 4, 4), (4, 8, 4), (8, 12, 4)]
    assert [key for slab in read for key in slab.keys] == [row.key for row in _ROWS] * 2


def test_a_slab_that_is_full_at_the_end_of_a_batch_leaves_no_empty_one_behind() -> None:
    assert [(slab.start, slab.end) for slab in _read(batch(0, _ROWS[:4]), limit=4)] == [(0, 4)]


def test_a_full_slab_before_a_hole_is_followed_by_an_empty_one_that_carries_the_position() -> None:
    read = _read(batch(0, _ROWS[:4], last_delta=9), limit=4)
    assert [(slab.start, slab.end, len(slab)) for slab in read] == [(0, 4, 4), (4, 10, 0)]


def test_reading_begins_inside_a_batch() -> None:
    (slab,) = _read(batch(0, _ROWS), position=4)
    assert (slab.start, slab.end, slab.keys) == (4, 6, [b"k4", b"k5"])


def test_the_position_never_goes_back_for_a_batch_wholly_below_it() -> None:
    (slab,) = _read(batch(0, _ROWS) + batch(6, _ROWS), position=6)
    assert (slab.start, slab.end, len(slab)) == (6, 12, 6)
    assert _read(batch(0, _ROWS), position=9) == []


def test_null_and_empty_keys_and_values_have_sizes() -> None:
    rows = [Record(None, None), Record(b"", b""), Record(None, b"12"), Record(b"123", None), Record(b"", None)]
    (slab,) = _read(batch(0, rows))
    assert slab.keys == [None, b"", None, b"123", b""]
    assert slab.sizes == [0, 0, 2, 3, 0]


@pytest.mark.parametrize("limit", [100, 1000])
def test_many_records_within_100_ms_share_the_timestamps_of_some_of_them(limit: int) -> None:
    rows = [Record(timestamp_ms=1000 + at) for at in range(100)]
    read = _read(batch(0, rows) + batch(100, rows[:1]), limit=limit)
    timestamps = [at for slab in read for at in slab.timestamps]
    assert timestamps == [1031] * 32 + [1063] * 32 + [1095] * 32 + [1099] * 4 + [1000]


@pytest.mark.parametrize(("records", "step_ms"), [(64, 1), (101, 2)])
def test_records_that_are_fewer_or_further_apart_have_each_its_own_timestamp(records: int, step_ms: int) -> None:
    times = [1000 + step_ms * at for at in range(records)]
    (slab,) = _read(batch(0, [Record(timestamp_ms=at) for at in times]), limit=1000)
    assert slab.timestamps == times


def test_records_that_are_older_than_their_batch_says_are_seen_among_those_that_share() -> None:
    rows = [Record(timestamp_ms=9000)] + [Record(timestamp_ms=at) for at in range(7000, 7200)]
    (slab,) = _read(batch(0, rows, append_ms=9050), limit=1000)
    assert slab.timestamps == [9050] * 201  # the broker's time: not that of the rows
    rows += [Record(timestamp_ms=9050)]
    (slab,) = _read(batch(0, rows), limit=1000)
    assert sum(at < 7200 for at in slab.timestamps) > 190


def test_the_brokers_time_is_the_records_time_where_the_topic_says_so() -> None:
    (slab,) = _read(batch(0, _ROWS, append_ms=77))
    assert slab.timestamps == [77] * 6


def test_tenants_and_discriminators_are_read_where_they_are_asked_for() -> None:
    rows = [
        Record(b"a", b'{"d":{"e":5}}', 1, [(b"t", b"x"), (b"t", b"y")]),
        Record(None, b'{"d":', 2, [(b"T", b"x")]),
        Record(b"b", None, 3),
    ]
    fields = FieldReader(parse_field("header:t"), parse_field("json:d.e"))
    (slab,) = _read(batch(0, rows), fields=fields)
    assert slab.tenants == [b"x", None, None]
    assert slab.discriminators == [b"5", None, None]
    assert (slab.damaged, slab.skipped, slab.keys, slab.sizes) == (1, 0, [b"a", None, b"b"], [14, 5, 1])
    (plain,) = _read(batch(0, rows))
    assert (plain.tenants, plain.discriminators, plain.damaged) == (None, None, 0)


def test_a_slab_counts_the_damaged_values_of_its_own_records() -> None:
    rows = [Record(b"%d" % n, b"{" if n in {1, 4, 5} else b"{}") for n in range(6)]
    fields = FieldReader(parse_field("json:t"), parse_field("none"))
    assert [slab.damaged for slab in _read(batch(0, rows), limit=2, fields=fields)] == [1, 0, 2]


def test_more_records_than_are_looked_into_at_once_are_all_looked_into() -> None:
    rows = [Record(b"k", b'{"t":%d}' % n) for n in range(1203)]
    fields = FieldReader(parse_field("json:t"), parse_field("none"))
    (slab,) = _read(batch(0, rows), limit=5000, fields=fields)
    assert slab.tenants == [b"%d" % n for n in range(1203)]


def test_control_records_are_a_slab_without_records() -> None:
    (slab,) = _read(marker(4, 7, ABORT), position=4)
    assert (slab.start, slab.end, len(slab)) == (4, 5, 0)


@pytest.mark.parametrize(("committed", "keys"), [(True, [b"k5"]), (False, [b"k0", b"k1", b"k5"])])
def test_aborted_records_count_only_when_reading_uncommitted(*, committed: bool, keys: list[bytes]) -> None:
    data = batch(0, _ROWS[:2], producer=7, transactional=True) + marker(2, 7, ABORT)
    data += batch(3, _ROWS[5:], producer=7, transactional=True)
    (slab,) = _read(data, read_committed=committed, aborted=[(7, 0)])
    assert (slab.start, slab.end, slab.keys) == (0, 4, keys)


def test_a_wrong_checksum_stops_reading_after_everything_before_it() -> None:
    reading = Reading("t", 3, KeptRecords(batch(0, _ROWS) + _broken_crc(batch(6, _ROWS))), 0)
    read = slabs(reading)
    assert (next(read).end, reading.position) == (6, 6)
    with pytest.raises(DamageError, match="CrcError") as caught:
        next(read)
    assert caught.value.position == 6
    assert isinstance(caught.value.__cause__, CrcError)


def test_a_wrong_checksum_is_no_matter_when_checks_are_off() -> None:
    (slab,) = _read(_broken_crc(batch(0, _ROWS)), check_crcs=False)
    assert len(slab) == 6


def test_records_read_of_a_batch_before_its_damage_are_not_handed_out() -> None:
    reading = Reading("t", 3, KeptRecords(batch(0, [*_ROWS, Record(headers=[(b"\xff", None)])])), 0)
    with pytest.raises(DamageError, match="UnicodeDecodeError"):
        list(slabs(reading))
    assert reading.position == 0


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_damage_in_a_batch_that_was_partly_handed_out_repeats_nothing(limit: int) -> None:
    data = batch(0, [*_ROWS[:3], Record(b"bad", headers=[(b"\xff", None)]), *_ROWS[4:]])
    batches = TolerantBatches(data, 6)
    read = list(slabs(Reading("t", 3, batches, 0, rescue=batches.rescue), limit))
    assert [key for slab in read for key in slab.keys] == [b"k0", b"k1", b"k2", b"bad", b"k4", b"k5"]
    assert [slab.start for slab in read] == [0, *[slab.end for slab in read[:-1]]]
    assert read[-1].end == 6


@pytest.mark.parametrize("crcs", [True, False])
def test_headers_that_are_not_text_cost_nothing(*, crcs: bool) -> None:
    slab = _rescued(batch(0, [Record(b"a", b"12", 5, [(b"\xff\xfe", b"x")]), *_ROWS]), crcs=crcs)
    assert (slab.end, slab.keys[0], slab.sizes[0], slab.timestamps[0]) == (7, b"a", 3, 5)
    assert (len(slab), slab.skipped) == (7, 0)


_COMPRESSED: list[tuple[int, Callable[[bytes], bytes]]] = [
    (1, codec.gzip_encode),
    (2, codec.snappy_encode),
    (3, codec.lz4_encode),
    (4, codec.zstd_encode),
]


@pytest.mark.parametrize(("kind", "pack"), _COMPRESSED)
def test_damaged_headers_are_stepped_over_inside_compressed_batches(kind: int, pack: Callable[[bytes], bytes]) -> None:
    data = batch(0, [*_ROWS, Record(b"z", headers=[(b"\xff", None)])], codec=kind, damage=pack)
    assert _rescued(data).keys == [*(row.key for row in _ROWS), b"z"]


def test_a_record_that_cannot_be_read_is_counted_and_the_rest_counts() -> None:
    whole = record_bytes(_ROWS[1], 1000, 1)
    bad = whole[:4] + varint(9999) + whole[5:]  # the key would be longer than the record
    data = batch(0, _ROWS, damage=lambda body: body.replace(whole, bad[: len(whole)]))
    slab = _rescued(data)
    assert (slab.keys, slab.skipped, slab.end) == ([b"k0", b"k2", b"k3", b"k4", b"k5"], 1, 6)


def test_records_behind_a_broken_length_are_all_counted_as_skipped() -> None:
    slab = _rescued(batch(0, _ROWS, damage=lambda body: body[: len(record_bytes(_ROWS[0], 1000, 0))] + b"\x01" * 40))
    assert (slab.keys, slab.skipped, slab.end) == ([b"k0"], 5, 6)


@pytest.mark.parametrize("codec_id", [1, 2, 3, 4, 5, 7])
def test_a_batch_that_cannot_be_decompressed_is_skipped_and_counted(codec_id: int) -> None:
    slab = _rescued(batch(0, _ROWS, codec=codec_id) + batch(6, _ROWS[:1]))
    assert (slab.start, slab.end, slab.keys, slab.skipped) == (0, 7, [b"k0"], 6)


def test_a_batch_with_a_wrong_checksum_is_skipped_and_counted() -> None:
    slab = _rescued(_broken_crc(batch(0, _ROWS)) + batch(6, _ROWS[:1]))
    assert (slab.end, slab.keys, slab.skipped) == (7, [b"k0"], 6)


def test_an_end_that_lies_beyond_all_there_is_is_not_believed() -> None:
    wild = _broken_crc(batch(0, _ROWS, last_delta=10**6))
    assert (_rescued(wild, end=50).end, _rescued(wild, end=50).skipped) == (1, 1)
    followed = _rescued(wild + batch(6, _ROWS[:1]), end=50)
    assert (followed.end, followed.keys, followed.skipped) == (7, [b"k0"], 6)


def test_control_records_are_never_looked_into() -> None:
    broken = batch(0, [Record(b"", b"")], control=True, transactional=True, producer=7, damage=lambda _: b"\xff")
    (slab,) = _read(broken + batch(1, _ROWS[:1]), read_committed=True, aborted=[(7, 0)])
    assert (slab.end, slab.keys) == (2, [b"k0"])


@pytest.mark.parametrize("size", [0, 5, 11])
def test_bytes_without_the_frame_of_a_batch_are_no_batch(size: int) -> None:
    assert not TolerantBatches(batch(0, _ROWS)[:size], 10).has_next()


def test_only_so_many_batches_are_given_as_were_asked_for() -> None:
    batches = TolerantBatches(batch(0, _ROWS) + batch(6, _ROWS), 12, most=1)
    (slab,) = slabs(Reading("t", 3, batches, 0, rescue=batches.rescue))
    assert (slab.end, batches.rescued) == (6, 0)


@pytest.mark.parametrize("length", [-12, -2, -1])
def test_a_batch_that_says_it_is_shorter_than_its_own_head_ends_the_fetch(length: int) -> None:
    batches = TolerantBatches(struct.pack(">qi", 7, length) + bytes(100), 20)
    assert not batches.has_next()
