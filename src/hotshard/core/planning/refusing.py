"""Why a key that may be split is not: what a split could do for the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.planning.fitting import fewest, fillable, fits
from hotshard.core.planning.verdict import Refusal, RefusalReason
from hotshard.core.planning.worth import above_others, min_share, sub_unit_too_large, worth_moving, worth_splitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.planning.fitting import Fit
    from hotshard.core.planning.situation import Situation


def not_needed(now: Situation) -> Refusal | None:
    """The key is too small, or its partition no more loaded than others. A person who wants it split is not asked."""
    if now.terms.forced:
        return None
    eps = now.terms.eps
    least = min_share(eps, now.partitions)
    if not worth_splitting(now.share, now.partitions, eps):
        detail = f"its share is {now.share:.2%}, a split helps from {least:.2%} on"
        numbers = {"share": now.share, "min_share": least}
        return Refusal(key=now.key, reason=RefusalReason.NOT_WORTH, detail=detail, numbers=numbers)
    if not above_others(now.crest, now.mean, eps):
        detail = f"its partition carries {now.crest / now.mean:.2f} times the mean, tolerated is {1 + eps:.2f}"
        numbers = {"share": now.share, "mean": now.mean, "limit": now.limit, "before": now.crest}
        return Refusal(key=now.key, reason=RefusalReason.PARTITION_NOT_ABOVE, detail=detail, numbers=numbers)
    return None


def is_to_be_moved(now: Situation) -> bool:
    """Whether a key too small for a split is worth a place of its own, as it collides with others."""
    too_small = not worth_splitting(now.share, now.partitions, now.terms.eps)
    return too_small and worth_moving(now.load, now.crest, now.limit)


def hot_sub_unit(now: Situation, slack: float = 1.0) -> Refusal | None:
    """The key's largest sub-unit alone is more, by ``slack``, than the least loaded partition may carry besides."""
    room = now.limit - min(now.background)
    if now.terms.forced or not sub_unit_too_large(now.sub, room * slack):
        return None
    part = now.sub / now.load
    detail = f"its largest sub-unit has {part:.0%} of it, and no partition has room for more than {room / now.load:.0%}"
    numbers = {"share": now.share, "largest_sub": part, "limit": now.limit, "room": room}
    return Refusal(key=now.key, reason=RefusalReason.HOT_DISCRIMINATOR, detail=detail, numbers=numbers)


def no_gain(now: Situation, found: Fit, order: Sequence[int]) -> Refusal | None:
    """The best plan that is allowed would hardly unburden the key's partition; what stands in the way is named."""
    if now.terms.forced or found.gains_on(now.crest):
        return None
    return _too_many_shards(now, order) or _no_room(now, found, order)


def _too_many_shards(now: Situation, order: Sequence[int]) -> Refusal | None:
    """Only more shards than it takes partitions to take the key would unburden its own."""
    bound = fillable(now, order)
    if bound >= now.terms.max_shards:
        return None
    free = fewest(fits(now.load, [now.background[each] for each in order[: now.terms.max_shards]], now.limit, now.sub))
    if free.shards <= bound or not free.gains_on(now.crest):
        return None
    detail = f"it would take {free.shards} shards, and {bound} of the partitions take it as they are filled now"
    numbers = {"share": now.share, "shards": free.shards, "fillable": bound, "capacity": now.terms.capacity or 0.0}
    return Refusal(key=now.key, reason=RefusalReason.TOO_MANY_SHARDS, detail=detail, numbers=numbers)


def _no_room(now: Situation, found: Fit, order: Sequence[int]) -> Refusal:
    blocking = order[min(found.shards, len(order) - 1)]
    detail = (
        f"its partition would still have {found.worst / now.crest:.0%} of its load: the next partition, "
        f"{blocking}, carries {now.background[blocking] / now.mean:.2f} times the mean without this key"
    )
    numbers = {
        "share": now.share,
        "limit": now.limit,
        "before": now.crest,
        "after": found.worst,
        "blocking_partition": blocking,
        "blocking_load": now.background[blocking],
    }
    return Refusal(key=now.key, reason=RefusalReason.NO_ROOM, detail=detail, numbers=numbers)


def no_suffix(now: Situation) -> Refusal:
    """No value tried is sent to one of the partitions, by the partitioner or by both of a mixed fleet."""
    numbers = {"partition_count": float(now.partitions)}
    one, other = now.terms.partitioner, now.terms.also
    if other is None:
        detail = f"no suffix was found with which {one.name} reaches every partition wanted"
        return Refusal(key=now.key, reason=RefusalReason.NO_SUFFIX, detail=detail, numbers=numbers)
    detail = f"no suffixes were found that {one.name} and {other.name} both send to partitions with room"
    return Refusal(key=now.key, reason=RefusalReason.NO_SHARED_SUFFIX, detail=detail, numbers=numbers)
