"""What ``hotshard scan`` found, as a person reads it: the verdict first, then what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.causes.advice import phrase
from hotshard.core.causes.evidence import Cause
from hotshard.core.scanning.owning import EXACT_KEYS
from hotshard.report.names import key_name, name_of
from hotshard.report.numbers import count, figure, percent, several
from hotshard.report.page import Page, shortened
from hotshard.report.partitions import add_partitions
from hotshard.report.times import moment, stretch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.wire.scan import ScanHeavy, ScanPlan, ScanReport, ScanWindow

#: So much is told here; the rest is in the JSON.
_HOT: Final = 10
_HEAVIEST: Final = 5
_PLANS: Final = 10
_RUNS: Final = 12
_NUMBERS: Final = 6
_NAME_COLUMNS: Final = 60

#: What the codes of ``unjudged`` leave open.
_OPEN: Final = {
    "lag": "whether consumers are slow or stuck",
    "distinct_keys": "whether keys are few",
    "history": "whether it is a burst, or moves",
    "discriminator": "whether the hot keys' sub-units are spread",
    "unkeyed_partitions": "where records without a key lie",
}


def render_scan(report: ScanReport, *, width: int, plain: bool) -> str:
    """The report for a terminal of ``width`` columns; ``plain``: without colour and block characters."""
    page = Page(width, plain=plain)
    _verdict(page, report)
    _input(page, report)
    _names(page, report, "key", report.keys)
    _names(page, report, "tenant", report.tenants)
    _plans(page, report.plans)
    add_partitions(page, report)
    _windows(page, report)
    _sureness(page, report)
    return page.text()


def _verdict(page: Page, report: ScanReport) -> None:
    fine = report.cause == Cause.NONE
    page.say((key_name(report.advice or f"Cause: {report.cause}."), "bold green" if fine else "bold red"))
    also = f", also {', '.join(report.also)}" if report.also else ""
    page.say((f"cause {report.cause}, treatment {report.treatment}, reason {report.reason}{also}", "dim"))
    numbers = list(report.numbers.items())[:_NUMBERS]
    if numbers:
        page.say((", ".join(f"{name} {figure(value)}" for name, value in numbers), "dim"))
    if len(report.application) > 1:  # the first is in the sentence
        page.say(f"The application could also {', or '.join(map(phrase, report.application[1:]))}.")


def _input(page: Page, report: ScanReport) -> None:
    page.blank()
    over = f" over {stretch(report.span_s)}" if report.span_s else ""
    about = "about " if report.distinct_keys > EXACT_KEYS else ""
    parts = [f"{several(report.records, 'record')}{over}", f"{about}{several(report.distinct_keys, 'key')}"]
    parts += [f"{count(report.unkeyed)} without a key"] * bool(report.unkeyed)
    parts += [f"{several(report.skipped, 'line')} skipped"] * bool(report.skipped)
    page.say(", ".join(parts))


def _names(page: Page, report: ScanReport, kind: str, heavy: Sequence[ScanHeavy]) -> None:
    """Those that were hot; where none was, the heaviest."""
    hot = [each for each in heavy if each.hot]
    told = hot[:_HOT] or heavy[:_HEAVIEST]
    if not told:
        return
    page.heading(f"Hot {kind}s" if hot else f"No {kind} is hot; the heaviest")
    for each in told:
        _name(page, report, each, kind)
    if len(hot) > len(told):
        page.say(f"and {count(len(hot) - len(told))} more: --json", indent=2)


def _name(page: Page, report: ScanReport, each: ScanHeavy, kind: str) -> None:
    name = shortened(name_of(each.key, each.key_b64), min(_NAME_COLUMNS, page.width - 2))
    page.say((name, "bold red" if each.hot else "bold"), indent=2)
    bounds = count(each.lower) if each.lower == each.upper else f"{count(each.lower)} to {count(each.upper)}"
    since = f", since {moment(each.since_ms)} UTC" if each.since_ms is not None else ""
    page.say(f"{percent(each.share)} of the load, {bounds} {report.load}{since}", indent=4)
    if kind == "key" and each.tenant is not None:
        page.say((f"of tenant {shortened(key_name(each.tenant), _NAME_COLUMNS)}", "dim"), indent=4)


def _plans(page: Page, plans: Sequence[ScanPlan]) -> None:
    if not plans:
        return
    page.heading("What would help")
    told = plans[:_PLANS]
    for plan, following in zip(told, [*told[1:], None], strict=True):
        _plan(page, plan)
        if plan.detail and (following is None or following.detail != plan.detail):  # what holds of several is said once
            page.say((key_name(plan.detail), "dim"), indent=4)
    if len(plans) > _PLANS:
        page.say(f"and {count(len(plans) - _PLANS)} more: --json", indent=2)


def _plan(page: Page, plan: ScanPlan) -> None:
    named = plan.key is not None or plan.key_b64 is not None
    name = name_of(plan.key, plan.key_b64) if named else f"tenant {key_name(plan.tenant or '')}"
    page.say((shortened(name, min(_NAME_COLUMNS, page.width - 2)), "bold"), indent=2)
    what = plan.treatment
    if plan.partitions:
        where = " ".join(map(str, plan.partitions))
        what += f" over {several(len(plan.partitions), 'partition')}: {where}"
    page.say(f"{what} ({plan.reason})", indent=4)
    _brings(page, plan)


def _brings(page: Page, plan: ScanPlan) -> None:
    """The imbalance before and after; where another partition is as full, what changes for the key's own too."""
    if plan.imbalance_before is None or plan.imbalance_after is None:
        return
    before, after = f"{plan.imbalance_before:.2f}", f"{plan.imbalance_after:.2f}"
    style = "bold green" if plan.imbalance_after < plan.imbalance_before else "bold"
    where = "in its hottest window: " if plan.in_window else ""
    own = ""
    if before == after and plan.own_before is not None and plan.own_after is not None:
        own = f", its own partitions {plan.own_before:.2f} {page.arrow} {plan.own_after:.2f}"
    page.say(f"{where}imbalance {before} {page.arrow} ", (after, style), own, indent=4)


