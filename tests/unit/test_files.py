"""Files and pipes: formats, what is told of wrong ones, bounds of numbers, bounds of memory."""

from __future__ import annotations

import gzip
import io
import os
import threading
import tracemalloc
import zlib
from typing import TYPE_CHECKING, BinaryIO

import pytest

from hotshard.doors.files.opening import open_records, open_stream
from hotshard.errors import InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.doors.files.contract import Records

_GOOD = b"1700000000000\tacme\torder\t12\n"
_MIB = 1 << 20


def records_of(data: bytes, format_: str = "auto") -> Records:
    return open_stream(io.BytesIO(data), "it", format_=format_)


def whole(records: Records) -> tuple[list[int], list[bytes | None], list[bytes | None], list[int]]:
    """Times, tenants, keys and sizes."""
    slabs = list(records)
    return (
        [at for slab in slabs for at in slab.timestamps],
        [tenant for slab in slabs for tenant in slab.tenants or ()],
        [key for slab in slabs for key in slab.keys],
        [size for slab in slabs for size in slab.sizes],
    )


def keys_of(data: bytes, format_: str = "auto") -> list[bytes | None]:
    return whole(records_of(data, format_))[2]


# TSV


def test_a_row_has_time_tenant_key_and_size() -> None:
    assert whole(records_of(_GOOD)) == ([1700000000000], [b"acme"], [b"order"], [12])


def test_empty_fields_are_nulls() -> None:
    assert whole(records_of(b"\t\t\t\n" + _GOOD)) == ([-1, 1700000000000], [None, b"acme"], [None, b"order"], [0, 12])


def test_escapes_stand_for_what_would_break_a_line() -> None:
    data = rb"1" + b"\t" + rb"a\tb\\n" + b"\t" + rb"\n\r" + b"\t5\n"
    assert whole(records_of(data)) == ([1], [b"a\tb\\n"], [b"\n\r"], [5])


def test_a_key_that_is_not_utf_8_stays_as_it_is() -> None:
    assert keys_of(b"1\t\xff\t\xe9t\xe9\0\t5\n") == [b"\xe9t\xe9\0"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"-5", -1),
        (b"253402300800000", -1),
        (b"9" * 5000, -1),
        (b"0", 0),
        (b"007", 7),
        (b"253402300799999", 253402300799999),
    ],
)
def test_a_time_out_of_bounds_is_none_and_the_record_counts(written: bytes, expected: int) -> None:
    assert whole(records_of(_GOOD + written + b"\tt\tk\t1\n"))[0] == [1700000000000, expected]


@pytest.mark.parametrize(
    "written", [b"1e3", b"12.5", b"1_0", b"+1", b" 1", b"x", "\N{ARABIC-INDIC DIGIT ONE}".encode()]
)
@pytest.mark.parametrize("line", [b"%b\tt\tk\t1\n", b"1\tt\tk\t%b\n"])
def test_what_is_no_whole_number_is_a_wrong_line(line: bytes, written: bytes) -> None:
    records = records_of(_GOOD + line % written + _GOOD)
    assert whole(records)[2] == [b"order", b"order"]
    assert records.skipped == 1
    assert (records.complaint or "").startswith("line 2: the ")


@pytest.mark.parametrize("size", [10**12, 2**40])
def test_a_billion_fold_weight_is_let_in(size: int) -> None:
    assert whole(records_of(b"1\tt\tk\t%d\n" % size))[3] == [size]


@pytest.mark.parametrize("size", [b"-1", b"1099511627777", b"9" * 5000])
def test_a_size_beyond_reason_is_a_wrong_line(size: bytes) -> None:
    records = records_of(_GOOD + b"1\tt\tk\t%b\n" % size)
    assert whole(records)[3] == [12]
    assert records.skipped == 1


def test_the_bytes_of_an_input_stay_within_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hotshard.doors.files.columns.MOST_BYTES_IN_ALL", 100)
    records = records_of(b"1\tt\ta\t60\n1\tt\tb\t41\n1\tt\tc\t40\n1\tt\td\t1\n")
    assert whole(records) == ([1, 1], [b"t", b"t"], [b"a", b"c"], [60, 40])
    assert records.skipped == 2
    assert records.complaint == "line 2: with it the input would have more than 2**62 bytes"


