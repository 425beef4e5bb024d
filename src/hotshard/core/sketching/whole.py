"""The lists of any number of panes added up in bounded memory, with bounds that hold for the whole of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.sketching.merging import threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.wire.pane import HeavyList

#: Names kept when they have grown to twice as many: some 5 MB at most.
KEPT_NAMES: Final = 4096


class Whole(NamedTuple):
    """A name with its load; the true load and ``estimate`` lie in ``[lower, upper]``."""

    name: bytes
    lower: int
    upper: int
    estimate: int


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

    @classmethod
    def together(cls, sums: Sequence[WholeSum]) -> WholeSum:
        """The sum of sums that have no record in common; one that is alone is given back itself."""
        if len(sums) == 1:
            return sums[0]
        whole = cls(max([KEPT_NAMES, *map(len, sums)]))
        for each in sums:
            whole._merge(each)
        return whole

    def __len__(self) -> int:
        return len(self._lowers)

    def _merge(self, other: WholeSum) -> None:
        lowers, estimates, above = self._lowers, self._estimates, self._above
        fresh = dict.fromkeys(other._above.keys() - above.keys(), self._floor)
        for name in above.keys() - other._above.keys():
            above[name] += other._floor
        for name, floor in fresh.items():
            lowers[name], estimates[name], above[name] = 0, 0, floor
        for name, lower in other._lowers.items():
            lowers[name] += lower
            estimates[name] += other._estimates[name]
            above[name] += other._above[name]
        self._error += other._error
        self._floor += other._floor

    def get(self, name: bytes) -> Whole | None:
        """What is known of a name that is kept."""
        if name not in self._lowers:
            return None
        return Whole(name, self._lowers[name], self._above[name] + self._error, self._estimates[name])

    def heaviest(self) -> list[Whole]:
        """All names kept, by falling estimate."""
        error, above, estimates = self._error, self._above, self._estimates
        rows = [Whole(name, lower, above[name] + error, estimates[name]) for name, lower in self._lowers.items()]
        return sorted(rows, key=lambda row: (-row.estimate, row.name))

    def threshold(self, load: int) -> int:
        """T: every name with more than T of ``load`` is kept, with an upper bound above T."""
        return threshold(self.error, load)

    def _let_go(self) -> None:
        above = self._above
        light = sorted(above, key=lambda name: (-above[name], name))[self._kept :]
        self._floor = max(self._floor, above[light[0]])
        for name in light:
            del above[name], self._lowers[name], self._estimates[name]
