"""Where the demo is shown: live in a terminal, or as plain lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Protocol, Self

from rich.console import Console
from rich.live import Live

from hotshard.core.wire.route import RouteState
from hotshard.demo.drawing import draw, summary
from hotshard.demo.scene import FLOODS, detected, measured, plan, small
from hotshard.report.numbers import percent

if TYPE_CHECKING:
    from typing import TextIO

    from hotshard.demo.measures import Outcome
    from hotshard.demo.scene import Scene

#: A line this often where nothing is drawn.
LINE_EVERY_S: Final = 2.0


class Show(Protocol):
    """Shows one demo; used with ``with``."""

    def say(self, line: str) -> None:
        """Say what happens now."""
        ...

    def draw(self, scene: Scene) -> None:
        """Show this moment; called a few times a second."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LiveShow:
    """Draws in place; what is said stands above."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._plain = console.options.ascii_only
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def say(self, line: str) -> None:
        self._console.print(line, style="dim", highlight=False, markup=False)

    def draw(self, scene: Scene) -> None:
        self._live.update(draw(scene, self._console.width, plain=self._plain), refresh=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


class LineShow:
    """Writes a line when something happens, and one every two seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._said: set[str] = set()
        self._next_s = 0.0

    def say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)

    def draw(self, scene: Scene) -> None:
        for what, line in _news(scene).items():
            if what not in self._said:
                self._said.add(what)
                self.say(f"{scene.elapsed_s:5.1f} s  {line}")
        if scene.elapsed_s >= self._next_s:
            self._next_s = scene.elapsed_s + LINE_EVERY_S
            self.say(f"{scene.elapsed_s:5.1f} s    {_spread(scene)}; {small(scene)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing open."""


def choose_show(*, json: bool) -> Show:
    """Live where a person looks on; with ``json`` all of it goes to standard error."""
    stream = sys.stderr if json else sys.stdout
    if stream.isatty():
        return LiveShow(Console(file=stream))
    return LineShow(sys.stderr)


def print_summary(outcome: Outcome, *, json: bool) -> None:
    """Print the last word for a person; with ``json`` standard output is left to the object."""
    console = Console(file=sys.stderr if json else sys.stdout, highlight=False)
    console.print(summary(outcome))


def _news(scene: Scene) -> dict[str, str]:
    """What may be new in this scene: a line, by what makes it new."""
    news = {scene.act.name: scene.act.value}
    if scene.act in FLOODS:
        if scene.hot is not None and scene.detect_s is not None:
            news[f"detected in {scene.act.name}"] = f"detected: {detected(scene)}"
        if scene.route is not None and (scene.route.state is RouteState.PROPOSED or scene.apply_s is not None):
            news[f"{plan(scene)} in {scene.act.name}"] = f"plan: {plan(scene)}"
    halves = (("before", scene.before), ("after", scene.after))
    return news | {name: f"{name}: {measured(half)}" for name, half in halves if half is not None}


def _spread(scene: Scene) -> str:
    total = sum(load.all for load in scene.loads)
    if not total:
        return "no load yet"
    fullest = max(range(len(scene.loads)), key=lambda partition: scene.loads[partition].all)
    return f"partition {fullest} has {percent(scene.loads[fullest].all / total)} of the load"
