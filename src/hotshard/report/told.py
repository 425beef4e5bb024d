"""An event in one line, for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.wire.event import Finding
from hotshard.report.names import key_name
from hotshard.report.numbers import percent

if TYPE_CHECKING:
    from hotshard.core.wire.event import Event, PlanChange


def event_line(event: Event) -> str:
    """Return what happened to which key or tenant of which topic, and why: the reason code stands last."""
    data = event.data
    name = key_name(data.key) if data.key is not None else f"base64 {data.key_b64}"
    what = _found(data) if isinstance(data, Finding) else _planned(data)
    return f"{event.type}: {data.topic}: {name}, {what} ({data.reason})"


def _found(finding: Finding) -> str:
    return f"{percent(finding.share)} of the load, {finding.load_per_s:,.0f}/s"


def _planned(change: PlanChange) -> str:
    where = f" over partitions {' '.join(map(str, change.partitions))}" if change.partitions else ""
    return f"{change.treatment}{where}"