def test_a_header_is_no_record_and_no_wrong_line() -> None:
    records = records_of(b"\xef\xbb\xbftimestamp_ms\ttenant\tkey\tbytes\r\n" + _GOOD + b"x\n")
    assert whole(records)[2] == [b"order"]
    assert (records.skipped, records.progress.rows) == (1, 2)
    assert records.complaint == "line 3: 1 field instead of 4: timestamp_ms, tenant, key, bytes"


def test_a_tenant_called_tenant_is_no_header_further_down() -> None:
    assert records_of(_GOOD + b"timestamp\ttenant\tkey\tbytes\n", "tsv").format == "tsv"
    records = records_of(_GOOD + b"timestamp\ttenant\tkey\tbytes\n")
    list(records)
    assert records.skipped == 1


def test_the_complaint_names_the_first_wrong_line_of_a_large_file() -> None:
    records = records_of(_GOOD * 30_000 + b"wrong\n" + _GOOD * 30_000 + b"wrong too\n")
    assert len(whole(records)[2]) == 60_000
    assert records.skipped == 2
    assert records.complaint == "line 30,001: 1 field instead of 4: timestamp_ms, tenant, key, bytes"


def test_no_slab_holds_more_than_20_000_records() -> None:
    slabs = list(records_of(b"a\n" * 300_000))
    assert max(map(len, slabs)) == 20_000
    assert slabs[-1].end == 300_000


# JSON lines


def test_json_lines_have_the_names_of_the_columns() -> None:
    data = b'{"timestamp_ms": 5, "tenant": "a", "key": "k", "bytes": 7, "more": [1]}\n{"key": null}\n'
    records = records_of(data)
    assert records.format == "jsonl"
    assert whole(records) == ([5, -1], [b"a", None], [b"k", None], [7, 0])


def test_what_kcat_prints_can_be_read() -> None:
    data = b'{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":1700000000000,"key":"k","payload":"abc"}\n'
    assert whole(records_of(data)) == ([1700000000000], [None], [b"k"], [4])


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (b'"1700000000000"', 1700000000000),
        (b"1700000000000.5", 1700000000000),
        (b'"2023-11-14T22:13:20Z"', 1700000000000),
        (b'"2023-11-14T23:13:20.000+01:00"', 1700000000000),
        (b'"2023-11-14 22:13:20"', 1700000000000),
        (b"-1", -1),
        (b"1e300", -1),
        (b"null", -1),
    ],
)
@pytest.mark.parametrize("name", [b"timestamp_ms", b"@timestamp", b"ts", b"time"])
def test_times_in_json_may_be_numbers_or_text(name: bytes, time: bytes, expected: int) -> None:
    assert whole(records_of(b'{"key":"k","%b":%b}\n' % (name, time)))[0] == [expected]


@pytest.mark.parametrize(
    "line",
    [
        b"[1]", b"7", b"", b"{", b'{"key": {"id": 1}}', b'{"key": 1.5}', b'{"key": true}',
        b'{"key": "k", "tenant": []}',
        b'{"key": "k", "ts": {}}', b'{"key": "k", "ts": "noon"}', b'{"key": "k", "bytes": -1}',
        b'{"key": "k", "bytes": "x"}',
        b'{"key": "k", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"x": ' * 5000,
        b'{"key": "k", "bytes": 1.5}', b'{"key": "k", "bytes": 1e30}', b'{"key": "\\ud800"}', b'{"key": "\xff"}',
    ],
)  # fmt: skip
def test_a_wrong_line_of_json_is_skipped_alone(line: bytes) -> None:
    records = records_of(b'{"key":"a"}\n' + line + b'\n{"key":17,"bytes":"3","size":4}\n')
    assert whole(records) == ([-1, -1], [None, None], [b"a", b"17"], [0, 3])
    assert records.skipped == 1
    assert (records.complaint or "").startswith("line 2: ")


# Keys


def test_keys_are_taken_as_they_stand() -> None:
    records = records_of(b"a\tb\\t\n\n\xff\0x\r\nlast", "keys")
    assert (records.has_times, records.has_tenants) == (False, False)
    assert [(slab.keys, slab.sizes, slab.timestamps, slab.tenants) for slab in records] == [
        ([b"a\tb\\t", None, b"\xff\0x"], [5, 0, 3], [-1] * 3, None),
        ([b"last"], [4], [-1], None),
    ]


