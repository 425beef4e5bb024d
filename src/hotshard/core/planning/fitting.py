"""How many shards: the smallest number with which every shard has room on its partition."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.planning.situation import Situation

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


def fits(load: float, backgrounds: Sequence[float], limit: float, sub: float = 0.0) -> list[Fit]:
    """What each number of shards comes to, from 1 to the number of ``backgrounds``.

    ``backgrounds`` are what partitions carry without the key, in the order in which they are taken.
    ``sub`` is the load of the key's largest sub-unit, which no shard can divide and any may have.
    """
    worsts = (max(load / shards, sub) + heaviest for shards, heaviest in enumerate(accumulate(backgrounds, max), 1))
    return [Fit(shards, worst, worst <= limit * _ROUNDING) for shards, worst in enumerate(worsts, 1)]


def fewest(choices: Sequence[Fit]) -> Fit:
    """The first that is within the limit, or else the first that comes within 5 % of the best.

    More shards than that would cost readers more and help nobody.
    """
    near = min(choice.worst for choice in choices) * _NEAR_BEST
    within = next((choice for choice in choices if choice.within), None)
    return within or next(choice for choice in choices if choice.worst <= near)


def choices(now: Situation, order: Sequence[int], held: int = 0) -> list[Fit]:
    """What each number of shards comes to that the terms allow at most, on partitions taken in this order.

    See :func:`most_shards`.
    """
    backgrounds = [now.background[each] for each in order[: most_shards(now, order, held)]]
    return fits(now.load, backgrounds, now.limit, now.sub)


def enough(of: Sequence[Fit], least: int) -> Sequence[Fit]:
    """The choices with at least ``least`` shards; the largest where none has as many."""
    return of[max(1, min(least, len(of))) - 1 :]


def most_shards(now: Situation, order: Sequence[int], held: int = 0) -> int:
    """The upper bound on the shards of a plan: the one that is set, or as many as the key could fill, if fewer.

    It is never below the lower bound that is set, except where the upper one is. ``held`` shards that there
    are already are no more than the key could fill, or a load that varies would make a plan swing.
    """
    return max(1, min(now.terms.max_shards, max(now.terms.min_shards, fillable(now, order), held)))


def fillable(now: Situation, order: Sequence[int]) -> int:
    """How many partitions the key could fill: the fewest, taken in this order, that take it besides what they carry.

    More shards than that would only make more and smaller requests. On idle partitions that is
    ``ceil(load / capacity)``. Any number where no capacity is known, or none is enough: then only evenness counts.
    """
    capacity = now.terms.capacity
    if not capacity:
        return now.partitions
    taken = fits(now.load, [now.background[each] for each in order], capacity, now.sub)
    return next((choice.shards for choice in taken if choice.within), now.partitions)


def least_loaded(background: Sequence[float]) -> list[int]:
    """Partitions by rising load, the lower number first among equals."""
    return sorted(range(len(background)), key=lambda partition: (background[partition], partition))
