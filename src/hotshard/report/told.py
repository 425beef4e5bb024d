"""An event in one line, for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.wire.event import Finding, Ineffective, Ordered, Skewed
from hotshard.report.names import key_name
from hotshard.report.numbers import percent

if TYPE_CHECKING:
    from hotshard.core.wire.event import Event, PlanChange, Told


def event_line(event: Event) -> str:
    """Return what happened to which key or tenant of which topic, and why: the reason code stands last."""
    data = event.data
    return f"{event.type}: {data.topic}: {_what(data)} ({data.reason})"


def _what(data: Told) -> str:
    if isinstance(data, Skewed):
        return f"partition {data.partition}, {data.ratio:,.1f} times the median"
    if isinstance(data, Ordered):
        return _ordered(data)
    name = _name(data.key, data.key_b64)
    if isinstance(data, Finding):
        return f"{name}, {_found(data)}"
    return f"{name}, {_missed(data) if isinstance(data, Ineffective) else _planned(data)}"


def _name(key: str | None, key_b64: str | None) -> str:
    return key_name(key) if key is not None else f"base64 {key_b64}"


def _ordered(order: Ordered) -> str:
    """Who commanded what, and why; of what people wrote nothing acts on a terminal."""
    of_a_key = order.key is not None or order.key_b64 is not None
    about = f" {_name(order.key, order.key_b64)}" if of_a_key else ""
    by, why = key_name(order.by) or "nobody named", key_name(order.why)
    return f"{order.command}{about} by {by}" + (f": {why}" if why else "")


def _missed(plan: Ineffective) -> str:
    return f"{plan.imbalance_measured:.2f} times the mean, {plan.imbalance_promised:.2f} was promised"


def _found(finding: Finding) -> str:
    return f"{percent(finding.share)} of the load, {finding.load_per_s:,.0f}/s"


def _planned(change: PlanChange) -> str:
    where = f" over partitions {' '.join(map(str, change.partitions))}" if change.partitions else ""
    return f"{change.treatment}{where}"
