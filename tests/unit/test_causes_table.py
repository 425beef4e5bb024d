"""The table of causes and remedies, case by case.

A case is added by a line: its name says what is so, and the verdict is what DESIGN.md, section 4, asks for.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.causes.evidence import Cause, Evidence, HotName, LagEvidence, PartitionLag
from hotshard.core.causes.remedies import REMEDIES
from hotshard.core.causes.table import TABLE, judge
from hotshard.core.partitioners import partition_of
from hotshard.core.planning.score import imbalance
from hotshard.core.wire.route import Treatment
from tests.support.causes import crowd, evidence_of, hot_name, lag_of

if TYPE_CHECKING:
    from collections import Counter

N = 12
CROWD = crowd(3000)
FLOOD = CROWD + crowd(1, 4000, "acme\x1forder-")
HOT = b"acme\x1forder-0"
CALM = evidence_of(CROWD, N)


def hot(**fields: object) -> Evidence:
    """A key with two fifths of the load among 3,000 others, with these fields of the key."""
    return evidence_of(FLOOD, N, hot={HOT: fields})


def named(name: bytes) -> Counter[bytes]:
    return CROWD + type(CROWD)({name: 4000})


def tenant(share: float, **fields: object) -> HotName:
    return hot_name(b"acme", round(6000 * share), 6000, **fields)


def colliding(load: int) -> Evidence:
    """Nine keys of this load that fall together, none of them hot, among 3,000 others."""
    place = partition_of("murmur2", N)
    together = [key for key in crowd(1000, 1, "m") if place(key) == 5][:9]
    return evidence_of(CROWD + type(CROWD)(dict.fromkeys(together, load)), N)


def lagging(lag: LagEvidence, **more: object) -> Evidence:
    return replace(CALM, lag=lag, **more)  # type: ignore[arg-type]  # any field


UNOWNED = replace(
    lag_of([0] * 11 + [9000], members=4),
    partitions=(
        *lag_of([0] * 11, members=4).partitions,
        PartitionLag(partition=11, committed=0, end=9000, log_start=0),
    ),
)
STUCK = lag_of([0] * 11 + [9000], went=[1000] * 11 + [0])
ONE_OWNER = replace(
    lag_of([9000] * N, members=8),
    partitions=tuple(replace(each, owner="member-0") for each in lag_of([9000] * N).partitions),
)

T, C = Treatment, Cause
CASES: dict[str, tuple[Evidence, Cause, Treatment, str]] = {
    # Nothing is wrong.
    "no records": (Evidence(partitions=3, loads=(0, 0, 0), records=0), C.NONE, T.NONE, "no_load"),
    "one partition": (evidence_of(FLOOD, 1), C.NONE, T.NONE, "one_partition"),
    "3,000 keys of 2 records": (CALM, C.NONE, T.NONE, "even"),
    "two records of two keys": (evidence_of(crowd(2, 1), 3), C.NONE, T.NONE, "too_few_records"),
    "a hot key on a partition with room": (
        replace(CALM, hot_keys=(hot_name(b"k1", 300, 6000, partitions=(0,)),)), C.NONE, T.NONE, "partition_not_above",
    ),
    "a hot key that is split": (
        replace(CALM, hot_keys=(hot_name(b"k1", 3000, 6000, routed=True),)), C.NONE, T.NONE, "plan_holds",
    ),
    "no key at all, evenly": (
        Evidence(partitions=3, loads=(0, 0, 0), records=900, unkeyed=900, unkeyed_loads=(300, 310, 290)),
        C.NONE, T.NONE, "unkeyed_even",
    ),
    # Keys.
    "one key": (evidence_of(crowd(1, 1000), 15), C.FEW_KEYS, T.REKEY, "constant_key"),
    "one key that stands for nothing": (
        evidence_of({b"undefined": 1000}, 15), C.FEW_KEYS, T.REKEY, "placeholder_key",
    ),
    "twelve countries on 48 partitions": (
        evidence_of(crowd(12, 100), 48), C.FEW_KEYS, T.REKEY, "fewer_keys_than_partitions",
    ),
    "three keys a partition, one of them large": (
        evidence_of(crowd(35, 100) + crowd(1, 3000, "large"), N), C.FEW_KEYS, T.REKEY, "few_keys",
    ),
    "few keys of which it is not known how many": (
        replace(evidence_of(crowd(1, 1000), 15), distinct_keys=None), C.HOT_KEY, T.SPLIT, "spreadable_key",
    ),
    "no key at all, nobody knows where": (
        Evidence(partitions=3, loads=(0, 0, 0), records=900, unkeyed=900), C.NO_KEY, T.NONE, "all_unkeyed",
    ),
    "no keys on one partition": (
        Evidence(partitions=6, loads=(0,) * 6, records=499, unkeyed=499, unkeyed_loads=(499, 0, 0, 0, 0, 0)),
        C.NO_KEY, T.REKEY, "unkeyed_pinned",
    ),
    "no keys on every other partition": (
        Evidence(partitions=6, loads=(0,) * 6, records=600, unkeyed=600, unkeyed_loads=(0, 200, 0, 200, 0, 200)),
        C.NO_KEY, T.REKEY, "unkeyed_alternating",
    ),
    "no keys on some partitions more": (
        Evidence(partitions=4, loads=(0,) * 4, records=1000, unkeyed=1000, unkeyed_loads=(400, 350, 150, 100)),
        C.NO_KEY, T.REKEY, "unkeyed_uneven",
    ),
    "a few records without a key on one partition": (
        replace(CALM, records=6030, unkeyed=30, unkeyed_loads=(30, *[0] * 11)), C.NONE, T.NONE, "even",
    ),
    "a hot key, and records without a key that lie evenly": (
        replace(hot(), records=11_200, unkeyed=1200, unkeyed_loads=(100,) * N), C.HOT_KEY, T.SPLIT, "spreadable_key",
    ),
    # Consumers.
    "one partition stands still": (lagging(STUCK), C.STUCK_PARTITION, T.DEAD_LETTER, "poison_record"),
    "two groups stand still at one offset": (
        lagging(STUCK, more_lags=(replace(STUCK, group="other"),)), C.STUCK_PARTITION, T.DEAD_LETTER, "bad_record",
    ),
    "a partition that nobody has": (lagging(UNOWNED), C.STUCK_PARTITION, T.NONE, "unassigned_partition"),
    "one partition lags though load is even": (
        lagging(lag_of([5] * 11 + [9000])), C.STUCK_PARTITION, T.NONE, "lag_without_load",
    ),
    "a little lag here and there": (lagging(lag_of([0, 30, 200] * 4)), C.NONE, T.NONE, "even"),
    "all behind, one of them very far, for it has a hot key": (
        replace(hot(), lag=lag_of([6000] * 11 + [60_000])), C.HOT_KEY, T.SPLIT, "spreadable_key",
    ),
    "all behind, with four members": (
        lagging(lag_of([9000] * N, members=4)), C.SLOW_CONSUMERS, T.SCALE_CONSUMERS, "members_below_partitions",
    ),
    "all behind, with nobody knows how many members": (
        lagging(lag_of([9000] * N)), C.SLOW_CONSUMERS, T.SCALE_CONSUMERS, "members_unknown",
    ),
    "all behind, with a member each": (
        lagging(lag_of([9000] * N, members=N)), C.SLOW_CONSUMERS, T.ADD_PARTITIONS, "all_partitions_high",
    ),
    "all behind, with a member each, and load uneven": (
        replace(hot(), lag=lag_of([9000] * N, members=N)), C.SLOW_CONSUMERS, T.NONE, "members_at_partitions",
    ),
    "all behind, and one of eight members has them all": (
        lagging(ONE_OWNER), C.SLOW_CONSUMERS, T.NONE, "idle_members",
    ),
    "nobody reads": (
        lagging(lag_of([900] * N, went=[0] * N)), C.SLOW_CONSUMERS, T.SCALE_CONSUMERS, "consumers_stopped",
    ),
    "even, and more than partitions can carry": (
        replace(CALM, capacity_per_s=40.0), C.SLOW_CONSUMERS, T.ADD_PARTITIONS, "all_partitions_high",
    ),
    # Over windows.
    "a flood in two of ten windows": (replace(hot(), windows_hot=2), C.BURST, T.NONE, "burst"),
    "a flood in two of ten windows that is split": (
        replace(hot(routed=True), windows_hot=2), C.BURST, T.SPLIT, "burst_split",
    ),
    "a flood in the first of two windows": (
        replace(hot(), windows=2, windows_hot=1), C.HOT_KEY, T.SPLIT, "spreadable_key",
    ),
    "a flood in four of ten windows": (replace(hot(), windows_hot=4), C.HOT_KEY, T.SPLIT, "spreadable_key"),
    "another key in every window": (
        replace(hot(), recent_tops=(b"red", b"blue", b"green", b"white")), C.SEQUENTIAL_KEY, T.REKEY, "moving_key",
    ),
    "the next number in every window": (
        replace(hot(), recent_tops=(b"run-17", b"run-18", b"run-19")), C.SEQUENTIAL_KEY, T.REKEY, "rising_key",
    ),
    "the same key in two of five windows": (
        replace(hot(), recent_tops=(b"red", b"blue", b"blue", b"green", b"white")), C.HOT_KEY, T.SPLIT,
        "spreadable_key",
    ),
    "keys of the clock, evenly": (
        evidence_of(
            {str(1_700_000_000_000 + ms).encode(): 200 for ms in range(0, 2000, 2)}, N,
            start_ms=1_700_000_000_000, end_ms=1_700_000_002_000,
        ),
        C.SEQUENTIAL_KEY, T.REKEY, "moving_key",
    ),
    # One hot key.
    "a key that may be split": (hot(), C.HOT_KEY, T.SPLIT, "spreadable_key"),
    "a key whose sub-units are spread": (hot(largest_sub=0.1), C.HOT_KEY, T.SPLIT, "spreadable_key"),
    "a key of one large sub-unit": (hot(largest_sub=0.9), C.HOT_DISCRIMINATOR, T.ISOLATE, "skewed_discriminator"),
    "a key of one sub-unit that no partition carries": (
        replace(hot(largest_sub=0.9), capacity_per_s=200.0), C.HOT_DISCRIMINATOR, T.THROTTLE, "sub_over_capacity",
    ),
    "a key that stands for a missing value": (
        evidence_of(named(b"acme\x1fnull"), N), C.HOT_KEY, T.REKEY, "placeholder_key",
    ),
    "a key that is split, not yet to be seen": (hot(routed=True), C.HOT_KEY, T.SPLIT, "split_stands"),
    "a key whose records must stay in order": (hot(refusal="per_key_order"), C.HOT_KEY, T.REKEY, "per_key_order"),
    "a key of a compacted topic": (hot(refusal="compacted_topic"), C.HOT_KEY, T.ISOLATE, "may_not_be_split"),
    "a key that may not be split and no partition carries": (
        replace(hot(refusal="compacted_topic"), capacity_per_s=200.0), C.HOT_KEY, T.THROTTLE, "key_over_capacity",
    ),
    "a counter": (evidence_of(named(b"#stat"), N), C.HOT_KEY, T.SPLIT, "counter_key"),
    "a small key on a full partition": (
        replace(colliding(300), hot_keys=(hot_name(b"m1", 300, 8700, partitions=(5,), by_partition=((5, 150),)),)),
        C.HOT_KEY, T.NONE, "not_worth",
    ),
    "a key on one of two partitions": (
        Evidence(
            partitions=2, loads=(900, 100), records=1000, distinct_keys=900,
            hot_keys=(hot_name(b"a", 500, 1000, partitions=(0,)),), top_of_hottest=((b"a", 500),),
        ),
        C.HOT_KEY, T.SPLIT, "spreadable_key",
    ),
    # Tenants.
    "a tenant through thousands of keys": (
        replace(CALM, hot_tenants=(tenant(0.5, largest_key=0.01),)), C.HOT_TENANT, T.ISOLATE, "many_lukewarm_keys",
    ),
    "a tenant that is the topic": (
        replace(CALM, hot_tenants=(tenant(0.97),)), C.HOT_TENANT, T.THROTTLE, "tenant_fills_topic",
    ),
    "a tenant in one of ten windows": (
        replace(CALM, hot_tenants=(tenant(0.5),), windows_hot=1), C.BURST, T.NONE, "burst",
    ),
    "a tenant that is hot by one key, which is split": (
        replace(
            CALM, hot_tenants=(tenant(0.5),), hot_keys=(hot_name(HOT, 2900, 6000, tenant=b"acme", routed=True),)
        ),
        C.NONE, T.NONE, "plan_holds",
    ),
    "a tenant with one hot key that is a small part of it": (
        replace(CALM, hot_tenants=(tenant(0.5),), hot_keys=(hot_name(HOT, 300, 6000, tenant=b"acme", routed=True),)),
        C.HOT_TENANT, T.ISOLATE, "many_lukewarm_keys",
    ),
    # The rest.
    "middling keys fall together": (colliding(60), C.COLLISION, T.NONE, "collision_tolerable"),
    "many middling keys fall together": (
        replace(colliding(300), hot_keys=()), C.COLLISION, T.REKEY, "collision",
    ),
    "a key at two partitioners' places": (
        replace(CALM, partitions=15, loads=(400,) * 15, scattered=((b"TT0124", ((10, 900), (9, 100))),)),
        C.MIXED_PARTITIONERS, T.NONE, "mixed_partitioners",
    ),
    "keys at another partitioner's places": (
        replace(
            CALM, partitions=10, loads=(600,) * 10,
            scattered=(
                (b"354afe16-939a-4ea8-8e17-8bb0840b6886", ((9, 50),)),
                (b"f562ac3b-2224-4e25-a0ab-56094e10c239", ((6, 50),)),
            ),
        ),
        C.MIXED_PARTITIONERS, T.NONE, "other_partitioner",
    ),
    "one key on five partitions": (
        replace(CALM, scattered=((b"K", tuple((place, 10) for place in (0, 2, 3, 7, 9))),)),
        C.MIXED_PARTITIONERS, T.NONE, "unstable_hash",
    ),
    "one value under two schemas": (
        replace(CALM, listed=(b"\x00\x00\x00\x00\x01customer-42", b"\x00\x00\x00\x00\x07customer-42")),
        C.MIXED_PARTITIONERS, T.NONE, "key_encodings",
    ),
    "a key where nobody puts it": (
        replace(CALM, scattered=((b"a", ((11, 300),)), (b"b", ((11, 300),)), (b"c", ((11, 300),)))),
        C.MIXED_PARTITIONERS, T.NONE, "scattered_key",
    ),
    "one partition gets more of everything": (
        replace(CALM, loads=(3000, *[300] * 11), records=6300, top_of_hottest=((b"k1", 2),)), C.UNKNOWN, T.NONE,
        "unexplained",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_verdict(case: str) -> None:
    evidence, cause, treatment, reason = CASES[case]
    verdict = judge(evidence)
    assert (verdict.cause, verdict.treatment, verdict.reason) == (cause, treatment, reason)


def test_every_remedy_but_one_has_a_case_and_every_treatment_too() -> None:
    """Where a plan finds no room the others are full as well, so the partition is hardly above them."""
    told = {(cause, reason) for _, cause, _, reason in CASES.values()}
    remedies = {(cause, remedy.reason) for cause, given in REMEDIES.items() for remedy in given}
    assert remedies - told == {(Cause.HOT_KEY, "no_room")}
    assert {treatment for _, _, treatment, _ in CASES.values()} == set(Treatment)


def test_causes_are_asked_in_the_order_of_their_list() -> None:
    assert [row.cause for row in TABLE] == list(Cause)
    assert all(row.holds.__doc__ for row in TABLE)


@pytest.mark.parametrize("case", CASES)
def test_a_verdict_is_one_sentence_and_finite_numbers(case: str) -> None:
    verdict = judge(CASES[case][0])
    assert verdict.sentence[0].isupper() or verdict.sentence[0].isdigit()
    assert verdict.sentence.endswith(".")
    assert ". " not in verdict.sentence
    assert "{" not in verdict.sentence
    assert all(isfinite(value) for value in verdict.numbers.values())


def test_where_nothing_is_surely_hot_it_is_told_where_to_look() -> None:
    evidence = replace(CALM, loads=(3000, *[300] * 11), records=6300, top_of_hottest=((b"huge", 2700),))
    assert (
        "carries 5.71 times the mean, and 'huge', which has 90% of that, is not surely hot;" in judge(evidence).sentence
    )
    assert "and it is not known why;" in judge(replace(evidence, top_of_hottest=((b"k1", 2),))).sentence
    assert "and it is not known why;" in judge(replace(evidence, top_of_hottest=())).sentence


def test_of_few_keys_one_is_named_that_has_more_than_a_partition_should() -> None:
    few = evidence_of(crowd(45, 100), 32)
    assert "alone has" not in judge(replace(few, hot_keys=(hot_name(b"k11", 105, 4500),))).sentence
    assert (
        "and key 'k11' alone has 20% of the load"
        in judge(replace(few, hot_keys=(hot_name(b"k11", 900, 4500),))).sentence
    )
    three = replace(few, partitions=3, distinct_keys=2, loads=(3000, 1500, 0))
    assert "there are 2 distinct keys for 3 partitions, 1 of which is idle;" in judge(three).sentence.lower()


def test_what_comes_later_in_the_table_is_told_beside_the_first() -> None:
    countries = evidence_of(dict(zip(crowd(12, 1, "c"), (8000, *[180] * 11), strict=True)), 48)
    assert judge(countries).cause is Cause.FEW_KEYS
    assert judge(countries).also == (Cause.HOT_KEY,)


def test_the_imbalance_that_is_promised_is_computed() -> None:
    verdict = judge(hot())
    assert verdict.numbers["imbalance"] == pytest.approx(imbalance(hot().loads))
    assert 1 <= verdict.numbers["imbalance_after"] <= 1.25

    alone = judge(hot(refusal="compacted_topic"))
    means_of_now = max(CALM.loads) / (sum(hot().loads) / len(hot().loads))
    assert alone.numbers["imbalance_after"] == pytest.approx(means_of_now)

    ordered = judge(hot(refusal="per_key_order"))
    even = [load + 4000 / N for load in CALM.loads]
    assert ordered.numbers["imbalance_after"] == pytest.approx(imbalance(even), abs=1e-6)

    limited = judge(replace(hot(refusal="compacted_topic"), capacity_per_s=100.0))
    place = partition_of("murmur2", N)(HOT)
    loads = [load + (1000 if each == place else 0) for each, load in enumerate(CALM.loads)]
    assert limited.numbers["imbalance_after"] == pytest.approx(imbalance(loads), abs=1e-6)


def test_the_rate_advised_leaves_the_partition_at_its_limit() -> None:
    evidence = hot(refusal="compacted_topic")
    rate = judge(evidence).numbers["rate_per_s"]
    place = partition_of("murmur2", N)(HOT)
    loads = [load + (rate * 10 if each == place else 0) for each, load in enumerate(CALM.loads)]
    assert imbalance(loads) == pytest.approx(1.25, abs=1e-3)


def test_what_could_not_be_judged_is_told() -> None:
    assert judge(CALM).unjudged == ("lag",)
    assert judge(lagging(STUCK)).unjudged == ()
    assert judge(hot()).unjudged == ("lag", "discriminator")
    bare = Evidence(partitions=3, loads=(5, 5, 5), records=20, unkeyed=5)
    assert judge(bare).unjudged == ("lag", "distinct_keys", "history", "unkeyed_partitions")


names = st.binary(max_size=12)
hot_names = st.builds(
    HotName,
    name=names,
    lower=st.integers(0, 10**12),
    upper=st.integers(0, 10**12),
    share=st.floats(0, 1),
    partitions=st.lists(st.integers(0, 9), max_size=3).map(tuple),
    by_partition=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10**12)), max_size=3).map(tuple),
    largest_sub=st.none() | st.floats(0, 1),
    largest_key=st.none() | st.floats(0, 1),
    refusal=st.none() | st.just("per_key_order"),
    routed=st.booleans(),
)
offsets = st.none() | st.integers(0, 10**12)
lags = st.builds(
    LagEvidence,
    group=st.just("g"),
    partitions=st.lists(
        st.builds(
            PartitionLag, partition=st.integers(0, 9), committed=offsets, end=offsets, log_start=offsets,
            committed_before=offsets, end_before=offsets, since_s=st.none() | st.floats(0, 1000),
            owner=st.none() | st.just("m"),
        ),
        max_size=4,
    ).map(tuple),
    members=st.none() | st.integers(0, 9),
)  # fmt: skip


@st.composite
def anything(draw: st.DrawFn) -> Evidence:
    partitions = draw(st.integers(1, 8))
    loads = st.lists(st.integers(0, 10**12), min_size=partitions, max_size=partitions).map(tuple)
    unkeyed = draw(st.integers(0, 1000))
    return Evidence(
        partitions=partitions,
        loads=draw(loads),
        records=draw(st.integers(0, 10**12)) + unkeyed,
        unkeyed=unkeyed,
        unkeyed_loads=draw(st.just(()) | loads),
        distinct_keys=draw(st.none() | st.integers(0, 100)),
        top_of_hottest=draw(st.lists(st.tuples(names, st.integers(0, 10**12)), max_size=3).map(tuple)),
        hot_keys=draw(st.lists(hot_names, max_size=2).map(tuple)),
        hot_tenants=draw(st.lists(hot_names, max_size=2).map(tuple)),
        recent_tops=draw(st.lists(names, max_size=4).map(tuple)),
        windows=draw(st.integers(0, 12)),
        windows_hot=draw(st.integers(0, 12)),
        scattered=draw(st.just(()) | st.just(((b"x", ((0, 5),)),))),
        lag=draw(st.none() | lags),
        listed=draw(st.lists(names, max_size=4).map(tuple)),
        capacity_per_s=draw(st.none() | st.floats(0.001, 1e9)),
        span_s=draw(st.none() | st.floats(0.001, 1e6)),
        start_ms=draw(st.none() | st.just(0)),
        end_ms=draw(st.none() | st.just(10_000)),
    )


@given(anything())
def test_any_evidence_has_a_verdict(evidence: Evidence) -> None:
    verdict = judge(evidence)
    assert verdict.sentence.endswith(".")
    assert all(isfinite(value) for value in verdict.numbers.values())
    assert verdict.cause not in verdict.also
    if (
        verdict.treatment is Treatment.SPLIT
        and "imbalance_after" in verdict.numbers
        and verdict.reason != "burst_split"
    ):
        assert verdict.numbers["imbalance_after"] <= verdict.numbers["imbalance"] + 1e-6
