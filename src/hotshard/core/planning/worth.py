"""Whether a key is big enough for a split to help."""

from __future__ import annotations

import math
from typing import Final

#: A key is moved whole when so many like it would bring its partition within the limit.
_MOST_MOVES: Final = 4

#: Against rounding where a load meets its limit exactly.
_ROUNDING: Final = 1 + 1e-9


def min_share(eps: float, partitions: int) -> float:
    """The share of the topic's load above which a key alone pushes its partition over ``1 + eps`` times the mean.

    With an even background an unsplit key of share p puts p + (1 - p)/n on its partition, which is
    more than (1 + eps)/n where p > eps/(n - 1). At most 1, which no share is above: with one
    partition, or an ``eps`` that two cannot exceed, a split never helps.

    Raises:
        ValueError: ``eps`` is not positive and finite, or there are no partitions.

    """
    if not 0 < eps < math.inf or partitions < 1:
        raise ValueError("eps must be positive and there must be at least one partition")
    return min(1.0, eps / (partitions - 1)) if partitions > 1 else 1.0


def worth_splitting(share: float, partitions: int, eps: float) -> bool:
    """Whether a key of this share is worth splitting: it is above :func:`min_share`."""
    return share > min_share(eps, partitions)


def above_others(load: float, mean: float, eps: float) -> bool:
    """Whether a partition is really above the others: it carries more than ``1 + eps`` times the mean."""
    return load > (1 + eps) * mean


def worth_moving(load: float, crest: float, limit: float) -> bool:
    """Whether a key too small for a split is worth a place of its own, its partition carrying ``crest``.

    It is one of a few that make up what the partition carries above the limit: four like it would do.
    """
    return crest > limit * _ROUNDING and load * _MOST_MOVES >= crest - limit


def sub_unit_too_large(sub: float, room: float) -> bool:
    """Whether a key's largest sub-unit, which no split divides, has no room on any partition.

    With p the key's share, q the sub-unit's part of it and an even background, that is
    ``p * q > (p + eps) / n``.
    """
    return sub > room * _ROUNDING
