"""How many shards: the smallest number with which every shard has room on its partition."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A smaller number of shards is as good as the best when its most loaded partition is within this part of it.
_NEAR_BEST: Final = 1.05
#: Against rounding where a load meets its limit exactly.
_ROUNDING: Final = 1 + 1e-9


class Fit(NamedTuple):
    """A number of shards, the load of the most loaded of their partitions, and whether that is within the limit."""

    shards: int
    worst: float
    within: bool

    def gains_on(self, crest: float) -> bool:
        """Whether it is worth the trouble where ``crest`` is carried now: within the limit, or 5 % less."""
        return self.worst < crest and (self.within or self.worst * _NEAR_BEST <= crest)


def fits(load: float, backgrounds: Sequence[float], limit: float) -> list[Fit]:
    """What each number of shards comes to, from 1 to the number of ``backgrounds``.

    ``backgrounds`` are what partitions carry without the key, in the order in which they are taken.
    """
    worsts = (load / shards + heaviest for shards, heaviest in enumerate(accumulate(backgrounds, max), 1))
    return [Fit(shards, worst, worst <= limit * _ROUNDING) for shards, worst in enumerate(worsts, 1)]


def fewest(choices: Sequence[Fit]) -> Fit:
    """The first that is within the limit, or else the first that comes within 5 % of the best.

    More shards than that would cost readers more and help nobody.
    """
    near = min(choice.worst for choice in choices) * _NEAR_BEST
    within = next((choice for choice in choices if choice.within), None)
    return within or next(choice for choice in choices if choice.worst <= near)


def least_loaded(background: Sequence[float]) -> list[int]:
    """Partitions by rising load, the lower number first among equals."""
    return sorted(range(len(background)), key=lambda partition: (background[partition], partition))
