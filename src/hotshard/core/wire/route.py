"""Routes (what producers obey) and hot entries (what is hot now), as the registry holds them. JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from hotshard.core.topic import Carry, Ordering
from hotshard.core.wire.names import key_bytes
from hotshard.core.wire.orders import Orders

SCHEMA: Final = 1

#: Earlier places of one key: beyond these the oldest goes when they are written, and it is damage when they are read.
MAX_EARLIER: Final = 64


class Treatment(StrEnum):
    """What is done, or advised, about a hot key or tenant."""

    NONE = "none"
    SPLIT = "split"
    ISOLATE = "isolate"
    THROTTLE = "throttle"
    REKEY = "rekey"
    SCALE_CONSUMERS = "scale_consumers"
    DEAD_LETTER = "dead_letter"
    ADD_PARTITIONS = "add_partitions"


class RouteState(StrEnum):
    """Where a route stands. Producers obey ``changing``, ``active`` and ``retiring``."""

    PROPOSED = "proposed"
    CHANGING = "changing"
    ACTIVE = "active"
    RETIRING = "retiring"
    RETIRED = "retired"


class Epoch(msgspec.Struct, frozen=True, order=True):
    """When a route was made: the registry's epoch, and the offset in the panes topic that caused it."""

    registry: int
    offset: int


class EarlierRoute(msgspec.Struct, frozen=True, kw_only=True):
    """Where data of the key may still lie from before: without suffixes under the key itself, on ``partitions``."""

    epoch: Epoch
    suffixes: tuple[str, ...]
    partitions: tuple[int, ...]
    until_ms: int


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """What producers do with one base key of one topic."""

    schema: int = SCHEMA
    topic: str
    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    treatment: Treatment = Treatment.SPLIT
    state: RouteState
    epoch: Epoch
    #: One suffix per shard, the shard's number being its place here; none with ``carry`` ``partition``.
    suffixes: tuple[str, ...] = ()
    #: The partition of each shard. With ``carry`` ``suffix`` the one each suffix lands on, as many as suffixes.
    partitions: tuple[int, ...] = ()
    partition_count: int
    partitioner: str
    #: A second partitioner of the fleet, which sends every suffix to the same partition.
    also_partitioner: str | None = None
    carry: Carry = Carry.SUFFIX
    ordering: Ordering = Ordering.NONE
    since_ms: int
    changed_ms: int
    #: Share of the topic's load, and the bounds of the load per view, when the route was last changed.
    share: float = 0.0
    lower: int = 0
    upper: int = 0
    reason: str = ""
    imbalance_before: float | None = None
    imbalance_after: float | None = None
    #: The same of the key's own partitions: the load of the fullest over the mean. Others may be as full.
    own_before: float | None = None
    own_after: float | None = None
    earlier: tuple[EarlierRoute, ...] = ()

    @property
    def base_key(self) -> bytes:
        return key_bytes(self.key, self.key_b64)


class HotKind(StrEnum):
    KEY = "key"
    TENANT = "tenant"


class HotEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A key or tenant that is hot now: for information, in every mode."""

    schema: int = SCHEMA
    topic: str
    kind: HotKind
    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    since_ms: int
    share: float
    lower: int
    upper: int
    load_per_s: float
    reason: str = ""

    @property
    def name(self) -> bytes:
        return key_bytes(self.key, self.key_b64)


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    """All that the registry holds of one topic. ``(epoch, version)`` only ever rises."""

    topic: str
    #: Made new when the state topic is; a higher one wins whatever the version.
    epoch: int
    version: int
    at_ms: int
    routes: tuple[Route, ...] = ()
    hot: tuple[HotEntry, ...] = ()
    #: What people ordered, and the topic's mode: for people, no producer reads them.
    orders: Orders = Orders()
    mode: str = ""
