"""The imbalance that a remedy leaves for what the verdict is about: the key or tenant that leads.

Every function answers None where nothing leads, or the evidence does not tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.causes import outcome
from hotshard.core.causes.holds import lead_key
from hotshard.core.causes.measures import keyed
from hotshard.core.causes.treatable import lead_tenant
from hotshard.core.planning.verdict import Plan

if TYPE_CHECKING:
    from hotshard.core.causes.evidence import Evidence


def not_computed(_: Evidence) -> float | None:
    """The treatment moves no load that was measured."""
    return None


def unchanged(evidence: Evidence) -> float | None:
    return keyed(evidence).skew.imbalance


def all_even(_: Evidence) -> float | None:
    """Keys so many that they lie evenly: the best that a better key can do."""
    return 1.0


def key_isolated(evidence: Evidence) -> float | None:
    key = lead_key(evidence)
    return None if key is None else outcome.after_isolating(evidence, key)


def key_spread(evidence: Evidence) -> float | None:
    key = lead_key(evidence)
    return None if key is None else outcome.after_spreading(evidence, key)


def key_split(evidence: Evidence) -> float | None:
    key = lead_key(evidence)
    found = None if key is None else outcome.split(evidence, key)
    return found.imbalance_after if isinstance(found, Plan) else None


def key_limited(evidence: Evidence) -> float | None:
    key = lead_key(evidence)
    capacity = None if key is None else outcome.capacity(evidence, key)
    return None if key is None or capacity is None else outcome.after_limiting(evidence, key, capacity)


def tenant_isolated(evidence: Evidence) -> float | None:
    tenant = lead_tenant(evidence)
    return None if tenant is None else outcome.after_isolating(evidence, tenant)


def tenant_limited(evidence: Evidence) -> float | None:
    tenant = lead_tenant(evidence)
    load = None if tenant is None else outcome.bearable(evidence, tenant)
    return None if tenant is None or load is None else outcome.after_limiting(evidence, tenant, load)
