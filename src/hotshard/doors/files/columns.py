"""What every format makes of a block of lines, and the bounds that all of them keep to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

#: A record of more bytes is damage. Kafka's largest is 2 GiB; a weight of 10**12 is let in.
MOST_BYTES: Final = 1 << 40
#: A record that would bring the sum of the input over this is damage, so that all sums stay within 64 bits.
MOST_BYTES_IN_ALL: Final = 1 << 62
#: The last millisecond of the year 9999. A time beyond it, or before 1970, is no time: -1.
LAST_MS: Final = 253_402_300_799_999
NO_TIME: Final = -1
#: Digits of the largest number that can be within bounds; longer ones are not even converted.
_DIGITS: Final = 19


class Wrong(NamedTuple):
    """A line that is no record."""

    #: Lines before it in its block.
    before: int
    why: str


@dataclass(slots=True)
class Columns:
    """The records of a block, one entry each, and the lines that are none."""

    keys: list[bytes | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    tenants: list[bytes | None] | None = None
    skipped: int = 0
    first_wrong: Wrong | None = None

    def skip(self, index: int, why: str) -> None:
        self.skipped += 1
        self.first_wrong = self.first_wrong or Wrong(index, why)


class Format(Protocol):
    """How lines become records."""

    @property
    def has_times(self) -> bool: ...
    @property
    def has_tenants(self) -> bool: ...

    def parse(self, block: bytes) -> Columns:
        """Whole lines, each ended by a newline. Never raises; a wrong line changes nothing about the others."""
        ...


def bounded(columns: Columns, so_far: int) -> int:
    """Leave out records that would bring the bytes of the input over their bound; the sum with the others."""
    total = so_far + sum(columns.sizes)
    if total <= MOST_BYTES_IN_ALL:
        return total
    kept = []
    for index, size in enumerate(columns.sizes):
        if so_far + size > MOST_BYTES_IN_ALL:
            columns.skip(index, "with it the input would have more than 2**62 bytes")
        else:
            so_far += size
            kept.append(index)
    columns.keys = [columns.keys[index] for index in kept]
    columns.sizes = [columns.sizes[index] for index in kept]
    columns.timestamps = [columns.timestamps[index] for index in kept]
    columns.tenants = columns.tenants and [columns.tenants[index] for index in kept]
    return so_far


class DamageError(ValueError):
    """A line is no record; the message says why."""


def time_ms(text: bytes) -> int:
    """A time as it is written: a whole number of milliseconds; none, or one out of bounds, is -1.

    Raises:
        DamageError: it is no whole number.

    """
    if not text:
        return NO_TIME
    if not text.removeprefix(b"-").isdigit():
        raise DamageError(f"the time {shown(text)} is no whole number of milliseconds")
    return bounded_ms(int(text)) if len(text) <= _DIGITS else NO_TIME


def bounded_ms(value: int) -> int:
    return value if 0 <= value <= LAST_MS else NO_TIME


def size_bytes(text: bytes) -> int:
    """A size as it is written: a whole number of bytes; none is 0.

    Raises:
        DamageError: it is no whole number, negative, or beyond ``MOST_BYTES``.

    """
    if not text:
        return 0
    if not text.isdigit():
        raise DamageError(f"the size {shown(text)} is no whole number of bytes")
    return bounded_bytes(int(text) if len(text) <= _DIGITS else MOST_BYTES + 1)


def bounded_bytes(value: int) -> int:
    if not 0 <= value <= MOST_BYTES:
        raise DamageError("the size is " + ("negative" if value < 0 else "beyond 2**40 bytes"))
    return value


def shown(text: bytes) -> str:
    """A piece of a line in a message: short, and harmless to a terminal."""
    word = ascii(text[:24].decode("utf-8", "replace"))
    return word if len(text) <= 24 else f"{word[:-1]}...'"
