"""A plan that stands is fitted to the load: its list of shards grows or is cut, at the tail only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from hotshard.core.keys import with_suffix
from hotshard.core.planning.fitting import Fit, choices, enough, fewest, least_loaded
from hotshard.core.planning.placement import planned
from hotshard.core.planning.refusing import hot_sub_unit
from hotshard.core.planning.score import spread
from hotshard.core.planning.situation import HotLoad, Situation, Terms, situation
from hotshard.core.planning.suffixes import find_suffixes, reachable
from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.planning.verdict import Plan, Refusal

_OUTGROWN: Final = 1.25


class Standing(Protocol):
    """The shards of a key as they are now: a plan, or a route."""

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    @property
    def partitions(self) -> tuple[int, ...]: ...

    @property
    def partition_count(self) -> int: ...

    @property
    def partitioner(self) -> str: ...

    @property
    def carry(self) -> Carry: ...


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
    if not stands(hot.key, standing, terms, len(background)):
        raise ValueError("the plan's shards do not land on its partitions any more; make a new plan")
    have = standing.partitions
    current = spread(hot.load, have) if hot.current is None else hot.current
    now = situation(hot._replace(current=current), background, terms)
    order = [*have, *(each for each in least_loaded(now.background) if each not in set(have))]
    return _fitted(now, standing, order) or _fitted_where_reachable(now, standing, order)


def stands(key: bytes, standing: Standing, terms: Terms, partition_count: int) -> bool:
    """Whether every shard still lands where it should, by every partitioner of the fleet.

    It ends when the partition count changes, or the partitioner, or how a shard is reached.
    """
    made_for = (standing.partition_count, standing.carry)
    if made_for != (partition_count, terms.carry) or not standing.partitions:
        return False
    if terms.carry is Carry.PARTITION:
        return all(0 <= partition < partition_count for partition in standing.partitions)
    if standing.partitioner != terms.partitioner.name:
        return False
    shards = [with_suffix(key, suffix) for suffix in standing.suffixes]
    lands = ([each.partition(shard, partition_count) for shard in shards] for each in terms.partitioners)
    return all(places == list(standing.partitions) for places in lands)


def outgrown(hot: HotLoad, background: Sequence[float], terms: Terms) -> Refusal | None:
    """Why a plan that stands is to be given up: a sub-unit of the key, which no shard divides, has outgrown it.

    It must have a quarter more than there is room for, so that plans do not come and go.
    """
    return hot_sub_unit(situation(hot, background, terms), _OUTGROWN)


def same_shards(one: Standing, other: Standing) -> bool:
    """Whether two are one plan: the same shards, reached in the same way, among as many partitions."""
    return all(
        getattr(one, name) == getattr(other, name) for name in ("suffixes", "partitions", "partition_count", "carry")
    )


def _fitted(now: Situation, standing: Standing, order: Sequence[int]) -> Plan | None:
    """The plan with as many shards as fit, where that is another number, and suffixes lead to its tail."""
    have = len(standing.partitions)
    found = _wanted(now, order, have)
    chosen = tuple(order[: found.shards])
    tail = None if found.shards == have else find_suffixes(now, chosen[have:])
    if tail is None:
        return None
    return planned(now, found, (*standing.suffixes, *tail)[: found.shards], chosen)


def _fitted_where_reachable(now: Situation, standing: Standing, order: Sequence[int]) -> Plan | None:
    """The same with a tail of partitions for which suffixes are found, where two partitioners reach few."""
    if now.terms.also is None or _wanted(now, order, len(standing.partitions)).shards <= len(standing.partitions):
        return None
    within = reachable(now).keys() | set(standing.partitions)
    return _fitted(now, standing, [partition for partition in order if partition in within])


def _wanted(now: Situation, order: Sequence[int], have: int) -> Fit:
    of = choices(now, order, have)
    found = fewest(enough(of, now.terms.min_shards))
    if found.shards > have:
        gains = now.terms.forced or found.worst < of[have - 1].worst
        return found if gains else of[have - 1]
    kept = enough(of[:have], now.terms.min_shards)
    cut_limit = (1 + now.terms.eps / 2) * now.mean
    return next((choice for choice in kept if choice.worst <= cut_limit), kept[-1])
