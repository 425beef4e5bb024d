"""What makes a split useless though the key be hot: circumstances of its topic, its partition and its tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hotshard.core.looks import is_placeholder
from hotshard.core.planning.verdict import Refusal, RefusalReason
from hotshard.core.planning.worth import min_share

if TYPE_CHECKING:
    from collections.abc import Callable

#: A topic with fewer distinct keys than so many times its partitions cannot be even.
_KEYS_PER_PARTITION: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known besides loads. None, or nothing, stands for not known."""

    partitions: int
    eps: float = 0.25
    distinct_keys: int | None = None
    #: Load of the key's partition, and the part of it that has no key.
    partition_load: float = 0.0
    unkeyed_load: float = 0.0
    #: Whether a group that reads the key's partition stands still there while it moves elsewhere.
    stuck: bool = False
    #: Whether the key was seen on another partition than its own, without a plan.
    elsewhere: bool = False
    #: The share of the topic that the key's tenant has, the part of it that its heaviest key has, and how many keys.
    tenant_share: float | None = None
    largest_key: float | None = None
    tenant_keys: int | None = None


def hindered(key: bytes, now: Circumstances) -> Refusal | None:
    """The first circumstance that makes a split useless; None where none is known."""
    return next((refusal for each in _HINDRANCES if (refusal := each(key, now)) is not None), None)


def stands_for_nothing(key: bytes, _: Circumstances) -> Refusal | None:
    """The key is what programs write where a value is missing: its records should have had other keys."""
    if not is_placeholder(key):
        return None
    detail = "the key stands for a missing value; give the records the value"
    return Refusal(key=key, reason=RefusalReason.PLACEHOLDER_KEY, detail=detail)


def lies_elsewhere(key: bytes, now: Circumstances) -> Refusal | None:
    """Producers do not all use the topic's partitioner, so its shards would not lie where the plan says."""
    if not now.elsewhere:
        return None
    detail = "it lies where the topic's partitioner does not put it; let all producers use one partitioner"
    return Refusal(key=key, reason=RefusalReason.MIXED_PARTITIONERS, detail=detail)


def keys_too_few(key: bytes, now: Circumstances) -> Refusal | None:
    """There are fewer distinct keys than four a partition: another key would even the topic, not one that is split."""
    # There is this key at least, so that 0 is what a worker says that does not count them.
    if not now.distinct_keys or now.distinct_keys >= _KEYS_PER_PARTITION * now.partitions:
        return None
    detail = f"the topic has {now.distinct_keys} keys on {now.partitions} partitions; a key with more values is needed"
    numbers = {"distinct_keys": now.distinct_keys, "partitions": now.partitions}
    return Refusal(key=key, reason=RefusalReason.FEW_KEYS, detail=detail, numbers=numbers)


def mostly_unkeyed(key: bytes, now: Circumstances) -> Refusal | None:
    """More than half of what its partition carries has no key, and would stay."""
    if now.unkeyed_load * 2 <= now.partition_load:
        return None
    detail = f"{now.unkeyed_load / now.partition_load:.0%} of its partition's load has no key, and stays where it is"
    numbers = {"unkeyed_load": now.unkeyed_load, "partition_load": now.partition_load}
    return Refusal(key=key, reason=RefusalReason.UNKEYED, detail=detail, numbers=numbers)


def partition_stuck(key: bytes, now: Circumstances) -> Refusal | None:
    """Its partition is not read on, and what lies there would wait wherever the rest goes."""
    if not now.stuck:
        return None
    detail = "its partition is not read on while others are; mend its consumer, or put the record aside"
    return Refusal(key=key, reason=RefusalReason.STUCK_PARTITION, detail=detail)


def tenant_is_lukewarm(key: bytes, now: Circumstances) -> Refusal | None:
    """Its tenant is hot, and the heaviest of the tenant's keys is too small for a split to help.

    Suffixes would only reward the tenant with more partitions: isolate it, or limit its rate.
    """
    if now.tenant_share is None or now.largest_key is None:
        return None
    largest, least = now.tenant_share * now.largest_key, min_share(now.eps, now.partitions)
    if now.tenant_share <= least or largest > least:
        return None
    many = "" if now.tenant_keys is None else f" in {now.tenant_keys} keys"
    detail = f"its tenant has {now.tenant_share:.1%} of the load{many}, and no key of it more than {largest:.2%}"
    numbers = {"tenant_share": now.tenant_share, "largest_key_share": largest, "min_share": least}
    return Refusal(key=key, reason=RefusalReason.LUKEWARM_KEYS, detail=detail, numbers=numbers)


_HINDRANCES: Final[tuple[Callable[[bytes, Circumstances], Refusal | None], ...]] = (
    lies_elsewhere,
    stands_for_nothing,
    keys_too_few,
    mostly_unkeyed,
    partition_stuck,
    tenant_is_lukewarm,
)
