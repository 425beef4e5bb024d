"""The picture of the throughput comparison: ``python -m tests.bench.picture``.

It draws docs/bench.svg from docs/bench.json; nothing is measured here. Bars are as long as the medians; colours do on a
light and on a dark page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape

from tests.bench.__main__ import STORED, THROUGHPUT
from tests.bench.parts import say
from tests.bench.table import NAMES
from tests.bench.throughput import LARGE, SMALL, WORKER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PICTURE: Final = STORED.with_name("bench.svg")
_WIDTH: Final = 760
_LEFT: Final = 290
#: Room for the number behind the longest bar.
_RIGHT: Final = 130
_ROW: Final = 26
_BAR: Final = 16
_HEAD: Final = 34
_STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.head { font-weight: 600 }
.quiet { fill: #57606a; font-size: 12px }
.bar { fill: #8c959f }
.ours { fill: #bf3989 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.quiet { fill: #9198a1 }
.bar { fill: #656c76 }
.ours { fill: #db61a2 }
}"""


def draw(stored: Mapping[str, Any]) -> str:
    """The picture as SVG. Raises KeyError where no throughput is stored."""
    part = stored[THROUGHPUT]
    lines: list[str] = []
    top = 0
    for case in (SMALL, LARGE):
        if case in part["found"]:
            medians = {name: figures["median"] for name, figures in part["found"][case].items()}
            lines += _case(f"{case}: records a second", medians, top)
            top += _HEAD + _ROW * len(medians) + 8
    lines.append(_text(0, top + 16, f"{part['day']}; {part['machine'].partition(';')[0]}", "quiet"))
    return _page(lines, top + 26)


def _case(title: str, medians: Mapping[str, float], top: int) -> list[str]:
    """Longest first, the worker in another colour, each with how fast it is beside it."""
    lines = [_text(0, top + 20, title, "head")]
    most, ours = max(medians.values()), medians.get(WORKER)
    for at, (name, median) in enumerate(sorted(medians.items(), key=lambda row: -row[1])):
        y = top + _HEAD + _ROW * at
        length = max(1.0, (_WIDTH - _LEFT - _RIGHT) * median / most)
        kind = "bar ours" if name == WORKER else "bar"
        times = "" if name == WORKER or not ours else f"  ({_part(median / ours)})"
        lines += [
            _text(_LEFT - 10, y + 13, NAMES.get(name, name), "", anchor="end"),
            f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="2"/>',
            _text(round(_LEFT + length + 8), y + 13, f"{median:,.0f}{times}", ""),
        ]
    return lines


def _part(ratio: float) -> str:
    """How fast beside the worker."""
    return f"1/{1 / ratio:.1f}" if ratio < 0.95 else f"{ratio:.2f} times"


def _text(x: int, y: int, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _page(lines: Sequence[str], height: int) -> str:
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">'
    title = "<title>Records a second that the worker counts and that other clients read</title>"
    return "\n".join([begin, title, f"<style>\n{_STYLE}\n</style>", *lines, "</svg>\n"])


def main() -> int:
    if not STORED.exists() or THROUGHPUT not in (stored := json.loads(STORED.read_text())):
        say(f'{STORED} holds no throughput; measure it: make bench ARGS="--part throughput --store"')
        return 1
    Path(PICTURE).write_text(draw(stored), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
