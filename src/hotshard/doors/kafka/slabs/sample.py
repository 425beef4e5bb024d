"""Record batches made by hand, well formed or not: what the self-check and the tests read.

The form is that of Kafka's message format v2, as its protocol guide gives it under "Record Batch".
"""

from __future__ import annotations

import gzip
import struct
from typing import TYPE_CHECKING, NamedTuple

from aiokafka.record.util import calc_crc32c

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HEAD = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, CRC
# attributes, last offset delta, first and max timestamp, producer id, its epoch, sequence, count
_REST = struct.Struct(">hiqqqhii")
_LENGTH_COUNTS_FROM = 12
_GZIP, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 1, 8, 16, 32

ABORT, COMMIT = 0, 1


class Record(NamedTuple):
    """One record; ``headers`` may hold bytes that are not UTF-8."""

    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp_ms: int = 1_700_000_000_000
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    #: Offset within the batch; None means one after the record before.
    delta: int | None = None


def varint(value: int) -> bytes:
    """Zigzag varint of Kafka's records."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(0x80 | (left & 0x7F))
        left >>= 7
    out.append(left)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record_bytes(record: Record, first_ms: int, delta: int) -> bytes:
    """One record, its length before it."""
    headers = b"".join(_sized(name) + _sized(value) for name, value in record.headers)
    body = b"\0" + varint(record.timestamp_ms - first_ms) + varint(delta)
    body += _sized(record.key) + _sized(record.value) + varint(len(record.headers)) + headers
    return varint(len(body)) + body


def batch(  # noqa: PLR0913 - these are the parts of a batch
    base: int,
    records: Sequence[Record],
    *,
    producer: int = -1,
    transactional: bool = False,
    append_ms: int | None = None,
    last_delta: int | None = None,
    gzipped: bool = False,
    damage: Callable[[bytes], bytes] = bytes,
    control: bool = False,
    codec: int | None = None,
) -> bytes:
    """One batch at offset ``base`` with a right CRC.

    ``append_ms`` makes the broker's time the records' time. ``last_delta`` above the last record's is what
    compaction leaves. ``damage`` changes the records' bytes before compression and CRC; ``codec`` claims a
    compression that was not done.
    """
    first_ms = records[0].timestamp_ms if records else 0
    body, delta = b"", -1
    for record in records:
        delta = delta + 1 if record.delta is None else record.delta
        body += record_bytes(record, first_ms, delta)
    body = damage(body)
    if gzipped:
        body = gzip.compress(body, mtime=0)
    attributes = (_GZIP if gzipped else 0) | (_TRANSACTIONAL if transactional else 0) | (_CONTROL if control else 0)
    attributes |= (0 if append_ms is None else _APPEND_TIME) | (codec or 0)
    max_ms = append_ms if append_ms is not None else max((r.timestamp_ms for r in records), default=0)
    last = delta if last_delta is None else last_delta
    rest = _REST.pack(attributes, last, first_ms, max_ms, producer, 0, 0, len(records)) + body
    length = _HEAD.size - _LENGTH_COUNTS_FROM + len(rest)
    return _HEAD.pack(base, length, 0, 2, calc_crc32c(rest)) + rest


def marker(base: int, producer: int, kind: int) -> bytes:
    """The control batch that ends a transaction: ``ABORT`` or ``COMMIT``."""
    record = Record(key=struct.pack(">HH", 0, kind), value=b"\0\0\0\0\0\0")
    return batch(base, [record], producer=producer, transactional=True, control=True)
