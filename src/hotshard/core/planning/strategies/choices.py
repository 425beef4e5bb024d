"""D-Choices and W-Choices: keys in the head of the distribution have more than two partitions.

Nasir, De Francisci Morales, Kourtellis and Serafini, "When Two Choices Are not Enough: Balancing at
Scale in Distributed Stream Processing", ICDE 2016, arXiv 1510.05714. Keys in the tail have two
partitions as in Partial Key Grouping. The head is what has a share of at least theta = 1/(5n) by a
sketch of heavy keys; the slack of the constraint is 1e-4, both as the authors recommend.
"""

from __future__ import annotations

import math
from collections import Counter
from heapq import heapreplace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from hotshard.core.partitioners import partition_of
from hotshard.core.planning.strategies.pkg import choices
from hotshard.core.sketching.binding import FrequentItems
from hotshard.core.wire.pane import is_cut, travelling_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.planning.strategies.contract import Ground, Stretch

_SLACK: Final = 1e-4
_REMEMBERED: Final = 100_000


def head_choices(head: Sequence[float], partitions: int) -> int:
    """The smallest d with which no prefix of the head overloads its partitions; ``partitions`` where there is none.

    ``head`` are shares by falling size. With b_h = n (1 - ((n - 1)/n)^(h d)), the partitions that the
    first h keys are expected to reach, it must hold for every h that

        p_1 + ... + p_h + (p_(h+1) + ... + p_|H|) (b_h/n)^d + p_tail (b_h/n)^2 <= b_h/n + 1e-4.

    A key of share p_1 needs p_1 n partitions at least, where the search begins.
    """
    sums = list(accumulate(head))
    whole = sums[-1] if sums else 0.0
    first = max(2, math.ceil(head[0] * partitions) if head else 2)
    return next((d for d in range(first, partitions) if _fits(sums, whole, d, partitions)), partitions)


def _fits(sums: Sequence[float], whole: float, d: int, partitions: int) -> bool:
    rest = (partitions - 1) / partitions
    for h, upto in enumerate(sums, 1):
        reached = 1 - rest ** (h * d)
        if upto + (whole - upto) * reached**d + (1 - whole) * reached**2 > reached + _SLACK:
            return False
    return True


class DChoices:
    """Keys of the head have d partitions by as many hashes, d the same for all of them and just large enough."""

    def __init__(self, ground: Ground) -> None:
        self._partitions = ground.partitions
        self._loads = [0] * ground.partitions
        self._heap = [(0, place) for place in range(ground.partitions)]
        self._records = 0
        self._sketch = FrequentItems()
        self._two: dict[bytes, Sequence[int]] = {}
        #: The partitions of every key in the head.
        self._head: Mapping[bytes, Sequence[int]] = {}
        self._home = partition_of(ground.terms.partitioner.name, ground.partitions)

    def place(self, stretch: Stretch) -> list[int | None]:
        places = [
            None if key is None or home is None else self._least(self._head.get(key) or self._both(key, home))
            for key, home in zip(stretch.keys, stretch.homes, strict=True)
        ]
        self._learn(stretch)
        return places

    def candidates(self, shares: Mapping[bytes, float]) -> Mapping[bytes, Sequence[int]]:
        """The partitions of each key of the head, whose shares are given by falling size."""
        d = head_choices(list(shares.values()), self._partitions)
        if d >= self._partitions:
            return dict.fromkeys(shares, range(self._partitions))
        return {key: tuple(dict.fromkeys(choices(key, self._home(key), self._partitions, d))) for key in shares}

    def _least(self, candidates: Sequence[int]) -> int:
        loads = self._loads
        all_of_them = len(candidates) == self._partitions
        place = self._least_of_all() if all_of_them else min(candidates, key=loads.__getitem__)
        loads[place] += 1
        return place

    def _least_of_all(self) -> int:
        """The least loaded of all partitions. Loads only grow, so what the heap says is at most too little."""
        heap, loads = self._heap, self._loads
        load, place = heap[0]
        while load != loads[place]:
            heapreplace(heap, (loads[place], place))
            load, place = heap[0]
        return place

    def _both(self, key: bytes, home: int) -> Sequence[int]:
        known = self._two.get(key)
        if known is None:
            if len(self._two) >= _REMEMBERED:
                self._two.clear()
            self._two[key] = known = tuple(choices(key, home, self._partitions, 2))
        return known

    def _learn(self, stretch: Stretch) -> None:
        for key, load in Counter(stretch.keys).items():
            if key is not None:
                self._records += load
                self._sketch.update(travelling_key(key), load)
        least = math.ceil(self._records / (5 * self._partitions))
        rows = sorted(self._sketch.over(max(0, least - 1))[1], key=lambda row: (-row[2], row[0]))
        self._head = self.candidates({name: upper / self._records for name, _, upper in rows if not is_cut(name)})


class WChoices(DChoices):
    """Keys of the head may go to any partition."""

    def candidates(self, shares: Mapping[bytes, float]) -> Mapping[bytes, Sequence[int]]:
        return dict.fromkeys(shares, range(self._partitions))
