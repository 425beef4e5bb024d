"""Columns taken apart all at once equal what a reader line by line finds, whatever the bytes."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

from hypothesis import assume, example, given
from hypothesis import strategies as st

from hotshard.doors.files import lines as lines_
from hotshard.doors.files import source
from hotshard.doors.files.opening import open_stream

if TYPE_CHECKING:
    from hotshard.core.slab import Slab
    from hotshard.doors.files.contract import Records

_MEANT = {"\\": b"\\", "t": b"\t", "n": b"\n", "r": b"\r"}
#: A longer line is skipped; in the product it is 1 MiB.
LONGEST = 100
#: How compressed files begin.
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04", b"\xfd7zXZ\0", b"BZh")


class Row(NamedTuple):
    at_ms: int
    tenant: bytes | None
    key: bytes | None
    size: int


class InPieces(io.RawIOBase):
    """A stream that gives at most ``lengths`` bytes in turn, as a pipe may."""

    def __init__(self, data: bytes, lengths: list[int]) -> None:
        self._data = data
        self._lengths = lengths

    def read(self, _size: int = -1) -> bytes:
        self._lengths.append(self._lengths.pop(0))
        piece, self._data = self._data[: self._lengths[-1]], self._data[self._lengths[-1] :]
        return piece


def naive_field(text: bytes) -> bytes | None:
    """What a field means, character by character; ValueError when its escapes are wrong."""
    meant, rest = b"", text
    while rest:
        taken = 2 if rest[:1] == b"\\" else 1
        piece, rest = rest[:taken], rest[taken:]
        if len(piece) < taken or (taken == 2 and chr(piece[-1]) not in _MEANT):
            raise ValueError(piece)
        meant += _MEANT[chr(piece[-1])] if taken == 2 else piece
    return meant or None


def naive_number(text: bytes, none: int) -> int:
    digits = text[1:] if text[:1] == b"-" else text
    if not text:
        return none
    if not digits or set(digits) - set(b"0123456789"):
        raise ValueError(text)
    return int(text)


def naive_row(line: bytes) -> Row:
    at, tenant, key, size = line.split(b"\t")
    row = Row(naive_number(at, -1), naive_field(tenant), naive_field(key), naive_number(size, 0))
    if size[:1] == b"-" or row.size > 2**40:
        raise ValueError(line)
    return row._replace(at_ms=row.at_ms if 0 <= row.at_ms < 253_402_300_800_000 else -1)


def naive(data: bytes, longest: int = LONGEST) -> tuple[list[Row], int]:
    """The rows, and how many lines are none."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    rows, skipped = [], 0
    for line in lines:
        try:
            if len(line) > longest:
                raise ValueError(line)  # noqa: TRY301 - one way to skip a line
            rows.append(naive_row(line.removesuffix(b"\r")))
        except ValueError:
            skipped += 1
    return rows, skipped


def rows_of(slabs: list[Slab]) -> list[Row]:
    return [
        Row(*row)
        for slab in slabs
        for row in zip(slab.timestamps, slab.tenants or (), slab.keys, slab.sizes, strict=True)
    ]


def read(data: bytes, lengths: list[int], format_: str) -> tuple[Records, list[Slab]]:
    """Read it all, and check what holds for every input."""
    with patch.object(source, "PIECE_BYTES", 7 + lengths[0]), patch.object(lines_, "LONGEST_LINE_BYTES", LONGEST):
        records = open_stream(InPieces(data, [*lengths]), "it", format_=format_)  # type: ignore[arg-type]
        slabs = list(records)
    position = 0
    for slab in slabs:
        assert (slab.start, slab.end) == (position, position + len(slab) + slab.skipped)
        assert len(slab) + slab.skipped > 0
        position = slab.end
    assert records.progress.rows == position
    assert records.skipped == sum(slab.skipped for slab in slabs)
    assert (records.complaint is None) == (records.skipped == 0)
    assert records.damage is None
    return records, slabs