def _windows(page: Page, report: ScanReport) -> None:
    """The windows with findings in the order of time."""
    found = [each for each in report.windows if each.hot_keys or each.hot_tenants or each.cause != Cause.NONE]
    timed = sorted((each for each in found if each.start_ms is not None), key=lambda each: each.start_ms or 0)
    if not timed:
        return
    page.heading(f"When: {count(len(found))} of {several(report.windows_total, 'window')}, UTC")
    runs = _runs(timed)
    for run in runs[:_RUNS]:
        _run(page, run)
    if len(runs) > _RUNS:
        page.say(f"and {count(len(runs) - _RUNS)} times more: --json", indent=2)


def _runs(windows: Sequence[ScanWindow]) -> list[list[ScanWindow]]:
    """Windows in the order of time, those together that follow one another and have the same findings."""
    runs: list[list[ScanWindow]] = []
    for window in windows:
        if runs and _goes_on(runs[-1][-1], window):
            runs[-1].append(window)
        else:
            runs.append([window])
    return runs


def _goes_on(before: ScanWindow, after: ScanWindow) -> bool:
    """Whether a window has the findings of the one before and is no further away than that one is long."""
    same = (before.hot_keys, before.hot_tenants, before.cause) == (after.hot_keys, after.hot_tenants, after.cause)
    end_ms, length_ms = _end_ms(before), _end_ms(before) - (before.start_ms or 0)
    return same and (after.start_ms or 0) - end_ms <= length_ms


def _end_ms(window: ScanWindow) -> int:
    return (window.start_ms or 0) if window.end_ms is None else window.end_ms


def _run(page: Page, run: Sequence[ScanWindow]) -> None:
    first, last = run[0], run[-1]
    start_ms = first.start_ms or 0
    names = [*map(_told, first.hot_keys), *(f"tenant {_told(name)}" for name in first.hot_tenants)]
    lasted = f", {stretch((_end_ms(last) - start_ms) / 1000)}"
    many = f", {count(len(run))} windows" if len(run) > 1 else ""
    records = several(sum(window.records for window in run), "record")
    head = f"{moment(start_ms)}{lasted}{many}, {records}: "
    tail = ", ".join(shortened(name, _NAME_COLUMNS) for name in names[:3])
    page.say((head, "dim"), tail or first.cause, f" and {len(names) - 3} more" if len(names) > 3 else "", indent=2)


def _told(name: str | None) -> str:
    return "(not text)" if name is None else name_of(name)


def _sureness(page: Page, report: ScanReport) -> None:
    page.heading("How sure")
    if report.guaranteed:
        least = f"Every key with more than {count(report.threshold)} {report.load}"
        tenants = f"every tenant with more than {count(report.threshold_tenants)}"
        page.say(f"{least}, and {tenants}, was found; every count lies between its bounds.", indent=2)
    else:
        page.say(("Not everything could be counted, so a key may be missing or its count be off.", "yellow"), indent=2)
    if report.completeness < 1:
        page.say((f"Only {percent(report.completeness)} of the partitions are in this.", "yellow"), indent=2)
    if report.unjudged:
        page.say((f"Not known here: {'; '.join(_OPEN.get(code, code) for code in report.unjudged)}.", "dim"), indent=2)
