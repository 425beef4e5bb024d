"""Load by name in bounded memory: exact while the names are few, by a sketch from then on."""

from __future__ import annotations

from bisect import bisect_right
from itertools import starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from hotshard.core.sketching.binding import CountMin, FrequentItems, HyperLogLog
from hotshard.core.sketching.merging import least_listed
from hotshard.core.wire.pane import HeavyList, Row

if TYPE_CHECKING:
    from hotshard.core.sketching.distinct import WindowDistinct

#: Names counted exactly before a sketch takes over.
EXACT_NAMES: Final = 2048
#: Rows in a list that travels.
MAX_ROWS: Final = 256


class Tally:
    """Load by name. Names are in the form in which they travel, loads are above 0."""

    __slots__ = ("_counting", "_exact", "_many", "_sketch", "counts")

    def __init__(self, *, counting: bool = False) -> None:
        self._counting = counting
        self._exact: dict[bytes, int] = {}
        # Made when names are too many; before, they are at hand.
        self._sketch: FrequentItems | None = None
        self._many: HyperLogLog | None = None
        #: The same loads for any name to be asked for: made with the sketch, where ``counting``.
        self.counts: CountMin | None = None

    def add(self, loads: dict[bytes, int]) -> None:
        """Count ``loads``, which belongs to the tally from then on."""
        if self._sketch is None and len(self._exact) + len(loads) <= EXACT_NAMES:
            self._exact = _sum(self._exact, loads)
            return
        if self._sketch is None or self._many is None:
            self._sketch, self._many = FrequentItems(), HyperLogLog()
            self.counts = CountMin() if self._counting else None
            self._feed(self._sketch, self._many, self._exact)
            self._exact = {}
        self._feed(self._sketch, self._many, loads)

    def _feed(self, sketch: FrequentItems, many: HyperLogLog, loads: dict[bytes, int]) -> None:
        sketch.add(loads)
        hashes = [*map(hash, loads)]
        many.add(hashes)
        if self.counts is not None:
            self.counts.add_hashed(hashes, loads.values())

    @property
    def exact(self) -> dict[bytes, int] | None:
        """The load of every name, or None once they are too many for that."""
        return self._exact if self._sketch is None else None

    @property
    def distinct(self) -> int:
        """How many names there are, about so once there are many."""
        return len(self._exact) if self._many is None else self._many.count

    def count_distinct(self, into: WindowDistinct, window: int) -> None:
        """Let all names count in a window."""
        if self._many is None:
            into.add(window, self._exact)
        else:
            into.merge(window, self._many)

    def lower(self, name: bytes) -> int:
        return self._exact.get(name, 0) if self._sketch is None else self._sketch.lower(name)

    def at_least(self, load: int) -> list[bytes]:
        """Names that may have a lower bound of ``load`` (which is above 0): all that have, and few others."""
        if self._sketch is None:
            return [name for name, lower in self._exact.items() if lower >= load]
        return [name for name, *_ in self._sketch.over(load - 1)[1]]

    def heavy(self, load: int) -> HeavyList:
        """The heaviest names, where ``load`` is all that was counted: see :class:`HeavyList`."""
        least = least_listed(load)
        if self._sketch is None:
            return _listed_exactly(self._exact, least)
        bound, rows = self._sketch.over(least - 1)
        # Names that were tracked and not listed have an upper bound of at most `bound`.
        error = self._sketch.error if len(rows) == self._sketch.tracked else bound
        rows.sort(key=itemgetter(2), reverse=True)
        if len(rows) > MAX_ROWS:
            error = max(error, rows[MAX_ROWS][2])
        return HeavyList(tuple(starmap(Row, rows[:MAX_ROWS])), error)


def _listed_exactly(loads: dict[bytes, int], least: int) -> HeavyList:
    ranked = sorted(loads.items(), key=itemgetter(1), reverse=True)
    count = min(MAX_ROWS, bisect_right(ranked, -least, key=lambda row: -row[1]))
    error = ranked[count][1] if count < len(ranked) else 0
    return HeavyList(tuple([Row(name, load, load) for name, load in ranked[:count]]), error)


def _sum(one: dict[bytes, int], other: dict[bytes, int]) -> dict[bytes, int]:
    small, large = sorted((one, other), key=len)
    for name, load in small.items():
        large[name] = large.get(name, 0) + load
    return large
