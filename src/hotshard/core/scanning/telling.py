"""What was found, as it is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.panes.reporting import shown
from hotshard.core.scanning.gathering import heaviest_of
from hotshard.core.skew import describe_skew
from hotshard.core.wire.names import key_text
from hotshard.core.wire.pane import is_cut
from hotshard.core.wire.report import Name, PartitionReport, SkewReport
from hotshard.core.wire.scan import ScanHeavy, ScanPlan, ScanReport, ScanWindow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.causes.verdict import Verdict
    from hotshard.core.scanning.advising import Advice
    from hotshard.core.scanning.findings import Spell, Window
    from hotshard.core.scanning.overview import Overview
    from hotshard.core.sketching.whole import Whole, WholeCount

#: Names listed at least, and at most; beyond the most, T is the largest upper bound of what is left out.
_LEAST_ROWS: Final = 20
_MOST_ROWS: Final = 1000
#: Names told of a partition.
_TOP: Final = 5


class Teller:
    """Writes the report of a scan."""

    def __init__(self, view: Overview, skipped: int) -> None:
        self._view = view
        self._skipped = skipped

    def report(self, verdict: Verdict, advice: Sequence[Advice]) -> ScanReport:
        view = self._view
        keys, least_key = _listed(view.keys, view.overall.load, view.findings.keys)
        tenants, least_tenant = _listed(view.tenants, view.overall.load, view.findings.tenants)
        return ScanReport(
            records=view.overall.records,
            skipped=self._skipped,
            unkeyed=view.overall.unkeyed,
            distinct_keys=view.owning.distinct_keys,
            span_s=view.span_s,
            load=str(view.setting.spec.load),
            threshold=least_key,
            threshold_tenants=least_tenant,
            guaranteed=not view.overall.failed,
            partitions=self._partitions(),
            skew=_skew(view.loads),
            keys=tuple(self._heavy(row, view.findings.keys, view.owner(row.name)) for row in keys),
            tenants=tuple(self._heavy(row, view.findings.tenants, row.name) for row in tenants),
            windows_total=view.findings.windows_total,
            windows=tuple(self._window(each) for each in view.findings.windows()),
            cause=str(verdict.cause),
            reason=verdict.reason,
            treatment=str(verdict.treatment),
            numbers=dict(verdict.numbers),
            completeness=verdict.completeness,
            advice=verdict.sentence,
            plans=tuple(map(self._plan, advice)),
            also=tuple(map(str, verdict.also)),
            application=verdict.advice,
            unjudged=verdict.unjudged,
        )

    def _text(self, name: bytes) -> tuple[str | None, str | None]:
        """A name as text, in base64 where it is none; a long key whole where it is remembered, else its beginning."""
        whole = self._view.whole(name)
        return shown(name) if whole is name and is_cut(name) else key_text(whole)

    def _said(self, name: bytes) -> str:
        """A tenant as text, come what may."""
        return self._text(name)[0] or self._view.whole(name).decode(errors="replace")

    def _heavy(self, row: Whole, hot: Mapping[bytes, Spell], tenant: bytes | None) -> ScanHeavy:
        key, key_b64 = self._text(row.name)
        spell = hot.get(row.name)
        return ScanHeavy(
            key=key,
            key_b64=key_b64,
            tenant=None if tenant is None else self._said(tenant),
            estimate=row.estimate,
            lower=row.lower,
            upper=row.upper,
            share=round(self._view.share(row.estimate), 6),
            hot=spell is not None,
            since_ms=None if spell is None else spell.since_ms,
        )

    def _partitions(self) -> tuple[PartitionReport, ...]:
        view, total = self._view, sum(self._view.loads)
        keys_of, tenants_of = view.keys_of(), view.tenants_of()
        return tuple(
            PartitionReport(
                partition=partition,
                load=load,
                share=round(load / total, 6) if total else 0.0,
                top_keys=self._top(keys_of.get(partition, {}), load),
                top_tenants=self._top(tenants_of.get(partition, {}), load),
            )
            for partition, load in enumerate(view.loads)
        )

    def _top(self, names: Mapping[bytes, int], load: int) -> tuple[Name, ...]:
        top = ((*self._text(name), estimate) for name, estimate in heaviest_of(names.items(), _TOP))
        return tuple(
            Name(key=key, key_b64=key_b64, share=round(min(1.0, part / load), 6) if load else 0.0)
            for key, key_b64, part in top
            if part
        )

    def _window(self, window: Window) -> ScanWindow:
        return ScanWindow(
            start_ms=window.start_ms,
            end_ms=window.end_ms,
            records=window.records,
            hot_keys=tuple(self._text(name)[0] for name in window.hot_keys),
            hot_tenants=tuple(self._text(name)[0] for name in window.hot_tenants),
            cause=str(window.cause),
        )

    def _plan(self, advice: Advice) -> ScanPlan:
        key, key_b64 = (None, None) if advice.key is None else self._text(advice.key)
        return ScanPlan(
            key=key,
            key_b64=key_b64,
            tenant=None if advice.tenant is None else self._said(advice.tenant),
            treatment=str(advice.treatment),
            shards=len(advice.partitions),
            suffixes=advice.suffixes,
            partitions=advice.partitions,
            imbalance_before=_rounded(advice.imbalance_before),
            imbalance_after=_rounded(advice.imbalance_after),
            reason=advice.reason,
            detail=advice.detail,
            own_before=_rounded(advice.own_before),
            own_after=_rounded(advice.own_after),
            in_window=advice.in_window,
        )


def _listed(names: WholeCount, load: int, hot: Mapping[bytes, Spell]) -> tuple[list[Whole], int]:
    """What is listed, by falling estimate, and T."""
    rows, least = names.heaviest(), names.threshold(load)
    above = sum(row.upper > least for row in rows)
    count = min(max(above, _LEAST_ROWS), _MOST_ROWS)
    by_upper = sorted(rows, key=lambda row: (-row.upper, -row.estimate, row.name))
    left = by_upper[count:]
    kept = {row.name for row in by_upper[:count]} | {row.name for row in rows[:_LEAST_ROWS]} | hot.keys()
    if above > _MOST_ROWS:
        least = max(least, left[0].upper)
    return [row for row in rows if row.name in kept], least


def _skew(loads: Sequence[int]) -> SkewReport:
    skew = describe_skew(loads)
    return SkewReport(
        total=sum(loads),
        max=max(loads, default=0),
        median=skew.median,
        ratio=skew.skew_ratio,
        imbalance=skew.imbalance,
        idle=skew.idle_partitions,
        hottest=skew.hottest_partition,
    )


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 6)
