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
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.score import imbalance, without_load
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.terms import terms_of
from hotshard.core.planning.together import plan_all
from hotshard.core.planning.verdict import Plan, Refusal, RefusalReason
from hotshard.core.scanning.gathering import spread_out, terms_for
from hotshard.core.scanning.steps import Gain, Step, Steps, gain, moved
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
    #: The same of the partitions that a plan has to do with: others may be as full.
    own_before: float | None = None
    own_after: float | None = None
    #: The imbalances are those of the window in which the key had its largest share, with all other plans obeyed.
    in_window: bool = False


def advice_of(view: Overview, evidence: Evidence) -> list[Advice]:
    """Of keys first, then of tenants, each the heaviest first.

    What keys get is a list to be obeyed from its top: each begins with the imbalance that those before it leave.
    """
    return [*_of_keys(view, evidence), *_of_tenants(evidence)]


def _circumstances(key: HotName, evidence: Evidence) -> Circumstances:
    there = key.partitions[0] if key.partitions else None
    unkeyed = 0 if there is None or not evidence.unkeyed_loads else evidence.unkeyed_loads[there]
    return Circumstances(
        partitions=evidence.partitions,
        eps=evidence.eps if key.terms is None else key.terms.eps,
        distinct_keys=evidence.distinct_keys if keys_are_few(evidence) else None,
        partition_load=0 if there is None else evidence.loads[there] + unkeyed,
        unkeyed_load=unkeyed,
        elsewhere=any(key.name == name for name, _ in evidence.scattered),
    )


def _of_keys(view: Overview, evidence: Evidence) -> list[Advice]:
    """Planned together over all of the input; what is no trouble there, as it was in its hottest window."""
    if view.setting.by_tenant:
        return []
    hots, spec = evidence.hot_keys[:MAX_KEYS], view.setting.spec
    verdicts: dict[bytes, Plan | Refusal] = {}
    for hot in hots:
        refusal = forbidden(hot.name, spec) or hindered(hot.name, _circumstances(hot, evidence))
        if refusal is not None:
            verdicts[hot.name] = refusal
    free = {hot.name: (hot.lower + hot.upper) / 2 for hot in hots if hot.name not in verdicts}
    lies = {name: _where(view, name, load, view.loads) for name, load in free.items()}
    verdicts |= _planned(view, free, lies)
    steps = Steps(view.loads, terms_of(spec).eps)
    found = [*steps.of_all(hots, verdicts, lies)]
    return [_in_its_window(view, each, verdicts, lies, steps) or _of_key(each, view) for each in found]


def _planned(
    view: Overview, hots: Mapping[bytes, float], lies: Mapping[bytes, Mapping[int, float]]
) -> Mapping[bytes, Plan | Refusal]:
    if not hots:
        return {}
    background = [float(load) for load in view.loads]
    for each in lies.values():
        background = without_load(background, each)
    loaded = [HotLoad(name, sum(lies[name].values()) or load, lies[name] or None) for name, load in hots.items()]
    own = {name: terms_for(view.setting, view.owner(name), view.span_s) for name in hots}
    together = plan_all(loaded, background, terms_of(view.setting.spec), own)
    return {verdict.key: verdict for verdict in together.verdicts}


def _in_its_window(
    view: Overview,
    step: Step,
    verdicts: dict[bytes, Plan | Refusal],
    lies: Mapping[bytes, Mapping[int, float]],
    steps: Steps,
) -> Advice | None:
    """What would have helped a key that is no trouble over all of the input, had the other plans been obeyed then.

    None where nothing would, or what does would make all of the input less even than it may be.
    """
    name = step.hot.name
    if not isinstance(step.verdict, Refusal) or step.verdict.reason not in _NO_TROUBLE:
        return None
    then = _planned_then(view, step.hot, verdicts)
    if isinstance(then.verdict, Refusal) or not steps.bears(then.verdict, lies[name]):
        return None
    verdicts[name] = then.verdict
    return _of_key(then, view)._replace(in_window=True)


def _planned_then(view: Overview, key: HotName, verdicts: Mapping[bytes, Plan | Refusal]) -> Step:
    spell = view.findings.keys[key.name]
    loads: Sequence[float] = spread_out(spell.loads, len(view.loads))
    for other in spell.among:
        plan = verdicts.get(other.name)
        if other.name != key.name and isinstance(plan, Plan):
            loads = moved(loads, _where(view, other.name, other.upper, loads), plan.partitions)
    there = _where(view, key.name, spell.worst.upper, loads)
    hot = HotLoad(key.name, sum(there.values()) or spell.worst.upper, there or None)
    terms = terms_for(view.setting, view.owner(key.name), spell.span_s)
    found = plan_split(hot, without_load(loads, there), terms)
    if isinstance(found, Refusal):
        return Step(key, found, Gain(imbalance(loads)))
    return Step(key, found, gain(loads, moved(loads, there, found.partitions), there, found.partitions))


def _where(view: Overview, name: bytes, load: float, loads: Sequence[float]) -> dict[int, float]:
    """Where a key lies, with no more than the partitions have."""
    place = view.setting.place
    if place is not None:
        partition = place(name)
        return {} if partition is None else {partition: min(load, loads[partition])}
    there = {p: float(row.estimate) for p, keys in view.overall.keys_of.items() if (row := keys.get(name)) is not None}
    whole = sum(there.values())
    return {p: min(load * part / whole, loads[p]) for p, part in there.items()} if whole else {}


def _of_key(step: Step, view: Overview) -> Advice:
    hot, verdict, brings = step
    if isinstance(verdict, Refusal):
        treatment = Treatment.NONE if verdict.reason in _NO_TROUBLE else advised(verdict)
        return Advice(hot.name, hot.tenant, treatment, str(verdict.reason), verdict.detail, brings.before, None)
    return Advice(
        hot.name,
        hot.tenant,
        Treatment.SPLIT,
        str(verdict.reason),
        _IF[view.setting.spec.ordering],
        brings.before,
        brings.after,
        verdict.suffixes,
        verdict.partitions,
        brings.own_before,
        brings.own_after,
    )


def _of_tenants(evidence: Evidence) -> list[Advice]:
    hot = {key.name for key in evidence.hot_keys}
    wide = [t for t in evidence.hot_tenants if not (hot and t.largest_key is not None and t.largest_key > _ONE_KEY)]
    return [_of_tenant(evidence, tenant) for tenant in wide[:MAX_TENANTS]]


def _of_tenant(evidence: Evidence, tenant: HotName) -> Advice:
    alone = replace(evidence, hot_keys=(), hot_tenants=(tenant,))
    remedy = next(each for each in REMEDIES[Cause.HOT_TENANT] if each.fits(alone))
    after = remedy.after(alone)
    detail = remedy.in_words(figures(alone, tenant, after))
    return Advice(None, tenant.name, remedy.treatment, remedy.reason, detail, imbalance(evidence.loads), after)
