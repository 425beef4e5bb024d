"""Bounds on a plan: what is set, what a partition takes, what a person asks for, what no shard divides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import resize
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.terms import pinned, terms_of
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import Carry, TopicSpec
from tests.support.planning import KEY, MURMUR2, at, even, planned, refused, standing


def test_a_plan_has_at_least_as_many_shards_as_are_set() -> None:
    plan = planned(plan_split(HotLoad(KEY, 0.1), even(0.1), Terms(partitioner=MURMUR2, eps=0.5, min_shards=5)))
    assert plan.shards == 5
    all_of_them = planned(plan_split(HotLoad(KEY, 0.9), even(0.9), Terms(partitioner=MURMUR2, min_shards=99)))
    assert all_of_them.shards == 12


def test_the_upper_bound_on_shards_is_the_harder_one() -> None:
    terms = Terms(partitioner=MURMUR2, min_shards=5, max_shards=3)
    assert planned(plan_split(HotLoad(KEY, 0.4), even(0.4), terms)).shards == 3


@pytest.mark.parametrize(("sub", "refused_for"), [(0.2, None), (0.203, None), (0.21, "hot_discriminator")])
def test_a_key_whose_largest_sub_unit_has_no_room_anywhere_is_not_split(sub: float, refused_for: str | None) -> None:
    # notes 2.2: p * q > (p + eps)/n, with p 0.4, eps 0.6 and n 12: q > 0.2083
    verdict = plan_split(HotLoad(KEY, 0.4, None, sub), even(0.4), Terms(partitioner=MURMUR2, eps=0.6))
    if refused_for is None:
        assert planned(verdict).imbalance_after == pytest.approx(12 * (sub * 0.4 + 0.05))
    else:
        assert refused(verdict).reason == refused_for
        assert refused(verdict).numbers["largest_sub"] == pytest.approx(sub)


def test_a_sub_unit_with_room_is_counted_on_the_fullest_partition_of_the_plan() -> None:
    # limit 0.1042, background 0.05: eight shards of 0.05 have room, and so has the sub-unit with 0.052
    hot = HotLoad(KEY, 0.4, None, 0.13)
    plan = planned(plan_split(hot, even(0.4), Terms(partitioner=MURMUR2)))
    assert (plan.shards, plan.reason) == (8, "within_tolerance")
    assert plan.numbers["after"] == pytest.approx(0.4 * 0.13 + 0.05)


def test_no_more_shards_are_made_than_the_key_could_fill_partitions() -> None:
    # incident I124: 64 suffixes at 200 records a second; a partition takes 150
    terms = Terms(partitioner=MURMUR2, eps=0.05, capacity=150)
    plan = planned(plan_split(HotLoad(KEY, 200), [1.0] * 100, terms))
    assert (plan.shards, plan.reason) == (2, "best_effort")
    assert planned(plan_split(HotLoad(KEY, 200), [1.0] * 100, replace(terms, capacity=1))).shards > 64 / 2


def test_where_so_few_shards_bring_nothing_the_number_it_takes_is_told() -> None:
    terms = Terms(partitioner=at(0), eps=0.05, capacity=500)
    refusal = refused(plan_split(HotLoad(KEY, 200), [1.0] * 100, terms))
    assert refusal.reason == "too_many_shards"
    assert (refusal.numbers["fillable"], refusal.numbers["capacity"]) == (1, 500)
    assert refusal.numbers["shards"] > 1


def test_partitions_are_filled_up_from_what_they_carry_besides() -> None:
    # 300 on a partition with 448, and a partition takes 300: each has room for 152, so two shards take it
    terms = Terms(partitioner=at(0), eps=0.05, capacity=300)
    plan = planned(plan_split(HotLoad(KEY, 300), [148.0] * 10, terms))
    assert plan.shards == 2
    assert plan.numbers["after"] == 298


def test_idle_partitions_are_as_many_as_the_load_is_times_what_one_takes() -> None:
    # incident I124: suffixes <= ceil(rate / per-partition cap)
    for load, shards in ((301.0, 3), (300.0, 2), (299.0, 2)):
        plan = planned(plan_split(HotLoad(KEY, load), [0.0] * 32, Terms(partitioner=at(0), eps=0.05, capacity=150)))
        assert plan.shards == shards


def test_what_a_plan_brings_is_told_of_the_topic_and_of_the_partitions_the_key_is_on() -> None:
    # the key is on partition 0, which keeps 40; it goes to 2 and 3, and on partition 1 another one stays with 200
    plan = planned(plan_split(HotLoad(KEY, 100), [40.0, 200.0, 20.0, 20.0], Terms(partitioner=at(0))))
    assert plan.partitions == (2, 3)
    assert (plan.imbalance_before, plan.imbalance_after) == (200 / 95, 200 / 95)
    assert (plan.own_before, plan.own_after) == (140 / 95, 70 / 95)
    crowded = planned(plan_split(HotLoad(KEY, 100), [110.0, 200.0, 0.0, 0.0], Terms(partitioner=at(0))))
    assert (crowded.partitions, crowded.own_after) == ((2,), 110 / 102.5), "where it leaves others stay"


def test_where_no_number_of_shards_is_within_what_partitions_take_evenness_alone_counts() -> None:
    crowded = [140.0] * 12
    free = planned(plan_split(HotLoad(KEY, 300), crowded, Terms(partitioner=at(0))))
    assert planned(plan_split(HotLoad(KEY, 300), crowded, Terms(partitioner=at(0), capacity=145))).shards == free.shards


def test_a_load_that_falls_below_a_bound_of_capacity_does_not_cut_a_plan() -> None:
    terms = Terms(partitioner=MURMUR2, capacity=15)
    plan = planned(plan_split(HotLoad(KEY, 40), [5.0] * 12, terms))
    assert plan.shards == 4
    assert resize(HotLoad(KEY, 29), plan, [5.0] * 12, terms) is None


@pytest.mark.parametrize(("wanted", "shards"), [(3, 3), (12, 12), (40, 12), (1, 1), (0, 2)])
def test_a_person_gets_the_shards_that_were_asked_for_whatever_it_is_worth(wanted: int, shards: int) -> None:
    plan = planned(plan_split(HotLoad(KEY, 0.001), even(0.001), pinned(Terms(partitioner=MURMUR2), wanted)))
    assert plan.shards == shards


def test_a_person_who_leaves_the_number_open_gets_as_many_as_it_takes() -> None:
    plan = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), pinned(Terms(partitioner=MURMUR2), 0)))
    assert plan.shards == 8
    crowded = planned(plan_split(HotLoad(KEY, 100), [0, 67, 67], pinned(Terms(partitioner=at(0)), 0)))
    assert (crowded.shards, crowded.reason) == (3, "pinned")  # with one it would be 100, with two 117


def test_a_plan_follows_a_pin_at_its_tail() -> None:
    plan = standing(0.1)
    for wanted in (2, 7):
        again = planned(resize(HotLoad(KEY, 0.1), plan, even(0.1), pinned(Terms(partitioner=MURMUR2), wanted)))
        assert again.shards == wanted
        assert again.partitions[: min(wanted, 4)] == plan.partitions[: min(wanted, 4)]


def test_terms_are_those_of_the_settings() -> None:
    spec = TopicSpec(
        name="t",
        sources=("t",),
        partitioner="murmur2_random",
        also_partitioner="consistent_random",
        carry=Carry.PARTITION,
        policy=Policy(eps=0.1, min_shards=3, max_shards=9),
    )
    terms = terms_of(spec)
    assert (terms.partitioner.name, terms.also and terms.also.name) == ("murmur2", "crc32")
    assert (terms.eps, terms.min_shards, terms.max_shards, terms.carry) == (0.1, 3, 9, Carry.PARTITION)
    assert terms_of(spec, Policy(eps=0.5)).eps == 0.5
    assert terms_of(replace(spec, also_partitioner="murmur2")).also is None
