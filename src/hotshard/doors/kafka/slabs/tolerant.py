"""Reading what is left of a damaged batch: slow, in Python, with a look at headers only where they are wanted.

A record that cannot be read is counted; the rest of its batch counts. Where the batch as a whole cannot be read
(wrong checksum, broken compression, unknown form) all of it is skipped and counted. The position always moves on,
and never further than the next batch or the end of what can be read.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from aiokafka import codec
from aiokafka.record.memory_records import MemoryRecords

from hotshard.doors.kafka.slabs.parser import CrcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.fields import FieldReader
    from hotshard.doors.kafka.slabs.parser import Batch, Columns

_HEADER = struct.Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_CODEC, _APPEND_TIME = 0x07, 0x08
_DECODERS: dict[int, Callable[[bytes], bytes]] = {
    1: codec.gzip_decode,
    2: codec.snappy_decode,
    3: codec.lz4_decode,
    4: codec.zstd_decode,
}


class _Header(NamedTuple):
    """The head of a v2 batch, in its order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    first_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int


class TolerantBatches:
    """The batches of ``data`` one by one, as ``MemoryRecords`` gives them, with the bytes of the last at hand.

    ``end`` is where all that can be read ends: no batch is believed to reach further. At most ``most`` are given.
    ``fields`` reads headers and values of what is rescued, where anything of them is wanted.
    """

    def __init__(self, data: bytes, end: int, most: int | None = None, fields: FieldReader | None = None) -> None:
        self._fields = fields
        self._data = data
        self._end = end
        self._left = most
        #: How many batches had to be rescued.
        self.rescued = 0
        self._at = 0
        self._last = b""

    def has_next(self) -> bool:
        return self._left != 0 and self._whole_next()

    def next_batch(self) -> Batch:
        if self._left is not None:
            self._left -= 1
        size = self._size_of_next()
        self._last = self._data[self._at : self._at + size]
        self._at += size
        batch: Batch = MemoryRecords(self._last).next_batch()
        return batch

    def rescue(self, position: int, into: Columns, reason: Exception) -> int:
        """Read what can be read of the last batch; see ``parser.Rescue``."""
        self.rescued += 1
        header = _header(self._last)
        end = self._end_of_last(header, position)
        payload = None if header is None or isinstance(reason, CrcError) else _payload(header, self._last)
        if header is None or payload is None:
            into.skipped += end - position if header is None else _believable(header.records, end - position)
        else:
            bodies = _read(payload, header, position, end, into)
            if self._fields is not None:
                found = [_headers_and_value(payload, *body) for body in bodies]
                into.take(self._fields.read([headers for headers, _ in found], [value for _, value in found]))
        return end

    def _whole_next(self) -> bool:
        return _OFFSET_AND_LENGTH.size <= self._size_of_next() <= len(self._data) - self._at

    @staticmethod
    def sound(batch: Batch) -> bool:
        return batch.validate_crc()

    def _size_of_next(self) -> int:
        if len(self._data) - self._at < _OFFSET_AND_LENGTH.size:
            return 0
        return _OFFSET_AND_LENGTH.size + int(_OFFSET_AND_LENGTH.unpack_from(self._data, self._at)[1])

    def _end_of_last(self, header: _Header | None, position: int) -> int:
        """Where the last batch ends; a head that says something impossible is not believed."""
        following = _OFFSET_AND_LENGTH.unpack_from(self._data, self._at)[0] if self._whole_next() else 0
        bound = following if following > position else max(self._end, position + 1)
        base = _OFFSET_AND_LENGTH.unpack_from(self._last)[0]
        # formats v0 and v1 carry the last offset in the place of the first
        end = base + 1 if header is None else base + header.last_offset_delta + 1
        if position < end <= bound:
            return int(end)
        return int(following) if following > position else position + 1


def _header(data: bytes) -> _Header | None:
    """The head; None for formats v0 and v1."""
    header = _Header._make(_HEADER.unpack_from(data)) if len(data) >= _HEADER.size else None
    return header if header is not None and header.magic == 2 else None


def _payload(header: _Header, data: bytes) -> bytes | None:
    """The records, decompressed; None when they cannot be."""
    packed = data[_HEADER.size :]
    kind = header.attributes & _CODEC
    if kind == 0:
        return packed
    try:
        return bytes(_DECODERS[kind](packed))
    except Exception:  # noqa: BLE001 - each codec has errors of its own, and each of them means the same here
        return None


def _read(data: bytes, header: _Header, position: int, end: int, into: Columns) -> list[tuple[int, int]]:
    """Append what can be read; returns where the value of each begins (its length first) and its record ends."""
    at = 0
    bodies: list[tuple[int, int]] = []
    for done in range(header.records):
        try:
            length, at = _varint(data, at)
            if length <= 0 or at + length > len(data):
                raise ValueError(length)  # noqa: TRY301 - without a length there is no next record
        except (ValueError, IndexError):
            into.skipped += _believable(header.records - done, end - position)
            return bodies
        at += length
        try:
            offset, timestamp, key, size, value_at = _record(data, at - length, at, header)
        except (ValueError, IndexError):
            into.skipped += 1
            continue
        if position <= offset < end:
            into.keys.append(key)
            into.sizes.append(size)
            into.timestamps.append(timestamp)
            bodies.append((value_at, at))
    return bodies


def _record(data: bytes, at: int, stop: int, header: _Header) -> tuple[int, int, bytes | None, int, int]:
    """Offset, timestamp, key, bytes of key and value, and where the value's length stands.

    Raises ValueError or IndexError.
    """
    at += 1  # attributes: none are defined
    later_ms, at = _varint(data, at)
    delta, at = _varint(data, at)
    key_length, at = _varint(data, at)
    key = data[at : at + key_length] if key_length >= 0 else None
    at += max(0, key_length)
    value_at = at
    value_length, at = _varint(data, at)
    if at + max(0, value_length) > stop or not 0 <= delta <= header.last_offset_delta:
        raise ValueError(delta)
    timestamp = header.max_timestamp if header.attributes & _APPEND_TIME else header.first_timestamp + later_ms
    return header.base_offset + delta, timestamp, key, max(0, key_length) + max(0, value_length), value_at


def _headers_and_value(data: bytes, at: int, stop: int) -> tuple[list[tuple[str, bytes | None]], bytes | None]:
    """The value that begins at ``at``, and the headers behind it, as far as they can be read."""
    headers: list[tuple[str, bytes | None]] = []
    value, at = _sized(data, at, stop)
    try:
        count, at = _varint(data, at)
        for _ in range(count):
            name, at = _sized(data, at, stop)
            content, at = _sized(data, at, stop)
            headers.append(((name or b"").decode(errors="replace"), content))
    except (ValueError, IndexError):
        pass  # the record ends within them
    return headers, value


def _sized(data: bytes, at: int, stop: int) -> tuple[bytes | None, int]:
    """Bytes with their length before them, and the place after them. Raises ValueError or IndexError."""
    length, at = _varint(data, at)
    if at + max(0, length) > stop:
        raise ValueError(length)
    return (data[at : at + length] if length >= 0 else None), at + max(0, length)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise ValueError("longer than a varint can be")


def _believable(count: int, most: int) -> int:
    return count if 0 < count <= most else most