def numbers() -> st.SearchStrategy[bytes]:
    written = st.integers(0, 2**70).map(lambda number: b"%d" % number)
    odd = st.sampled_from([b"", b"-1", b"-", b"007", b"1_0", b"+1", b" 1", b"1 ", b"1,2", b"1.0", b"1e3", b"x", b"\r"])
    edges = st.sampled_from([b"1099511627776", b"1099511627777", b"253402300799999", b"253402300800000"])
    return st.one_of(st.integers(0, 10**12).map(lambda number: b"%d" % number), written, odd, edges)


def texts() -> st.SearchStrategy[bytes]:
    words = st.sampled_from(
        [b"", b"7", b"a", b"\\t", b"\\\\", b"\\n", b"\\", b"\\x", b"\xff\xfe", b"\0", b",", b" ", b"\r"]
    )
    return st.one_of(st.lists(words, max_size=3).map(b"".join), st.integers(70, 120).map(lambda n: b"l" * n))


def lines() -> st.SearchStrategy[bytes]:
    good = st.tuples(st.just(b"1700000000000"), texts(), texts(), st.just(b"12")).map(b"\t".join)
    odd = st.tuples(numbers(), texts(), texts(), numbers()).map(b"\t".join)
    wrong = st.lists(st.one_of(numbers(), texts()), max_size=6).map(b"\t".join)
    return st.one_of(good, good, odd, wrong)


def files() -> st.SearchStrategy[bytes]:
    ends = st.sampled_from([b"\n", b"\r\n"])
    written = st.tuples(st.lists(lines(), max_size=12), ends, st.booleans(), st.sampled_from([b"", b"\xef\xbb\xbf"]))
    shaped = written.map(lambda parts: parts[3] + parts[1].join(parts[0]) + parts[1] * parts[2])
    return st.one_of(shaped, st.text("17\t\t\t\t\n\n\\tnk,-\r ", max_size=60).map(str.encode))


lengths = st.lists(st.integers(1, 40), min_size=1, max_size=4)


@given(files(), lengths)
@example(b"1\tt\tk\n7\t7\tk\tx\t5\n", [9])
@example(b"1\tt\nk\t5\n", [9])
@example(b"1\tt\n2\t1\tt\tk\t5\n\t5\n", [9])
def test_a_tsv_is_read_as_line_by_line(data: bytes, lengths: list[int]) -> None:
    records, slabs = read(data, lengths, "tsv")
    rows, skipped = naive(data)
    assert rows_of(slabs) == rows
    assert records.skipped == skipped


@given(st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"n")), max_size=20), lengths)
def test_keys_are_the_lines_of_the_input(keys: list[bytes], lengths: list[int]) -> None:
    data = b"".join(key + b"\n" for key in keys)
    assume(not data.startswith(PACKED))
    _, slabs = read(data, lengths, "keys")
    expected = [key.removesuffix(b"\r") for key in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]]
    assert [key for slab in slabs for key in slab.keys] == [key or None for key in expected]
    assert [size for slab in slabs for size in slab.sizes] == [*map(len, expected)]


@given(st.lists(files(), min_size=1, max_size=3), lengths, st.integers(0, 3))
def test_gzips_one_after_another_are_read_as_their_contents(parts: list[bytes], lengths: list[int], zeros: int) -> None:
    packed = b"".join(map(gzip.compress, parts)) + bytes(zeros)
    assert _outcome(packed, lengths) == _outcome(b"".join(parts), lengths)


def _outcome(data: bytes, lengths: list[int]) -> tuple[list[Row], int]:
    records, slabs = read(data, lengths, "tsv")
    return rows_of(slabs), records.skipped


@given(st.binary(max_size=200), lengths)
def test_no_bytes_make_a_reader_of_json_lines_fail(data: bytes, lengths: list[int]) -> None:
    assume(not data.startswith(PACKED))
    read(data, lengths, "jsonl")


@given(files(), st.data())
def test_a_gzip_that_is_cut_off_gives_a_beginning_of_its_rows(data: bytes, draw: st.DataObject) -> None:
    packed = gzip.compress(data)
    records = open_stream(io.BytesIO(packed[: draw.draw(st.integers(2, len(packed) - 1))]), "it", format_="tsv")
    found = rows_of(list(records))
    assert found == naive(data, longest=len(data))[0][: len(found)]
    assert records.damage is not None
