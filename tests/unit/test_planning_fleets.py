"""Plans for fleets with two partitioners, plans without suffixes, and plans of several keys at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hotshard.core.keys import with_suffix
from hotshard.core.partitioners import Partitioner, partitioner
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import resize, stands
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.together import plan_all
from hotshard.core.topic import Carry
from tests.support.planning import KEY, MURMUR2, even, number_of, planned, refused, standing

# Mixed fleets


def test_one_list_of_suffixes_serves_two_partitioners() -> None:
    crc32 = partitioner("crc32")
    plan = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), Terms(partitioner=MURMUR2, also=crc32)))
    assert plan.shards == 8
    assert (plan.partitioner, plan.also_partitioner) == ("murmur2", "crc32")
    for chosen in (MURMUR2, crc32):
        assert [chosen.partition(with_suffix(KEY, each), 12) for each in plan.suffixes] == list(plan.partitions)


def test_a_plan_for_one_partitioner_does_not_stand_for_a_fleet_of_two() -> None:
    plan, mixed = standing(0.4), Terms(partitioner=MURMUR2, also=partitioner("crc32"))
    assert stands(KEY, plan, Terms(partitioner=MURMUR2), 12)
    assert not stands(KEY, plan, mixed, 12)
    both = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), mixed))
    assert stands(KEY, both, mixed, 12)
    assert stands(KEY, both, Terms(partitioner=MURMUR2), 12)
    assert not stands(KEY, both, Terms(partitioner=partitioner("crc32")), 12)  # told as a plan for murmur2


def test_where_two_partitioners_reach_few_partitions_the_plan_takes_of_those() -> None:
    agreed = {3: 5, 9: 7}
    one = Partitioner("one", lambda key, n: agreed.get(number_of(key), 0) % n)
    other = Partitioner("other", lambda key, n: agreed.get(number_of(key), 1) % n)
    plan = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), Terms(partitioner=one, also=other)))
    assert (plan.suffixes, plan.partitions, plan.reason) == (("3", "9"), (5, 7), "best_effort")


def test_partitioners_that_never_agree_are_refused() -> None:
    one, other = Partitioner("one", lambda _key, _n: 0), Partitioner("other", lambda _key, _n: 1)
    refusal = refused(plan_split(HotLoad(KEY, 0.4), even(0.4), Terms(partitioner=one, also=other)))
    assert refusal.reason == "no_shared_suffix"
    assert "one" in refusal.detail
    assert "other" in refusal.detail


def test_a_mixed_plan_grows_on_partitions_that_both_reach() -> None:
    agreed = {3: 5, 9: 7, 11: 8}
    one = Partitioner("one", lambda key, n: agreed.get(number_of(key), 0) % n)
    other = Partitioner("other", lambda key, n: agreed.get(number_of(key), 1) % n)
    terms = Terms(partitioner=one, also=other)
    small = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), replace(terms, max_shards=2)))
    grown = planned(resize(HotLoad(KEY, 0.6), small, even(0.6), terms))
    assert grown.partitions == (5, 7, 8)
    assert grown.suffixes[:2] == small.suffixes


# By partition


def test_where_partitions_are_given_a_plan_has_no_suffixes_and_stands_by_its_count() -> None:
    terms = Terms(partitioner=MURMUR2, carry=Carry.PARTITION)
    plan = planned(plan_split(HotLoad(b"\x00\xff", 0.4), even(0.4), terms))
    assert (plan.suffixes, plan.shards, plan.carry) == ((), 8, Carry.PARTITION)
    assert plan.imbalance_after == pytest.approx(12 * 0.1)
    assert stands(b"\x00\xff", plan, terms, 12)
    assert not stands(b"\x00\xff", plan, terms, 24)
    assert not stands(b"\x00\xff", plan, Terms(partitioner=MURMUR2), 12)
    grown = planned(resize(HotLoad(b"\x00\xff", 0.9), plan, even(0.9), terms))
    assert grown.partitions[:8] == plan.partitions
    assert grown.suffixes == ()


# Several keys at once


def test_keys_are_planned_the_largest_first_and_make_room_for_one_another() -> None:
    hots = [HotLoad(b"t\x1fsmall", 6, {0: 6}), HotLoad(b"t\x1flarge", 40, {0: 40})]
    together = plan_all(hots, [5.0] * 12, Terms(partitioner=MURMUR2))
    assert [each.key for each in together.verdicts] == [b"t\x1flarge", b"t\x1fsmall"]
    large, small = together.verdicts
    assert planned(large).partitions == (1, 2, 3, 4, 5, 6, 7)
    assert refused(small).reason == "partition_not_above"  # once the large one has gone
    assert together.imbalance_before == pytest.approx(51 / (106 / 12))
    assert together.after == pytest.approx((11, *[5 + 40 / 7] * 7, 5, 5, 5, 5))
    assert together.plans == (large,)


def test_what_stood_in_a_keys_way_may_go_and_the_key_have_another_turn() -> None:
    # the smaller one keeps the larger from its only free partition, until it is spread itself
    hots = [HotLoad(b"t\x1flarge", 60, {0: 60}), HotLoad(b"t\x1fsmall", 50, {1: 50})]
    together = plan_all(hots, [0.0, 0.0, 0.0, 0.0], Terms(partitioner=MURMUR2))
    assert together.imbalance_after <= 1.25 + 1e-9


def test_a_key_too_small_for_a_split_is_moved_where_it_collides_and_moves_are_wanted() -> None:
    # 100 partitions of 1.0, one with 1.3: of its keys one has 0.1, a tenth of a percent of the whole
    background = [1.2, *[1.0] * 99]
    hot, terms = HotLoad(KEY, 0.1, {0: 0.1}), Terms(partitioner=MURMUR2, min_shards=2)
    assert refused(plan_split(hot, background, terms)).reason == "not_worth"
    plan = planned(plan_split(hot, background, replace(terms, moves=True)))
    assert plan.shards == 1
    assert plan.imbalance_after == pytest.approx(1.2 * 100 / 100.3)
    crowded = [9.2, *[1.0] * 99]
    assert refused(plan_split(hot, crowded, replace(terms, moves=True))).reason == "not_worth"  # one of too many


def test_a_key_with_terms_of_its_own_is_planned_on_them_among_the_others() -> None:
    hots = [HotLoad(b"a", 200.0), HotLoad(b"b", 190.0)]
    terms = Terms(partitioner=MURMUR2)
    together = plan_all(hots, [5.0] * 12, terms, {b"b": replace(terms, max_shards=2)})
    first, second = together.plans
    assert (first.key, second.key, second.shards) == (b"a", b"b", 2)
    assert first.shards > 2
