"""When something is hot and when it is cold: named predicates on the evidence, each defined in one sentence.

Their proof is the table of cases in ``tests/unit/test_policy_rules.py``; a rule is added with its cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hotshard.core.planning.worth import min_share
from hotshard.core.policy.evidence import HeatReason
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from hotshard.core.policy.evidence import Heat, Totals, ViewTotals
    from hotshard.core.policy.thresholds import Policy

#: A view over less than this says nothing about cooling.
SETTLED_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A policy made concrete for keys or for tenants of a topic with so many partitions."""

    on_share: float
    off_share: float
    fast_share: float
    floor_fast: int
    name_per_s: float
    off_per_s: float
    #: The long view decides once it is longer than the short one can be.
    slow_from_s: float


def limits(policy: Policy, partitions: int, kind: HotKind) -> Limits:
    """The limits for keys, or for tenants.

    With one partition a key is named from the share that two would ask for; nothing helps it there.
    """
    least = policy.on_share if policy.on_share is not None else min_share(policy.eps, max(2, partitions))
    on_share = policy.tenant_on_share if kind is HotKind.TENANT else least
    return Limits(
        on_share=on_share,
        off_share=on_share * policy.off_ratio,
        fast_share=on_share * policy.fast_ratio,
        floor_fast=policy.floor_fast,
        name_per_s=policy.floor_name_per_s,
        off_per_s=policy.floor_name_per_s * policy.off_ratio,
        slow_from_s=policy.fast_view_s,
    )


def hot_reason(heat: Heat, views: ViewTotals, to: Limits) -> HeatReason | None:
    """The first rule that turns it hot, or None."""
    if surely_floods(heat, views.fast, to):
        return HeatReason.FAST_SHARE
    if surely_holds_share(heat, views.slow, to):
        return HeatReason.SLOW_SHARE
    return None


def cold_reason(heat: Heat, views: ViewTotals, to: Limits) -> HeatReason | None:
    """The first rule by which it is cold at this moment, or None.

    Also None where the view cannot tell, or where a rule would turn it hot: a flood that has just begun
    shows in the short view while the long one is still below.
    """
    if not settled(views.slow) or hot_reason(heat, views, to) is not None:
        return None
    if share_surely_below(heat, views.slow, to):
        return HeatReason.SHARE_BELOW
    if load_surely_below(heat, views.slow, to):
        return HeatReason.LOAD_BELOW
    return None


def surely_floods(heat: Heat, fast: Totals, to: Limits) -> bool:
    """In the short view its lower bound reaches the fast share, the fast floor and the rate for a name."""
    if heat.fast is None or heat.fast.lower < to.floor_fast:
        return False
    return fast.share(heat.fast.lower) >= to.fast_share and fast.per_s(heat.fast.lower) >= to.name_per_s


def surely_holds_share(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The long view is longer than the short one can be, and in it the lower bound reaches share and rate."""
    if slow.span_s < to.slow_from_s:
        return False
    return slow.share(heat.slow.lower) >= to.on_share and slow.per_s(heat.slow.lower) >= to.name_per_s


def settled(slow: Totals) -> bool:
    """The long view covers a second at least and no partition is missing, so that absence means something."""
    return slow.span_s >= SETTLED_S and slow.completeness >= 1


def share_surely_below(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The topic has load, and the upper bound is below the share that turns off."""
    return slow.load > 0 and slow.share(heat.slow.upper) < to.off_share


def load_surely_below(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The upper bound is below the rate that turns off, whatever share of a quiet topic that is."""
    return slow.per_s(heat.slow.upper) < to.off_per_s
