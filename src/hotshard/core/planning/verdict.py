"""What planning answers: a plan, or a refusal, each with its reason code and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Mapping


class PlanReason(StrEnum):
    """How far a plan goes."""

    WITHIN_TOLERANCE = "within_tolerance"  #: no partition of the plan is above 1 + eps times the mean
    BEST_EFFORT = "best_effort"  #: that cannot be reached; the plan is the smallest that comes near the best
    PINNED = "pinned"  #: a person wants it, whatever it comes to


class RefusalReason(StrEnum):
    """Why a key is not split."""

    PER_KEY_ORDER = "per_key_order"
    COMPACTED_TOPIC = "compacted_topic"
    COPARTITIONED = "copartitioned"
    BINARY_KEY = "binary_key"
    EMPTY_KEY = "empty_key"
    KEY_TOO_LONG = "key_too_long"
    KEY_FORM = "key_form"  #: the key has not the form of the topic's layout
    NOT_WORTH = "not_worth"  #: its share is too small for a split to help
    PARTITION_NOT_ABOVE = "partition_not_above"  #: its partition is not really above the others
    NO_ROOM = "no_room"  #: wherever it went, no partition would be better off
    NO_SUFFIX = "no_suffix"  #: no suffix was found that the partitioner sends where it should go
    NO_SHARED_SUFFIX = "no_shared_suffix"  #: none that both partitioners of the fleet send there
    PARTITIONS_UNSEEN = "partitions_unseen"  #: partitions would be given, and the source does not keep them
    HOT_DISCRIMINATOR = "hot_discriminator"  #: its largest sub-unit alone is too much for a partition
    TOO_MANY_SHARDS = "too_many_shards"  #: it would take more shards than there need be for what partitions take
    MIXED_PARTITIONERS = "mixed_partitioners"  #: it lies where its partitioner does not put it: suffixes would, too
    PLACEHOLDER_KEY = "placeholder_key"  #: the key stands for a missing value
    FEW_KEYS = "few_keys"  #: the topic has too few keys to be even whatever is done about one
    UNKEYED = "unkeyed"  #: the load in the way has no key
    STUCK_PARTITION = "stuck_partition"  #: its partition is not read, which no split heals
    LUKEWARM_KEYS = "lukewarm_keys"  #: its tenant is hot through very many keys, none of which is
    PINNED = "pinned"  #: a person wants it left alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A base key spread over distinct partitions: ``suffixes[i]`` is sent to ``partitions[i]`` by ``partitioner``.

    With ``carry`` ``partition`` there are no suffixes: producers give ``partitions[i]``.
    """

    key: bytes
    suffixes: tuple[str, ...]
    partitions: tuple[int, ...]
    partition_count: int
    partitioner: str
    #: Largest partition load over the mean, as measured and as predicted.
    imbalance_before: float
    imbalance_after: float
    reason: PlanReason
    #: The same of the key's own partitions, which are those it leaves and those it goes to; None: not known.
    own_before: float | None = None
    own_after: float | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: A second partitioner that sends every suffix to the same place.
    also_partitioner: str | None = None
    carry: Carry = Carry.SUFFIX

    @property
    def shards(self) -> int:
        return len(self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A base key that is not split; ``detail`` says it to a person."""

    key: bytes
    reason: RefusalReason
    detail: str
    numbers: Mapping[str, float] = field(default_factory=dict)
