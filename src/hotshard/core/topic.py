"""What is known of one production topic: where it is read, how its keys are built, what may be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from hotshard.core.policy.thresholds import Policy


class Mode(StrEnum):
    """How far the detector goes for a topic."""

    OBSERVE = "observe"  #: name, count, tell
    SHADOW = "shadow"  #: plans are made and scored, producers get none
    APPROVE = "approve"  #: a person confirms each plan
    ACTIVE = "active"  #: plans are given to producers


class Ordering(StrEnum):
    """Which records of a topic must stay in order."""

    PER_KEY = "per_key"  #: all records of a key; such a key is never split
    PER_DISCRIMINATOR = "per_discriminator"  #: the records of one sub-unit
    NONE = "none"


class Load(StrEnum):
    """What is counted as load."""

    RECORDS = "records"
    BYTES = "bytes"


class KeyLayout(StrEnum):
    """How the business parts stand in a record's key."""

    TENANT_ENTITY = "tenant_entity"  #: tenant U+001F entity
    TENANT = "tenant"  #: the key is the tenant
    ENTITY = "entity"  #: an opaque entity, no tenant


class PartitionsFrom(StrEnum):
    """Where the production partition of a record is taken from."""

    SOURCE = "source"  #: the source has production's partitions, as a replicator keeps them
    COMPUTED = "computed"  #: computed from the key by the topic's partitioner


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """One production topic as settings describe it.

    ``partitions`` is the partition count in production; ``None`` means that it is asked from the
    production cluster (or, with ``PartitionsFrom.SOURCE`` and no such topic there, from the source).
    """

    name: str
    sources: tuple[str, ...]
    layout: KeyLayout = KeyLayout.TENANT_ENTITY
    partitioner: str = "murmur2"
    partitions: int | None = None
    partitions_from: PartitionsFrom = PartitionsFrom.SOURCE
    mode: Mode = Mode.SHADOW
    ordering: Ordering = Ordering.PER_KEY
    load: Load = Load.RECORDS
    compacted: bool = False
    #: Something joins the topic with another one partition by partition.
    copartitioned: bool = False
    #: How long a record stays readable in production: its retention.
    readable_s: float = 604_800.0
    policy: Policy = field(default_factory=Policy)
