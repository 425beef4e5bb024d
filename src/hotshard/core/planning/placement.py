"""Plans: on how many and on which partitions a hot key goes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hotshard.core.planning.allowed import unbearable
from hotshard.core.planning.fitting import Fit, choices, enough, fewest, least_loaded
from hotshard.core.planning.refusing import hot_sub_unit, is_to_be_moved, no_gain, no_suffix, not_needed
from hotshard.core.planning.score import imbalance, spread, with_load
from hotshard.core.planning.situation import HotLoad, Situation, Terms, situation
from hotshard.core.planning.suffixes import find_suffixes, reachable
from hotshard.core.planning.verdict import Plan, PlanReason, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence


def plan_split(hot: HotLoad, background: Sequence[float], terms: Terms) -> Plan | Refusal:
    """Spread a key over the fewest distinct, least loaded partitions that stay within ``1 + eps`` times the mean.

    ``background`` is the measured load of every partition without the key. With p and b as shares of
    the whole, the plan has the smallest s with ``p/s <= (1 + eps)/n - b(s)``, b(s) the s-th smallest.
    Where there is none within the bounds of ``terms``, it has what comes near the best possible, as long as
    the key's partition gains 5 % by it. Where ``terms.moves`` a key too small for a split may get one shard, for
    a place of its own. A plan never raises the imbalance, except where a person wants it
    whatever it comes to (``terms.forced``).
    """
    now = situation(hot, background, terms)
    if terms.moves and not terms.forced and is_to_be_moved(now):
        now = situation(hot, background, replace(terms, min_shards=1, max_shards=1))
        refusal = unbearable(hot.key, terms.carry)
    else:
        refusal = unbearable(hot.key, terms.carry) or not_needed(now) or hot_sub_unit(now)
    return _placed(now) if refusal is None else refusal


def _placed(now: Situation) -> Plan | Refusal:
    order = least_loaded(now.background)
    found = fewest(enough(choices(now, order), now.terms.min_shards))
    refusal = no_gain(now, found, order)
    if refusal is not None:
        return refusal
    suffixes = find_suffixes(now, order[: found.shards])
    if suffixes is None:
        return _where_reachable(now, order)
    return planned(now, found, suffixes, tuple(order[: found.shards]))


def planned(now: Situation, found: Fit, suffixes: tuple[str, ...], partitions: tuple[int, ...]) -> Plan:
    """The plan that puts the key on ``partitions``, scored."""
    after = with_load(now.background, spread(now.load, partitions))
    even, terms = imbalance(after), now.terms
    home = terms.partitioner.partition(now.key, now.partitions)
    own = {*now.current, *partitions} if home is None else {*now.current, *partitions, home}
    return Plan(
        key=now.key,
        suffixes=suffixes,
        partitions=partitions,
        partition_count=now.partitions,
        partitioner=terms.partitioner.name,
        also_partitioner=None if terms.also is None else terms.also.name,
        carry=terms.carry,
        imbalance_before=imbalance(now.before),
        imbalance_after=max(even, found.worst / now.mean) if now.sub and now.mean else even,
        reason=_reason(found, forced=terms.forced),
        own_before=max(now.before[each] for each in own) / now.mean if now.mean else None,
        own_after=max(found.worst, *(after[each] for each in own)) / now.mean if now.mean else None,
        numbers={"share": now.share, "mean": now.mean, "limit": now.limit, "before": now.crest, "after": found.worst},
    )


def _where_reachable(now: Situation, order: Sequence[int]) -> Plan | Refusal:
    """The plan on partitions that suffixes can be found for, where they are not found for all that are wanted."""
    suffixes = reachable(now)
    order = [partition for partition in order if partition in suffixes]
    if not order:
        return no_suffix(now)
    found = fewest(enough(choices(now, order), now.terms.min_shards))
    if no_gain(now, found, order) is not None:
        return no_suffix(now)
    chosen = tuple(order[: found.shards])
    return planned(now, found, tuple(suffixes[partition] for partition in chosen), chosen)


def _reason(found: Fit, *, forced: bool) -> PlanReason:
    if found.within:
        return PlanReason.WITHIN_TOLERANCE
    return PlanReason.PINNED if forced else PlanReason.BEST_EFFORT
