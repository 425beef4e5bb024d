"""Several keys at once: which of them go where, so that no partition is above the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.planning.allowed import unsuffixable
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.score import spread, with_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.verdict import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hotshard.core.planning.situation import Terms
    from hotshard.core.planning.strategies.watched import Weighed

#: A partition is evened by so many keys at most.
_MOST_MOVES: Final = 8


class Arrangement(NamedTuple):
    """The partitions of every key that does not stay where its hash puts it, and what the partitions then carry."""

    plans: dict[bytes, tuple[int, ...]]
    loads: list[float]

    @property
    def worst(self) -> float:
        return max(self.loads)


def arranged(hot: Iterable[Weighed], loads: Sequence[float], terms: Terms) -> Arrangement:
    """Plans for the keys in ``hot``, the heaviest first, over ``loads``, which all keys have at home."""
    plans: dict[bytes, tuple[int, ...]] = {}
    loads = list(loads)
    for key, load, home in hot:
        background = with_load(loads, {home: -load})
        plan = plan_split(HotLoad(key, load), background, terms)
        if isinstance(plan, Plan):
            plans[key] = plan.partitions
            loads = with_load(background, spread(load, plan.partitions))
    return Arrangement(plans, loads)


def evened(before: Arrangement, keys_at: Callable[[int], Iterable[Weighed]], limit: float) -> Arrangement:
    """Keys too light to split leave partitions above ``limit``, whole, for the least loaded partition.

    ``keys_at`` gives the keys that are at home on a partition, the heaviest first. Of those every one
    goes that is left within the limit where it arrives and takes away at least an eighth of what is
    too much, until the partition is within the limit, too. No partition is raised above it.
    """
    plans, loads = dict(before.plans), list(before.loads)
    for partition in sorted(range(len(loads)), key=lambda each: -loads[each]):
        least = (loads[partition] - limit) / _MOST_MOVES
        for key, load, _ in keys_at(partition) if least > 0 else ():
            target = min(range(len(loads)), key=loads.__getitem__)
            fits = load >= least and loads[target] + load <= limit < loads[partition]
            if fits and key not in plans and unsuffixable(key) is None:
                plans[key] = (target,)
                loads[partition] -= load
                loads[target] += load
    return Arrangement(plans, loads)
