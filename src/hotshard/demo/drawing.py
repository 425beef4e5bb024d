"""A scene drawn with rich, for terminals of 40 columns and more. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Group
from rich.table import Table
from rich.text import Text

from hotshard.demo.cast import FLOODING_TENANT
from hotshard.demo.scene import facts, measured
from hotshard.report.bars import stacked
from hotshard.report.names import key_name
from hotshard.report.numbers import count, duration

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hotshard.demo.measures import Outcome
    from hotshard.demo.scene import Scene
    from hotshard.demo.seen import Load

_OTHERS: Final = "cyan"
_FLOOD: Final = "red"
_QUIET: Final = "dim"
#: Below this width the number of waiting records is left out.
_ROOMY: Final = 60
_WIDEST: Final = 100
#: The load, in records a second, that fills a row. It stands still until a load outgrows it, so that a bar's length
#: means the same before and after.
_SCALE: Final = 1_300
#: Columns that a row needs beside its bar.
_NUMBER, _LOAD, _WAITING = 3, 7, 16


def draw(scene: Scene, width: int, *, plain: bool = False) -> RenderableType:
    """Return the scene for a terminal of ``width`` columns; ``plain`` where it cannot show block characters."""
    width = min(width, _WIDEST)
    head = (_heading(scene, width), _legend(scene, plain=plain))
    return Group(*head, *_rows(scene, width, plain=plain), _facts(scene))


def summary(outcome: Outcome) -> RenderableType:
    """Return the last word."""
    table = _grid()
    if outcome.detected_key is not None and outcome.detect_s is not None:
        after = f"{key_name(outcome.detected_key)}, {duration(outcome.detect_s * 1000)} after its first record"
        table.add_row("detected", after)
    if outcome.apply_s is not None:
        table.add_row("applied", f"{duration(outcome.apply_s * 1000)} later, by the first suffixed record")
    table.add_row("before", measured(outcome.before))
    table.add_row("after", measured(outcome.after))
    table.add_row("records", count(outcome.records))
    missing = [Text(f"{sentence[0].upper()}{sentence[1:]}.", style="bold red") for sentence in outcome.missing()]
    return Group(table, *missing)


def _heading(scene: Scene, width: int) -> RenderableType:
    clock = f"{scene.elapsed_s:.0f} s"
    text = Text(scene.act.value, style="bold")
    text.truncate(width - len(clock) - 1, overflow="ellipsis", pad=True)
    return Text.assemble(text, " ", (clock, _QUIET))


def _legend(scene: Scene, *, plain: bool) -> Text:
    mark = "#" if plain else "█"
    who = Text.assemble((mark, _OTHERS), " all others ", (mark, _FLOOD), f" {FLOODING_TENANT}")
    return who.append(f"  mode {scene.mode}", style=_QUIET)


def _rows(scene: Scene, width: int, *, plain: bool) -> list[Text]:
    roomy = width >= _ROOMY
    room = width - _NUMBER - _LOAD - (_WAITING if roomy else 0)
    most = max(_SCALE, *(load.all for load in scene.loads))
    numbers = range(len(scene.loads))
    rows = [_row(scene.loads[n], n, _Bar(room, most, plain), marked=n == scene.flooded) for n in numbers]
    if roomy:
        for row, waiting in zip(rows, scene.waiting, strict=True):
            row.append(f"{count(waiting):>8} waiting" if waiting else "", style="yellow")
    return rows


class _Bar(NamedTuple):
    room: int
    most: float
    plain: bool


def _row(load: Load, partition: int, bar: _Bar, *, marked: bool) -> Text:
    others, flood = stacked((load.others, load.flood), bar.most, bar.room, plain=bar.plain)
    return Text.assemble(
        (f"{partition:>2} ", "bold" if marked else _QUIET),
        (others, _OTHERS),
        (flood, _FLOOD),
        " " * (bar.room - len(others) - len(flood)),
        f"{count(load.all):>5}/s",
    )


def _facts(scene: Scene) -> Table:
    table = _grid()
    for name, text in facts(scene):
        table.add_row(name, text)
    return table


def _grid() -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(style=_QUIET, no_wrap=True)
    table.add_column()
    return table
