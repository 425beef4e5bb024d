"""What would help each hot key and tenant, and by how much."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.causes.evidence import Cause, Evidence, HotName
from hotshard.core.causes.figures import figures
from hotshard.core.causes.holds import keys_are_few
from hotshard.core.causes.remedies import REMEDIES
from hotshard.core.deciding.drafting import advised
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.hindrances import Circumstances, hindered
from hotshard.core.planning.score import imbalance, without_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.terms import terms_of
from hotshard.core.planning.together import plan_all
from hotshard.core.planning.verdict import Plan, Refusal, RefusalReason
from hotshard.core.scanning.gathering import spread_out
from hotshard.core.topic import Ordering
from hotshard.core.wire.route import Treatment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.scanning.overview import Overview

#: Keys, and tenants, that are advised upon: the heaviest.
MAX_KEYS: Final = 100
MAX_TENANTS: Final = 20
#: A tenant with one hot key that has this part of its load is helped by what helps that key.
_ONE_KEY: Final = 0.5

#: Reasons not to split a key that are of the whole of the input, and not of the key.
_NO_TROUBLE: Final = frozenset({RefusalReason.NOT_WORTH, RefusalReason.PARTITION_NOT_ABOVE})

_IF: Final = {
    Ordering.PER_DISCRIMINATOR: "right where only records of one sub-unit must stay in order, and producers name it",
    Ordering.NONE: "right where order does not matter",
    Ordering.PER_KEY: "",
}


class Advice(NamedTuple):
    """What would help a key, or a tenant; without shards where it is not split."""

    key: bytes | None
    tenant: bytes | None
    treatment: Treatment
    reason: str
    detail: str
    imbalance_before: float | None
    imbalance_after: float | None
    suffixes: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()


def advice_of(view: Overview, evidence: Evidence) -> list[Advice]:
    """Of keys first, then of tenants, each the heaviest first."""
    few = evidence.distinct_keys if keys_are_few(evidence) else None
    now = Circumstances(partitions=evidence.partitions, eps=evidence.eps, distinct_keys=few)
    return [*_of_keys(view, evidence.hot_keys[:MAX_KEYS], now), *_of_tenants(evidence)]


def _of_keys(view: Overview, hots: Sequence[HotName], now: Circumstances) -> list[Advice]:
    """Planned together over all of the input; what is no trouble there as it was in its hottest window."""
    if view.setting.by_tenant:
        return []
    refusals = ((hot.name, forbidden(hot.name, view.setting.spec) or hindered(hot.name, now)) for hot in hots)
    verdicts: dict[bytes, Plan | Refusal] = {name: refusal for name, refusal in refusals if refusal is not None}
    free = {hot.name: (hot.lower + hot.upper) / 2 for hot in hots if hot.name not in verdicts}
    verdicts |= _planned(view, free, view.loads)
    for name in free:
        verdict = verdicts[name]
        if isinstance(verdict, Refusal) and verdict.reason in _NO_TROUBLE:
            spell = view.findings.keys[name]
            verdicts |= _planned(view, {name: spell.worst.upper}, spread_out(spell.loads, len(view.loads)))
    return [_of_key(verdicts[hot.name], hot, view) for hot in hots]


def _planned(view: Overview, hots: Mapping[bytes, float], loads: Sequence[int]) -> Mapping[bytes, Plan | Refusal]:
    if not hots:
        return {}
    current = {name: _where(view, name, load, loads) for name, load in hots.items()}
    background = [float(load) for load in loads]
    for each in current.values():
        background = without_load(background, each)
    loaded = [HotLoad(name, sum(each.values()) or hots[name], each or None) for name, each in current.items()]
    together = plan_all(loaded, background, terms_of(view.setting.spec))
    return {verdict.key: verdict for verdict in together.verdicts}


def _where(view: Overview, name: bytes, load: float, loads: Sequence[int]) -> dict[int, float]:
    """Where a key lies, with no more than the partitions have."""
    place = view.setting.place
    if place is not None:
        partition = place(name)
        return {} if partition is None else {partition: min(load, loads[partition])}
    there = {p: float(row.estimate) for p, keys in view.overall.keys_of.items() if (row := keys.get(name)) is not None}
    whole = sum(there.values())
    return {p: min(load * part / whole, loads[p]) for p, part in there.items()} if whole else {}


def _of_key(verdict: Plan | Refusal, hot: HotName, view: Overview) -> Advice:
    if isinstance(verdict, Refusal):
        return Advice(
            hot.name, hot.tenant, advised(verdict), str(verdict.reason), verdict.detail, imbalance(view.loads), None
        )
    return Advice(
        hot.name,
        hot.tenant,
        Treatment.SPLIT,
        str(verdict.reason),
        _IF[view.setting.spec.ordering],
        verdict.imbalance_before,
        verdict.imbalance_after,
        verdict.suffixes,
        verdict.partitions,
    )


def _of_tenants(evidence: Evidence) -> list[Advice]:
    hot = {key.name for key in evidence.hot_keys}
    wide = [t for t in evidence.hot_tenants if not (hot and t.largest_key is not None and t.largest_key > _ONE_KEY)]
    return [_of_tenant(evidence, tenant) for tenant in wide[:MAX_TENANTS]]


def _of_tenant(evidence: Evidence, tenant: HotName) -> Advice:
    alone = replace(evidence, hot_keys=(), hot_tenants=(tenant,))
    remedy = next(each for each in REMEDIES[Cause.HOT_TENANT] if each.fits(alone))
    after = remedy.after(alone)
    numbers = figures(alone, tenant, after)
    try:
        detail = remedy.do.format(**numbers)
    except KeyError:
        detail = ""
    return Advice(None, tenant.name, remedy.treatment, remedy.reason, detail, imbalance(evidence.loads), after)
