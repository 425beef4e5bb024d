"""Why something turned hot, as far as the views say at that moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.causes.evidence import Evidence, HotName
from hotshard.core.causes.table import judge
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.terms import terms_of
from hotshard.core.policy.fairness import bearable_load
from hotshard.core.policy.rules import limits
from hotshard.core.wire.event import EventType, Finding
from hotshard.core.wire.names import key_bytes
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from hotshard.core.deciding.heat import Found, TopicHeat
    from hotshard.core.deciding.moment import Measured
    from hotshard.core.policy.thresholds import Policy
    from hotshard.core.topic import TopicSpec

_HEATED: Final = {EventType.HOTKEY_DETECTED: HotKind.KEY, EventType.HOTTENANT_DETECTED: HotKind.TENANT}


def with_cause(found: Found, heat: TopicHeat, spec: TopicSpec) -> Finding:
    """What turned hot with why that is and what would help; what cooled as it is.

    The views know no distinct keys and no windows before, so few keys or a burst are for the window's
    report to tell. Of a tenant that is hot by keys of its that are hot themselves, what helps is what helps those.
    """
    kind = _HEATED.get(found.kind)
    if kind is None:
        return found.finding
    name = key_bytes(found.finding.key, found.finding.key_b64)
    if kind is HotKind.TENANT:
        tenants: tuple[HotName, ...] = (_tenant(found.finding, name, heat),)
        measured = {key: each for key, each in heat.hot_loads().items() if each.tenant == name}
        policy = heat.policies.of_tenant(name)
    else:
        tenants, measured = (), heat.measured((name,))
        policy = heat.policies.of(name)
    keys = tuple(_key(key, each, spec) for key, each in measured.items())
    verdict = judge(_evidence(found.finding, keys, tenants, heat, spec=spec, policy=policy))
    treatment = found.finding.treatment if verdict.name is None else verdict.treatment
    return msgspec.structs.replace(
        found.finding, cause=str(verdict.cause), advice=verdict.sentence, treatment=treatment
    )


def _key(name: bytes, measured: Measured, spec: TopicSpec) -> HotName:
    """A hot key in the view that plans are made on."""
    refusal = forbidden(name, spec)
    by_partition = sorted(measured.current.items(), key=lambda each: (-each[1], each[0]))
    policy, seconds = measured.policy or spec.policy, measured.loads_s
    per_s = policy.partition_capacity_per_s
    return HotName(
        name=name,
        lower=measured.lower,
        upper=measured.upper,
        share=measured.share,
        tenant=measured.tenant,
        by_partition=tuple((place, round(load)) for place, load in by_partition),
        partitions=tuple(place for place, _ in by_partition),
        refusal=None if refusal is None else str(refusal.reason),
        largest_sub=measured.largest_sub,
        terms=terms_of(spec, policy, capacity=None if per_s is None or not seconds else per_s * seconds),
    )


def _tenant(found: Finding, name: bytes, heat: TopicHeat) -> HotName:
    share = limits(heat.policies.of_tenant(name), len(heat.loads), HotKind.TENANT).keep_share
    parts = heat.tenant_parts(name)
    return HotName(
        name=name,
        lower=found.lower,
        upper=found.upper,
        share=found.share,
        largest_key=None if parts is None else parts.largest_key,
        keys=None if parts is None else parts.keys,
        bearable=bearable_load(found.lower, found.total, share=share),
    )


def _evidence(  # noqa: PLR0913  # each of another kind
    found: Finding,
    keys: tuple[HotName, ...],
    tenants: tuple[HotName, ...],
    heat: TopicHeat,
    *,
    spec: TopicSpec,
    policy: Policy,
) -> Evidence:
    tops = [(key.name, max((load for _, load in key.by_partition), default=0)) for key in keys]
    return Evidence(
        partitions=len(heat.loads),
        partitioner=partitioner(spec.partitioner).name,
        eps=policy.eps,
        loads=tuple(round(load) for load in heat.loads),
        records=found.total,
        top_of_hottest=tuple(sorted(tops, key=lambda each: (-each[1], each[0]))),
        hot_keys=keys,
        hot_tenants=tenants,
        capacity_per_s=policy.partition_capacity_per_s,
        completeness=found.completeness,
        span_s=found.view_s,
    )
