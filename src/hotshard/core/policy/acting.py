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


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """The verdict with its numbers."""

    acts: bool
    reason: ActReason
    numbers: Mapping[str, float] = field(default_factory=dict)


def worth_acting(policy: Policy, lower: int, view: Totals, loads: Sequence[float], partition: int) -> Acting:
    """Whether to act on a key with this lower bound in a view, whose load by partition is ``loads``.

    ``partition`` is the most loaded one on which the key lies. To act, the view must be complete, the
    rate at least the floor for acting, the share worth splitting, and the partition really above
    the others.
    """
    mean = sum(loads) / len(loads)
    share, per_s = view.share(lower), view.per_s(lower)
    numbers = {
        "share": share,
        "min_share": min_share(policy.eps, len(loads)),
        "load_per_s": per_s,
        "floor_act_per_s": policy.floor_act_per_s,
        "partition_load": loads[partition],
        "mean": mean,
        "completeness": view.completeness,
    }
    if view.completeness < 1:
        reason = ActReason.INCOMPLETE_VIEW
    elif per_s < policy.floor_act_per_s:
        reason = ActReason.BELOW_ACT_FLOOR
    elif not worth_splitting(share, len(loads), policy.eps):
        reason = ActReason.NOT_WORTH
    elif not above_others(loads[partition], mean, policy.eps):
        reason = ActReason.PARTITION_NOT_ABOVE
    else:
        reason = ActReason.WORTH_ACTING
    return Acting(acts=reason is ActReason.WORTH_ACTING, reason=reason, numbers=numbers)
