"""One window: panes added up per source partition while it is open, and as it is when it closes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.panes.listsum import ListSum
from hotshard.core.wire.pane import HeavyList
from hotshard.core.wire.report import SourceRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.panes.ledger import Confirmed
    from hotshard.core.wire.pane import Pane


#: Names of keys let go of which it is still remembered whose they are.
_MORE_OWNED: Final = 512


@dataclass(frozen=True, slots=True)
class Totals:
    """Exact totals of some panes."""

    records: int = 0
    size_bytes: int = 0
    unkeyed: int = 0
    skipped: int = 0
    failed: int = 0
    lost: int = 0
    #: Where tenants stand beside the keys: records without one, and load of the records that have one and no key.
    untenanted: int = 0
    unkeyed_load: int = 0
    #: Values that are no JSON, though a field of theirs was looked for.
    damaged: int = 0
    #: Different keys: of each source partition the most that one of its panes told, added up.
    distinct_keys: int = 0
    #: Different tenants. They lie on several partitions: so it is at least so many where ``all_tenants`` is False.
    distinct_tenants: int = 0
    all_tenants: bool = True

    def plus(self, pane: Pane, lost: int) -> Totals:
        """With a pane; what is distinct stays as it is."""
        return Totals(
            self.records + pane.records,
            self.size_bytes + pane.size_bytes,
            self.unkeyed + pane.unkeyed,
            self.skipped + pane.skipped,
            self.failed + pane.failed,
            self.lost + lost,
            self.untenanted + pane.untenanted,
            self.unkeyed_load + pane.unkeyed_load,
            self.damaged + pane.damaged,
            self.distinct_keys,
            self.distinct_tenants,
            self.all_tenants,
        )


@dataclass(frozen=True, slots=True)
class PartitionLists:
    """The heaviest of one source partition in a window."""

    source: str
    partition: int
    keys: HeavyList
    tenants: HeavyList
    #: Sub-units of keys that were counted exactly.
    subs: HeavyList = field(default_factory=HeavyList)
    #: Where tenants stand beside the keys: of each listed key the one tenant it had wherever it was listed, or None.
    owners: Mapping[bytes, bytes | None] = field(default_factory=dict)


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

    __slots__ = ("distinct_keys", "distinct_tenants", "keys", "owners", "ranges", "subs", "tenants")

    def __init__(self) -> None:
        self.keys = ListSum()
        self.tenants = ListSum()
        self.subs = ListSum()
        self.owners: dict[bytes, bytes | None] = {}
        self.distinct_keys = self.distinct_tenants = 0
        self.ranges: list[SourceRange] = []

    def __len__(self) -> int:
        return len(self.keys) + len(self.tenants) + len(self.subs)

    def add(self, pane: Pane, lost_before: int) -> None:
        self.distinct_keys = max(self.distinct_keys, pane.distinct_keys)
        self.distinct_tenants = max(self.distinct_tenants, pane.distinct_tenants)
        if pane.tenant_of is not None:
            self._own(pane, pane.tenant_of)
        self.keys.add_keys(pane)
        self.tenants.add_tenants(pane)
        if pane.subs.rows or pane.subs.error:
            self.subs.add_subs(pane)
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

    def _own(self, pane: Pane, tenant_of: Mapping[bytes, bytes]) -> None:
        """Note whose the listed keys are; of one that may have been let go before that is not known."""
        owners, keys = self.owners, self.keys
        for name in {*tenant_of, *(row.key for row in pane.keys.rows)}:
            owner = tenant_of.get(name)
            if owners.get(name, owner if keys.remembers(name) else None) != owner:
                owner = None
            owners[name] = owner
        if len(owners) > len(keys) + _MORE_OWNED:
            self.owners = {name: owner for name, owner in owners.items() if name in keys}

    def lists(self, source: str, partition: int) -> PartitionLists:
        return PartitionLists(
            source, partition, self.keys.heavy(), self.tenants.heavy(), self.subs.heavy(), self.owners
        )


class OpenWindow:
    """A window that is being filled."""

    __slots__ = (
        "first_at", "from_at", "loads", "parts", "passed_ms", "revision", "rows", "slowest", "start_ms", "totals",
        "touched", "touched_ms",
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
        #: Since it waits: when it was first known how far the slowest busy partition is (clock ms), and how far
        #: that was (event ms).
        self.slowest: tuple[int, float] | None = None

    def add(self, confirmed: Confirmed) -> None:
        pane = confirmed.pane
        self.first_at = min(self.first_at, confirmed.first_at)
        self.totals = self.totals.plus(pane, confirmed.lost_before)
        for partition, load in pane.loads.items():
            self.loads[partition] += load
        part = self.parts.setdefault((pane.source, pane.partition), _Part())
        self.rows -= len(part)
        part.add(pane, confirmed.lost_before)
        self.rows += len(part)
        self.touched = True

    def look(self, now_ms: int) -> None:
        """Note when something was added; a clock that was set back starts that anew."""
        if self.touched or now_ms < self.touched_ms:
            self.touched, self.touched_ms = False, now_ms

    def closed(self, window_ms: int, completeness: float) -> ClosedWindow:
        parts = sorted(self.parts.items())
        lists = tuple(part.lists(source, partition) for (source, partition), part in parts)
        return ClosedWindow(
            start_ms=self.start_ms,
            end_ms=self.start_ms + window_ms,
            revision=self.revision,
            totals=self._totals(lists),
            loads=dict(sorted(self.loads.items())),
            lists=lists,
            ranges=tuple(each for _, part in parts for each in part.ranges),
            completeness=completeness,
        )

    def _totals(self, lists: Iterable[PartitionLists]) -> Totals:
        """With what is distinct: keys lie on one partition each, tenants on several and are told apart by name."""
        listed, complete = set[bytes](), True
        for each in lists:
            listed.update(row.key for row in each.tenants.rows)
            complete = complete and not each.tenants.error
        parts = self.parts.values()
        return replace(
            self.totals,
            distinct_keys=sum(part.distinct_keys for part in parts),
            distinct_tenants=max([len(listed), *(part.distinct_tenants for part in parts)]),
            all_tenants=complete,
        )
