"""Why a key that may be split is not: what a split could do for the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.planning.verdict import Refusal, RefusalReason
from hotshard.core.planning.worth import above_others, min_share, worth_splitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.planning.fitting import Fit
    from hotshard.core.planning.situation import Situation


def not_needed(now: Situation) -> Refusal | None:
    """The key is too small, or its partition no more loaded than others."""
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


def no_room(now: Situation, found: Fit, order: Sequence[int]) -> Refusal:
    """The best plan would hardly unburden the key's partition; the load that stands in the way is named."""
    blocking = order[min(found.shards, now.partitions - 1)]
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
    """The partitioner sends no value tried to one of the partitions."""
    detail = f"no suffix was found with which {now.terms.partitioner.name} reaches every partition wanted"
    numbers = {"partition_count": float(now.partitions)}
    return Refusal(key=now.key, reason=RefusalReason.NO_SUFFIX, detail=detail, numbers=numbers)
