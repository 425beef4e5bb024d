"""Whatever lies in a fetch: slabs and aiokafka's records agree, and damage never stops or doubles anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.fields import FieldReader, parse_field
from hotshard.doors.kafka.slabs.parser import DamageError, Reading, slabs
from hotshard.doors.kafka.slabs.sample import ABORT, COMMIT, Record, batch, marker
from hotshard.doors.kafka.slabs.selfcheck import Case, read_hooked, read_stock
from hotshard.doors.kafka.slabs.sound import KeptRecords, keep_bytes, keep_none
from hotshard.doors.kafka.slabs.tolerant import TolerantBatches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.core.slab import Slab

_BYTES = st.none() | st.binary(max_size=12)
_NAMES = st.sampled_from([b"t", b"d"]) | st.text(max_size=5).map(str.encode)
_VALUES = _BYTES | st.sampled_from([b'{"t":"x"}', b'{"t":7,"d":{"e":"y"}}', b'{"d":{"e":1}}', b'{"t":', b"[]"])
_FIELDS = st.sampled_from(["none", "header:t", "header:d", "json:t", "json:d.e"]).map(parse_field)
_READERS = st.builds(FieldReader, _FIELDS, _FIELDS)
_TIMES = st.integers(-1, 2**42)


@pytest.fixture(autouse=True, scope="module")
def bytes_are_kept() -> Iterator[None]:
    keep_bytes()
    yield
    keep_none()


class Log(NamedTuple):
    """A stretch of a partition, as bytes, and what a broker says of it."""

    batches: tuple[bytes, ...]
    aborted: tuple[tuple[int, int], ...]
    bases: tuple[int, ...]
    end: int


@st.composite
def _rows(draw: st.DrawFn) -> list[Record]:
    count = draw(st.integers(1, 9))
    delta, rows = -1, []
    for _ in range(count):
        delta += draw(st.sampled_from([1, 1, 1, 2, 5]))  # compaction leaves gaps
        headers = draw(st.lists(st.tuples(_NAMES, _BYTES), max_size=2))
        rows.append(Record(draw(_BYTES), draw(_VALUES), draw(_TIMES), headers, delta))
    return rows


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Batches of several producers, plain and in transactions that commit, abort or stay open."""
    at = draw(st.integers(0, 1000))
    batches, bases = [], []
    open_at: dict[int, int] = {}
    aborted = []
    for _ in range(draw(st.integers(1, 8))):
        at += draw(st.sampled_from([0, 0, 0, 3]))
        bases.append(at)
        producer = draw(st.integers(1, 3))
        what = draw(st.sampled_from(["plain", "transactional", "commit", "abort"]))
        if what in {"commit", "abort"} and producer in open_at:
            if what == "abort":
                aborted.append((producer, open_at[producer]))
            del open_at[producer]
            batches.append(marker(at, producer, ABORT if what == "abort" else COMMIT))
            at += 1
            continue
        rows = draw(_rows())
        last = (rows[-1].delta or 0) + draw(st.sampled_from([0, 0, 4]))
        transactional = what == "transactional"
        if transactional:
            open_at.setdefault(producer, at)
        append_ms = draw(st.none() | _TIMES)
        batches.append(
            batch(
                at,
                rows,
                producer=producer if transactional else -1,
                transactional=transactional,
                append_ms=append_ms,
                last_delta=last,
                gzipped=draw(st.booleans()),
            )
        )
        at += last + 1
    aborted.sort(key=lambda transaction: transaction[1])
    return Log(tuple(batches), tuple(aborted), tuple(bases), at)


@given(logs(), st.booleans(), st.none() | _READERS, st.data())
def test_slabs_and_records_agree_wherever_reading_begins(
    log: Log,
    committed: bool,  # noqa: FBT001 - drawn
    fields: FieldReader | None,
    data: st.DataObject,
) -> None:
    first_end = log.bases[1] if len(log.bases) > 1 else log.end
    position = data.draw(st.integers(log.bases[0], first_end - 1))
    case = Case("drawn", b"".join(log.batches), position, log.aborted)
    assert read_hooked(case, fields, committed=committed) == read_stock(case, fields, committed=committed)


@given(logs(), st.integers(1, 20))
def test_slabs_tile_what_was_fetched_and_are_no_larger_than_asked(log: Log, limit: int) -> None:
    read = list(slabs(Reading("t", 0, KeptRecords(b"".join(log.batches)), log.bases[0]), limit))
    _assert_tiled(read, log.bases[0], log.end)
    assert all(len(slab) <= limit for slab in read)


@given(logs(), st.booleans())
def test_the_tolerant_reader_reads_sound_batches_as_the_compiled_one_does(log: Log, committed: bool) -> None:  # noqa: FBT001
    data = b"".join(log.batches)
    settings = {"read_committed": committed, "aborted": list(log.aborted)}
    plain = Reading("t", 0, KeptRecords(data), log.bases[0], **settings)  # type: ignore[arg-type]  # by name
    batches = TolerantBatches(data, log.end)
    settings["aborted"] = list(log.aborted)
    tolerant = Reading("t", 0, batches, log.bases[0], rescue=batches.rescue, **settings)  # type: ignore[arg-type]
    assert list(slabs(tolerant)) == list(slabs(plain))
    assert batches.rescued == 0


