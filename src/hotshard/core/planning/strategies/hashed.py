"""Hashed suffixes, as textbooks advise: a hot key is given numbers, and the hash may put two of them together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from hotshard.core.keys import is_suffixable, with_suffix
from hotshard.core.partitioners import partition_of
from hotshard.core.planning.strategies.watched import Watched
from hotshard.core.planning.worth import min_share

if TYPE_CHECKING:
    from hotshard.core.planning.strategies.contract import Ground, Stretch

#: No key has more suffixes than this.
_MOST: Final = 4096
#: Against rounding where the formula gives a whole number.
_ROUNDING: Final = 1e-9


def textbook_shards(share: float, partitions: int, eps: float) -> int:
    """``ceil(p * n / (p + eps))``, at least 1: shards enough for a key of share p, if no two met on a partition.

    Over an even background of (1 - p)/n each of s shards may bring (p + eps)/n. As 0..s-1 are hashed,
    about n (1 - (1 - 1/n)^s) distinct partitions are hit, and the fullest has more than one of them.
    """
    return max(1, min(math.ceil(share * partitions / (share + eps) - _ROUNDING), _MOST))


class HashedSuffixes:
    """Keys that were seen to be worth splitting are sent as ``key U+001F i``, i from 0 to s - 1 in turn.

    A key's s is raised when its share grows, and never lowered.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._place = partition_of(ground.terms.partitioner.name, ground.partitions)
        self._watched = Watched(ground)
        #: The partitions of each split key's shards, and whose turn it is.
        self._shards: dict[bytes, list[int]] = {}
        self._turns: dict[bytes, int] = {}

    def place(self, stretch: Stretch) -> list[int | None]:
        places = list(stretch.homes)
        for at, key in enumerate(stretch.keys):
            if key in self._shards and key is not None:
                shards, turn = self._shards[key], self._turns[key]
                places[at] = shards[turn]
                self._turns[key] = (turn + 1) % len(shards)
        self._watched.add(stretch)
        self._decide()
        return places

    def _decide(self) -> None:
        partitions, terms = self._ground
        total = self._watched.records
        for key, load, _ in self._watched.heavy(min_share(terms.eps, partitions) * total):
            shards = self._shards.setdefault(key, []) if is_suffixable(key) else None
            if shards is not None:
                wanted = textbook_shards(load / total, partitions, terms.eps)
                shards += [self._place(with_suffix(key, str(number))) for number in range(len(shards), wanted)]
                self._turns.setdefault(key, 0)
