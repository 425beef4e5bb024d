"""Plans: on how many and on which partitions a hot key goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.planning.allowed import unsuffixable
from hotshard.core.planning.fitting import Fit, fewest, fits, least_loaded
from hotshard.core.planning.refusing import no_room, no_suffix, not_needed
from hotshard.core.planning.score import imbalance, spread, with_load
from hotshard.core.planning.situation import HotLoad, Situation, Terms, situation
from hotshard.core.planning.suffixes import find_suffixes
from hotshard.core.planning.verdict import Plan, PlanReason, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence


def plan_split(hot: HotLoad, background: Sequence[float], terms: Terms) -> Plan | Refusal:
    """Spread a key over the fewest distinct, least loaded partitions that stay within ``1 + eps`` times the mean.

    ``background`` is the measured load of every partition without the key. With p and b as shares of
    the whole, the plan has the smallest s with ``p/s <= (1 + eps)/n - b(s)``, b(s) the s-th smallest.
    Where there is none within ``max_shards``, it has what comes near the best possible, as long as
    the key's partition gains 5 % by it. A plan never raises the imbalance.
    """
    now = situation(hot, background, terms)
    refusal = unsuffixable(hot.key) or not_needed(now)
    if refusal is not None:
        return refusal
    order = least_loaded(now.background)
    found = fewest(fits(now.load, [now.background[each] for each in order[: max(1, terms.max_shards)]], now.limit))
    if not found.gains_on(now.crest):
        return no_room(now, found, order)
    chosen = tuple(order[: found.shards])
    suffixes = find_suffixes(now, chosen)
    return no_suffix(now) if suffixes is None else planned(now, found, suffixes, chosen)


def planned(now: Situation, found: Fit, suffixes: tuple[str, ...], partitions: tuple[int, ...]) -> Plan:
    """The plan that puts the key on ``partitions``, scored."""
    return Plan(
        key=now.key,
        suffixes=suffixes,
        partitions=partitions,
        partition_count=now.partitions,
        partitioner=now.terms.partitioner.name,
        imbalance_before=imbalance(now.before),
        imbalance_after=imbalance(with_load(now.background, spread(now.load, partitions))),
        reason=PlanReason.WITHIN_TOLERANCE if found.within else PlanReason.BEST_EFFORT,
        numbers={"share": now.share, "mean": now.mean, "limit": now.limit, "before": now.crest, "after": found.worst},
    )
