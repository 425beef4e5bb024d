"""What is read once from its beginning to its end: a file, a pipe, a stretch of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.core.slab import Slab

FileFormat = Literal["tsv", "jsonl", "keys"]


class Progress(NamedTuple):
    """How far reading is. ``total`` is None where nobody knows it (a pipe)."""

    done: int
    total: int | None
    unit: Literal["bytes", "offsets"]
    #: Rows read, the skipped ones included.
    rows: int


class Records(Protocol):
    """Records as slabs, to be iterated once, in constant memory.

    Slabs of one ``(topic, partition)`` tile its offsets: each starts where the one before ended, and
    ``len(slab) + slab.skipped <= slab.end - slab.start``. They hold at most 20,000 records each.
    A file is partition 0 of the topic ``""`` and its offsets count rows from 0; a topic has its own
    partitions and offsets, and its slabs come interleaved, roughly by time.

    Iterating raises, and raises nothing else: ``InputError`` (what is read is not what it should be, or
    cannot be read on) and, of a topic, what every door to Kafka raises.
    """

    #: Whether records have times; without, all timestamps are -1. Known before the first slab.
    has_times: bool
    #: Whether slabs have the ``tenants`` column. Known before the first slab.
    has_tenants: bool

    def __iter__(self) -> Iterator[Slab]: ...

    @property
    def format(self) -> Literal["tsv", "jsonl", "keys", "kafka"]:
        """What it is, told or found out; ``kafka`` is a topic."""
        ...

    @property
    def progress(self) -> Progress: ...

    @property
    def skipped(self) -> int:
        """Rows that could not be read, so far."""
        ...

    @property
    def complaint(self) -> str | None:
        """What was wrong with the first skipped row, and which it is."""
        ...

    @property
    def damage(self) -> str | None:
        """After the last slab: why the input ended before its end (a cut off gzip); what was read is counted."""
        ...

    def close(self) -> None:
        """Let go of the file or connection; may be called again."""
        ...
