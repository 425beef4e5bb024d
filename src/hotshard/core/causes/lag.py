"""Lag from offsets: how much waits on each partition of a group, and whether anything moves. No I/O.

What looks like lag and is none: records deleted before they were read are lost, and not waiting;
records of an open transaction are not there yet for a reader of committed ones; a partition without a
commit has no lag that anybody knows; an offset beyond the end is of a topic that was made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hotshard.core.skew import describe_skew

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.causes.evidence import LagEvidence, PartitionLag
    from hotshard.core.skew import Skew

#: A committed offset that did not move for so long, with records waiting, stands still.
STILL_S: Final = 60.0


class LagState(StrEnum):
    """How a group stands to one partition."""

    EMPTY = "empty"  #: nothing to read, and nothing committed
    CAUGHT_UP = "caught_up"
    MOVING = "moving"
    WAITING = "waiting"  #: records wait; whether it moves is not known (yet)
    STUCK = "stuck"  #: stands still with records waiting, while the group is alive
    UNASSIGNED = "unassigned"  #: records wait, and of a group with members none has it
    STOPPED = "stopped"  #: stands still, and so does the whole group, or it has no members
    NO_COMMIT = "no_commit"  #: nothing committed yet, so its lag is not known
    RESET = "reset"  #: committed beyond the end: the topic was made again, its lag is not known
    UNKNOWN = "unknown"  #: its end is not known


def lag_of(partition: PartitionLag) -> int | None:
    """Records that wait, at most: gaps left by compaction and by transactions count. None where nobody can know."""
    if partition.end is None:
        return None
    first = partition.log_start or 0
    if partition.committed is None:
        return 0 if partition.end <= first else None
    if partition.committed > partition.end:
        return None
    end = partition.end if partition.stable is None else min(partition.stable, partition.end)
    return max(0, end - max(partition.committed, first))


def lost_of(partition: PartitionLag) -> int:
    """Offsets deleted before the group read them."""
    if partition.committed is None or partition.log_start is None or partition.end is None:
        return 0
    return max(0, min(partition.log_start, partition.end) - partition.committed)


def moved(partition: PartitionLag) -> int | None:
    """Offsets that the group went forward since the sample before; None without one, or when it was set back."""
    if partition.committed is None or partition.committed_before is None or not partition.since_s:
        return None
    went = partition.committed - partition.committed_before
    return went if went >= 0 else None


def per_s(partition: PartitionLag) -> float | None:
    """Offsets a second that the group goes forward."""
    went = moved(partition)
    return None if went is None or not partition.since_s else went / partition.since_s


def grows_per_s(partition: PartitionLag) -> float | None:
    """Records a second by which its lag grows, or (below 0) falls."""
    reads = per_s(partition)
    if reads is None or not partition.since_s or partition.end is None or partition.end_before is None:
        return None
    return max(0, partition.end - partition.end_before) / partition.since_s - reads


def drain_s(partition: PartitionLag) -> float | None:
    """Seconds until nothing waits, at the rates between the two samples; None: never, or not known."""
    lag, grows = lag_of(partition), grows_per_s(partition)
    if lag == 0:
        return 0.0
    return None if lag is None or grows is None or grows >= 0 else lag / -grows


@dataclass(frozen=True)
class GroupLag:
    """The lag of one group, described. Partitions that are no longer there are in no number."""

    evidence: LagEvidence

    @cached_property
    def known(self) -> Mapping[int, int]:
        """Lag by partition, where it is known."""
        lags = ((each.partition, lag_of(each)) for each in self.evidence.partitions)
        return {partition: lag for partition, lag in lags if lag is not None}

    @cached_property
    def skew(self) -> Skew:
        """Over the partitions whose lag is known; all 0 when there are none."""
        return describe_skew(self.known)

    @property
    def lost(self) -> int:
        return sum(lost_of(each) for each in self.evidence.partitions)

    @cached_property
    def states(self) -> Mapping[int, LagState]:
        alive = self._is_alive()
        return {each.partition: self._state(each, alive=alive) for each in self.evidence.partitions}

    def among(self, *states: LagState) -> list[PartitionLag]:
        """The partitions in one of these states, those with the most lag first."""
        found = [each for each in self.evidence.partitions if self.states[each.partition] in states]
        return sorted(found, key=lambda each: (-(lag_of(each) or 0), each.partition))

    @property
    def idle_members(self) -> int | None:
        """Members that have no partition; None where that is not known."""
        if self.evidence.members is None or not self._has_owners():
            return None
        owners = {each.owner for each in self.evidence.partitions if each.owner is not None}
        return max(0, self.evidence.members - len(owners))

    def _is_alive(self) -> bool:
        """It has members, or where nobody knows of members: it went forward somewhere."""
        if self.evidence.members is not None:
            return self.evidence.members > 0
        return any(moved(each) for each in self.evidence.partitions)

    def _state(self, partition: PartitionLag, *, alive: bool) -> LagState:
        lag = lag_of(partition)
        if not lag:
            return _state_without_lag(partition, lag)
        if self.evidence.members == 0:
            return LagState.STOPPED
        if self.evidence.members and partition.owner is None and self._has_owners():
            return LagState.UNASSIGNED
        if is_still(partition):
            return LagState.STUCK if alive or self._others_are_read(partition) else LagState.STOPPED
        return LagState.MOVING if moved(partition) else LagState.WAITING

    def _has_owners(self) -> bool:
        return any(each.owner is not None for each in self.evidence.partitions)

    def _others_are_read(self, partition: PartitionLag) -> bool:
        """Something was written elsewhere since the sample before, and it has been read."""
        return any(
            each.partition != partition.partition
            and each.committed is not None
            and lag_of(each) == 0
            and each.end_before is not None
            and each.end is not None
            and each.end > each.end_before
            for each in self.evidence.partitions
        )


def _state_without_lag(partition: PartitionLag, lag: int | None) -> LagState:
    if partition.end is None:
        return LagState.UNKNOWN
    if lag is None:
        return LagState.NO_COMMIT if partition.committed is None else LagState.RESET
    return LagState.EMPTY if partition.committed is None else LagState.CAUGHT_UP


def is_still(partition: PartitionLag) -> bool:
    """It did not go forward for :data:`STILL_S`, and records wait that did so at the sample before, or came since."""
    return moved(partition) == 0 and bool(lag_of(partition)) and (partition.since_s or 0) >= STILL_S
