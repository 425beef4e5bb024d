"""Our own way: hot keys found as the worker finds them go to just enough of the least loaded partitions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hotshard.core.planning.allowed import unbearable
from hotshard.core.planning.score import spread, with_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.strategies.watched import Watched, surely
from hotshard.core.planning.together import plan_all
from hotshard.core.planning.worth import min_share
from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hotshard.core.planning.strategies.contract import Ground, Stretch
    from hotshard.core.planning.strategies.watched import Weighed
    from hotshard.core.planning.together import Together

#: Plans aim at this part of the tolerance and stand until all of it is used up, so that they do not swing.
_AIM: Final = 0.75
#: No more keys than this are planned, the heaviest of them; and fewer where partitions are so many that a plan is work.
_PLANNED: Final = 512
_LEAST_PLANNED: Final = 8
_WORK: Final = 1 << 16
#: When new plans were no better, others are not sought before so many times as many records have come.
_PATIENCE: Final = 1.25
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
        self._carry = ground.terms.carry
        # Where one partitioner rules, suffixes reach every partition: which ones they are need not be sought here.
        carry = Carry.PARTITION if ground.terms.also is None else ground.terms.carry
        self._terms = replace(ground.terms, eps=ground.terms.eps * _AIM, moves=True, carry=carry)
        self._watched = Watched(ground)
        #: The partitions of every key that has a plan, and whose turn it is.
        self._plans: Mapping[bytes, Sequence[int]] = {}
        self._turns: dict[bytes, int] = {}
        self._records = 0
        self._quiet_until = 0.0

    def place(self, stretch: Stretch) -> list[int | None]:
        places = list(stretch.homes)
        for at, key in enumerate(stretch.keys):
            if key in self._plans and key is not None:
                shards, turn = self._plans[key], self._turns[key]
                places[at] = shards[turn]
                self._turns[key] = (turn + 1) % len(shards)
        self._watched.add(stretch)
        self._records += len(places)
        if self._records >= self._quiet_until:
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
        else:
            self._quiet_until = _PATIENCE * self._records

    def _planned(self) -> Together:
        """Plans for what is known now, as if none stood."""
        total = self._watched.records
        limit = (1 + self._terms.eps) * total / self._partitions
        least = min_share(self._terms.eps, self._partitions) * total
        most = max(_LEAST_PLANNED, min(_PLANNED, _WORK // self._partitions))
        # No key that may have been seen by chance alone.
        known = [each for each in self._watched.heavy(1) if unbearable(each.key, self._carry) is None]
        keys = [each for each in known if surely(each.load) >= least][:most]
        planned = self._plan(keys)
        for _ in range(_TRIES):
            crowded = {home for home, load in enumerate(planned.after) if load > limit}
            more = _heaviest_of(crowded, known, set(keys))[:most]
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

    def _predicted(self) -> list[float]:
        """What the partitions carry under the plans that stand."""
        loads: list[float] = list(self._watched.loads)
        for key, partitions in self._plans.items():
            load = self._watched.load(key)
            loads = with_load(with_load(loads, {self._watched.home(key): -load}), spread(load, partitions))
        return loads


def _heaviest_of(homes: Collection[int], keys: Sequence[Weighed], but: Collection[Weighed]) -> list[Weighed]:
    """The heaviest few of each of these homes, of ``keys`` by falling load."""
    found: Counter[int] = Counter()
    heaviest = []
    for each in keys:
        if each.home in homes and each not in but and found[each.home] < _MOVABLE:
            found[each.home] += 1
            heaviest.append(each)
    return heaviest
