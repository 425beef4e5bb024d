"""How heavy any name was in each of the last windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.sketching.binding import CountMin

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Windows that are answered for, besides the one that is running.
WINDOWS: Final = 6


class Recent(NamedTuple):
    """Estimates of a name's load in the windows before one, the newest last; a window nothing is known of is left out.

    Each true load is at most its estimate, and at least ``estimate - error`` with a probability of
    ``confidence`` per name and window.
    """

    estimates: tuple[int, ...]
    errors: tuple[int, ...]
    confidence: float = CountMin.CONFIDENCE


class History:
    """One count-min per window, of the last windows that were added to."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        # The one added to last comes last: a stray window far in the future goes the way of all others.
        self._windows: dict[int, CountMin] = {}

    def add(self, window: int, loads: Mapping[bytes, int]) -> None:
        self._use(window, None).add(loads)

    def merge(self, window: int, counts: CountMin) -> None:
        """Add ``counts``, which belongs to the history from then on."""
        used = self._use(window, counts)
        if used is not counts:
            used.merge(counts)

    def before(self, window: int, name: bytes) -> Recent:
        """What is known of ``name`` in the windows before number ``window``."""
        first = max(window - WINDOWS, min(self._windows, default=window))
        sketches = [self._windows.get(number) for number in range(first, window)]
        return Recent(
            tuple(sketch.estimate(name) if sketch else 0 for sketch in sketches),
            tuple(sketch.error if sketch else 0 for sketch in sketches),
        )

    @property
    def size_bytes(self) -> int:
        return len(self._windows) * CountMin.BYTES

    def _use(self, window: int, fresh: CountMin | None) -> CountMin:
        sketch = self._windows.pop(window, fresh) or CountMin()
        self._windows[window] = sketch
        if len(self._windows) > WINDOWS + 1:
            del self._windows[next(iter(self._windows))]
        return sketch
