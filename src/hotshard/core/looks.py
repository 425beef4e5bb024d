"""What keys look like: made of the clock, a stand-in for a missing value, the name of a total."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What programs write where a value is missing; by the last part of a key, in lower case.
PLACEHOLDERS: Final = frozenset(
    {
        "", "undefined", "null", "none", "nil", "nan", "unknown", "n/a", "na", "missing", "empty", "default", "unset",
        "anonymous", "-", "--", "?", "-1", "00000000-0000-0000-0000-000000000000", "[object object]", "(null)", "\\n",
    }
)  # fmt: skip
#: Words in the names of totals: what every record adds to.
_TOTALS: Final = frozenset(
    {
        "stat", "stats", "total", "totals", "sum", "count", "counter", "counts", "counters", "aggregate", "aggregates",
        "summary", "global", "all", "balance", "quota", "usage", "metrics",
    }
)  # fmt: skip
_WORDS: Final = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+(?![a-z])")
_DATE: Final = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})(?:[T _-]?(\d{2})(?::?(\d{2}))?)?")
_DIGITS: Final = re.compile(r"\d{10,19}")
#: Units a second that a number may count, by its digits: seconds, milliseconds, microseconds, nanoseconds.
_PER_S: Final = {10: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}
_NEAR_MS: Final = 60_000
#: The bytes before the value of a key that a schema registry's serializer wrote: zero, and the schema's number.
_FRAME: Final = 5


def text_of(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def is_placeholder(name: bytes) -> bool:
    """Its last part, between U+001F or colons, is what programs write for a missing value."""
    text = text_of(name)
    return text is not None and re.split(r"[\x1f:|]", text)[-1].strip().strip("\"'").lower() in PLACEHOLDERS


def is_total(name: bytes) -> bool:
    """A word of its last part says that it is an aggregate or a counter."""
    text = text_of(name)
    if text is None:
        return False
    return not _TOTALS.isdisjoint(word.lower() for word in _WORDS.findall(text.split("\x1f")[-1]))


def is_of_the_clock(name: bytes, start_ms: int, end_ms: int) -> bool:
    """It holds a time of the stretch, or of a minute before or after: a date with an hour, or a number since 1970."""
    text = text_of(name)
    if text is None:
        return False
    return any(start_ms - _NEAR_MS <= at_ms <= end_ms + _NEAR_MS for at_ms in _numbers(text)) or any(
        first <= end_ms and start_ms <= last for first, last in _dates(text)
    )


def is_series(names: Sequence[bytes]) -> bool:
    """All of them, three at least, are one text with a number in it that only ever rises."""
    parts = [re.fullmatch(r"(.*?)(\d+)(\D*)", text_of(name) or "", re.DOTALL) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < max(3, len(names)) or len({(part[1].rstrip("0123456789"), part[3]) for part in found}) > 1:
        return False
    numbers = [int(part[2]) for part in found]
    return all(one < other for one, other in pairwise(numbers))


def framed_alike(names: Sequence[bytes]) -> tuple[bytes, ...]:
    """Keys that are one value written with different schemas: they differ in the schema's number only."""
    by_value: dict[bytes, list[bytes]] = {}
    for name in names:
        if name.startswith(b"\x00") and len(name) > _FRAME:
            by_value.setdefault(name[_FRAME:], []).append(name)
    return max((tuple(each) for each in by_value.values() if len(each) > 1), key=len, default=())


def shown(name: bytes) -> str:
    """A name within a sentence: text where it is text, U+001F as a slash, at most 40 characters."""
    text = text_of(name)
    text = f"0x{name.hex()}" if text is None else text.replace("\x1f", "/")
    clean = "".join(each if each.isprintable() else "?" for each in text)
    return f"'{clean[:39]}…'" if len(clean) > 40 else f"'{clean}'"


def _numbers(text: str) -> list[float]:
    return [int(digits) * 1000 / _PER_S[len(digits)] for digits in _DIGITS.findall(text) if len(digits) in _PER_S]


def _dates(text: str) -> list[tuple[float, float]]:
    """First and last moment of every date with an hour, milliseconds."""
    found = []
    for match in _DATE.finditer(text):
        year, month, day, hour, minute = (None if part is None else int(part) for part in match.groups())
        if hour is None or year is None or month is None or day is None:
            continue
        try:
            first = datetime(year, month, day, hour, minute or 0, tzinfo=UTC).timestamp() * 1000
        except ValueError:
            continue
        found.append((first, first + (3_600_000 if minute is None else 60_000) - 1))
    return found
