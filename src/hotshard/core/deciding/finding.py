"""Why something turned hot, as far as the views say at that moment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.causes.evidence import Evidence, HotName
from hotshard.core.causes.table import judge
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.allowed import forbidden
from hotshard.core.policy.fairness import bearable_load
from hotshard.core.policy.rules import limits
from hotshard.core.wire.event import EventType, Finding
from hotshard.core.wire.names import key_bytes
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.deciding.heat import Found, TopicHeat
    from hotshard.core.topic import TopicSpec

_HEATED: Final = {EventType.HOTKEY_DETECTED: HotKind.KEY, EventType.HOTTENANT_DETECTED: HotKind.TENANT}


def with_cause(found: Found, heat: TopicHeat, spec: TopicSpec) -> Finding:
    """What turned hot with why that is and what would help; what cooled as it is.

    The views know no distinct keys and no windows before, so few keys or a burst are for the window's
    report to tell.
    """
    kind = _HEATED.get(found.kind)
    if kind is None:
        return found.finding
    name = key_bytes(found.finding.key, found.finding.key_b64)
    measured = heat.measured((name,)).get(name) if kind is HotKind.KEY else None
    hot = _hot(found.finding, name, {} if measured is None else measured.current)
    if kind is HotKind.KEY and (refusal := forbidden(name, spec)) is not None:
        hot = replace(hot, refusal=str(refusal.reason))
    if kind is HotKind.TENANT and (parts := heat.tenant_parts(name)) is not None:
        share = limits(spec.policy, len(heat.loads), kind).keep_share
        bearable = bearable_load(hot.lower, found.finding.total, share=share)
        hot = replace(hot, largest_key=parts.largest_key, keys=parts.keys, bearable=bearable)
    verdict = judge(_evidence(found.finding, hot, kind, heat.loads, spec))
    treatment = verdict.treatment if verdict.name == name else found.finding.treatment
    return msgspec.structs.replace(
        found.finding, cause=str(verdict.cause), advice=verdict.sentence, treatment=treatment
    )


def _hot(found: Finding, name: bytes, places: Mapping[int, float]) -> HotName:
    return HotName(
        name=name,
        lower=found.lower,
        upper=found.upper,
        share=found.share,
        by_partition=tuple((place, round(load)) for place, load in places.items()),
        partitions=found.partitions,
    )


def _evidence(found: Finding, hot: HotName, kind: HotKind, loads: Sequence[float], spec: TopicSpec) -> Evidence:
    most = max((load for _, load in hot.by_partition), default=0)
    return Evidence(
        partitions=len(loads),
        partitioner=partitioner(spec.partitioner).name,
        eps=spec.policy.eps,
        loads=tuple(round(load) for load in loads),
        records=found.total,
        top_of_hottest=((hot.name, most),),
        hot_keys=(hot,) if kind is HotKind.KEY else (),
        hot_tenants=(hot,) if kind is HotKind.TENANT else (),
        capacity_per_s=spec.policy.partition_capacity_per_s,
        completeness=found.completeness,
        span_s=found.view_s,
    )
