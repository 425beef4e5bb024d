"""Events: CloudEvents 1.0 in JSON, on the events topic."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

import msgspec

from hotshard.core.wire.command import CommandKind
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
    PLAN_INEFFECTIVE = "plan.ineffective"
    PARTITION_SKEW = "partition.skew"
    COMMAND_APPLIED = "command.applied"
    COMMAND_REFUSED = "command.refused"


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
    #: Why it is hot, as far as the views say, and one sentence of what to do; empty where it cooled.
    cause: str = ""
    advice: str = ""
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


class Ineffective(msgspec.Struct, frozen=True, kw_only=True, tag="effect", tag_field="kind"):
    """A plan that had time to show and did not do what it promised."""

    schema: int = SCHEMA
    topic: str
    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    treatment: Treatment
    #: The plan's epoch, and since when it has been given to producers.
    epoch: Epoch
    since_ms: int
    #: The last of the windows that say so, and how many of them there were.
    start_ms: int
    end_ms: int
    windows: int
    #: Load of the fullest partition that the key lies on over the mean: before, as promised, and as measured.
    imbalance_before: float
    imbalance_promised: float
    imbalance_measured: float
    completeness: float
    reason: str
    numbers: dict[str, float] = {}
    advice: str = ""
    #: Whether the plan is retired for it.
    retired: bool = False


class Skewed(msgspec.Struct, frozen=True, kw_only=True, tag="skew", tag_field="kind"):
    """A topic whose fullest partition has had more than five times the median for a minute and more."""

    schema: int = SCHEMA
    topic: str
    partition: int
    #: The last window of them, and since when it has been so.
    start_ms: int
    end_ms: int
    since_ms: int
    total: int
    max: int
    median: float
    ratio: float
    imbalance: float
    idle: int
    completeness: float
    cause: str
    treatment: str
    reason: str
    numbers: dict[str, float] = {}
    advice: str = ""


class Ordered(msgspec.Struct, frozen=True, kw_only=True, tag="command", tag_field="kind"):
    """A command of a person that was dealt with for one topic."""

    schema: int = SCHEMA
    topic: str
    #: The key it was for; neither for a command that was for the whole topic, or for all.
    key: str | None = None
    key_b64: str | None = None
    #: Its place in the registry's stream of commands.
    id: str
    command: CommandKind
    #: Who gave it, and what they said why.
    by: str
    why: str
    #: What came of it, or why nothing did.
    reason: str


#: What an event can tell.
Told = Finding | PlanChange | Ineffective | Skewed | Ordered


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
    data: Told


_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    return _encoder.encode(event)
