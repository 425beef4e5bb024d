"""What holds of every key, hash and partitioner."""

from __future__ import annotations

import pytest
from aiokafka.partitioner import murmur2 as murmur2_of_aiokafka
from hypothesis import assume, given
from hypothesis import strategies as st

from hotshard.core.hashing import fnv1a_64, jump_hash
from hotshard.core.keys import (
    SEPARATOR,
    base_key,
    is_suffixable,
    partition_key,
    sharded_partition_key,
    tenant_of,
    with_suffix,
)
from hotshard.core.partitioners import PARTITIONERS, Partitioner, murmur2, partition_of
from hotshard.core.planning.shards import shard_of
from hotshard.core.topic import KeyLayout

anything = st.text(min_size=1)
parts = st.text(st.characters(codec="utf-8", exclude_characters=SEPARATOR), min_size=1)
layouts = st.sampled_from(KeyLayout)


@given(parts, parts, parts, st.integers(2, 100))
def test_a_suffix_goes_as_it_came(tenant: str, entity: str, suffix: str, shards: int) -> None:
    base = partition_key(tenant, entity)
    sharded = sharded_partition_key(tenant, entity, shard_count=shards, discriminator=suffix)
    for key in (base, with_suffix(base, suffix), sharded):
        assert base_key(key) == base
        assert base_key(key.encode()) == base.encode()
        assert tenant_of(key.encode(), KeyLayout.TENANT_ENTITY) == tenant.encode()


@given(st.binary(), layouts, parts)
def test_what_may_be_given_a_suffix_comes_back_from_it(key: bytes, layout: KeyLayout, suffix: str) -> None:
    if is_suffixable(key, layout):
        assert base_key(with_suffix(key, suffix), layout) == key


@given(st.text(st.sampled_from("ab\x1f"), max_size=8), layouts)
def test_a_base_key_is_its_own_base_key(key: str, layout: KeyLayout) -> None:
    base = base_key(key, layout)
    assert base_key(base, layout) == base
    assert base_key(key.encode(), layout) == base.encode()


@given(parts, parts, parts, parts)
def test_different_parts_make_different_keys(tenant: str, entity: str, other_tenant: str, other_entity: str) -> None:
    assume((tenant, entity) != (other_tenant, other_entity))
    assert partition_key(tenant, entity) != partition_key(other_tenant, other_entity)


@given(st.binary(max_size=80))
def test_murmur2_is_the_one_of_aiokafka(key: bytes) -> None:
    assert murmur2(key) == murmur2_of_aiokafka(key) & 0xFFFFFFFF


@pytest.mark.parametrize("chosen", PARTITIONERS.values(), ids=lambda chosen: chosen.name)
@given(key=st.binary(), partitions=st.integers(1, 2_000))
def test_every_key_has_one_partition_that_exists(chosen: Partitioner, key: bytes, partitions: int) -> None:
    place = chosen.partition(key, partitions)
    if place is not None:
        assert 0 <= place < partitions
        assert partition_of(chosen.name, partitions)(key) == place
    else:
        assert not key


@pytest.mark.parametrize("chosen", PARTITIONERS.values(), ids=lambda chosen: chosen.name)
@given(head=st.binary(min_size=1), ends=st.lists(st.binary(max_size=9), max_size=9), partitions=st.integers(1, 2_000))
def test_keys_that_begin_alike_are_placed_as_each_by_itself(
    chosen: Partitioner, head: bytes, ends: list[bytes], partitions: int
) -> None:
    place = chosen.partition_of_ends(head, partitions)
    assert [place(end) for end in ends] == [chosen.partition(head + end, partitions) for end in ends]


@given(anything, st.integers(1, 200))
def test_a_shard_more_keeps_a_sub_unit_or_moves_it_to_the_new_shard(discriminator: str, shards: int) -> None:
    assert shard_of(discriminator, shards + 1) in {shard_of(discriminator, shards), shards}


@given(st.integers(0, 2**64 - 1), st.integers(1, 10_000))
def test_jump_hash_stays_within_its_buckets(key: int, buckets: int) -> None:
    assert 0 <= jump_hash(key, buckets) < buckets


@given(st.sampled_from((1, 2, 3, 7, 15, 31)), parts)
def test_growing_by_one_shard_moves_one_in_s_plus_one(shards: int, prefix: str) -> None:
    sub_units = [f"{prefix}{number}" for number in range(2_000)]
    moved = sum(shard_of(each, shards + 1) != shard_of(each, shards) for each in sub_units)
    expected = 2_000 / (shards + 1)
    # Six standard deviations of a binomial distribution
    assert abs(moved - expected) < 6 * (expected * (1 - 1 / (shards + 1))) ** 0.5


@given(st.binary(max_size=40))
def test_fnv1a_follows_its_recurrence(data: bytes) -> None:
    assert fnv1a_64(data + b"\x07") == (fnv1a_64(data) ^ 7) * 0x100000001B3 % 2**64
