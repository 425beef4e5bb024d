"""Events as they are told: what was found, and what became of a plan."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hotshard.core.wire.event import Event, EventType, Finding, Ordered, PlanChange, Skewed
from hotshard.core.wire.names import key_text
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from hotshard.core.policy.evidence import Turned
    from hotshard.core.wire.event import Told
    from hotshard.core.wire.orders import Done
    from hotshard.core.wire.route import Epoch, Route, Treatment

_TURNED: Final = {
    (HotKind.KEY, True): EventType.HOTKEY_DETECTED,
    (HotKind.KEY, False): EventType.HOTKEY_COOLED,
    (HotKind.TENANT, True): EventType.HOTTENANT_DETECTED,
    (HotKind.TENANT, False): EventType.HOTTENANT_COOLED,
}


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


def turned(  # noqa: PLR0913  # what was seen, each part by itself
    topic: str,
    kind: HotKind,
    turned: Turned,
    *,
    tenant: str | None,
    least: int,
    treatment: Treatment,
    partitions: tuple[int, ...],
) -> tuple[EventType, Finding]:
    """What is told of a key or tenant that turned hot or cold; ``least`` is the load above which all is known."""
    text, b64 = key_text(turned.name)
    return _TURNED[kind, turned.hot], Finding(
        topic=topic,
        key=text,
        key_b64=b64,
        tenant=tenant,
        view_s=round(turned.view_s, 3),
        total=turned.total,
        lower=turned.lower,
        upper=turned.upper,
        share=turned.share,
        load_per_s=turned.load_per_s,
        threshold=least,
        completeness=turned.completeness,
        since_ms=turned.since_ms,
        treatment=treatment,
        reason=str(turned.reason),
        partitions=partitions,
        numbers={name: round(value, 6) for name, value in turned.numbers.items()},
    )


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
