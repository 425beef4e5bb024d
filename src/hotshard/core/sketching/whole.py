"""The load of any number of panes by name, in bounded memory, with bounds that hold for the whole of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.sketching.binding import FrequentItems
from hotshard.core.sketching.merging import threshold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.pane import HeavyList

#: A map of 32,768 places: some 10 MB with the longest names there can be.
LG_MAP: Final = 15
#: Names of a sum that are kept when they have grown to twice as many.
KEPT_NAMES: Final = 1024


class Whole(NamedTuple):
    """A name with its load; the true load and ``estimate`` lie in ``[lower, upper]``."""

    name: bytes
    lower: int
    upper: int
    estimate: int


class WholeCount:
    """Load by name: exact while names are fewer than 24,576, and with bounds from then on.

    Much larger than a pane's tally, as there is one of it, and not one for every partition.
    """

    __slots__ = ("_heaviest", "_sketch")

    def __init__(self, lg_map: int = LG_MAP) -> None:
        self._sketch = FrequentItems(lg_map)
        self._heaviest: list[Whole] | None = None

    def add(self, loads: Mapping[bytes, int]) -> None:
        """Count loads, above 0, of names in the form in which they travel."""
        self._heaviest = None
        self._sketch.add(loads)

    def get(self, name: bytes) -> Whole | None:
        """What is known of a name that is tracked."""
        lower, upper = self._sketch.lower(name), self._sketch.upper(name)
        return Whole(name, lower, upper, upper) if lower else None

    def heaviest(self) -> list[Whole]:
        """All names tracked, by falling estimate."""
        if self._heaviest is None:
            _, rows = self._sketch.over(0)
            self._heaviest = sorted(
                [Whole(name, lower, upper, upper) for name, lower, upper in rows], key=_heaviest_first
            )
        return self._heaviest

    def threshold(self, load: int) -> int:
        """T: every name with more than T of ``load`` is tracked, with an upper bound above T."""
        return threshold(self._sketch.error, load)


class WholeSum:
    """The sum of the lists of panes that have no record in common.

    A name's bounds are the sums of its bounds, where a list that does not have it gives 0 and that list's
    error, as in :func:`~hotshard.core.sketching.merging.merge`. When names grow too many the lightest are
    let go; a name that comes (again) later may have had as much as the heaviest of those.
    """

    __slots__ = ("_above", "_error", "_estimates", "_floor", "_kept", "_lowers")

    def __init__(self, kept: int = KEPT_NAMES) -> None:
        self._kept = kept
        self._lowers: dict[bytes, int] = {}
        #: The sum of upper bounds where lists have the name: sketches are nearest to the truth there.
        self._estimates: dict[bytes, int] = {}
        #: What the upper bound of a name is above the sum of all errors.
        self._above: dict[bytes, int] = {}
        self._error = 0
        self._floor = 0

    @property
    def error(self) -> int:
        """The largest upper bound of a name that is not kept: the merged error."""
        return self._error + self._floor

    def add(self, heavy: HeavyList) -> None:
        lowers, estimates, above, floor, error = self._lowers, self._estimates, self._above, self._floor, heavy.error
        for row in heavy.rows:
            name, upper = row.key, row.upper
            if name in lowers:
                lowers[name] += row.lower
                estimates[name] += upper
                above[name] += upper - error
            else:
                lowers[name] = row.lower
                estimates[name] = upper
                above[name] = floor + upper - error
        self._error += error
        if len(lowers) > 2 * self._kept:
            self._let_go()

    def get(self, name: bytes) -> Whole | None:
        """What is known of a name that is kept."""
        if name not in self._lowers:
            return None
        return Whole(name, self._lowers[name], self._above[name] + self._error, self._estimates[name])

    def heaviest(self) -> list[Whole]:
        """All names kept, by falling estimate."""
        error, above, estimates = self._error, self._above, self._estimates
        rows = [Whole(name, lower, above[name] + error, estimates[name]) for name, lower in self._lowers.items()]
        return sorted(rows, key=_heaviest_first)

    def _let_go(self) -> None:
        above = self._above
        light = sorted(above, key=lambda name: (-above[name], name))[self._kept :]
        self._floor = max(self._floor, above[light[0]])
        for name in light:
            del above[name], self._lowers[name], self._estimates[name]


def _heaviest_first(row: Whole) -> tuple[int, bytes]:
    return -row.estimate, row.name
