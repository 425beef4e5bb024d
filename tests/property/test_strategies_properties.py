"""What holds of every way of placing records, whatever the stream."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.keys import with_suffix
from hotshard.core.partitioners import PARTITIONERS, partition_of
from hotshard.core.planning.situation import Terms
from hotshard.core.planning.strategies.catalogue import STRATEGIES
from hotshard.core.planning.strategies.choices import head_choices
from hotshard.core.planning.strategies.contract import Ground, Stretch
from hotshard.core.planning.strategies.names import POLICIES
from hotshard.core.planning.strategies.placed import Placed
from hotshard.core.simulating import Simulation, stretch_end
from hotshard.core.slab import Slab
from hotshard.core.topic import KeyLayout

#: Few partitions and hot keys, so that plans are made; and whatever a producer may send.
common = st.sampled_from([b"hot", b"warm", b"a\x1fb", b"cold-1", b"cold-2"])
strange = st.sampled_from([b"", b"\x00\x01", b"\xff" * 9, "日本".encode(), b"k" * 400]) | st.binary(max_size=12)
keys = st.lists(st.none() | common | strange, max_size=60).map(lambda some: some * 30)
tenants = st.none() | st.sampled_from([b"one", b"two", b"three", b"\xff"])
grounds = st.builds(
    Ground,
    st.integers(1, 40),
    st.builds(Terms, partitioner=st.sampled_from(list(PARTITIONERS.values())), eps=st.sampled_from((0.05, 0.25, 1.0))),
)


def stretches(stream: list[bytes | None], ground: Ground, length: int) -> list[Stretch]:
    home = partition_of(ground.terms.partitioner.name, ground.partitions)
    parts = [stream[at : at + length] for at in range(0, len(stream), length)]
    return [Stretch(part, part, [None if key is None else home(key) for key in part]) for part in parts]


def test_every_strategy_has_a_name_that_is_told_and_the_other_way_round() -> None:
    assert list(STRATEGIES) == list(POLICIES)


@pytest.mark.parametrize("name", STRATEGIES)
@given(keys, grounds, st.integers(1, 500))
def test_every_record_with_a_key_is_placed_once_and_no_other(
    name: str, stream: list[bytes | None], ground: Ground, length: int
) -> None:
    strategy = STRATEGIES[name](ground)
    for stretch in stretches(stream, ground, length):
        places = strategy.place(stretch)
        assert [place is None for place in places] == [key is None for key in stretch.keys]
        assert all(0 <= place < ground.partitions for place in places if place is not None)


@pytest.mark.parametrize("name", ["hashed", "placed"])
@given(keys, grounds)
def test_a_key_goes_only_where_the_partitioner_sends_one_of_its_suffixes_or_itself(
    name: str, stream: list[bytes | None], ground: Ground
) -> None:
    strategy = STRATEGIES[name](ground)
    place_of = ground.terms.partitioner.partition
    for stretch in stretches(stream, ground, 300):
        for key, home, place in zip(stretch.keys, stretch.homes, strategy.place(stretch), strict=True):
            if key is not None and place != home:
                suffixes = (with_suffix(key, str(number)) for number in range(64 * ground.partitions))
                assert any(place_of(each, ground.partitions) == place for each in suffixes)


@given(keys, st.lists(tenants, min_size=1, max_size=7), st.integers(1, 700), st.integers(1, 700))
def test_it_does_not_matter_how_the_stream_is_cut_into_slabs(
    stream: list[bytes | None], whose: list[bytes | None], one: int, other: int
) -> None:
    column = [whose[at % len(whose)] for at in range(len(stream))]
    ground = Ground(8, Terms(partitioner=PARTITIONERS["murmur2"]))

    def simulated(length: int) -> object:
        simulation = Simulation(POLICIES, ground, layout=KeyLayout.ENTITY)
        for at in range(0, len(stream), length):
            part = stream[at : at + length]
            simulation.add(
                Slab("", 0, at, at + len(part), 0, 0, keys=part, tenants=column[at : at + length], skipped=1)
            )
        report = simulation.finish()
        assert report.skipped == -(-len(stream) // length)
        return report.policies, report.small, report.records, report.unkeyed

    assert simulated(one) == simulated(other)


@given(st.integers(0, 10**7))
def test_stretches_end_after_they_begin_and_are_of_bounded_length(start: int) -> None:
    assert start < stretch_end(start) <= max(256, start + 16_384)


@given(
    st.sampled_from((0.6, 0.9, 1.1, 1.4, 2.0)), st.sampled_from((2, 7, 16, 48)), st.sampled_from((0.1, 0.25)),
    st.integers(0, 1_000),
)  # fmt: skip
def test_our_placement_never_raises_the_imbalance_over_the_plain_hash(
    exponent: float, partitions: int, eps: float, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 -- a simulation
    weights = [rank**-exponent for rank in range(1, 301)]
    names = [b"%d-%d" % (seed, rank) for rank in range(1, 301)]
    ground = Ground(partitions, Terms(partitioner=PARTITIONERS["murmur2"], eps=eps))
    strategy = Placed(ground)
    plain: Counter[int | None] = Counter()
    ours: Counter[int | None] = Counter()
    for stretch in stretches(list(chance.choices(names, weights, k=20_000)), ground, 1_000):
        plain.update(stretch.homes)
        ours.update(strategy.place(stretch))
    # A plan that is right for what was seen is off for what follows by as much as chance makes of a partition's load.
    mean = 20_000 / partitions
    assert max(ours.values()) <= max(plain.values()) + 3 * mean**0.5


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40), st.integers(2, 64))
def test_d_is_between_two_and_all_and_enough_for_the_heaviest(weights: list[int], partitions: int) -> None:
    head = sorted((weight / (sum(weights) * 1.25) for weight in weights), reverse=True)
    d = head_choices(head, partitions)
    assert 2 <= d <= partitions
    assert d == partitions or d >= head[0] * partitions
