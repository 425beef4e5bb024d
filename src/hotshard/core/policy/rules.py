"""When something is hot and when it is cold: named predicates on the evidence, each defined in one sentence.

Their proof is the table of cases in ``tests/unit/test_policy_rules.py``; a rule is added with its cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hotshard.core.planning.worth import min_share
from hotshard.core.policy.evidence import HeatReason
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.policy.evidence import Heat, Totals, ViewTotals
    from hotshard.core.policy.thresholds import Policy

#: A view over less than this says nothing about cooling.
SETTLED_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A policy made concrete for keys or for tenants of a topic with so many partitions.

    The three thresholds turn on in the long view; ``fast``, ``keep`` and ``off`` are multiples of them.
    """

    on_share: float
    on_per_s: float | None
    on_partition_share: float | None
    fast_ratio: float
    keep_ratio: float
    off_ratio: float
    floor_fast: int
    name_per_s: float
    #: The long view decides once it is longer than the short one can be.
    slow_from_s: float

    @property
    def fast_share(self) -> float:
        return self.on_share * self.fast_ratio

    @property
    def keep_share(self) -> float:
        return self.on_share * self.keep_ratio

    @property
    def off_share(self) -> float:
        return self.on_share * self.off_ratio

    def raised(self, ratio: float) -> Limits:
        """The limits for what has just cooled: so many times the load turns on, the rest staying as it is."""
        part = self.on_partition_share
        return replace(
            self,
            on_share=with_times_the_load(self.on_share, ratio),
            on_per_s=None if self.on_per_s is None else self.on_per_s * ratio,
            on_partition_share=None if part is None else with_times_the_load(part, ratio),
        )

    def numbers(self) -> Mapping[str, float]:
        """The thresholds that are set, as evidence."""
        named = {
            "on_share": self.on_share,
            "on_load_per_s": self.on_per_s,
            "on_partition_share": self.on_partition_share,
            "floor_name_per_s": self.name_per_s,
        }
        return {name: value for name, value in named.items() if value is not None}


def limits(policy: Policy, partitions: int, kind: HotKind) -> Limits:
    """The limits for keys, or for tenants.

    With one partition a key is named from the share that two would ask for; nothing helps it there. A
    tenant has no partition of its own, so no share of one makes it hot.
    """
    tenant = kind is HotKind.TENANT
    least = policy.on_share if policy.on_share is not None else min_share(policy.eps, max(2, partitions))
    return Limits(
        on_share=policy.tenant_on_share if tenant else least,
        on_per_s=policy.tenant_on_load_per_s if tenant else policy.on_load_per_s,
        on_partition_share=None if tenant else policy.on_partition_share,
        fast_ratio=policy.fast_ratio,
        keep_ratio=policy.keep_ratio,
        off_ratio=policy.off_ratio,
        floor_fast=policy.floor_fast,
        name_per_s=policy.floor_name_per_s,
        slow_from_s=policy.fast_view_s,
    )


def with_times_the_load(share: float, times: float) -> float:
    """The share that a key of this share has once it has so many times its load, and the others have theirs.

    Near ``times * share`` while that is small, and never above 1.
    """
    return times * share / (1 - share + times * share)


# -- what turns hot ----------------------------------------------------------------------------------


def hot_reason(heat: Heat, views: ViewTotals, to: Limits) -> HeatReason | None:
    """The first rule of the short view that turns it hot, else the first of the long view, or None."""
    reason = flood_reason(heat, views.fast, to)
    if reason is None and may_hold(heat, views.slow, to):
        reason = next((reason for reason, holds in _SLOW_RULES.items() if holds(heat, views.slow, to)), None)
    return reason


def flood_reason(heat: Heat, fast: Totals, to: Limits) -> HeatReason | None:
    """The first rule of the short view that turns it hot, or None."""
    if not may_flood(heat, fast, to):
        return None
    return next((reason for reason, floods in _FAST_RULES.items() if floods(heat, fast, to)), None)


def least_flood(fast: Totals, to: Limits, least_partition: float = 0.0) -> float:
    """Whatever has a lower bound below this in the short view turns hot by no rule of it.

    ``least_partition`` is the load of the least loaded partition on which a name may lie.
    """
    loads = [to.fast_share * fast.load / fast.completeness if fast.completeness > 0 else 0.0]
    if to.on_per_s is not None:
        loads.append(to.on_per_s * to.fast_ratio * fast.span_s)
    if to.on_partition_share is not None:
        loads.append(with_times_the_load(to.on_partition_share, to.fast_ratio) * least_partition)
    return max(min(loads), to.name_per_s * fast.span_s, to.floor_fast)


def may_flood(heat: Heat, fast: Totals, to: Limits) -> bool:
    """In the short view its lower bound reaches the fast floor and the rate for a name."""
    if heat.fast is None or heat.fast.lower < to.floor_fast:
        return False
    return fast.per_s(heat.fast.lower) >= to.name_per_s


