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
from hotshard.core.planning.verdict import Plan, Refusal
from hotshard.core.planning.worth import above_others, min_share, worth_splitting
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
