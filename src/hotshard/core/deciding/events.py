"""Events as they are told: what was found, and what became of a plan."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hotshard.core.wire.event import Event, EventType, Ordered, PlanChange, Skewed

if TYPE_CHECKING:
    from hotshard.core.wire.event import Told
    from hotshard.core.wire.orders import Done
    from hotshard.core.wire.route import Epoch, Route


def rfc3339(at_ms: int) -> str:
    """UTC with milliseconds, as CloudEvents asks for."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event(kind: EventType, data: Told, *, namespace: str, epoch: Epoch, at_ms: int) -> Event:
    """Wrap ``data``. The same topic, key (or partition), epoch and kind give the same id, so a repeat can be told."""
    subject = f"{data.topic}/{_subject(data)}"
    return Event(
        id=f"{subject}/{epoch.registry}-{epoch.offset}/{kind}",
        source=f"hotshard/{namespace}",
        type=kind,
        subject=subject,
        time=rfc3339(at_ms),
        data=data,
    )


def _subject(data: Told) -> str:
    if isinstance(data, Skewed):
        return f"partition {data.partition}"
    if isinstance(data, Ordered):
        return f"command {data.id}"
    return data.key if data.key is not None else f"base64:{data.key_b64}"


def plan_change(route: Route) -> PlanChange:
    """What is told of a route that changed."""
    return PlanChange(
        topic=route.topic,
        key=route.key,
        key_b64=route.key_b64,
        tenant=route.tenant,
        treatment=route.treatment,
        state=route.state,
        epoch=route.epoch,
        suffixes=route.suffixes,
        partitions=route.partitions,
        share=route.share,
        imbalance_before=route.imbalance_before,
        imbalance_after=route.imbalance_after,
        reason=route.reason,
    )


def ordered(topic: str, done: Done) -> tuple[EventType, Ordered]:
    """What is told of a command that was dealt with."""
    kind = EventType.COMMAND_APPLIED if done.applied else EventType.COMMAND_REFUSED
    return kind, Ordered(
        topic=topic,
        key=done.key,
        key_b64=done.key_b64,
        id=done.id,
        command=done.kind,
        by=done.given.by,
        why=done.given.reason,
        reason=done.outcome,
    )
