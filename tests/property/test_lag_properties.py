"""Lag from any offsets: never below nothing, never more than was written, and no state that contradicts it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.causes.evidence import LagEvidence, PartitionLag
from hotshard.core.causes.lag import STILL_S, GroupLag, LagState, drain_s, lag_of, lost_of

offsets = st.none() | st.integers(0, 1_000_000)


@st.composite
def partitions(draw: st.DrawFn, number: int = 0) -> PartitionLag:
    committed = draw(offsets)
    return PartitionLag(
        partition=number,
        committed=committed,
        end=draw(offsets),
        log_start=draw(offsets),
        stable=draw(offsets),
        committed_before=draw(offsets | st.just(committed)),
        end_before=draw(offsets),
        since_s=draw(st.none() | st.floats(0, 600)),
        owner=draw(st.none() | st.sampled_from(["a", "b"])),
    )


@st.composite
def groups(draw: st.DrawFn) -> GroupLag:
    count = draw(st.integers(0, 5))
    looked = tuple(draw(partitions(number)) for number in range(count))
    return GroupLag(LagEvidence(group="g", partitions=looked, members=draw(st.none() | st.integers(0, 3))))


@given(partitions())
def test_lag_is_between_nothing_and_what_there_is(partition: PartitionLag) -> None:
    lag = lag_of(partition)
    if lag is not None:
        assert partition.end is not None
        assert 0 <= lag <= partition.end
        assert lag <= max(0, partition.end - (partition.log_start or 0))
    assert lost_of(partition) >= 0
    drains = drain_s(partition)
    assert drains is None or drains >= 0


@given(groups())
def test_a_partition_without_lag_is_not_called_waiting_and_one_with_lag_is(group: GroupLag) -> None:
    waiting = {LagState.MOVING, LagState.WAITING, LagState.STUCK, LagState.STOPPED, LagState.UNASSIGNED}
    for partition in group.evidence.partitions:
        lag = lag_of(partition)
        assert (group.states[partition.partition] in waiting) == bool(lag)
    assert group.skew.max == max(group.known.values(), default=0)
    assert group.idle_members is None or group.idle_members >= 0


@given(groups(), st.integers(1, 1000), st.integers(1, 1000), st.floats(STILL_S, 600))
def test_what_stands_still_long_enough_is_stuck_and_what_moves_is_not(
    others: GroupLag, waits: int, went: int, since_s: float
) -> None:
    def state(stands: PartitionLag) -> LagState:
        evidence = LagEvidence(group="g", partitions=(*others.evidence.partitions, stands), members=2)
        return GroupLag(evidence).states[stands.partition]

    stands = PartitionLag(
        partition=9, committed=50, end=50 + went + waits, committed_before=50, end_before=51, since_s=since_s, owner="a"
    )
    assert state(stands) is LagState.STUCK
    assert state(replace(stands, committed=50 + went)) is LagState.MOVING
    assert state(replace(stands, since_s=since_s % STILL_S)) is LagState.WAITING
    assert state(replace(stands, committed=stands.end)) is LagState.CAUGHT_UP


def test_what_an_open_transaction_holds_back_is_no_lag() -> None:
    assert lag_of(PartitionLag(partition=0, committed=40, end=100, stable=50)) == 10
