"""A page of text for a terminal: lines that are wrapped, or cut, to its width, wide characters counted as two."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

#: Narrower than this no terminal is taken to be, nor wider than that: long lines are hard to read.
NARROWEST: Final = 20
_WIDEST: Final = 120
_UNKNOWN: Final = 80


class Look(NamedTuple):
    """The columns there are, and whether to do without colour and block characters."""

    width: int
    plain: bool


def look_of(stream: TextIO, environ: Mapping[str, str], columns: int | None = None) -> Look:
    """How to write to ``stream``: plain where it is no terminal, cannot show blocks, or ``NO_COLOR`` is set.

    ``columns`` are those of the terminal; None where nobody knows.
    """
    encoding = (stream.encoding or "").lower().replace("-", "")
    dumb = environ.get("TERM") == "dumb" or bool(environ.get("NO_COLOR"))
    plain = dumb or not stream.isatty() or not encoding.startswith("utf")
    return Look(columns or _UNKNOWN, plain)


class Page:
    """Lines, added from the top down. A piece of text may have a style of rich's; plain pages have none."""

    def __init__(self, width: int, *, plain: bool) -> None:
        self.width = max(NARROWEST, min(width, _WIDEST))
        self.plain = plain
        self._lines: list[Text] = []

    @property
    def arrow(self) -> str:
        return "->" if self.plain else "→"

    def blank(self) -> None:
        self._lines.append(Text())

    def heading(self, text: str) -> None:
        self.blank()
        self.say((text, "bold"))

    def say(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """Add text, wrapped; every line of it is indented."""
        text = Text.assemble(*parts)
        room = max(NARROWEST // 2, self.width - indent)
        for line in text.wrap(_MEASURE, room):
            line.rstrip()
            self._lines.append(Text.assemble(" " * indent, line))

    def cut(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """Add one line, cut off where the page ends."""
        line = Text.assemble(" " * indent, *parts)
        line.rstrip()
        line.truncate(self.width, overflow="crop" if self.plain else "ellipsis")
        self._lines.append(line)

    def text(self) -> str:
        """The page, with a newline at its end."""
        out = StringIO()
        console = Console(
            file=out,
            width=self.width,
            color_system=None if self.plain else "standard",
            force_terminal=not self.plain,
            no_color=self.plain,
            legacy_windows=False,
            soft_wrap=True,
            _environ={},
        )
        for line in self._lines:
            console.print(line)
        return out.getvalue()


def fitted(text: str, columns: int) -> str:
    """``text`` in just so many columns: filled up with spaces, or cut and marked with a dot at its end."""
    if cell_len(text) <= columns:
        return set_cell_size(text, columns)
    return set_cell_size(text, columns - 1) + "." if columns > 0 else ""


def shortened(text: str, columns: int) -> str:
    """``text``, cut to so many columns at most and marked with ``..`` where something is missing."""
    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, max(0, columns - 2)).rstrip() + ".." if columns > 2 else set_cell_size(text, columns)


#: Wraps text; nothing is ever written to it.
_MEASURE: Final = Console(file=StringIO(), width=_WIDEST, _environ={})
