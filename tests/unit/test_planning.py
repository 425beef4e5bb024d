"""Plans: what they come to in cases worked out by hand or measured before."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from hotshard.core.keys import MAX_SUFFIXABLE_BYTES, with_suffix
from hotshard.core.partitioners import Partitioner, partitioner
from hotshard.core.planning.allowed import forbidden, unsuffixable
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import resize, stands
from hotshard.core.planning.score import imbalance, spread, with_load, without_load
from hotshard.core.planning.shards import shard_of
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.terms import pinned, terms_of
from hotshard.core.planning.together import plan_all
from hotshard.core.planning.verdict import Plan, Refusal
from hotshard.core.planning.worth import above_others, min_share, worth_splitting
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import Carry, KeyLayout, Ordering, PartitionsFrom, TopicSpec
from hotshard.core.wire.pane import WHOLE_KEY_BYTES

MURMUR2 = partitioner("murmur2")
KEY = b"tenant-42\x1fconversation-1"
FREE = TopicSpec(name="orders", sources=("orders",), ordering=Ordering.NONE)


def at(place: int) -> Partitioner:
    """A partitioner that sends a bare key to ``place`` and a suffix to the partition of that number."""
    return Partitioner("numbered", lambda key, n: int(key.split(b"\x1f")[2]) % n if key.count(b"\x1f") == 2 else place)


def planned(verdict: Plan | Refusal | None) -> Plan:
    assert isinstance(verdict, Plan), verdict
    return verdict


def refused(verdict: Plan | Refusal | None) -> Refusal:
    assert isinstance(verdict, Refusal), verdict
    return verdict


# Worth


@pytest.mark.parametrize(
    ("partitions", "eps", "percent"),
    [(12, 0.1, 0.91), (12, 0.25, 2.27), (12, 0.5, 4.55), (12, 1, 9.09), (48, 0.25, 0.53), (100, 0.1, 0.10)],
)
def test_the_least_share_worth_splitting_is_eps_over_n_minus_one(partitions: int, eps: float, percent: float) -> None:
    assert min_share(eps, partitions) * 100 == pytest.approx(percent, abs=0.005)


def test_exactly_the_least_share_is_not_worth_splitting() -> None:
    assert not worth_splitting(0.25 / 11, 12, 0.25)
    assert worth_splitting(math.nextafter(0.25 / 11, 1), 12, 0.25)


@pytest.mark.parametrize(("partitions", "eps"), [(1, 0.25), (2, 1.0), (2, 1.5)])
def test_nothing_is_worth_splitting_where_no_partition_can_be_above_tolerance(partitions: int, eps: float) -> None:
    assert not worth_splitting(1.0, partitions, eps)


@pytest.mark.parametrize(("eps", "partitions"), [(0, 12), (-1, 12), (math.inf, 12), (math.nan, 12), (0.25, 0)])
def test_an_impossible_tolerance_or_topic_is_refused(eps: float, partitions: int) -> None:
    with pytest.raises(ValueError, match="eps"):
        min_share(eps, partitions)


def test_a_partition_is_above_the_others_when_it_passes_the_tolerance() -> None:
    assert not above_others(125, 100, 0.25)
    assert above_others(126, 100, 0.25)


# Score


def test_imbalance_is_the_largest_over_the_mean() -> None:
    assert imbalance([30, 10, 10, 10]) == 2
    assert imbalance([0, 0]) == imbalance([]) == 1


def test_loads_are_added_and_taken_away_without_touching_what_was_given() -> None:
    loads = [1.0, 2.0, 3.0]
    assert with_load(loads, {2: 1.0, 0: 0.5}) == [1.5, 2.0, 4.0]
    assert without_load(loads, {1: 5.0, 2: 1.0}) == [1.0, 0.0, 2.0]
    assert loads == [1.0, 2.0, 3.0]
    assert spread(6, (4, 1, 2)) == {4: 2.0, 1: 2.0, 2: 2.0}


# What is forbidden


@pytest.mark.parametrize(
    ("spec", "key", "reason"),
    [
        (TopicSpec(name="t", sources=("t",)), KEY, "per_key_order"),
        (TopicSpec(name="t", sources=("t",), ordering=Ordering.NONE, compacted=True), KEY, "compacted_topic"),
        (TopicSpec(name="t", sources=("t",), ordering=Ordering.NONE, copartitioned=True), KEY, "copartitioned"),
        (FREE, b"", "empty_key"),
        (FREE, b"\x00\x00\x00\x00\x01abc", "binary_key"),
        (FREE, b"\xff", "binary_key"),
        (FREE, b"t\x1f" + b"e" * MAX_SUFFIXABLE_BYTES, "key_too_long"),
        (FREE, b"no tenant", "key_form"),
        (FREE, b"t\x1fe\x1f3", "key_form"),
    ],
)
def test_a_key_that_may_not_be_split_says_why(spec: TopicSpec, key: bytes, reason: str) -> None:
    refusal = refused(forbidden(key, spec))
    assert (refusal.key, refusal.reason) == (key, reason)
    assert refusal.detail


def test_a_free_topics_keys_may_be_split() -> None:
    assert forbidden(KEY, FREE) is None
    by_sub_unit = TopicSpec(name="t", sources=("t",), ordering=Ordering.PER_DISCRIMINATOR, layout=KeyLayout.ENTITY)
    assert forbidden(b"entity", by_sub_unit) is None


BY_PARTITION = TopicSpec(name="t", sources=("t",), ordering=Ordering.NONE, carry=Carry.PARTITION)


@pytest.mark.parametrize(
    "key", [b"\xff", b"\x00\x00\x00\x00\x01abc", b"no tenant", b"t\x1fe\x1f3", b"e" * WHOLE_KEY_BYTES]
)
def test_keys_of_any_form_may_be_split_where_partitions_are_given(key: bytes) -> None:
    assert forbidden(key, BY_PARTITION) is None


@pytest.mark.parametrize(
    ("spec", "key", "reason"),
    [
        (BY_PARTITION, b"", "empty_key"),
        (BY_PARTITION, b"e" * (WHOLE_KEY_BYTES + 1), "key_too_long"),
        (replace(BY_PARTITION, partitions_from=PartitionsFrom.COMPUTED), KEY, "partitions_unseen"),
        (replace(BY_PARTITION, compacted=True), KEY, "compacted_topic"),
        (replace(BY_PARTITION, ordering=Ordering.PER_KEY), KEY, "per_key_order"),
    ],
)
def test_where_partitions_are_given_some_keys_may_not_be_split_either(spec: TopicSpec, key: bytes, reason: str) -> None:
    assert refused(forbidden(key, spec)).reason == reason


def test_without_a_layout_any_text_can_be_given_a_suffix() -> None:
    assert unsuffixable(b"anything") is None
    assert refused(plan_split(HotLoad(b"\xff", 90), [10.0] * 12, Terms(partitioner=MURMUR2))).reason == "binary_key"


# Placement


@pytest.mark.parametrize(
    ("share", "partitions", "eps", "shards"),
    [  # notes/splitting-and-sketches.md 2.2, measured and by s = ceil(pn / (p + eps))
        (0.1, 12, 0.5, 2),
        (0.2, 12, 0.25, 6),
        (0.2, 12, 0.5, 4),
        (0.4, 12, 0.5, 6),
        (0.1, 24, 0.5, 4),
        (0.2, 24, 0.5, 7),
        (0.4, 24, 0.25, 15),
        (0.2, 48, 0.5, 14),
        (0.4, 48, 1.0, 14),
    ],
)
def test_on_an_even_background_the_known_numbers_of_shards_are_enough(
    share: float, partitions: int, eps: float, shards: int
) -> None:
    even = [(1 - share) / partitions] * partitions
    plan = planned(plan_split(HotLoad(KEY, share), even, Terms(partitioner=MURMUR2, eps=eps)))
    assert (len(plan.suffixes), plan.reason) == (shards, "within_tolerance")
    assert plan.imbalance_before == pytest.approx(share * partitions + 1 - share)
    assert plan.imbalance_after == pytest.approx(share * partitions / shards + 1 - share)


def test_a_plan_takes_the_least_loaded_partitions_and_says_what_it_comes_to() -> None:
    plan = planned(plan_split(HotLoad(KEY, 60), [10, 40, 5, 8], Terms(partitioner=at(1), eps=0.25)))
    # mean 30.75, limit 38.4: one shard would carry 65, two 30 + 8, and two are enough
    assert (plan.suffixes, plan.partitions) == (("2", "3"), (2, 3))
    assert plan.imbalance_before == pytest.approx(100 / 30.75)
    assert plan.imbalance_after == pytest.approx(40 / 30.75)
    assert plan.numbers == pytest.approx(
        {"share": 60 / 123, "mean": 30.75, "limit": 38.4375, "before": 100, "after": 38}
    )
    assert (plan.key, plan.partition_count, plan.partitioner) == (KEY, 4, "numbered")


def test_where_one_shard_elsewhere_is_enough_the_key_is_only_moved() -> None:
    plan = planned(plan_split(HotLoad(KEY, 20), [25, 5, 20, 30], Terms(partitioner=at(3), eps=0.25)))
    assert plan.partitions == (1,)


def test_a_key_is_not_moved_by_a_cent_more_than_it_must() -> None:
    # limit exactly met: mean 100, limit 125, one shard on an empty partition
    plan = planned(plan_split(HotLoad(KEY, 125), [0, 75, 100, 100], Terms(partitioner=at(1), eps=0.25)))
    assert plan.partitions == (0,)


def test_a_bound_on_shards_gives_the_best_within_it() -> None:
    plan = planned(plan_split(HotLoad(KEY, 0.4), [0.05] * 12, Terms(partitioner=MURMUR2, eps=0.25, max_shards=4)))
    assert (len(plan.suffixes), plan.reason) == (4, "best_effort")
    assert plan.imbalance_after == pytest.approx(12 * 0.15)


def test_best_effort_stops_where_more_shards_hardly_help() -> None:
    # mean 46.4, limit 46.9; with 1 to 5 shards the worst carries 110, 60, 55.3, 55 and 80
    terms = Terms(partitioner=at(0), eps=0.01)
    plan = planned(plan_split(HotLoad(KEY, 100), [10, 10, 22, 30, 60], terms))
    assert (plan.partitions, plan.reason) == ((0, 1, 2), "best_effort")


@pytest.mark.parametrize(
    ("hot", "background", "eps", "reason"),
    [
        (HotLoad(KEY, 2), [9] * 12, 0.25, "not_worth"),
        (HotLoad(KEY, 0), [0] * 12, 0.25, "not_worth"),
        (HotLoad(KEY, 100), [0], 0.25, "not_worth"),
        (HotLoad(KEY, 10), [0, 10, 10], 0.25, "partition_not_above"),
        (HotLoad(KEY, 10, {}), [1] * 3, 0.25, "partition_not_above"),
        (HotLoad(KEY, 100), [0, 67, 67], 0.25, "no_room"),
    ],
)
def test_a_key_for_which_a_split_does_nothing_is_refused(
    hot: HotLoad, background: list[float], eps: float, reason: str
) -> None:
    refusal = refused(plan_split(hot, background, Terms(partitioner=at(0), eps=eps)))
    assert (refusal.key, refusal.reason) == (KEY, reason)
    assert refusal.detail
    assert all(math.isfinite(number) for number in refusal.numbers.values())


def test_the_load_in_the_way_is_named() -> None:
    refusal = refused(plan_split(HotLoad(KEY, 100), [0, 68, 67], Terms(partitioner=at(0))))
    assert (refusal.numbers["blocking_partition"], refusal.numbers["blocking_load"]) == (2, 67)


def test_a_partitioner_that_reaches_too_few_partitions_is_refused() -> None:
    stuck = Terms(partitioner=Partitioner("stuck", lambda _key, _partitions: 0))
    assert refused(plan_split(HotLoad(KEY, 90), [1] * 12, stuck)).reason == "no_suffix"


def test_a_topic_without_partitions_is_an_error() -> None:
    with pytest.raises(ValueError, match="partition"):
        plan_split(HotLoad(KEY, 90), [], Terms(partitioner=MURMUR2))


def test_a_background_below_nothing_counts_as_nothing() -> None:
    assert plan_split(HotLoad(KEY, 90), [-50, 10, 10, 10], Terms(partitioner=MURMUR2)) == plan_split(
        HotLoad(KEY, 90), [0, 10, 10, 10], Terms(partitioner=MURMUR2)
    )


def test_the_measured_place_of_a_key_counts_and_not_where_it_should_be() -> None:
    hot = HotLoad(KEY, 60, {0: 30, 1: 30})
    assert planned(plan_split(hot, [20, 10, 5, 5], Terms(partitioner=at(3)))).imbalance_before == 2


# Bounds, sub-units, capacity, pins


def even(share: float, partitions: int = 12) -> list[float]:
    return [(1 - share) / partitions] * partitions


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


def test_a_sub_unit_that_no_shard_divides_makes_more_shards_than_help_pointless() -> None:
    # limit 0.104 on each: half of the key, 0.05, has room from one shard on a partition with 0.05
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


def test_a_load_that_falls_below_a_bound_of_capacity_does_not_cut_a_plan() -> None:
    terms = Terms(partitioner=MURMUR2, capacity=10)
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
    one = Partitioner("one", lambda key, n: agreed.get(_number(key), 0) % n)
    other = Partitioner("other", lambda key, n: agreed.get(_number(key), 1) % n)
    plan = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), Terms(partitioner=one, also=other)))
    assert (plan.suffixes, plan.partitions, plan.reason) == (("3", "9"), (5, 7), "best_effort")


def test_partitioners_that_never_agree_are_refused() -> None:
    one, other = (Partitioner(name, lambda _key, _n, place=place: place) for name, place in (("one", 0), ("other", 1)))
    refusal = refused(plan_split(HotLoad(KEY, 0.4), even(0.4), Terms(partitioner=one, also=other)))
    assert refusal.reason == "no_shared_suffix"
    assert "one" in refusal.detail
    assert "other" in refusal.detail


def test_a_mixed_plan_grows_on_partitions_that_both_reach() -> None:
    agreed = {3: 5, 9: 7, 11: 8}
    one = Partitioner("one", lambda key, n: agreed.get(_number(key), 0) % n)
    other = Partitioner("other", lambda key, n: agreed.get(_number(key), 1) % n)
    terms = Terms(partitioner=one, also=other)
    small = planned(plan_split(HotLoad(KEY, 0.4), even(0.4), replace(terms, max_shards=2)))
    grown = planned(resize(HotLoad(KEY, 0.6), small, even(0.6), terms))
    assert grown.partitions == (5, 7, 8)
    assert grown.suffixes[:2] == small.suffixes


def _number(key: bytes) -> int:
    return int(key.split(b"\x1f")[2]) if key.count(b"\x1f") == 2 else -1


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
    assert (plan.shards, plan.imbalance_after) == (1, pytest.approx(1.2 * 100 / 100.3))
    crowded = [9.2, *[1.0] * 99]
    assert refused(plan_split(hot, crowded, replace(terms, moves=True))).reason == "not_worth"  # one of too many


# Resizing


def standing(share: float, partitions: int = 12) -> Plan:
    even = [(1 - share) / partitions] * partitions
    return planned(plan_split(HotLoad(KEY, share), even, Terms(partitioner=MURMUR2)))


def test_a_plan_grows_with_its_key_at_its_tail_only() -> None:
    small = standing(0.1)
    grown = planned(resize(HotLoad(KEY, 0.4), small, [0.05] * 12, Terms(partitioner=MURMUR2)))
    assert (len(small.suffixes), len(grown.suffixes)) == (4, 8)
    assert grown.suffixes[:4] == small.suffixes
    assert grown.partitions[:4] == small.partitions
    assert len(set(grown.partitions)) == 8
    assert stands(KEY, grown, Terms(partitioner=MURMUR2), 12)
    assert grown.imbalance_after < grown.imbalance_before


def test_a_plan_is_cut_at_its_tail_when_its_key_shrinks_far_enough() -> None:
    large = standing(0.4)
    cut = planned(resize(HotLoad(KEY, 0.1), large, [0.075] * 12, Terms(partitioner=MURMUR2)))
    # within 1 + eps/2 and not only 1 + eps, for which four would do
    assert len(cut.suffixes) == 6
    assert cut.suffixes == large.suffixes[:6]
    assert cut.imbalance_after <= 1.125 + 1e-9


def test_a_plan_does_not_swing_between_two_sizes() -> None:
    plan = standing(0.2)
    assert len(plan.suffixes) == 6
    for share in (0.19, 0.2, 0.17, 0.2, 0.15):
        assert resize(HotLoad(KEY, share), plan, [(1 - share) / 12] * 12, Terms(partitioner=MURMUR2)) is None


def test_a_plan_over_a_lowered_bound_is_cut_to_it() -> None:
    large = standing(0.4)
    cut = planned(resize(HotLoad(KEY, 0.4), large, [0.05] * 12, Terms(partitioner=MURMUR2, max_shards=3)))
    assert cut.suffixes == large.suffixes[:3]


def test_growing_stops_at_the_bound() -> None:
    small = standing(0.1)
    assert resize(HotLoad(KEY, 0.4), small, [0.05] * 12, Terms(partitioner=MURMUR2, max_shards=4)) is None


def test_a_crowded_partition_of_a_plan_does_not_make_it_grow_for_nothing() -> None:
    plan = standing(0.1)
    background = [0.03] * 12
    background[plan.partitions[0]] = 3.0
    assert resize(HotLoad(KEY, 0.1), plan, background, Terms(partitioner=MURMUR2)) is None


def test_a_plan_for_another_partition_count_does_not_stand() -> None:
    plan = standing(0.4)
    assert not stands(KEY, plan, Terms(partitioner=MURMUR2), 24)
    with pytest.raises(ValueError, match="new plan"):
        resize(HotLoad(KEY, 0.4), plan, [0.025] * 24, Terms(partitioner=MURMUR2))


def test_a_plan_whose_tail_cannot_be_reached_stays() -> None:
    plan = standing(0.1)
    reached = {with_suffix(KEY, suffix): place for suffix, place in zip(plan.suffixes, plan.partitions, strict=True)}
    narrow = Partitioner("murmur2", lambda key, _partitions: reached.get(key, plan.partitions[0]))
    assert resize(HotLoad(KEY, 0.4), plan, [0.05] * 12, Terms(partitioner=narrow)) is None


# Shards


@pytest.mark.parametrize(
    ("discriminator", "of_2", "of_7", "of_64"),
    [("", 1, 1, 17), ("a", 1, 2, 31), ("tenant-42", 0, 6, 24), ("日本", 0, 6, 37)],
)
def test_shards_of_these_discriminators_are_part_of_the_protocol(
    discriminator: str, of_2: int, of_7: int, of_64: int
) -> None:
    assert tuple(shard_of(discriminator, shards) for shards in (2, 7, 64)) == (of_2, of_7, of_64)


def test_text_and_its_utf_8_have_the_same_shard() -> None:
    assert all(shard_of("日本", shards) == shard_of("日本".encode(), shards) for shards in range(1, 100))


def test_numbered_discriminators_spread_evenly() -> None:
    counts = [0] * 8
    for number in range(8_000):
        counts[shard_of(f"user-{number}", 8)] += 1
    assert max(counts) < 1_120
    assert min(counts) > 880
