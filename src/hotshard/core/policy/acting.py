"""Whether something is to be done about a hot key, beyond naming it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from hotshard.core.planning.worth import above_others, min_share, worth_splitting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.policy.evidence import Totals
    from hotshard.core.policy.thresholds import Policy


class ActReason(StrEnum):
    """Why something is done, or nothing."""

    WORTH_ACTING = "worth_acting"
    INCOMPLETE_VIEW = "incomplete_view"  #: partitions are missing, so it is not known where there is room
    BELOW_ACT_FLOOR = "below_act_floor"
    NOT_WORTH = "not_worth"
    PARTITION_NOT_ABOVE = "partition_not_above"
    WITHIN_CAPACITY = "within_capacity"  #: the partition takes what it gets


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """The verdict with its numbers."""

    acts: bool
    reason: ActReason
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether what is done already may be fitted to what is measured.

        A plan that helps leaves none of its partitions above the others, nor above what it takes.
        """
        return self.acts or self.reason in {ActReason.PARTITION_NOT_ABOVE, ActReason.WITHIN_CAPACITY}


def worth_acting(  # noqa: PLR0913  # evidence, each part by itself
    policy: Policy,
    lower: int,
    view: Totals,
    loads: Sequence[float],
    partition: int,
    *,
    loads_s: float | None = None,
) -> Acting:
    """Whether to act on a key with this lower bound in a view, whose load by partition is ``loads``.

    ``partition`` is the most loaded one on which the key lies. To act, the view must be complete, the
    rate at least the floor for acting, the share worth splitting, the partition really above the
    others, and beyond what it takes, where that is known. ``loads_s`` is the time that ``loads`` stand
    for, where that is not the view's.
    """
    mean = sum(loads) / len(loads)
    share, per_s = view.share(lower), view.per_s(lower)
    seconds = view.span_s if loads_s is None else loads_s
    partition_per_s = loads[partition] / seconds if seconds > 0 else 0.0
    capacity = policy.partition_capacity_per_s
    numbers = {
        "share": share,
        "min_share": min_share(policy.eps, len(loads)),
        "load_per_s": per_s,
        "floor_act_per_s": policy.floor_act_per_s,
        "partition_load": loads[partition],
        "mean": mean,
        "completeness": view.completeness,
    }
    if capacity is not None:
        numbers |= {"partition_per_s": partition_per_s, "partition_capacity_per_s": capacity}
    if view.completeness < 1:
        reason = ActReason.INCOMPLETE_VIEW
    elif per_s < policy.floor_act_per_s:
        reason = ActReason.BELOW_ACT_FLOOR
    elif not worth_splitting(share, len(loads), policy.eps):
        reason = ActReason.NOT_WORTH
    elif not above_others(loads[partition], mean, policy.eps):
        reason = ActReason.PARTITION_NOT_ABOVE
    elif within_capacity(partition_per_s, capacity):
        reason = ActReason.WITHIN_CAPACITY
    else:
        reason = ActReason.WORTH_ACTING
    return Acting(acts=reason is ActReason.WORTH_ACTING, reason=reason, numbers=numbers)


def within_capacity(partition_per_s: float, capacity_per_s: float | None) -> bool:
    """Whether it is known that a partition takes what it gets: it gets less a second than it takes."""
    return capacity_per_s is not None and partition_per_s < capacity_per_s
