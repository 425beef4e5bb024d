r"""Lines of ``timestamp_ms TAB tenant TAB key TAB bytes``, with ``\\ \t \n \r`` for what would break a line.

A block is taken apart by operations on all of it at once. Their result holds only if every line has its four
fields and plain numbers; where that is not so the block is read again line by line.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec

from hotshard.doors.files.columns import LAST_MS, MOST_BYTES, Columns, DamageError, size_bytes, time_ms

NAMES: Final = ("timestamp_ms", "tenant", "key", "bytes")
_TIME_NAMES: Final = frozenset({b"timestamp_ms", b"timestamp", b"ts", b"time"})

_times = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(ge=0, le=LAST_MS)]])
_sizes = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(ge=0, le=MOST_BYTES)]])
_ESCAPE: Final = re.compile(rb"\\(.?)", re.DOTALL)
_MEANT: Final = {b"\\": b"\\", b"t": b"\t", b"n": b"\n", b"r": b"\r"}


class Tsv:
    """See :class:`~hotshard.doors.files.columns.Format`."""

    has_times = True
    has_tenants = True

    def parse(self, block: bytes) -> Columns:
        return _at_once(block) or _line_by_line(block)


def is_header(line: bytes) -> bool:
    """Whether a first line names the columns."""
    names = line.strip().lower().split(b"\t")
    return len(names) == len(NAMES) and names[0] in _TIME_NAMES and names[1:3] == [b"tenant", b"key"]


def _at_once(block: bytes) -> Columns | None:
    """The block in columns, or None when something in it needs a closer look."""
    # each line's first field now begins with the newline before it, and no other field holds one
    fields = block.replace(b"\n", b"\t\n").split(b"\t")
    fields.pop()
    rows, rest = divmod(len(fields), 4)
    firsts = b",".join(fields[0::4])
    if rest or block.count(b"\n") != rows or firsts.count(b",\n") != rows - 1:
        return None
    try:
        timestamps = _times.decode(b"[%b]" % _digits(firsts, b",\n"))
        sizes = _sizes.decode(b"[%b]" % _digits(b",".join(fields[3::4]), b","))
        keys, tenants = _texts(block, fields[2::4]), _texts(block, fields[1::4])
    except (msgspec.DecodeError, DamageError):
        return None
    if not len(timestamps) == len(sizes) == rows:  # a comma within a field
        return None
    return Columns(keys, sizes, timestamps, tenants)


def _digits(numbers: bytes, between: bytes) -> bytes:
    """Return ``numbers`` if they hold digits alone: JSON knows signs, fractions and blanks besides."""
    if not numbers.translate(None, between).isdigit():
        raise DamageError("not digits alone")
    return numbers


def _texts(block: bytes, fields: list[bytes]) -> list[bytes | None]:
    texts: list[bytes | None] = [*fields]
    if b"\\" in block:
        texts = [unescaped(text) if b"\\" in text else text for text in fields]
    return [text or None for text in texts] if b"\t\t" in block else texts


def unescaped(text: bytes) -> bytes:
    r"""Return what is meant by a field.

    Raises:
        DamageError: a backslash stands before anything but ``\``, ``t``, ``n``, ``r``.

    """
    try:
        return _ESCAPE.sub(lambda found: _MEANT[found[1]], text)
    except KeyError:
        raise DamageError("a backslash must be followed by another, or t, n or r") from None


def _line_by_line(block: bytes) -> Columns:
    columns = Columns()
    tenants: list[bytes | None] = []
    for index, line in enumerate(block.split(b"\n")[:-1]):
        try:
            at_ms, tenant, key, size = record(line)
        except DamageError as damage:
            columns.skip(index, str(damage))
            continue
        columns.timestamps.append(at_ms)
        tenants.append(tenant)
        columns.keys.append(key)
        columns.sizes.append(size)
    columns.tenants = tenants
    return columns


def record(line: bytes) -> tuple[int, bytes | None, bytes | None, int]:
    """Time, tenant, key and size of one line without its end. Raises DamageError."""
    fields = line.split(b"\t")
    if len(fields) != 4:
        raise DamageError(f"{len(fields)} field{'s' * (len(fields) != 1)} instead of 4: {', '.join(NAMES)}")
    at, tenant, key, size = fields
    if b"\\" in line:
        tenant, key = unescaped(tenant), unescaped(key)
    return time_ms(at), tenant or None, key or None, size_bytes(size)
