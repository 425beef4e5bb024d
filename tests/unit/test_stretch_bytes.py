"""From the bytes of a fetch to slabs of a stretch, on batches made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from aiokafka.errors import NoError, NotLeaderForPartitionError

from hotshard.core.fields import FieldReader, parse_field
from hotshard.doors.kafka.slabs.sample import ABORT, COMMIT, Record, batch, marker
from hotshard.doors.kafka.stretch_bytes import Part, Span, Wish, parts_of, unpacked

if TYPE_CHECKING:
    from hotshard.core.slab import Slab

_ROWS = [Record(b"k%d" % n, b"v" * n) for n in range(10)]


def read(
    data: bytes,
    start: int,
    end: int,
    *,
    aborted: tuple[tuple[int, int], ...] = (),
    committed: bool = False,
    high_watermark: int = 1000,
    limit: int = 20_000,
    fields: FieldReader | None = None,
) -> list[Slab] | None:
    part = Part(3, NoError, high_watermark, [*aborted], data)
    found = unpacked(Span("t", 3, start, end), part, Wish(committed=committed, limit=limit, fields=fields))
    return None if found is None else list(found)


def seen(slabs: list[Slab] | None) -> list[tuple[int, int, list[bytes | None], int]]:
    """Offsets, keys, skipped."""
    assert slabs is not None
    assert all(slab.generation == 0 and slab.topic == "t" and slab.partition == 3 for slab in slabs)
    return [(slab.start, slab.end, slab.keys, slab.skipped) for slab in slabs]


def test_batches_before_the_end_are_read_and_those_behind_it_left() -> None:
    data = batch(0, _ROWS[:3]) + batch(3, _ROWS[3:5]) + batch(5, _ROWS[5:])
    assert seen(read(data, 0, 5)) == [(0, 5, [b"k0", b"k1", b"k2", b"k3", b"k4"], 0)]
    assert seen(read(data, 1, 3)) == [(1, 3, [b"k1", b"k2"], 0)]


def test_slabs_are_as_large_as_they_may_be() -> None:
    assert [len(slab) for slab in read(batch(0, _ROWS), 0, 10, limit=4) or ()] == [4, 4, 2]


def test_where_the_next_batch_lies_beyond_the_end_the_stretch_is_over() -> None:
    assert seen(read(batch(9, _ROWS), 4, 7)) == [(4, 7, [], 0)]


def test_holes_of_compaction_belong_to_a_slab() -> None:
    data = batch(0, [Record(b"a", delta=2), Record(b"b", delta=7)], last_delta=11) + batch(20, [Record(b"c")])
    assert seen(read(data, 0, 21)) == [(0, 21, [b"a", b"b", b"c"], 0)]


def test_without_data_nothing_moves_while_the_log_goes_further() -> None:
    assert read(b"", 4, 7, high_watermark=7) is None


def test_a_log_that_has_become_shorter_ends_the_stretch() -> None:
    assert seen(read(b"", 4, 7, high_watermark=2)) == [(4, 7, [], 0)]


def test_a_batch_that_is_cut_off_is_not_read() -> None:
    whole, half = batch(0, _ROWS[:3]), batch(3, _ROWS[3:])[:-1]
    assert seen(read(whole + half, 0, 10)) == [(0, 3, [b"k0", b"k1", b"k2"], 0)]


def test_aborted_records_are_read_unless_only_committed_ones_are_wanted() -> None:
    data = (
        batch(0, _ROWS[:2], producer=7, transactional=True)
        + marker(2, 7, ABORT)
        + batch(3, _ROWS[3:5], producer=7, transactional=True)
        + marker(5, 7, COMMIT)
    )
    assert seen(read(data, 0, 6, aborted=((7, 0),))) == [(0, 6, [b"k0", b"k1", b"k3", b"k4"], 0)]
    assert seen(read(data, 0, 6, aborted=((7, 0),), committed=True)) == [(0, 6, [b"k3", b"k4"], 0)]


def test_tenants_and_discriminators_are_read_of_damaged_batches_too() -> None:
    fields = FieldReader(parse_field("header:who"), parse_field("json:id"))
    rows = [Record(b"k", b'{"id":"%d"}' % n, headers=[(b"who", b"t%d" % n)]) for n in range(4)]
    damaged = batch(2, rows[2:], damage=lambda body: body[:-1])  # one record of it cannot be read
    slabs = read(batch(0, rows[:2]) + damaged, 0, 4, fields=fields) or []
    assert [tenant for slab in slabs for tenant in slab.tenants or ()] == [b"t0", b"t1", b"t2"]
    assert [part for slab in slabs for part in slab.discriminators or ()] == [b"0", b"1", b"2"]


def test_a_damaged_batch_is_counted_as_skipped_and_the_next_one_read() -> None:
    damaged = bytearray(batch(3, _ROWS[3:6]))
    damaged[-1] ^= 0xFF
    data = batch(0, _ROWS[:3]) + bytes(damaged) + batch(6, _ROWS[6:])
    assert seen(read(data, 0, 10)) == [(0, 3, [b"k0", b"k1", b"k2"], 0), (3, 10, [b"k6", b"k7", b"k8", b"k9"], 3)]


def test_damage_within_an_aborted_transaction_leaves_it_aborted() -> None:
    damaged = bytearray(batch(2, _ROWS[2:4], producer=7, transactional=True))
    damaged[-1] ^= 0xFF
    data = (
        batch(0, _ROWS[:2], producer=7, transactional=True)
        + bytes(damaged)
        + batch(4, _ROWS[4:6], producer=7, transactional=True)
        + marker(6, 7, ABORT)
        + batch(7, _ROWS[7:])
    )
    slabs = read(data, 0, 10, aborted=((7, 0),), committed=True)
    assert [key for slab in slabs or () for key in slab.keys] == [b"k7", b"k8", b"k9"]


def test_an_answer_that_begins_with_what_was_read_moves_on_all_the_same() -> None:
    assert seen(read(batch(0, _ROWS[:3]), 3, 10)) == [(3, 4, [], 0)]


@pytest.mark.parametrize(
    ("version", "rest"),
    [
        (3, [b"data"]),
        (4, [9, [(7, 5), (8, 1)], b"data"]),
        (5, [9, 0, [(7, 5), (8, 1)], b"data"]),
        (11, [9, 0, [(7, 5), (8, 1)], -1, b"data"]),
    ],
)
def test_parts_are_taken_from_every_version_of_the_answer(version: int, rest: list[object]) -> None:
    response = SimpleNamespace(API_VERSION=version, topics=[("t", [(3, 0, 10, *rest), (4, 6, -1, *rest[:-1], None)])])
    first, second = parts_of(response)
    assert (first.partition, first.error, first.high_watermark, first.data) == (3, NoError, 10, b"data")
    assert first.aborted == ([] if version < 4 else [(8, 1), (7, 5)])
    assert (second.error, second.data) == (NotLeaderForPartitionError, b"")