@given(logs(), st.data())
def test_every_record_with_damaged_headers_is_counted(log: Log, data: st.DataObject) -> None:
    row = Record(b"key", b"value", 5, [(b"\xff", b"x")])
    rows = [row] * data.draw(st.integers(1, 5))
    broken = batch(log.end, rows, gzipped=data.draw(st.booleans()))
    whole = b"".join(log.batches)
    batches = TolerantBatches(whole + broken, log.end + len(rows))
    read = list(slabs(Reading("t", 0, batches, log.bases[0], rescue=batches.rescue)))
    sound = list(slabs(Reading("t", 0, KeptRecords(whole), log.bases[0])))
    assert _keys(read) == _keys(sound) + [b"key"] * len(rows)
    assert (read[-1].end, sum(slab.skipped for slab in read)) == (log.end + len(rows), 0)


@given(_rows(), _READERS, st.integers(1, 20))
def test_a_damaged_batch_has_the_fields_it_would_have_had(rows: list[Record], fields: FieldReader, limit: int) -> None:
    """A header whose name is no text makes aiokafka give up on the whole batch; no other record may suffer."""
    bad = Record(b"bad", None, 5, [(b"\xff", b"x")], (rows[-1].delta or 0) + 1)
    data = batch(0, [*rows, bad])
    end = (bad.delta or 0) + 1
    batches = TolerantBatches(data, end, fields=fields)
    tolerant = list(slabs(Reading("t", 0, batches, 0, rescue=batches.rescue, fields=fields), limit))
    plain = list(slabs(Reading("t", 0, KeptRecords(batch(0, rows)), 0, fields=fields), limit))
    assert batches.rescued == 1
    assert _columns(tolerant) == [*_columns(plain), (b"bad", None, None)]
    assert sum(slab.damaged for slab in tolerant) == sum(slab.damaged for slab in plain)


@given(logs(), st.booleans(), st.integers(1, 20), st.none() | _READERS, st.data())
def test_no_damage_raises_stops_or_goes_back(
    log: Log,
    crcs: bool,  # noqa: FBT001 - drawn
    limit: int,
    fields: FieldReader | None,
    data: st.DataObject,
) -> None:
    """Any byte changed, with and without checksums: reading goes on past it, and never past what there is."""
    damaged = bytearray(b"".join(log.batches))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    batches = TolerantBatches(bytes(damaged), log.end, fields=fields)
    reading = Reading("t", 0, batches, log.bases[0], check_crcs=crcs, rescue=batches.rescue, fields=fields)
    read = list(slabs(reading, limit))
    for slab in read:
        assert slab.tenants is None or len(slab.tenants) == len(slab)
        assert slab.discriminators is None or len(slab.discriminators) == len(slab)
        assert 0 <= slab.damaged <= len(slab)
    if read:
        _assert_tiled(read, log.bases[0], reading.position)
    assert all(slab.skipped >= 0 for slab in read)


@given(logs(), st.data())
def test_one_damaged_byte_under_checksums_costs_at_most_its_own_batch(log: Log, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(log.batches) - 1))
    victim = bytearray(log.batches[number])
    # from the checksum on; before it stand offset and length, which it does not cover
    victim[data.draw(st.integers(17, len(victim) - 1))] ^= data.draw(st.integers(1, 255))
    parts = [*log.batches[:number], bytes(victim), *log.batches[number + 1 :]]
    batches = TolerantBatches(b"".join(parts), log.end)
    read = list(slabs(Reading("t", 0, batches, log.bases[0], rescue=batches.rescue)))
    others = [part for place, part in enumerate(log.batches) if place != number]
    sound = list(slabs(Reading("t", 0, KeptRecords(b"".join(others)), log.bases[0])))
    assert _keys(read) == _keys(sound)


@given(logs(), st.data())
def test_without_rescue_all_before_the_damage_is_handed_out(log: Log, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(log.batches) - 1))
    victim = bytearray(log.batches[number])
    victim[20] ^= 1
    reading = Reading("t", 0, KeptRecords(b"".join([*log.batches[:number], bytes(victim)])), log.bases[0])
    read: list[Slab] = []
    with pytest.raises(DamageError) as caught:
        read.extend(slabs(reading))
    assert caught.value.position == reading.position
    sound = list(slabs(Reading("t", 0, KeptRecords(b"".join(log.batches[:number])), log.bases[0])))
    assert _keys(read) == _keys(sound)


def _assert_tiled(read: list[Slab], start: int, end: int) -> None:
    assert [slab.start for slab in read] == [start, *(slab.end for slab in read[:-1])]
    assert all(slab.end > slab.start for slab in read)
    assert read[-1].end == end


def _keys(read: list[Slab]) -> list[bytes | None]:
    return [key for slab in read for key in slab.keys]


def _columns(read: list[Slab]) -> list[tuple[bytes | None, bytes | None, bytes | None]]:
    return [
        (key, tenant, discriminator)
        for slab in read
        for key, tenant, discriminator in zip(
            slab.keys,
            slab.tenants or [None] * len(slab),
            slab.discriminators or [None] * len(slab),
            strict=True,
        )
    ]
