"""Our own way: hot keys found as the worker finds them go to just enough of the least loaded partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hotshard.core.planning.score import spread, with_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.strategies.watched import Watched
from hotshard.core.planning.together import plan_all
from hotshard.core.planning.worth import min_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.planning.strategies.contract import Ground, Stretch
    from hotshard.core.planning.strategies.watched import Weighed
    from hotshard.core.planning.together import Together

#: Plans aim at this part of the tolerance and stand until all of it is used up, so that they do not swing.
_AIM: Final = 0.75
#: New plans are taken when they leave the fullest partition with less than this part of its load.
_BETTER: Final = 0.98
#: Of a partition that plans leave too full so many more keys are considered for a place elsewhere, some times over.
_MOVABLE: Final = 8
_TRIES: Final = 3


class Placed:
    """Keys go by their hash, until a partition is above ``1 + eps`` times the mean of what was seen.

    Then every key that surely is worth splitting is planned by
    :func:`~hotshard.core.planning.together.plan_all`, and with them the heaviest on partitions that are
    too full all the same, which may be moved whole. The shards of a key are taken in turn.
    """

    def __init__(self, ground: Ground) -> None:
        self._partitions = ground.partitions
        self._eps = ground.terms.eps
        self._terms = replace(ground.terms, eps=ground.terms.eps * _AIM, moves=True)
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
        worst = max(self._predicted())
        if worst * self._partitions <= (1 + self._eps) * self._watched.records:
            return
        new = self._planned()
        if max(new.after) < _BETTER * worst:
            self._plans = {plan.key: plan.partitions for plan in new.plans}
            self._turns = dict.fromkeys(self._plans, 0)

    def _planned(self) -> Together:
        """Plans for what is known now, as if none stood."""
        total = self._watched.records
        limit = (1 + self._terms.eps) * total / self._partitions
        keys = self._watched.heavy(min_share(self._terms.eps, self._partitions) * total)
        planned = self._plan(keys)
        for _ in range(_TRIES):
            crowded = (home for home, load in enumerate(planned.after) if load > limit)
            more = [each for home in crowded for each in self._others(home, keys)]
            if not more:
                break
            keys += more
            planned = self._plan(keys)
        return planned

    def _plan(self, keys: Sequence[Weighed]) -> Together:
        background = list(self._watched.loads)
        for _, load, home in keys:
            background[home] -= load
        return plan_all([HotLoad(key, load) for key, load, _ in keys], background, self._terms)

    def _others(self, home: int, but: Sequence[Weighed]) -> list[Weighed]:
        """The heaviest keys of a partition but those, and but what may have been seen by chance."""
        known = {key for key, _, _ in but}
        return [each for each in self._watched.heavy(1, home) if each.key not in known][:_MOVABLE]

    def _predicted(self) -> list[float]:
        """What the partitions carry under the plans that stand."""
        loads: list[float] = list(self._watched.loads)
        for key, partitions in self._plans.items():
            load = self._watched.load(key)
            loads = with_load(with_load(loads, {self._watched.home(key): -load}), spread(load, partitions))
        return loads

