"""Which format an input has, told from its first piece."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.doors.files import jsonl, tsv
from hotshard.doors.files.columns import DamageError
from hotshard.doors.files.lines import BOM
from hotshard.doors.files.source import GZIP
from hotshard.errors import InputError

if TYPE_CHECKING:
    from hotshard.doors.files.contract import FileFormat

_LOOKED_AT: Final = 500
#: So much of the lines must be records of a format: it is found out even where most lines are damaged.
_ENOUGH: Final = 0.1
#: Bytes that stand in no text, beside the zero. The separator of a key's parts (31) may, and escape (27).
_CONTROL: Final = bytes([*range(1, 9), *range(14, 27), 28, 29, 30, 127])
_MOST_CONTROL: Final = 0.05


def recognised(piece: bytes, name: str) -> FileFormat:
    """The format of an input that begins with ``piece``. An empty one is TSV.

    Raises:
        InputError: it is not text, or a form that is not read; the message says what to do.

    """
    if not piece:
        return "tsv"
    lines = _first_lines(piece)
    needed = max(1.0, _ENOUGH * sum(1 for line in lines if line))
    records = {"tsv": _tsv_lines(lines), "jsonl": sum(jsonl.is_record(line) for line in lines)}
    if records["tsv"] >= max(needed, records["jsonl"]):
        return "tsv"
    if records["jsonl"] >= needed or (piece.startswith(b"{") and b"\n" not in piece and b'"key"' in piece):
        return "jsonl"
    _refuse_binary(piece, name)
    _refuse_json(lines, name)
    return _table_or_keys(lines, name)


def _first_lines(piece: bytes) -> list[bytes]:
    lines = piece.removeprefix(BOM).split(b"\n", _LOOKED_AT)
    if len(lines) > 1:  # what follows the last newline may go on in the next piece
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def _tsv_lines(lines: list[bytes]) -> int:
    return tsv.is_header(lines[0]) + sum(_is_tsv(line) for line in lines)


def _is_tsv(line: bytes) -> bool:
    try:
        tsv.record(line)
    except DamageError:
        return False
    return True


def _refuse_binary(piece: bytes, name: str) -> None:
    if piece.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name} is UTF-16; make it UTF-8: iconv -f UTF-16 -t UTF-8 FILE | hotshard ... -")
    if piece.startswith(GZIP):
        raise InputError(f"{name} is packed by gzip twice; unpack it once: zcat FILE | hotshard ... -")
    zero = piece.find(b"\0")
    control = len(piece) - len(piece.translate(None, _CONTROL))
    if zero >= 0 or control > _MOST_CONTROL * len(piece):
        where = f"byte {zero:,} is zero" if zero >= 0 else "it is full of control characters"
        raise InputError(f"not text: {name} ({where}); if each line is a binary key, say --format keys")


def _refuse_json(lines: list[bytes], name: str) -> None:
    first = lines[0].strip()
    objects = sum(_is_object(line) for line in lines)
    if objects > len(lines) / 2:
        raise InputError(
            f'the lines of {name} are JSON objects without a field "key"; say --format keys if each line is a key'
        )
    if first in {b"[", b"{"} or first.startswith(b"[{"):
        raise InputError(f"{name} is JSON, but not one object a line; try: jq -c '.[]?' FILE | hotshard ... -")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def _table_or_keys(lines: list[bytes], name: str) -> FileFormat:
    """One key a line, unless most lines are cut into fields."""
    tabs, of_lines = Counter(line.count(b"\t") for line in lines).most_common(1)[0]
    commas = sum(line.count(b",") == 3 and line.partition(b",")[0].isdigit() for line in lines)
    if max(of_lines if tabs else 0, commas) <= len(lines) / 2:
        return "keys"
    if tabs == 3:
        return "tsv"
    what = f"has {tabs + 1} fields a line, separated by tabs" if tabs else "is separated by commas"
    wanted = ", ".join(tsv.NAMES)
    raise InputError(f"{name} {what}; a TSV has {wanted}, with tabs between; say --format keys if each line is a key")
