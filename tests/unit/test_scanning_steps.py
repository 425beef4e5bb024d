"""What each plan of a list brings when those above it are obeyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.causes.evidence import HotName
from hotshard.core.planning.score import imbalance
from hotshard.core.planning.verdict import Plan, PlanReason, Refusal, RefusalReason
from hotshard.core.scanning.steps import Gain, Steps, gain, moved

if TYPE_CHECKING:
    from collections.abc import Sequence

EPS = 0.25


def plan(name: bytes, *partitions: int) -> Plan:
    return Plan(
        key=name, suffixes=tuple(map(str, partitions)), partitions=partitions, partition_count=4, partitioner="murmur2",
        imbalance_before=9.0, imbalance_after=9.0, reason=PlanReason.WITHIN_TOLERANCE,
    )  # fmt: skip


def hot(name: bytes) -> HotName:
    return HotName(name=name, lower=1, upper=1, share=0.1)


def test_each_plan_begins_where_the_one_before_it_ends() -> None:
    steps = Steps([100, 60, 20, 20], EPS)
    lies = {b"a": {0: 80.0}, b"b": {1: 40.0}}
    found = [*steps.of_all([hot(b"a"), hot(b"b")], {b"a": plan(b"a", 2, 3), b"b": plan(b"b", 0, 1)}, lies)]
    assert [step.hot.name for step in found] == [b"a", b"b"]
    assert found[0].gain == Gain(2.0, 1.2, 2.0, 1.2)
    assert found[1].gain == Gain(1.2, 1.2, 1.2, 0.8)


def test_a_plan_that_goes_where_another_key_has_yet_to_leave_waits_for_it() -> None:
    """Both change places by way of the rest; obeyed first, the heavier one would have made partition 1 fuller."""
    lies = {b"a": {0: 70.0}, b"b": {1: 60.0}}
    plans = {b"a": plan(b"a", 1), b"b": plan(b"b", 2, 3)}
    found = [*Steps([80, 65, 5, 5], EPS).of_all([hot(b"a"), hot(b"b")], plans, lies)]
    assert [step.hot.name for step in found] == [b"b", b"a"]
    assert [step.gain.before for step in found] == pytest.approx([80 * 4 / 155, 80 * 4 / 155])
    assert [step.gain.after for step in found] == pytest.approx([80 * 4 / 155, 75 * 4 / 155])


def test_a_refusal_tells_where_its_turn_finds_the_topic_and_changes_nothing() -> None:
    steps = Steps([100, 0, 0, 0], EPS)
    verdicts: dict[bytes, Plan | Refusal] = {
        b"a": plan(b"a", 0, 1),
        b"no": Refusal(key=b"no", reason=RefusalReason.PARTITION_NOT_ABOVE, detail=""),
    }
    found = [*steps.of_all([hot(b"a"), hot(b"no")], verdicts, {b"a": {0: 100.0}})]
    assert found[1].gain == Gain(2.0, None, None, None)


def test_what_is_borne_is_within_the_tolerance_or_no_worse_than_it_is() -> None:
    steps = Steps([100, 100, 100, 100], EPS)
    assert steps.bears(plan(b"a", 1), {0: 20.0})  # 1.2 times the mean
    assert not steps.bears(plan(b"b", 1), {0: 20.0})  # 1.4, though what it was is within
    assert steps.bears(plan(b"c", 2), {1: 20.0})  # the first is obeyed, so that this one evens it


loads = st.lists(st.integers(0, 1000), min_size=4, max_size=4)
keys = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 500), st.sets(st.integers(0, 3), min_size=1)), max_size=6)


@given(loads, keys)
def test_a_list_is_a_chain_and_ends_where_all_plans_together_do(
    rest: Sequence[int], some: list[tuple[int, int, set[int]]]
) -> None:
    lies = {b"%d" % at: {place: float(load)} for at, (place, load, _) in enumerate(some)}
    start = [float(each) for each in rest]
    for each in lies.values():
        for place, load in each.items():
            start[place] += load
    plans = {b"%d" % at: plan(b"%d" % at, *sorted(goes)) for at, (_, _, goes) in enumerate(some)}
    found = [*Steps(start, EPS).of_all([hot(name) for name in lies], plans, lies)]
    assert {step.hot.name for step in found} == lies.keys()
    ends = [imbalance(start), *(step.gain.after or 0.0 for step in found)]
    assert [step.gain.before for step in found] == pytest.approx(ends[:-1])
    end = start
    for name, made in plans.items():
        end = moved(end, lies[name], made.partitions)
    assert ends[-1] == pytest.approx(imbalance(end))
    assert sum(end) == pytest.approx(sum(start))


def test_the_gain_of_nothing_is_finite() -> None:
    assert gain([0, 0], [0, 0], {}, (0, 1)) == Gain(1.0, 1.0, 0.0, 0.0)
