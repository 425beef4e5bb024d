"""One window: panes added up per source partition while it is open, and as it is when it closes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from hotshard.core.panes.listsum import ListSum
from hotshard.core.wire.report import SourceRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.panes.ledger import Confirmed
    from hotshard.core.wire.pane import HeavyList, Pane


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact totals of some panes."""

    records: int = 0
    size_bytes: int = 0
    unkeyed: int = 0
    skipped: int = 0
    failed: int = 0
    lost: int = 0

    def plus(self, pane: Pane, lost: int) -> Totals:
        return Totals(
            self.records + pane.records,
            self.size_bytes + pane.size_bytes,
            self.unkeyed + pane.unkeyed,
            self.skipped + pane.skipped,
            self.failed + pane.failed,
            self.lost + lost,
        )


@dataclass(frozen=True, slots=True)
class PartitionLists:
    """The heaviest of one source partition in a window."""

    source: str
    partition: int
    keys: HeavyList
    tenants: HeavyList


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedWindow:
    """A window that closed, or (``revision`` above 0) only what came late for it."""

    start_ms: int
    end_ms: int
    revision: int
    totals: Totals
    #: Exact load of keyed records by production partition.
    loads: Mapping[int, int]
    lists: tuple[PartitionLists, ...]
    #: Adjoining ranges are one.
    ranges: tuple[SourceRange, ...]
    #: Share of the source partitions that were past the window's end.
    completeness: float


class _Part:
    """One source partition of an open window."""

    __slots__ = ("keys", "ranges", "tenants")

    def __init__(self) -> None:
        self.keys = ListSum()
        self.tenants = ListSum()
        self.ranges: list[SourceRange] = []

    def add(self, pane: Pane, lost_before: int) -> None:
        self.keys.add_keys(pane)
        self.tenants.add_tenants(pane)
        if self.ranges and self.ranges[-1].end == pane.start and not lost_before:
            last = self.ranges[-1]
            self.ranges[-1] = msgspec.structs.replace(last, end=pane.end, records=last.records + pane.records)
            return
        self.ranges.append(
            SourceRange(
                source=pane.source,
                partition=pane.partition,
                start=pane.start,
                end=pane.end,
                records=pane.records,
                lost_before=lost_before,
            )
        )


class OpenWindow:
    """A window that is being filled."""

    __slots__ = (
        "first_at", "from_at", "loads", "parts", "passed_ms", "revision", "rows", "start_ms", "totals", "touched",
        "touched_ms",
    )  # fmt: skip

    def __init__(self, start_ms: int, revision: int, from_at: int) -> None:
        self.start_ms = start_ms
        self.revision = revision
        #: The message that confirmed its first pane.
        self.from_at = from_at
        #: Where its oldest pane is first seen.
        self.first_at = from_at
        self.totals = Totals()
        self.loads: Counter[int] = Counter()
        self.parts: dict[tuple[str, int], _Part] = {}
        #: Rows held in the lists of its parts.
        self.rows = 0
        #: Whether something was added since the last look, when that was, and since when some partition is past it.
        self.touched = True
        self.touched_ms = 0
        self.passed_ms: int | None = None

    def add(self, confirmed: Confirmed) -> None:
        pane = confirmed.pane
        self.first_at = min(self.first_at, confirmed.first_at)
        self.totals = self.totals.plus(pane, confirmed.lost_before)
        self.loads.update(pane.loads)
        part = self.parts.setdefault((pane.source, pane.partition), _Part())
        self.rows -= len(part.keys) + len(part.tenants)
        part.add(pane, confirmed.lost_before)
        self.rows += len(part.keys) + len(part.tenants)
        self.touched = True

    def look(self, now_ms: int) -> None:
        """Note when something was added; a clock that was set back starts that anew."""
        if self.touched or now_ms < self.touched_ms:
            self.touched, self.touched_ms = False, now_ms

    def closed(self, window_ms: int, completeness: float) -> ClosedWindow:
        parts = sorted(self.parts.items())
        return ClosedWindow(
            start_ms=self.start_ms,
            end_ms=self.start_ms + window_ms,
            revision=self.revision,
            totals=self.totals,
            loads=dict(sorted(self.loads.items())),
            lists=tuple(
                PartitionLists(source, partition, part.keys.heavy(), part.tenants.heavy())
                for (source, partition), part in parts
            ),
            ranges=tuple(each for _, part in parts for each in part.ranges),
            completeness=completeness,
        )
