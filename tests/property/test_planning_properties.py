"""What holds of every plan, whatever the loads and the partitioner."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.keys import with_suffix
from hotshard.core.partitioners import PARTITIONERS
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import resize, stands
from hotshard.core.planning.shards import shard_of
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.together import plan_all
from hotshard.core.planning.verdict import Plan, PlanReason, RefusalReason
from hotshard.core.skew import describe_skew, skew_alerts
from hotshard.core.topic import Carry

KEY = b"tenant\x1fentity"
#: Sums of floats in another order.
ROUNDING = 1 + 1e-6

loads = st.floats(0, 1_000) | st.integers(0, 50) | st.just(10.0)
backgrounds = st.lists(loads, min_size=1, max_size=40)
hot_loads = st.floats(0, 100_000) | st.integers(0, 500)
partitioners = st.sampled_from(list(PARTITIONERS.values()))
terms = st.builds(
    Terms,
    partitioner=partitioners,
    eps=st.sampled_from((0.05, 0.25, 0.5, 1.0)),
    max_shards=st.sampled_from((1, 3, 64)),
)
#: Terms of every kind, but for those of a person who asks for a number whatever it comes to.
all_terms = st.builds(
    Terms,
    partitioner=partitioners,
    also=st.none() | partitioners,
    eps=st.sampled_from((0.05, 0.25, 0.5, 1.0)),
    min_shards=st.sampled_from((1, 2, 5)),
    max_shards=st.sampled_from((1, 3, 64)),
    carry=st.sampled_from(Carry),
    capacity=st.none() | st.floats(0.1, 1_000),
    moves=st.booleans(),
)
keys = st.text(min_size=1, max_size=20).map(lambda text: b"t\x1f" + text.encode("utf-8", "ignore") + b".")
subs = st.none() | st.floats(0, 1)


def land(plan: Plan, by: Terms) -> bool:
    """Whether every shard is where the plan says, by every partitioner of the fleet."""
    if by.carry is Carry.PARTITION:
        return not plan.suffixes
    shards = [with_suffix(plan.key, suffix) for suffix in plan.suffixes]
    return all(
        [each.partition(shard, plan.partition_count) for shard in shards] == list(plan.partitions)
        for each in (by.partitioner, by.also or by.partitioner)
    )


@given(keys, hot_loads, st.lists(loads, min_size=1, max_size=24), subs, all_terms)
def test_on_any_terms_a_plan_lands_where_it_says_within_bounds_and_raises_nothing(
    key: bytes, load: float, background: list[float], sub: float | None, by: Terms
) -> None:
    plan = plan_split(HotLoad(key, load, None, sub), background, by)
    if not isinstance(plan, Plan):
        assert plan.reason is not RefusalReason.NO_SUFFIX
        return
    assert land(plan, by)
    assert stands(key, plan, by, len(background))
    assert not stands(key, plan, by, len(background) + 1)
    assert len(set(plan.partitions)) == plan.shards <= by.max_shards
    assert (
        plan.shards >= min(by.min_shards, by.max_shards, len(background)) or (by.moves and plan.shards == 1) or by.also
    )
    assert plan.imbalance_after <= plan.imbalance_before * ROUNDING


@given(st.lists(hot_loads, max_size=8), st.lists(loads, min_size=1, max_size=24), all_terms)
def test_planned_together_keys_raise_nothing_and_lie_where_it_is_said(
    sizes: list[float], background: list[float], by: Terms
) -> None:
    hots = [HotLoad(b"t\x1fkey-%d" % number, load) for number, load in enumerate(sizes)]
    together = plan_all(hots, background, by)
    assert together.imbalance_after <= together.imbalance_before * ROUNDING
    assert [each.key for each in together.verdicts] == [
        each.key for each in sorted(hots, key=lambda hot: (-hot.load, hot.key))
    ]
    assert all(land(plan, by) for plan in together.plans)
    expected, verdicts = list(background), {each.key: each for each in together.verdicts}
    for hot in hots:
        verdict = verdicts[hot.key]
        home = by.partitioner.partition(hot.key, len(background))
        assert home is not None
        places = verdict.partitions if isinstance(verdict, Plan) else (home,)
        for place in places:
            expected[place] += hot.load / len(places)
    assert together.after == pytest.approx(expected, abs=1e-6, rel=1e-6)


@given(keys, hot_loads, hot_loads, st.lists(loads, min_size=2, max_size=24), st.data(), all_terms)
def test_on_any_terms_a_resize_touches_the_tail_only_and_lands_where_it_says(  # noqa: PLR0917 -- what is drawn
    key: bytes, load: float, later_load: float, background: list[float], data: st.DataObject, by: Terms
) -> None:
    plan = plan_split(HotLoad(key, load), background, by)
    if not isinstance(plan, Plan):
        return
    later = data.draw(st.lists(loads, min_size=len(background), max_size=len(background)))
    resized = resize(HotLoad(key, later_load), plan, later, by)
    if resized is None:
        return
    kept = min(plan.shards, resized.shards)
    assert plan.shards != resized.shards <= by.max_shards
    assert (resized.suffixes[:kept], resized.partitions[:kept]) == (plan.suffixes[:kept], plan.partitions[:kept])
    assert len(set(resized.partitions)) == resized.shards
    assert land(resized, by)
    if resized.shards > plan.shards:
        assert resized.imbalance_after <= resized.imbalance_before * ROUNDING


@given(st.integers(1, 63), st.integers(0, 2**32))
def test_growth_moves_one_part_of_the_sub_units_and_all_of_them_to_the_new_shard(shards: int, seed: int) -> None:
    units = [f"{seed}-{number}" for number in range(2_000)]
    moved = [unit for unit in units if shard_of(unit, shards) != shard_of(unit, shards + 1)]
    assert {shard_of(unit, shards + 1) for unit in moved} <= {shards}
    expected = len(units) / (shards + 1)
    assert abs(len(moved) - expected) <= 5 * (expected * shards / (shards + 1)) ** 0.5 + 1


def worst_of(background: list[float], load: float, order: list[int]) -> list[float]:
    """What the most loaded partition carries with 1, 2, ... shards taken in this order."""
    return [load / s + max(background[p] for p in order[:s]) for s in range(1, len(order) + 1)]


@given(keys, hot_loads, backgrounds, terms)
def test_every_suffix_lands_where_the_plan_says_on_partitions_of_its_own(
    key: bytes, load: float, background: list[float], by: Terms
) -> None:
    plan = plan_split(HotLoad(key, load), background, by)
    if isinstance(plan, Plan):
        placed = [by.partitioner.partition(with_suffix(key, suffix), len(background)) for suffix in plan.suffixes]
        assert placed == list(plan.partitions)
        assert len(set(plan.partitions)) == len(plan.suffixes) == len(set(plan.suffixes)) <= by.max_shards
        assert (plan.key, plan.partition_count, plan.partitioner) == (key, len(background), by.partitioner.name)
    else:
        assert plan.reason is not RefusalReason.NO_SUFFIX


@given(hot_loads, backgrounds, terms)
def test_a_plan_never_raises_the_imbalance(load: float, background: list[float], by: Terms) -> None:
    plan = plan_split(HotLoad(KEY, load), background, by)
    if isinstance(plan, Plan):
        assert plan.imbalance_after <= plan.imbalance_before * ROUNDING
        assert plan.numbers["after"] < plan.numbers["before"]
        after = [
            carried + load / len(plan.partitions) * (partition in plan.partitions)
            for partition, carried in enumerate(background)
        ]
        assert plan.imbalance_after == pytest.approx(max(after) / (sum(after) / len(after)))


@given(hot_loads, backgrounds, terms)
def test_a_plan_has_the_fewest_shards_that_stay_within_the_tolerance(
    load: float, background: list[float], by: Terms
) -> None:
    plan = plan_split(HotLoad(KEY, load), background, by)
    if not isinstance(plan, Plan):
        return
    limit = (1 + by.eps) * (load + sum(background)) / len(background)
    order = sorted(range(len(background)), key=lambda partition: (background[partition], partition))
    worst = worst_of(background, load, order)[: by.max_shards]
    shards = len(plan.partitions)
    assert list(plan.partitions) == order[:shards]
    assert all(value > limit for value in worst[: shards - 1])
    if plan.reason is PlanReason.WITHIN_TOLERANCE:
        assert worst[shards - 1] <= limit * ROUNDING
    else:
        assert min(worst) > limit
        assert worst[shards - 1] <= min(worst) * 1.05 * ROUNDING


@given(hot_loads, backgrounds, st.sampled_from((0.05, 0.25, 1.0)))
def test_a_refusal_for_want_of_worth_leaves_the_partition_within_tolerance(
    load: float, background: list[float], eps: float
) -> None:
    by = Terms(partitioner=PARTITIONERS["murmur2"], eps=eps)
    verdict = plan_split(HotLoad(KEY, load), background, by)
    if verdict.reason == RefusalReason.PARTITION_NOT_ABOVE:
        home = by.partitioner.partition(KEY, len(background))
        assert home is not None
        assert background[home] + load <= (1 + eps) * (load + sum(background)) / len(background) * ROUNDING


@given(hot_loads, hot_loads, backgrounds, st.data(), terms)
def test_resizing_touches_the_tail_only(
    load: float, later_load: float, background: list[float], data: st.DataObject, by: Terms
) -> None:
    plan = plan_split(HotLoad(KEY, load), background, by)
    if not isinstance(plan, Plan):
        return
    size = len(background)
    later_background = data.draw(st.lists(loads, min_size=size, max_size=size))
    resized = resize(HotLoad(KEY, later_load), plan, later_background, by)
    if resized is None:
        return
    kept = min(len(plan.suffixes), len(resized.suffixes))
    assert len(plan.suffixes) != len(resized.suffixes) <= by.max_shards
    assert resized.suffixes[:kept] == plan.suffixes[:kept]
    assert resized.partitions[:kept] == plan.partitions[:kept]
    assert len(set(resized.partitions)) == len(resized.partitions)
    placed = [by.partitioner.partition(with_suffix(KEY, suffix), size) for suffix in resized.suffixes]
    assert placed == list(resized.partitions)


@given(hot_loads, hot_loads, backgrounds, st.data(), terms)
def test_growing_never_raises_the_imbalance_and_cutting_stays_within_tolerance(
    load: float, later_load: float, background: list[float], data: st.DataObject, by: Terms
) -> None:
    plan = plan_split(HotLoad(KEY, load), background, by)
    if not isinstance(plan, Plan):
        return
    size = len(background)
    later_background = data.draw(st.lists(loads, min_size=size, max_size=size))
    resized = resize(HotLoad(KEY, later_load), plan, later_background, by)
    if resized is None:
        return
    if len(resized.suffixes) > len(plan.suffixes):
        assert resized.imbalance_after <= resized.imbalance_before * ROUNDING
        assert resized.numbers["after"] < resized.numbers["before"]
    else:
        assert resized.imbalance_after <= max(resized.imbalance_before, 1 + by.eps / 2) * ROUNDING


@given(hot_loads, backgrounds, terms)
def test_a_fresh_plan_needs_no_resizing(load: float, background: list[float], by: Terms) -> None:
    plan = plan_split(HotLoad(KEY, load), background, by)
    if isinstance(plan, Plan):
        assert resize(HotLoad(KEY, load), plan, background, by) is None


@given(st.dictionaries(st.integers(0, 100), st.integers(0, 10**12) | st.floats(0, 1e12)))
def test_skew_is_described_with_numbers_that_agree(by_partition: dict[int, float]) -> None:
    skew = describe_skew(by_partition)
    values = sorted(by_partition.values())
    assert skew.total == pytest.approx(sum(values))
    assert skew.max == max(values, default=0)
    assert skew.idle_partitions == sum(not value for value in values)
    assert skew.imbalance * ROUNDING >= 1
    assert skew.imbalance <= max(1, len(values)) * ROUNDING
    if skew.hottest_partition is not None:
        assert by_partition[skew.hottest_partition] == skew.max > 0
    assert all(alert.partition == skew.hottest_partition for alert in skew_alerts(skew))
