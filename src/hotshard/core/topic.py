"""What is known of one production topic: where it is read, how its keys are built, what may be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from hotshard.core.policy.thresholds import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping


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


class Place(StrEnum):
    """Where in a record a business part is found."""

    NOWHERE = "none"
    KEY = "key"  #: in the key, as the layout says
    HEADER = "header"
    JSON = "json"  #: a field of the value, which is a JSON object


@dataclass(frozen=True, slots=True)
class Field:
    """Where the tenant, or the discriminator, of a record stands; written ``key``, ``header:NAME``, ``json:a.b``."""

    place: Place = Place.NOWHERE
    #: The header's name, or the path to the field, its parts joined by dots.
    name: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """What a person wants for a key or for all keys of a tenant, whatever is measured."""

    #: Split over so many shards; 0: as many as the plan finds; None: never touch.
    shards: int | None


class Carry(StrEnum):
    """How a shard is reached: by a suffix to the key, or by giving the partition."""

    SUFFIX = "suffix"
    PARTITION = "partition"


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
    #: Where the tenant stands. With anything but ``KEY`` the key is opaque for the tenant's sake, not for its form.
    tenant: Field = Field(Place.KEY)
    #: Where the discriminator stands, as far as the detector can see it.
    discriminator: Field = Field()
    #: A second partitioner in the fleet: a plan then has only suffixes on which both agree.
    also_partitioner: str | None = None
    #: ``partition``: a split key stays as it is and producers give the partition.
    carry: Carry = Carry.SUFFIX
    #: Policies of single tenants, by tenant; all others have ``policy``.
    tenant_policies: Mapping[str, Policy] = field(default_factory=lambda: MappingProxyType({}))
    #: Pins by key (with U+001F between tenant and entity), and by tenant.
    pins: Mapping[str, Pin] = field(default_factory=lambda: MappingProxyType({}))
    tenant_pins: Mapping[str, Pin] = field(default_factory=lambda: MappingProxyType({}))
    #: Consumer groups that read it in production, whose lag is looked at.
    groups: tuple[str, ...] = ()