# Which format


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "tsv"),
        (_GOOD, "tsv"),
        (b"wrong\n" * 5 + _GOOD, "tsv"),
        (b"timestamp_ms\ttenant\tkey\tbytes\n", "tsv"),
        (b"x\ta\tb\tc\n" * 5, "tsv"),
        (b'{"key":"a"}', "jsonl"),
        (b'{"x":"' + b"x" * (_MIB // 2) + b'","key":"a"}\n', "jsonl"),
        (b"order-1\norder-2\n", "keys"),
        (b"tenant\x1forder-1\ntenant\x1forder-2\n", "keys"),
        (b"\n\n", "keys"),
        (b"\xff\xe9\n", "keys"),
    ],
)
def test_the_format_is_told_from_the_first_lines(data: bytes, expected: str) -> None:
    assert records_of(data).format == expected


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x7fELF\0\0\1\n", "not text: it (byte 4 is zero); if each line is a binary key, say --format keys"),
        (bytes(range(1, 32)) * 9, "not text: it (it is full of control characters)"),
        ("timestamp_ms\ttenant\n".encode("utf-16"), "it is UTF-16"),
        (b"a\tb\n" * 3, "it has 2 fields a line, separated by tabs; a TSV has timestamp_ms, tenant, key, bytes"),
        (b"1700000000000,a,b,3\n" * 3, "it is separated by commas"),
        (b'[{"key":"a"},\n{"key":"b"}]\n', "it is JSON, but not one object a line"),
        (b'{\n"key":"a"\n}\n', "it is JSON, but not one object a line"),
        (b'{"id":1}\n' * 3, 'the lines of it are JSON objects without a field "key"'),
        (b"\x28\xb5\x2f\xfdxxx", "it is compressed, and not by gzip; pipe it in: zstd -dc FILE | hotshard ... -"),
        (gzip.compress(gzip.compress(_GOOD)), "it is packed by gzip twice; unpack it once: zcat FILE | hotshard ... -"),
        (b'{"a": ' * 5000 + b"\n" + b'{"id":1}\n' * 3, 'the lines of it are JSON objects without a field "key"'),
        (b"BZh91AY&SYxx", "it is compressed, and not by gzip; pipe it in: bzip2 -dc FILE | hotshard ... -"),
    ],
)
def test_what_is_no_format_of_ours_is_refused_with_what_to_do(data: bytes, told: str) -> None:
    with pytest.raises(InputError) as caught:
        records_of(data)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_a_format_that_is_none_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="no format is called 'csv'; there are auto, tsv, jsonl, keys"):
        records_of(b"", "csv")


# Gzip


def test_a_gzip_is_read_as_its_contents_and_its_own_bytes_are_the_progress() -> None:
    packed = gzip.compress(_GOOD * 1000)
    records = records_of(packed)
    assert whole(records)[2] == [b"order"] * 1000
    assert records.damage is None
    assert records.progress.done == len(packed)


@pytest.mark.parametrize(
    ("packed", "told"),
    [
        (gzip.compress(_GOOD * 9)[:-1], "it is cut off: its gzip ends at byte "),
        (gzip.compress(_GOOD * 9)[:-8] + b"\0" * 8, "it is damaged: its gzip could be unpacked only in part"),
        (gzip.compress(_GOOD * 9) + b"more", "it has bytes after the end of its gzip; they were left out"),
        (gzip.compress(_GOOD * 9) + b"\0\0m", "it has bytes after the end of its gzip; they were left out"),
        (
            gzip.compress(_GOOD * 9) + b"\x1f\x8b" + b"\xff" * 20,
            "it is damaged: its gzip could be unpacked only in part",
        ),
        (gzip.compress(_GOOD * 9) + b"\x1f", "it has bytes after the end of its gzip; they were left out"),
    ],
)
def test_what_comes_before_the_damage_of_a_gzip_counts(packed: bytes, told: str) -> None:
    records = records_of(packed)
    assert whole(records)[2] == [b"order"] * 9
    assert (records.damage or "").startswith(told)
    assert records.skipped == 0


