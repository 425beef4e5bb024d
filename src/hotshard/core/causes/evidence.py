"""What a verdict on a topic rests on. Values only: how they came together is the gatherer's matter."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotshard.core.planning.situation import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class HotName:
    """A hot key or tenant; shares are parts of the topic's load, by the lower bound."""

    name: bytes
    lower: int
    upper: int
    share: float
    tenant: bytes | None = None
    #: Production partitions on which it was seen, the most loaded first.
    partitions: tuple[int, ...] = ()
    #: Its load (estimates) on each of them, as far as known; without it a key is taken to lie on the first of them.
    by_partition: tuple[tuple[int, int], ...] = ()
    #: Why a key may not be split, as a code of planning's refusals; None: nothing forbids it.
    refusal: str | None = None
    #: The part of the key's load that its largest discriminator surely has, and how many were seen; None: not known.
    largest_sub: float | None = None
    subs: int | None = None
    #: For a tenant: the part of its load that its heaviest key surely has, and about how many keys; None: not known.
    largest_key: float | None = None
    keys: int | None = None
    #: For a tenant: the load with which it would no longer be hot, or that is its fair part; None: not known.
    bearable: float | None = None
    #: Whether a route of its own stands.
    routed: bool = False
    #: Recent windows, the newest last: whether it was hot in them.
    recent_hot: tuple[bool, ...] = ()
    #: For a key: on which terms it would be split, capacity being that for the stretch; None: those of the evidence.
    terms: Terms | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """One partition of one group, by offsets. None: not known."""

    partition: int
    committed: int | None
    #: The high watermark.
    end: int | None
    log_start: int | None = None
    #: The last stable offset, below ``end`` while a transaction is open; a reader of committed records waits there.
    stable: int | None = None
    #: The committed offset and the high watermark some time before, and how long ago that was.
    committed_before: int | None = None
    end_before: int | None = None
    since_s: float | None = None
    #: The member that has it; None where nobody has, or nobody knows (the group's members are None then).
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LagEvidence:
    """The lag of one group on the topic, and how many members it has (None: not known)."""

    group: str
    partitions: tuple[PartitionLag, ...]
    members: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that is known of one topic over one stretch of time. What is not known is None."""

    #: Production partition count, and the topic's partitioner.
    partitions: int
    partitioner: str = "murmur2"
    eps: float = 0.25
    #: Load of keyed records by production partition, one entry each.
    loads: tuple[int, ...]
    #: Records, those without a key, and where the latter lie (empty: not known).
    records: int
    unkeyed: int = 0
    unkeyed_loads: tuple[int, ...] = ()
    distinct_keys: int | None = None
    #: Names on the hottest partition, the heaviest first, with their load there (estimates).
    top_of_hottest: tuple[tuple[bytes, int], ...] = ()
    hot_keys: tuple[HotName, ...] = ()
    hot_tenants: tuple[HotName, ...] = ()
    #: Of the recent windows in which some partition was hot: the hottest partition's top key, the newest last.
    recent_tops: tuple[bytes, ...] = ()
    #: How many recent windows there were, and in how many anything was hot.
    windows: int = 0
    windows_hot: int = 0
    #: Keys seen on more than one partition without a plan, or where the partitioner does not put them, with
    #: their load by partition.
    scattered: tuple[tuple[bytes, tuple[tuple[int, int], ...]], ...] = ()
    lag: LagEvidence | None = None
    #: Other groups on the topic.
    more_lags: tuple[LagEvidence, ...] = ()
    #: The heaviest names of the whole topic, the heaviest first: what keys look like.
    listed: tuple[bytes, ...] = ()
    #: What a partition can carry, in load a second; None: not known.
    capacity_per_s: float | None = None
    #: Share of the partitions that are in this.
    completeness: float = 1.0
    span_s: float | None = None
    #: The stretch of event time, milliseconds since 1970; None where there is no time.
    start_ms: int | None = None
    end_ms: int | None = None


class Cause(StrEnum):
    """Why, in the order in which it is asked; the first that holds is told."""

    NONE = "none"  #: nothing is wrong
    FEW_KEYS = "few_keys"
    NO_KEY = "no_key"
    STUCK_PARTITION = "stuck_partition"
    SLOW_CONSUMERS = "slow_consumers"
    BURST = "burst"
    SEQUENTIAL_KEY = "sequential_key"
    HOT_DISCRIMINATOR = "hot_discriminator"  #: one hot entity whose discriminator is itself hot
    HOT_KEY = "hot_key"  #: one hot entity that can be spread, as far as is known
    HOT_TENANT = "hot_tenant"
    COLLISION = "collision"
    MIXED_PARTITIONERS = "mixed_partitioners"
    UNKNOWN = "unknown"
