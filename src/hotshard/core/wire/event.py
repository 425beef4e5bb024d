"""Events: CloudEvents 1.0 in JSON, on the events topic."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

import msgspec

from hotshard.core.wire.route import Epoch, RouteState, Treatment

SCHEMA: Final = 1


class EventType(StrEnum):
    HOTKEY_DETECTED = "hotkey.detected"
    HOTKEY_COOLED = "hotkey.cooled"
    HOTTENANT_DETECTED = "hottenant.detected"
    HOTTENANT_COOLED = "hottenant.cooled"
    PLAN_PROPOSED = "plan.proposed"
    PLAN_ACTIVATED = "plan.activated"
    PLAN_RETIRED = "plan.retired"


class Finding(msgspec.Struct, frozen=True, kw_only=True, tag="finding", tag_field="kind"):
    """Evidence of heat: the load of a key or tenant in a view, with its bounds."""

    schema: int = SCHEMA
    topic: str
    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    #: Length of the view the verdict rests on, seconds.
    view_s: float
    total: int
    lower: int
    upper: int
    share: float
    load_per_s: float
    #: Every key with more than ``threshold`` load in the view is known.
    threshold: int
    completeness: float
    since_ms: int
    treatment: Treatment
    reason: str
    #: Partitions the key was seen on, the most loaded first.
    partitions: tuple[int, ...] = ()
    #: What it was held against: the thresholds that are set, its flaps.
    numbers: dict[str, float] = {}


class PlanChange(msgspec.Struct, frozen=True, kw_only=True, tag="plan", tag_field="kind"):
    """A plan proposed, activated (also resized) or retired."""

    schema: int = SCHEMA
    topic: str
    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    treatment: Treatment
    state: RouteState
    epoch: Epoch
    suffixes: tuple[str, ...]
    partitions: tuple[int, ...]
    share: float
    imbalance_before: float | None = None
    imbalance_after: float | None = None
    reason: str


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The CloudEvents envelope. ``id`` is made from topic, key, epoch and kind, so it never changes."""

    specversion: Literal["1.0"] = "1.0"
    id: str
    source: str
    type: EventType
    subject: str
    #: RFC 3339, UTC, with milliseconds.
    time: str
    datacontenttype: Literal["application/json"] = "application/json"
    data: Finding | PlanChange


_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    return _encoder.encode(event)
