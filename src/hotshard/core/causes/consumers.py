"""What lag says of a topic's consumers: predicates, each defined in one sentence. Without lag none holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.causes.lag import GroupLag, LagState, lag_of
from hotshard.core.causes.measures import keyed

if TYPE_CHECKING:
    from hotshard.core.causes.evidence import Evidence, PartitionLag

#: Records waiting on a partition from which on lag is high, as in the alert for it.
HIGH_LAG: Final = 5_000
#: Below this ratio of the most to the median, lag is about the same everywhere.
EVEN_RATIO: Final = 3.0
#: Above this ratio, one partition lags and the others do not.
UNEVEN_RATIO: Final = 5.0
#: Lag of so many seconds of a partition's own traffic is more than a burst leaves.
LONG_S: Final = 60.0
_STANDING: Final = (LagState.STUCK, LagState.UNASSIGNED)


def groups(evidence: Evidence) -> tuple[GroupLag, ...]:
    """Every group whose offsets are known, those that wait most first."""
    given = (*((evidence.lag,) if evidence.lag is not None else ()), *evidence.more_lags)
    return tuple(sorted((GroupLag(each) for each in given), key=lambda group: -group.skew.max))


def standing(evidence: Evidence) -> tuple[GroupLag, PartitionLag] | None:
    """A group and the partition of it that stands still, or that nobody has, with the most waiting."""
    found = [(group, partition) for group in groups(evidence) for partition in group.among(*_STANDING)]
    return max(found, key=lambda each: lag_of(each[1]) or 0, default=None)


def some_partition_stands(evidence: Evidence) -> bool:
    """On one partition records wait and the committed offset does not move, or nobody has it, while others move."""
    return standing(evidence) is not None


def all_groups_stand_at_one_offset(evidence: Evidence) -> bool:
    """Two groups or more stand still at the same offset of the same partition."""
    stuck = [(each.partition, each.committed) for group in groups(evidence) for each in group.among(LagState.STUCK)]
    return len(stuck) > len(set(stuck))


def nobody_has_it(evidence: Evidence) -> bool:
    """The partition that stands has no owner, while others of the group have."""
    found = standing(evidence)
    return found is not None and found[0].states[found[1].partition] is LagState.UNASSIGNED


def lags_without_load(evidence: Evidence) -> GroupLag | None:
    """The group of which one partition waits for a minute of its traffic, others do not, and load is even."""
    if keyed(evidence).is_uneven or not evidence.span_s:
        return None
    for group in groups(evidence):
        hottest = group.skew.hottest_partition
        if hottest is None or group.skew.skew_ratio <= UNEVEN_RATIO or not hottest < evidence.partitions:
            continue
        if group.skew.max > LONG_S * evidence.loads[hottest] / evidence.span_s:
            return group
    return None


def one_lags_though_load_is_even(evidence: Evidence) -> bool:
    """One partition has a minute's traffic and five times the median waiting, though it gets no more than others."""
    return lags_without_load(evidence) is not None


def stopped(evidence: Evidence) -> GroupLag | None:
    """The group that reads nothing at all while records wait."""
    return next((group for group in groups(evidence) if group.among(LagState.STOPPED)), None)


def consumers_are_stopped(evidence: Evidence) -> bool:
    """A group has no members, or goes forward nowhere, and records wait for it."""
    return stopped(evidence) is not None


def slow(evidence: Evidence) -> GroupLag | None:
    """The group that is behind everywhere."""
    return next((group for group in groups(evidence) if _is_slow(group)), None)


def _is_slow(group: GroupLag) -> bool:
    return group.skew.median >= HIGH_LAG and group.skew.skew_ratio < EVEN_RATIO


def all_partitions_are_behind(evidence: Evidence) -> bool:
    """The median of a group's lag is 5,000 or more, and the most less than three times that."""
    return slow(evidence) is not None


def members_stand_idle(evidence: Evidence) -> bool:
    """Members of the slow group have no partition, and as many as there are partitions could have one."""
    group = slow(evidence)
    if group is None or not group.idle_members or group.evidence.members is None:
        return False
    busy = group.evidence.members - group.idle_members
    return busy < min(group.evidence.members, evidence.partitions)


def members_are_fewer_than_partitions(evidence: Evidence) -> bool:
    """The slow group has fewer members than the topic has partitions, so that another one would get something."""
    group = slow(evidence)
    return group is not None and group.evidence.members is not None and group.evidence.members < evidence.partitions


def members_are_not_known(evidence: Evidence) -> bool:
    """Nobody knows how many members the slow group has."""
    group = slow(evidence)
    return group is not None and group.evidence.members is None


def is_over_capacity(evidence: Evidence) -> bool:
    """The mean partition gets more than a partition can carry."""
    if evidence.capacity_per_s is None or not evidence.span_s:
        return False
    return keyed(evidence).mean / evidence.span_s > evidence.capacity_per_s


def everything_is_high_and_even(evidence: Evidence) -> bool:
    """Load is even, and either all partitions get more than they can carry, or each has a member that is behind."""
    return not keyed(evidence).is_uneven and (is_over_capacity(evidence) or all_partitions_are_behind(evidence))
