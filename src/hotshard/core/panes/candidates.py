"""Which keys of an open pane are worth telling before the pane is over."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.wire.pane import Row

#: A candidate has at least one in so many of its partition's load. With the policy's defaults a key turns
#: on the slow view at a share of about eps / (1 + eps) = 20 % of its partition, whatever their number.
_PART: Final = 10
#: A candidate is new again when it has grown by this factor since it was last told.
_GROWTH: Final = 2


def candidate_load(pane_load: int, floor: int) -> int:
    """The load from which on a key of a pane is a candidate: 10 % of the pane's, and at least the floor."""
    return max(floor, -(-pane_load // _PART), 1)


class Candidates:
    """What has been told of the keys of a partition, in this pane or the one before."""

    __slots__ = ("_floor", "_told")

    def __init__(self, floor: int) -> None:
        self._floor = floor
        self._told: dict[bytes, int] = {}

    def least(self, pane_load: int) -> int:
        return candidate_load(pane_load, self._floor)

    def any_new(self, lowers: Mapping[bytes, int]) -> bool:
        """Whether a candidate has at least twice what was told of it; ``lowers`` are the bounds of candidates."""
        return any(lower >= _GROWTH * self._told.get(key, 0) for key, lower in lowers.items())

    def tell(self, rows: Iterable[Row]) -> None:
        """Note what an early version says."""
        self._told.update(self._worth(rows))

    def close(self, rows: Iterable[Row]) -> None:
        """Note what the final version says: a key as heavy in the next pane is nothing new."""
        self._told = self._worth(rows)

    def _worth(self, rows: Iterable[Row]) -> dict[bytes, int]:
        # Rows stand by falling upper bound. Lighter ones need no note: the floor is twice what was told of them.
        return {row.key: row.lower for row in takewhile(lambda row: _GROWTH * row.upper >= self._floor, rows)}
