"""The load of partitions as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from hotshard.report.bars import bar
from hotshard.report.names import name_of
from hotshard.report.numbers import count, percent
from hotshard.report.page import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.wire.report import PartitionReport
    from hotshard.core.wire.scan import ScanReport
    from hotshard.report.page import Page

#: So many partitions have a row each; of more only the fullest.
_ALL: Final = 32
_FULLEST: Final = 16
#: Below this width rows do not say who fills the partition.
_ROOMY: Final = 60
_BAR: Final = 40


class _Shape(NamedTuple):
    """The columns of a row, and what fills a bar."""

    number: int
    bar: int
    most: float
    name: int


def add_partitions(page: Page, report: ScanReport) -> None:
    """Add a bar for each partition, or the fullest ones and the rest summed up."""
    skew = report.skew
    if not report.partitions:
        return
    page.heading(f"Partitions: imbalance {skew.imbalance:.2f} (fullest / mean)")
    page.say(
        f"fullest / median {skew.ratio:,.2f}, {count(skew.idle)} of {count(len(report.partitions))} idle", indent=2
    )
    told = report.partitions if len(report.partitions) <= _ALL else _fullest(report.partitions)
    shape = _shape(page.width, skew.max, max(each.partition for each in told))
    for each in told:
        _row(page, each, shape, hot=each.partition == skew.hottest and skew.imbalance > 1)
    _rest(page, report.partitions, told)


def _fullest(partitions: Sequence[PartitionReport]) -> list[PartitionReport]:
    return sorted(partitions, key=lambda each: (-each.load, each.partition))[:_FULLEST]


def _shape(width: int, most: float, last: int) -> _Shape:
    number = len(str(last))
    beside = 2 + number + 1 + 1 + 6
    room = max(4, width - beside)
    if width < _ROOMY:
        return _Shape(number, room, most, 0)
    length = min(_BAR, room // 2)
    return _Shape(number, length, most, room - length - 2)


def _row(page: Page, each: PartitionReport, shape: _Shape, *, hot: bool) -> None:
    drawn = bar(each.load, shape.most, shape.bar, plain=page.plain)
    page.cut(
        (f"{each.partition:>{shape.number}} ", "bold" if hot else "dim"),
        (drawn, "red" if hot else "cyan"),
        " " * (shape.bar - cell_len(drawn)),
        f" {percent(each.share) if each.load else '-':>6}",
        (f"  {_filler(each, shape.name)}" if shape.name else "", "dim"),
        indent=2,
    )


def _filler(each: PartitionReport, columns: int) -> str:
    if not each.top_keys:
        return ""
    top = each.top_keys[0]
    share = percent(top.share)
    return f"{shortened(name_of(top.key, top.key_b64), columns - len(share) - 1)} {share}"


def _rest(page: Page, partitions: Sequence[PartitionReport], told: Sequence[PartitionReport]) -> None:
    known = {each.partition for each in told}
    rest = [each.load for each in partitions if each.partition not in known]
    busy = [load for load in rest if load]
    if busy:
        page.say(f"{count(len(busy))} more with {count(min(busy))} to {count(max(busy))} each", indent=2)
    if len(rest) > len(busy):
        page.say(f"{count(len(rest) - len(busy))} idle", indent=2)
