"""A plan that stands is fitted to the load: its list of shards grows or is cut, at the tail only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hotshard.core.keys import with_suffix
from hotshard.core.planning.fitting import Fit, fewest, fits, least_loaded
from hotshard.core.planning.placement import planned
from hotshard.core.planning.score import spread
from hotshard.core.planning.situation import HotLoad, Terms, situation
from hotshard.core.planning.suffixes import find_suffixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.partitioners import Partitioner
    from hotshard.core.planning.verdict import Plan


class Standing(Protocol):
    """The shards of a key as they are now: a plan, or a route."""

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    @property
    def partitions(self) -> tuple[int, ...]: ...


def resize(hot: HotLoad, standing: Standing, background: Sequence[float], terms: Terms) -> Plan | None:
    """The plan of a key with more or fewer shards, or None when it stays as it is.

    It grows when one of its partitions is above ``1 + eps`` times the mean, by the least loaded
    partitions that it does not use yet; what is there stays. It is cut only to a length with which
    they stay within ``1 + eps/2``, so that it does not swing, and always to ``max_shards``. A
    partition in it that others have crowded is not replaced: that takes a new plan.

    ``background`` is without the key under any of its suffixes; ``hot.current`` None stands for
    equal parts on the plan's partitions.

    Raises:
        ValueError: the plan does not stand any more, see :func:`stands`; that takes a new plan.

    """
    if not stands(hot.key, standing, terms.partitioner, len(background)):
        raise ValueError("the plan's suffixes do not land on its partitions any more; make a new plan")
    have = standing.partitions
    current = spread(hot.load, have) if hot.current is None else hot.current
    now = situation(hot._replace(current=current), background, terms)
    order = [*have, *(each for each in least_loaded(now.background) if each not in set(have))]
    choices = fits(now.load, [now.background[each] for each in order[: max(1, terms.max_shards)]], now.limit)
    found = _wanted(choices, len(have), (1 + terms.eps / 2) * now.mean)
    chosen = tuple(order[: found.shards])
    tail = find_suffixes(now, chosen[len(have) :])
    if found.shards == len(have) or tail is None:
        return None
    return planned(now, found, (*standing.suffixes, *tail)[: found.shards], chosen)


def stands(key: bytes, standing: Standing, partitioner: Partitioner, partition_count: int) -> bool:
    """Whether every suffix still lands where it should, which ends when the partition count changes."""
    lands = [partitioner.partition(with_suffix(key, suffix), partition_count) for suffix in standing.suffixes]
    return bool(lands) and lands == list(standing.partitions)


def _wanted(choices: Sequence[Fit], have: int, cut_limit: float) -> Fit:
    found = fewest(choices)
    if found.shards > have:
        return found
    kept = choices[:have]
    return next((choice for choice in kept if choice.worst <= cut_limit), kept[-1])
