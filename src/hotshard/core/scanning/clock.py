"""The event time of a stretch of input: where it is, and whether its records run forward in time at all."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Timestamps looked at of one step, besides its last one.
_GLANCE: Final = 15
#: Timestamps kept of a stretch, thinned to every third when they are more.
_SAMPLE: Final = 255
_THINNING: Final = 3
#: One in so many of the timestamps, at either end, is no part of the bulk.
_TAIL: Final = 10
#: Halfway between no order at all, where a later record has the later time half of the time, and order.
_IN_ORDER: Final = 0.75


class Times(NamedTuple):
    """From when to when a stretch is, milliseconds; and whether it tells of heat in time."""

    start_ms: int
    end_ms: int
    forward: bool


class StretchClock:
    """Keeps an even, bounded sample of the timestamps of one stretch, in the order of the input.

    The clock of a step (some records that follow each other) is the median of some of its timestamps, so
    single wrong ones move nothing.
    """

    __slots__ = ("_first", "_last", "_sample", "_skip", "_stride", "start_ms")

    def __init__(self) -> None:
        #: The clock of the first step that has one.
        self.start_ms: int | None = None
        self._sample: list[int] = []
        #: The glances at the first step and at the last one, whole.
        self._first: Sequence[int] = ()
        self._last: Sequence[int] = ()
        self._stride = 1
        self._skip = 0

    def add(self, glance: Sequence[int]) -> None:
        """Take note of a step by what :func:`glance` says of it."""
        if not glance:
            return
        if self.start_ms is None:
            self.start_ms, self._first = middle(glance), glance
        self._last = glance
        self._sample += glance[self._skip :: self._stride]
        self._skip = (self._skip - len(glance)) % self._stride
        while len(self._sample) > _SAMPLE:
            self._sample = self._sample[::_THINNING]
            self._stride *= _THINNING

    def times(self, window_ms: int) -> Times | None:
        """What the sample says; None without a timestamp.

        Start and end are those of the timestamps that lie no further from the bulk (all but a tenth at
        either end) than the bulk is long. A stretch that takes at most twice ``window_ms`` is of one
        time, whatever the order of its records. One that takes longer is a slow stream where records
        run forward in time, and of no time at all where they do not: see :func:`runs_forward`.
        """
        if not self._sample:
            return None
        stamps = sorted(self._sample)
        tail = len(stamps) // _TAIL
        low, high = stamps[tail], stamps[-1 - tail]
        reach = max(high - low, window_ms)
        near = [each for each in (*stamps, *self._first, *self._last) if low - reach <= each <= high + reach]
        return Times(min(near), max(near), high - low <= 2 * window_ms or runs_forward(self._sample))


def glance(timestamps: Sequence[int]) -> list[int]:
    """A few of the timestamps of a step, spread evenly, and its last one; missing (negative) ones are left out."""
    stamps = list(timestamps[:: max(1, len(timestamps) // _GLANCE)])
    if timestamps and len(timestamps) > _GLANCE:
        stamps.append(timestamps[-1])
    return stamps if min(stamps, default=0) >= 0 else [stamp for stamp in stamps if stamp >= 0]


def runs_forward(stamps: Sequence[int]) -> bool:
    """Whether of two records the later one in the input has the later time, three times out of four.

    Without any order that is so half of the time (equal times count as half), in order always. Input that is
    sorted by something else, such as by key, brings the records of one name together and says nothing about
    when they came.
    """
    before: list[int] = []
    forward = 0
    for stamp in stamps:
        forward += bisect_left(before, stamp) + bisect_right(before, stamp)
        insort(before, stamp)
    return forward >= _IN_ORDER * len(stamps) * (len(stamps) - 1)


def middle(stamps: Sequence[int]) -> int:
    return sorted(stamps)[(len(stamps) - 1) // 2]
