"""How far reading is: one line of a terminal that is written over, and gone when reading ends."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from hotshard.report.bars import bar
from hotshard.report.numbers import count, duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO, TypeVar

    from hotshard.doors.files.contract import Progress

    _T = TypeVar("_T")

#: Nothing is shown of what is over sooner.
_FIRST_S: Final = 0.5
_EVERY_S: Final = 0.2
_BAR: Final = 20
#: Of a terminal that does not say how wide it is.
_COLUMNS: Final = 80
#: From the beginning of the line to its end: nothing.
_CLEAR: Final = "\r\x1b[K"
_UNITS: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def progress_line(progress: Progress, elapsed_s: float, width: int, *, plain: bool = False) -> str:
    """Return how far reading is, in at most ``width`` characters: as many parts as fit, the first before the last."""
    done, total, unit, rows = progress
    parts = [f"{count(rows)} rows"]
    if total:
        share = min(done / total, 1.0)
        parts.insert(0, percent(share))
    elif unit == "bytes":
        parts.insert(0, size(done))
    if elapsed_s > 0:
        parts.append(f"{count(rows / elapsed_s)}/s")
    if total and 0 < done < total:
        parts.append(f"{duration(elapsed_s * (total - done) / done * 1000)} left")
    line = parts[0][:width]
    for part in parts[1:]:
        if len(line) + 2 + len(part) > width:
            break
        line += f", {part}"
    if total and len(line) + 2 + _BAR <= width:
        line = f"{bar(min(done, total), total, _BAR, plain=plain):{_BAR}}  {line}"
    return line


def size(value: float) -> str:
    """Return a number of bytes: ``512 B``, ``1.5 MB``."""
    for unit, name in _UNITS:
        if value >= unit:
            return f"{value / unit:.1f} {name}"
    return f"{value:.0f} B"


class Meter:
    """Keeps the line up to date on ``stream``, which must be a terminal."""

    def __init__(self, stream: TextIO, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock_s = clock_s
        self._plain = not (stream.encoding or "").lower().startswith("utf")
        self._began_s = clock_s()
        self._next_s = self._began_s + _FIRST_S
        self._shown = False

    def watch(self, items: Iterable[_T], progress: Callable[[], Progress]) -> Iterator[_T]:
        """Hand the items on, and show ``progress()`` now and then."""
        for item in items:
            yield item
            now_s = self._clock_s()
            if now_s >= self._next_s:
                self._next_s = now_s + _EVERY_S
                width = _width(self._stream)
                self._show(progress_line(progress(), now_s - self._began_s, width, plain=self._plain))

    def clear(self) -> None:
        """Take the line away, so that something else can be written; may be called again."""
        if self._shown:
            self._shown = False
            self._stream.write(_CLEAR)
            self._stream.flush()

    def _show(self, line: str) -> None:
        self._shown = True
        self._stream.write(_CLEAR + line)
        self._stream.flush()


def _width(stream: TextIO) -> int:
    """Columns, one less than the terminal has: some go to the next line when the last is filled."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return (columns or _COLUMNS) - 1
