"""Causes in the order in which they are asked, each with its remedies; the first that holds is the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.verdict import Verdict
from hotshard.core.wire.route import Treatment

if TYPE_CHECKING:
    from hotshard.core.causes.evidence import Evidence


def judge(evidence: Evidence) -> Verdict:
    """Say why load is uneven and what would help; also where nothing is wrong."""
    cause, treatment = _first(evidence)
    names = (*evidence.hot_keys, *evidence.hot_tenants)
    return Verdict(
        cause=cause,
        treatment=treatment,
        reason=str(cause),
        completeness=evidence.completeness,
        unjudged=() if evidence.lag is not None else ("lag",),
        sentence=f"The cause is {cause}; the treatment {treatment}.",
        name=names[0].name if names else None,
    )


def _first(evidence: Evidence) -> tuple[Cause, Treatment]:
    if evidence.hot_keys:
        return Cause.HOT_KEY, Treatment.SPLIT if evidence.hot_keys[0].refusal is None else Treatment.REKEY
    if evidence.hot_tenants:
        return Cause.HOT_TENANT, Treatment.ISOLATE
    return Cause.NONE, Treatment.NONE
