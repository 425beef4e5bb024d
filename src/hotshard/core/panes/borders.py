"""Where in a slab a later window begins: at the border itself where records are in order, near it where most are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from hotshard.core.panes.clock import latest_ms, middle, usable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Parts of one slab at most. One that spans more windows is cut at some of their borders, evenly.
MAX_PARTS: Final = 64
#: So few records at either end of a slab, a window or more from the next ones, are out of time.
_FEW: Final = 4
#: Where records are not in order: so often in a window it is looked at, how far apart, and at how many on either side.
_LOOKS: Final = 8
_LEAST_STEP: Final = 16
_LARGEST_STEP: Final = 512
_ASIDE: Final = 4


def borders(timestamps: Sequence[int], window_ms: int, now_ms: int) -> list[int]:
    """The places in a slab before which it is to be cut, rising, so that each part is of one window.

    Exact where timestamps never fall. Else a border is found where time goes on beyond it for good, as the bulk of
    the records there says; a part is never of an earlier window than the one before it. Timestamps that are missing
    or far ahead of ``now_ms`` count as none, and a few that are a window or more from all others cut nothing.
    """
    try:
        in_order = timestamps == sorted(timestamps)
    except TypeError:  # what is no number at all
        in_order = False
    found = _in_order(timestamps, window_ms, now_ms) if in_order else [*_by_bulk(timestamps, window_ms, now_ms)]
    return found[:: -(-len(found) // (MAX_PARTS - 1))] if len(found) >= MAX_PARTS else found


def _in_order(timestamps: Sequence[int], window_ms: int, now_ms: int) -> list[int]:
    place, end = bisect_left(timestamps, 0), bisect_right(timestamps, latest_ms(now_ms))
    begin, found = place, list[int]()
    while place < end:
        place = bisect_left(timestamps, _next(timestamps[place], window_ms), place, end)
        found.append(place)
    found = found[:-1]  # the end

    def is_far(place: int) -> bool:
        return timestamps[place] - timestamps[place - 1] >= window_ms

    while found and end - found[-1] < _FEW and is_far(found[-1]):
        found.pop()
    while found and found[0] - begin < _FEW and is_far(found[0]):
        del found[0]
    return found


def _by_bulk(timestamps: Sequence[int], window_ms: int, now_ms: int) -> Iterator[int]:
    """Where the median of nine goes beyond the border of the window, and that of nine further on, too."""
    last = len(timestamps) - 1
    step = _step(timestamps, window_ms, now_ms)
    looks = [(place, _median(timestamps, place, now_ms)) for place in (*range(0, last, step), last)]
    looked = [(place, median) for place, median in looks if median is not None]
    if not looked:
        return
    found, before, next_ms = 0, looked[0][0], _next(looked[0][1], window_ms)
    for index, (place, median) in enumerate(looked):
        begin = max(found + 1, before - _ASIDE)
        goes_on = median >= next_ms and looked[min(index + 1, len(looked) - 1)][1] >= next_ms
        if goes_on and begin <= last:
            border_ms = median // window_ms * window_ms
            found = _crossing(timestamps, begin, place + _ASIDE + 1, border_ms, window_ms)
            yield found
            next_ms = border_ms + window_ms
        before = place


def _step(timestamps: Sequence[int], window_ms: int, now_ms: int) -> int:
    """How far apart looks are, for some to fall into each window that the slab spans."""
    ends = _median(timestamps, 0, now_ms), _median(timestamps, len(timestamps) - 1, now_ms)
    begin_ms, end_ms = (stamp or 0 for stamp in ends)
    windows = max(0, end_ms - begin_ms) // window_ms + 1
    return min(max(_LEAST_STEP, len(timestamps) // (_LOOKS * windows)), _LARGEST_STEP)


def _median(timestamps: Sequence[int], place: int, now_ms: int) -> int | None:
    stamps = sorted(usable(timestamps[max(0, place - _ASIDE) : place + _ASIDE + 1], now_ms))
    return middle(stamps) if stamps else None


def _crossing(timestamps: Sequence[int], begin: int, end: int, border_ms: int, window_ms: int) -> int:
    """The place in ``[begin, end)`` with the fewest records on the wrong side; those of neither window do not count."""
    found, score, best = begin, 0, 0
    for place in range(begin, min(end, len(timestamps))):
        stamp = timestamps[place]
        if type(stamp) is int and -window_ms <= stamp - border_ms < window_ms:
            score += 1 if stamp < border_ms else -1
        if score > best:
            found, best = place + 1, score
    return min(found, len(timestamps) - 1)


def _next(stamp: int, window_ms: int) -> int:
    """Where the window after that of a timestamp begins."""
    return (stamp // window_ms + 1) * window_ms
