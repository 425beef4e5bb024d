"""Our own way: hot keys found as the worker finds them go to just enough of the least loaded partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hotshard.core.planning.score import spread, with_load
from hotshard.core.planning.strategies.arranging import Arrangement, arranged, evened
from hotshard.core.planning.strategies.watched import Watched
from hotshard.core.planning.worth import min_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.planning.strategies.contract import Ground, Stretch
    from hotshard.core.planning.strategies.watched import Weighed

#: Plans aim at this part of the tolerance and stand until all of it is used up, so that they do not swing.
_AIM: Final = 0.75
#: New plans are taken when they leave the fullest partition with less than this part of its load.
_BETTER: Final = 0.98


class Placed:
    """Keys go by their hash, until a partition is above ``1 + eps`` times the mean of what was seen.

    Then plans are made: for every key that surely is worth splitting, the largest first, by
    :func:`~hotshard.core.planning.placement.plan_split`; and where a partition is still too full, for
    the heaviest keys on it, whole, that fit elsewhere. The shards of a key are taken in turn.
    """

    def __init__(self, ground: Ground) -> None:
        self._partitions = ground.partitions
        self._terms = ground.terms
        self._aim = replace(ground.terms, eps=ground.terms.eps * _AIM)
        self._watched = Watched(ground)
        #: The partitions of every key that has a plan, and whose turn it is.
        self._plans: Mapping[bytes, Sequence[int]] = {}
        self._turns: dict[bytes, int] = {}

    def place(self, stretch: Stretch) -> list[int | None]:
        places = list(stretch.homes)
        for at, key in enumerate(stretch.keys):
            if key in self._plans and key is not None:
                shards, turn = self._plans[key], self._turns[key]
                places[at] = shards[turn]
                self._turns[key] = (turn + 1) % len(shards)
        self._watched.add(stretch)
        self._decide()
        return places

    def _decide(self) -> None:
        total = self._watched.records
        worst = max(self._predicted())
        if worst * self._partitions <= (1 + self._terms.eps) * total:
            return
        least = min_share(self._aim.eps, self._partitions) * total
        new = self._arranged(self._watched.heavy(least), (1 + self._aim.eps) * total / self._partitions)
        if new.worst < _BETTER * worst:
            self._plans = new.plans
            self._turns = dict.fromkeys(new.plans, 0)

    def _arranged(self, hot: Sequence[Weighed], limit: float) -> Arrangement:
        return evened(arranged(hot, self._watched.loads, self._aim), self._movable, limit)

    def _movable(self, home: int) -> list[Weighed]:
        """Keys of a partition that were not seen by chance alone."""
        return self._watched.heavy(1, home)

    def _predicted(self) -> list[float]:
        """What the partitions carry under the plans that stand."""
        loads: list[float] = list(self._watched.loads)
        for key, partitions in self._plans.items():
            home = self._watched.home(key)
            load = self._watched.load(key)
            loads = with_load(with_load(loads, {home: -load}), spread(load, partitions))
        return loads
