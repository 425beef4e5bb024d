"""What ``hotshard simulate`` found, as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from hotshard.core.planning.strategies.names import POLICIES
from hotshard.report.bars import bar
from hotshard.report.names import name_of
from hotshard.report.numbers import count, several
from hotshard.report.page import Page, shortened

if TYPE_CHECKING:
    from hotshard.core.wire.simulation import SimulationReport

#: From these widths on rows have a bar, and the numbers beside imbalance and waiting.
_WITH_BAR: Final = 72
_WITH_ALL: Final = 56
_BAR: Final = 30
_NAME_COLUMNS: Final = 60


def render_simulation(report: SimulationReport, *, width: int, plain: bool) -> str:
    """The report for a terminal of ``width`` columns; ``plain``: without colour and block characters."""
    page = Page(width, plain=plain)
    page.say((_verdict(report), "bold"))
    parts = [f"{several(report.records, 'record')} over {several(report.partitions, 'partition')}"]
    parts += [f"{count(report.unkeyed)} without a key"] * bool(report.unkeyed)
    parts += [f"{several(report.skipped, 'line')} skipped"] * bool(report.skipped)
    page.say(", ".join(parts))
    page.blank()
    _table(page, report)
    _footnotes(page, report)
    return page.text()


def _verdict(report: SimulationReport) -> str:
    """What the plain hash comes to and what our plans do, where both were asked for; else the most even one."""
    by = {each.policy: each.imbalance for each in report.policies}
    if not report.records:
        return "There are no records."
    if "key" in by and "placed" in by:
        ours = "no better" if by["placed"] >= by["key"] else f"{by['placed']:.2f} times with hotshard's plans"
        return f"Hashed by key the fullest partition has {by['key']:.2f} times the mean; {ours}."
    best = min(by, key=by.__getitem__, default="")
    return f"Most even is {best}: the fullest partition has {by[best]:.2f} times the mean." if best else "No policy."


def _table(page: Page, report: SimulationReport) -> None:
    most = max((each.imbalance for each in report.policies), default=1.0)
    page.cut((_row(page, "policy", "imbalance", "waits", "fullest", "median", "ratio"), "dim"))
    for each in report.policies:
        waits = "-" if each.small_waits_behind is None else count(each.small_waits_behind)
        numbers = (f"{each.imbalance:.2f}", waits, count(each.max), f"{each.median:,g}", f"{each.ratio:,.2f}")
        room = min(_BAR, page.width - cell_len(_row(page, "", *numbers)) - 2) if page.width >= _WITH_BAR else 0
        drawn = bar(each.imbalance, most, room, plain=page.plain)
        style = "bold" if each.policy == "placed" else ""
        page.cut((_row(page, each.policy, *numbers), style), "  ", (drawn, "cyan"))


def _row(page: Page, policy: str, imbalance: str, waits: str, *others: str) -> str:
    told = others if page.width >= _WITH_ALL else ()
    return (
        f"{policy:<10}{imbalance:>11}{waits:>12}"
        + "".join(f"{other:>12}" for other in told[:1])
        + "".join(f"{other:>10}" for other in told[1:])
    )


def _footnotes(page: Page, report: SimulationReport) -> None:
    page.blank()
    page.say(("imbalance: fullest partition / mean; ratio: fullest / median.", "dim"))
    if report.small is None and report.small_b64 is None:
        page.say(("No record has a tenant, so nothing is said of a small one.", "dim"))
    else:
        name = shortened(name_of(report.small, report.small_b64), _NAME_COLUMNS)
        page.say(
            (f"waits: the most records of others on a partition with records of {name} ", "dim"),
            (f"({several(report.small_records, 'record')}), which wait behind them if all are unread.", "dim"),
        )
    for each in report.policies:
        page.say((f"{each.policy}: {POLICIES.get(each.policy, '')}", "dim"))
