"""Causes in the order in which they are asked; the first that holds is the verdict. Nothing wrong is a verdict, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.causes import holds, treatable
from hotshard.core.causes.advice import Case, advice, phrase
from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.figures import figures
from hotshard.core.causes.remedies import REMEDIES
from hotshard.core.causes.sentences import sentence, what
from hotshard.core.causes.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.causes.evidence import Evidence, HotName


class Row(NamedTuple):
    cause: Cause
    holds: Callable[[Evidence], bool]


TABLE: Final = (
    Row(Cause.NONE, holds.nothing_is_wrong),
    Row(Cause.FEW_KEYS, holds.keys_are_few),
    Row(Cause.NO_KEY, holds.keys_are_missing),
    Row(Cause.STUCK_PARTITION, holds.partition_is_stuck),
    Row(Cause.SLOW_CONSUMERS, holds.consumers_are_slow),
    Row(Cause.BURST, holds.is_a_burst),
    Row(Cause.SEQUENTIAL_KEY, holds.keys_are_a_sequence),
    Row(Cause.HOT_DISCRIMINATOR, holds.its_discriminator_is_hot),
    Row(Cause.HOT_KEY, holds.one_key_is_hot),
    Row(Cause.HOT_TENANT, holds.a_tenant_is_hot),
    Row(Cause.COLLISION, holds.middling_keys_collide),
    Row(Cause.MIXED_PARTITIONERS, holds.places_are_not_one),
    Row(Cause.UNKNOWN, treatable.always),
)


def judge(evidence: Evidence) -> Verdict:
    """Say why load is uneven and what would help; also where nothing is wrong."""
    held = [row.cause for row in TABLE if row.holds(evidence)]
    cause, also = held[0], tuple(each for each in held[1:] if each is not Cause.UNKNOWN)
    remedy = next(each for each in REMEDIES[cause] if each.fits(evidence))
    name = _about(cause, evidence)
    numbers = figures(evidence, name, remedy.after(evidence))
    if evidence.capacity_per_s is not None:
        numbers.setdefault("capacity_per_s", evidence.capacity_per_s)
    shown_name = _name(cause, evidence, name)
    codes = advice(Case(evidence, cause, remedy.treatment, shown_name))
    return Verdict(
        cause=cause,
        treatment=remedy.treatment,
        reason=remedy.reason,
        numbers=numbers,
        completeness=evidence.completeness,
        unjudged=unjudged(evidence),
        sentence=sentence(
            what(cause, evidence, name, numbers), remedy.in_words(numbers), phrase(codes[0]) if codes else None
        ),
        name=shown_name,
        also=() if cause is Cause.NONE else also,
        advice=codes,
    )


def unjudged(evidence: Evidence) -> tuple[str, ...]:
    """What could not be judged for want of evidence.

    ``lag``: whether consumers are slow or stuck. ``distinct_keys``: whether keys are few. ``history``:
    whether it is a burst, or moves. ``discriminator``: whether the hot key's sub-units are spread.
    ``unkeyed_partitions``: where records without a key lie.
    """
    missing = {
        "lag": evidence.lag is None,
        "distinct_keys": evidence.distinct_keys is None,
        "history": evidence.windows < holds.LEAST_WINDOWS,
        "discriminator": any(key.largest_sub is None for key in evidence.hot_keys),
        "unkeyed_partitions": evidence.unkeyed > 0 and not evidence.unkeyed_loads,
    }
    return tuple(code for code, is_missing in missing.items() if is_missing)


def _about(cause: Cause, evidence: Evidence) -> HotName | None:
    """The hot key or tenant that a verdict with this cause is about."""
    key = holds.lead_key(evidence) or next(iter(evidence.hot_keys), None)
    tenant = treatable.lead_tenant(evidence)
    if cause in {Cause.HOT_KEY, Cause.HOT_DISCRIMINATOR, Cause.FEW_KEYS}:
        return key
    if cause is Cause.BURST:
        return key or tenant or next(iter(evidence.hot_tenants), None)
    return tenant if cause is Cause.HOT_TENANT else None


def _name(cause: Cause, evidence: Evidence, about: HotName | None) -> bytes | None:
    if about is not None:
        return about.name
    if cause is Cause.FEW_KEYS:
        return treatable.main_name(evidence)
    if cause is Cause.MIXED_PARTITIONERS and evidence.scattered:
        return evidence.scattered[0][0]
    return None