def test_a_row_that_is_cut_off_is_not_taken_for_a_whole_one() -> None:
    packed = gzip.compress(_GOOD * 9, compresslevel=0)
    records = records_of(packed[:-10])  # its last size is 1, not 12
    assert whole(records)[2] == [b"order"] * 8
    assert records.damage is not None


def test_a_damaged_beginning_is_told_too() -> None:
    records = records_of(b"\x1f\x8b\x08\x00damaged")
    assert whole(records)[2] == []
    assert records.damage is not None


# Memory


def peak_bytes(stream: BinaryIO, format_: str) -> int:
    tracemalloc.start()
    try:
        for _ in open_stream(stream, "it", format_=format_):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def bomb(line: bytes, times: int) -> io.BytesIO:
    """A gzip of so many MiB of a line."""
    packer = zlib.compressobj(wbits=31)
    block = line * (_MIB // len(line))
    return io.BytesIO(b"".join([*(packer.compress(block) for _ in range(times)), packer.flush()]))


@pytest.mark.parametrize("format_", ["tsv", "jsonl", "keys"])
def test_a_file_without_newlines_takes_no_memory(format_: str) -> None:
    assert peak_bytes(bomb(b"x", 100), format_) < 8 * _MIB


def test_a_gzip_that_unpacks_to_a_thousand_times_its_size_takes_no_memory() -> None:
    assert peak_bytes(bomb(_GOOD, 10), "tsv") < 8 * _MIB


@pytest.mark.parametrize("length", [_MIB + 1, 5 * _MIB])
def test_a_line_that_is_too_long_is_skipped_and_the_next_one_read(length: int) -> None:
    records = records_of(b"a\n" + b"x" * length + b"\nb\n", "keys")
    assert whole(records)[2] == [b"a", b"b"]
    assert (records.skipped, records.progress.rows) == (1, 3)
    assert records.complaint == "line 2: longer than 1,048,576 bytes"


def test_a_line_that_is_just_short_enough_is_read() -> None:
    assert keys_of(b"a\n" + b"x" * _MIB + b"\nb\n", "keys") == [b"a", b"x" * _MIB, b"b"]


@pytest.mark.parametrize("first", [b"1\tt\t%b\t5\n" % (b"x" * 1_000_000), b'{"key":"%b"}\n' % (b"x" * 1_000_000)])
def test_the_format_is_told_from_a_first_line_of_a_megabyte_too(first: bytes) -> None:
    records = records_of(first + b"1\tt\tk\t5\n" if first.startswith(b"1") else first + b'{"key":"k"}\n')
    assert [len(key or b"") for key in whole(records)[2]] == [1_000_000, 1]
    assert records.skipped == 0


def test_a_last_line_that_is_too_long_is_skipped() -> None:
    records = records_of(b"a\n" + b"x" * (3 * _MIB), "keys")
    assert whole(records)[2] == [b"a"]
    assert records.skipped == 1


# Opening


def test_a_missing_file_and_a_directory_are_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file: "):
        open_records(str(tmp_path / "none"))
    with pytest.raises(UsageError, match="is a directory"):
        open_records(str(tmp_path))
    with pytest.raises(UsageError, match="standard input is closed"):
        open_records("-")
    with pytest.raises(InputError, match="cannot be read"):
        open_records("a\0b")
    with pytest.raises(UsageError, match="FILE is empty"):
        open_records("")
    with pytest.raises(UsageError, match="no such file: KAFKA://k:1/t; a topic is written kafka://HOST:PORT/TOPIC"):
        open_records("KAFKA://k:1/t")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0)
    with pytest.raises(InputError, match="Permission denied; check its path and permissions"):
        open_records(str(file))


def test_a_file_knows_its_size_and_a_pipe_does_not(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_bytes(_GOOD)
    records = open_records(str(file))
    list(records)
    records.close()
    assert records.progress[:2] == (len(_GOOD), len(_GOOD))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(_GOOD * 20_000,))
    writer.start()
    records = open_records(str(pipe))
    assert len(whole(records)[2]) == 20_000
    records.close()
    writer.join()
    assert records.progress[:2] == (20_000 * len(_GOOD), None)


def test_a_disk_that_fails_is_told() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            if not data:
                raise OSError(5, "Input/output error")
            return data

    with pytest.raises(InputError, match="it cannot be read: Input/output error"):
        list(open_stream(Failing(_GOOD), "it"))
