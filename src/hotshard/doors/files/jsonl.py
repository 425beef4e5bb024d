"""One JSON object a line: ``timestamp_ms``, ``tenant``, ``key``, ``bytes``, or what other tools call them.

Text and whole numbers are taken, numbers also as text, a time also in ISO 8601 (UTC where it names no zone).
What ``kcat -J`` prints can be read as it is.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from hotshard.doors.files.columns import (
    NO_TIME,
    Columns,
    DamageError,
    bounded_bytes,
    bounded_ms,
    shown,
    size_bytes,
    time_ms,
)


class _Object(msgspec.Struct, gc=False):
    """A line. Beside the names of the TSV's columns: their aliases, first come, first taken."""

    timestamp_ms: Any = None
    timestamp: Any = None
    ts: Any = None
    time: Any = None
    at_timestamp: Any = msgspec.field(default=None, name="@timestamp")
    tenant: Any = None
    key: Any = None
    bytes: Any = None
    size: Any = None
    #: The record's value, where its size is not told.
    payload: Any = None


_object = msgspec.json.Decoder(_Object)


class Jsonl:
    """See :class:`~hotshard.doors.files.columns.Format`."""

    has_times = True
    has_tenants = True

    def parse(self, block: bytes) -> Columns:
        try:
            found: list[_Object | None] = [*_object.decode_lines(block)]
        except (msgspec.DecodeError, RecursionError):
            found = []
        lines = block.count(b"\n")
        if len(found) != lines:  # it passes over empty lines
            found = [_decoded(line) for line in block.split(b"\n")[:lines]]
        return _columns(found)


def is_record(line: bytes) -> bool:
    """Whether a line is an object with a key, or a null one."""
    found = _decoded(line)
    return found is not None and (found.key is not None or b'"key"' in line)


def _decoded(line: bytes) -> _Object | None:
    try:
        return _object.decode(line)
    except (msgspec.DecodeError, RecursionError):  # the latter: objects within objects, a thousand deep
        return None


def _columns(found: list[_Object | None]) -> Columns:
    columns, tenants = Columns(), list[bytes | None]()
    for index, each in enumerate(found):
        if each is None:
            columns.skip(index, "no JSON object")
            continue
        try:
            key, tenant = _text(each.key, "key"), _text(each.tenant, "tenant")
            at_ms, size = _time_ms(each), _size(each, key)
        except DamageError as damage:
            columns.skip(index, str(damage))
            continue
        columns.keys.append(key)
        tenants.append(tenant)
        columns.timestamps.append(at_ms)
        columns.sizes.append(size)
    columns.tenants = tenants
    return columns


def _text(value: Any, name: str) -> bytes | None:  # noqa: ANN401 -- any JSON
    if type(value) is str:
        return value.encode() or None
    if value is None:
        return None
    if type(value) is int:
        return b"%d" % value
    raise DamageError(f"the {name} is neither text nor a whole number")


def _time_ms(each: _Object) -> int:
    value = each.timestamp_ms
    if value is None:
        others = (each.timestamp, each.ts, each.time, each.at_timestamp)
        value = next((other for other in others if other is not None), None)
    if type(value) is int:
        return bounded_ms(value)
    if type(value) is str:
        return _written_ms(value)
    if type(value) is float:
        return bounded_ms(int(value))
    if value is None:
        return NO_TIME
    raise DamageError("the time is neither a number nor text")


def _written_ms(text: str) -> int:
    try:
        return time_ms(text.encode())
    except DamageError:
        pass
    try:
        at = datetime.fromisoformat(text)
        return bounded_ms(round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        raise DamageError(f"the time {shown(text.encode())} is neither milliseconds nor ISO 8601") from None


def _size(each: _Object, key: bytes | None) -> int:
    value = each.size if each.bytes is None else each.bytes
    if type(value) is int:
        return bounded_bytes(value)
    if value is None:
        return len(key or b"") + len(each.payload.encode()) if type(each.payload) is str else 0
    if type(value) is str:
        return size_bytes(value.encode())
    if type(value) is float and value.is_integer():
        return bounded_bytes(int(value))
    raise DamageError("the size is no whole number of bytes")
