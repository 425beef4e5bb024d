"""Stretches judged one after the other, and in the end all of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.table import TABLE
from hotshard.core.panes.tenancy import tenant_in_key
from hotshard.core.scanning.findings import MAX_HOT, Findings, Window
from hotshard.core.scanning.gathering import of_stretch
from hotshard.core.scanning.heating import Amount, Heating, Named
from hotshard.core.topic import Load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hotshard.core.causes.evidence import Evidence
    from hotshard.core.scanning.gathering import Setting
    from hotshard.core.scanning.heating import Hot
    from hotshard.core.scanning.lanes import Stretch
    from hotshard.core.scanning.overall import Overall
    from hotshard.core.scanning.owning import Owning
    from hotshard.core.sketching.whole import Whole
    from hotshard.core.wire.pane import Row

#: Where windows that say something hold less than this part of the records, all of the input is one window more.
_ENOUGH: Final = 0.5


class Judging:
    """Finds what is hot in each stretch, and why load is uneven there."""

    def __init__(self, setting: Setting, owning: Owning) -> None:
        self.findings = Findings()
        #: Event time of all of the input; None where it has none.
        self.start_ms: int | None = None
        self.end_ms: int | None = None
        self._setting = setting
        self._owning = owning
        self._heating = Heating(setting.policies, setting.partitions, setting.place)

    def judge(self, stretch: Stretch) -> None:
        """Take in the stretch that came next."""
        keys: list[Hot] = []
        tenants: list[Hot] = []
        cause = Cause.NONE
        times = stretch.times
        if times is not None:
            self.start_ms = times.start_ms if self.start_ms is None else min(self.start_ms, times.start_ms)
            self.end_ms = times.end_ms if self.end_ms is None else max(self.end_ms, times.end_ms)
        if stretch.decides:
            keys, tenants = self._hot(stretch)
            evidence = of_stretch(stretch, keys, tenants, self._setting, self.findings)
            cause = next(row.cause for row in TABLE if row.holds(evidence))
            start_ms = None if times is None else times.start_ms
            self.findings.heat(keys, tenants, start_ms, stretch.loads, stretch.span_s)
            self.findings.decide(stretch.records, keys, tenants, _top(evidence))
        self.findings.tell(
            Window(
                number=self.findings.windows_total,
                start_ms=None if times is None else times.start_ms,
                end_ms=None if times is None else times.end_ms,
                records=stretch.records,
                hot_keys=tuple(hot.name for hot in keys[:MAX_HOT]),
                hot_tenants=tuple(hot.name for hot in tenants[:MAX_HOT]),
                cause=cause,
            )
        )

    def judge_all(self, overall: Overall) -> None:
        """Let all of the input decide, where its parts hardly did: nobody knows when its records came.

        It is no window that is told, as its records are in those that are.
        """
        findings = self.findings
        if findings.decided_records >= _ENOUGH * overall.records:
            return
        amount = Amount(
            overall.load, overall.records, self._span_s(), dict(enumerate(overall.loads)), overall.largest_record
        )
        keys = self._heating.keys(_by_upper(overall.keys.heaviest()), amount, self._owner)
        tenants = self._heating.tenants(_by_upper(overall.tenants.heaviest()), amount)
        if keys or tenants:
            findings.heat(keys, tenants, None, amount.loads, amount.span_s)
            findings.decide(overall.records, keys, tenants, None)

    def _hot(self, stretch: Stretch) -> tuple[list[Hot], list[Hot]]:
        load = stretch.records if self._setting.spec.load is Load.RECORDS else stretch.size_bytes
        amount = Amount(load, stretch.records, stretch.span_s, stretch.loads, stretch.largest_record)
        keys = self._heating.keys(_named(stretch.keys.rows), amount, self._owner)
        return keys, self._heating.tenants(_named(stretch.tenants.rows), amount)

    def _span_s(self) -> float:
        return 0.0 if self.start_ms is None or self.end_ms is None else (self.end_ms - self.start_ms) / 1000

    def _owner(self, key: bytes) -> bytes | None:
        return tenant_in_key(key, self._setting.spec) or self._owning.of(key)


def _top(evidence: Evidence) -> bytes | None:
    """The hottest partition's top name, where that partition carries more than it may."""
    return evidence.top_of_hottest[0][0] if evidence.top_of_hottest else None


def _named(rows: Sequence[Row]) -> Iterator[Named]:
    return (Named(row.key, row.lower, row.upper) for row in rows)


def _by_upper(rows: Sequence[Whole]) -> Iterator[Named]:
    return (Named(row.name, row.lower, row.upper) for row in sorted(rows, key=lambda row: -row.upper))
