"""A pane's time: what the bulk of its records' timestamps says, so that a few wrong ones move nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Timestamps kept of a pane. Thinned to every seventh, which is in step with few of the patterns that machines make.
_SAMPLE: Final = 1023
_THINNING: Final = 7
#: A timestamp further ahead of the worker's clock than this says nothing.
_AHEAD_MS: Final = 60_000
#: One in so many of the timestamps, at either end, is no part of the bulk; with fewer than 4 there is no bulk.
_TAIL: Final = 10
_LEAST_BULK: Final = 4
#: Timestamps looked at to tell about when a slab was.
_GLANCE: Final = 9


class PaneTime(NamedTuple):
    """Median of the timestamps, and the span over which all would lie if all were spread as their bulk is."""

    time_ms: int
    span_ms: int


class PaneClock:
    """Keeps an even, bounded sample of the timestamps of one pane, over all its slabs."""

    __slots__ = ("_about_ms", "_about_of", "_next", "_sample", "_stride", "_window_ms")

    def __init__(self, window_ms: int) -> None:
        self._window_ms = window_ms
        self._sample: list[int] = []
        self._stride = 1
        #: Records to pass by before the next one is taken.
        self._next = 0
        #: A median, and of how many timestamps it is.
        self._about_ms = 0
        self._about_of = 0

    def add(self, timestamps: Sequence[int], now_ms: int) -> None:
        """Take note of a slab; timestamps that are missing (negative) or far ahead of ``now_ms`` count as none."""
        # Thinned before, not after: of a long slab not all need be looked at then.
        while len(self._sample) - (self._next - len(timestamps)) // self._stride > _SAMPLE:
            self._thin()
        self._sample += usable(timestamps[self._next :: self._stride], now_ms)
        self._next -= len(timestamps)
        if self._next < 0:
            self._next %= self._stride

    def _thin(self) -> None:
        self._next += -len(self._sample) % _THINNING * self._stride
        self._sample = self._sample[::_THINNING]
        self._stride *= _THINNING

    def time(self, opened_ms: int, now_ms: int) -> PaneTime:
        """The pane's time; without a usable timestamp that of the worker's clock, from ``opened_ms`` to now."""
        stamps = sorted(self._sample)
        if not stamps:
            return PaneTime(now_ms, max(0, now_ms - opened_ms))
        return PaneTime(middle(stamps), self._bulk_span_ms(stamps))

    def about_ms(self) -> int | None:
        """The median at small cost, which may lag a little; None without a usable timestamp."""
        size = len(self._sample)
        if not self._about_of <= size < 2 * self._about_of:
            self._about_ms, self._about_of = middle(sorted(self._sample)) if size else 0, size
        return self._about_ms if size else None

    def is_later(self, timestamps: Sequence[int], now_ms: int) -> bool:
        """Whether a slab is of a later window than what was noted: the median of a few timestamps says so."""
        about_ms = self.about_ms()
        if about_ms is None or not timestamps:
            return False
        next_ms = (about_ms // self._window_ms + 1) * self._window_ms
        # One look at the middle is enough for nearly all slabs.
        half = timestamps[len(timestamps) // 2]
        if type(half) is not int or half < next_ms:
            return False
        step = len(timestamps) // _GLANCE + 1
        stamps = sorted(usable(timestamps[step // 2 :: step], now_ms))
        return bool(stamps) and middle(stamps) >= next_ms

    def is_of_one_window(self) -> bool:
        """Whether the bulk of what was noted is of one window, so that no stray timestamps made it up."""
        stamps = sorted(self._sample)
        if not stamps:
            return False
        tail = max(1, len(stamps) // _TAIL) if len(stamps) >= _LEAST_BULK else 0
        return stamps[tail] // self._window_ms == stamps[-1 - tail] // self._window_ms

    def _bulk_span_ms(self, stamps: Sequence[int]) -> int:
        last = len(stamps) - 1
        if len(stamps) < _LEAST_BULK:
            return min(stamps[-1] - stamps[0], self._window_ms)
        tail = max(1, len(stamps) // _TAIL)
        return round((stamps[last - tail] - stamps[tail]) * last / (last - 2 * tail))


def latest_ms(now_ms: int) -> int:
    """A timestamp beyond this says nothing."""
    return now_ms + _AHEAD_MS


def usable(timestamps: Sequence[int], now_ms: int) -> list[int]:
    """Those of the timestamps that say something."""
    latest = latest_ms(now_ms)
    # What is no number at all is missing too: no record may end the worker.
    return [stamp for stamp in timestamps if type(stamp) is int and 0 <= stamp <= latest]


def middle(stamps: Sequence[int]) -> int:
    """The median, the lower of two; sorted ``stamps`` must not be empty."""
    return stamps[(len(stamps) - 1) // 2]