def may_hold(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The long view is longer than the short one can be, and in it the lower bound reaches the rate for a name."""
    return slow.span_s >= to.slow_from_s and slow.per_s(heat.slow.lower) >= to.name_per_s


def floods_share(heat: Heat, fast: Totals, to: Limits) -> bool:
    """In the short view its lower bound reaches the fast share of the topic's load."""
    return heat.fast is not None and fast.share(heat.fast.lower) >= to.fast_share


def floods_rate(heat: Heat, fast: Totals, to: Limits) -> bool:
    """A rate is set, and in the short view its lower bound reaches the fast multiple of it."""
    if heat.fast is None or to.on_per_s is None:
        return False
    return fast.per_s(heat.fast.lower) >= to.on_per_s * to.fast_ratio


def floods_its_partition(heat: Heat, _fast: Totals, to: Limits) -> bool:
    """A share of its own partition is set, and in the short view it surely has that with the fast multiple of load."""
    if heat.fast_part is None or to.on_partition_share is None:
        return False
    return heat.fast_part.lower >= with_times_the_load(to.on_partition_share, to.fast_ratio)


def holds_share(heat: Heat, slow: Totals, to: Limits) -> bool:
    """In the long view its lower bound reaches the share of the topic's load."""
    return slow.share(heat.slow.lower) >= to.on_share


def holds_rate(heat: Heat, slow: Totals, to: Limits) -> bool:
    """A rate is set, and in the long view its lower bound reaches it."""
    return to.on_per_s is not None and slow.per_s(heat.slow.lower) >= to.on_per_s


def holds_its_partition(heat: Heat, _slow: Totals, to: Limits) -> bool:
    """A share of its own partition is set, and in the long view it surely has that."""
    if heat.slow_part is None or to.on_partition_share is None:
        return False
    return heat.slow_part.lower >= to.on_partition_share


_FAST_RULES: Final[Mapping[HeatReason, Callable[[Heat, Totals, Limits], bool]]] = {
    HeatReason.FAST_SHARE: floods_share,
    HeatReason.FAST_RATE: floods_rate,
    HeatReason.FAST_PARTITION_SHARE: floods_its_partition,
}
_SLOW_RULES: Final[Mapping[HeatReason, Callable[[Heat, Totals, Limits], bool]]] = {
    HeatReason.SLOW_SHARE: holds_share,
    HeatReason.SLOW_RATE: holds_rate,
    HeatReason.SLOW_PARTITION_SHARE: holds_its_partition,
}


# -- what turns cold ---------------------------------------------------------------------------------


def cold_reason(heat: Heat, views: ViewTotals, to: Limits) -> HeatReason | None:
    """The first rule by which it is cold at this moment, or None.

    Also None where the view cannot tell, or where a rule would turn it hot: a flood that has just begun
    shows in the short view while the long one is still below.
    """
    if not settled(views.slow) or hot_reason(heat, views, to) is not None:
        return None
    if gone(heat, views, to):
        return HeatReason.GONE
    if share_surely_below(heat, views.slow, to):
        return HeatReason.SHARE_BELOW
    if load_surely_below(heat, views.slow, to):
        return HeatReason.LOAD_BELOW
    return None


def settled(slow: Totals) -> bool:
    """The long view covers a second at least and no partition is missing, so that absence means something."""
    return slow.span_s >= SETTLED_S and slow.completeness >= 1


def gone(heat: Heat, views: ViewTotals, to: Limits) -> bool:
    """The topic has load at this moment, and the upper bound is below the off part of everything that turns it on.

    When all traffic stops, what is left in the long view says nothing of a key.
    """
    return views.fast.load > 0 and _below_all(heat, views.slow, to, to.off_ratio)


def share_surely_below(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The topic has load, and the upper bound is below the keep part of everything that turns it on."""
    return _below_all(heat, slow, to, to.keep_ratio)


def load_surely_below(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The upper bound is below the keep part of the rate for a name, whatever share of a quiet topic that is."""
    return slow.per_s(heat.slow.upper) < to.name_per_s * to.keep_ratio


def surely_keeps(heat: Heat, slow: Totals, to: Limits) -> bool:
    """The lower bound reaches the keep part of something that turns it on."""
    part = None if heat.slow_part is None else heat.slow_part.lower
    return _reaches_any(heat.slow.lower, part, slow, to, to.keep_ratio)


def _below_all(heat: Heat, slow: Totals, to: Limits, ratio: float) -> bool:
    part = None if heat.slow_part is None else heat.slow_part.upper
    return bool(slow.load) and not _reaches_any(heat.slow.upper, part, slow, to, ratio)


def _reaches_any(load: int, part: float | None, slow: Totals, to: Limits, ratio: float) -> bool:
    """Whether a load, or the part of its own partition that it is, reaches this part of anything that turns it on."""
    if slow.load and slow.share(load) >= to.on_share * ratio:
        return True
    if to.on_per_s is not None and slow.per_s(load) >= to.on_per_s * ratio:
        return True
    return to.on_partition_share is not None and part is not None and part >= to.on_partition_share * ratio
