"""The picture of the README: both floods as the terminal shows them, from a real run.

``python -m hotshard.demo.picture docs/demo.svg`` runs the demo and writes the picture.
"""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.text import Text

from hotshard.demo.drawing import draw, summary
from hotshard.demo.ground import prepared
from hotshard.demo.scene import Act
from hotshard.demo.session import perform
from hotshard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.demo.measures import Outcome
    from hotshard.demo.scene import Scene

_WIDTH: Final = 80
_TITLE: Final = "make demo"
_WHAT: Final = "Two floods of one key: the first fills one partition, the second is spread over several"
#: No font is fetched from anywhere: the reader's own monospaced one does.
_FORMAT: Final = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>WHAT</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; white-space: pre; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class LastScenes:
    """Shows nothing, and keeps the last scene of each act."""

    def __init__(self) -> None:
        self.by_act: dict[Act, Scene] = {}

    def say(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")

    def draw(self, scene: Scene) -> None:
        if scene.act not in self.by_act:
            self.say(scene.act.value)
        self.by_act[scene.act] = scene

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what was seen."""


def svg(scenes: Sequence[Scene], outcome: Outcome) -> str:
    """Return the scenes one under the other, and the summary, as a terminal of 80 columns shows them."""
    parts = [part for scene in scenes for part in (draw(scene, _WIDTH), Text())]
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Group(*parts, Text("summary", style="bold"), summary(outcome)))
    return drawn(console, _TITLE, _WHAT)


def drawn(console: Console, title: str, what: str) -> str:
    """What was printed on a console that records, as a terminal with a title; ``what`` is told to who cannot see it."""
    return console.export_svg(title=title, code_format=_FORMAT.replace("WHAT", what), unique_id="terminal")


def main(arguments: Sequence[str]) -> None:
    """Run the demo and write the picture to the file that is named."""
    if len(arguments) != 1:
        raise UsageError("usage: python -m hotshard.demo.picture FILE.svg")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    show = LastScenes()
    with prepared(None, None, show.say) as ground:
        outcome = asyncio.run(perform(ground, show))
    scenes = [show.by_act[act] for act in (Act.FIRST_FLOOD, Act.SECOND_FLOOD)]
    Path(arguments[0]).write_text(svg(scenes, outcome), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
