"""Hashes against published values."""

from __future__ import annotations

import pytest

from hotshard.core.hashing import fnv1a_32, fnv1a_64, jump_hash


@pytest.mark.parametrize(
    ("data", "in_32", "in_64"),
    [  # The first three: test suite of draft-eastlake-fnv. The others were computed by another implementation.
        ("", 0x811C9DC5, 0xCBF29CE484222325),
        ("a", 0xE40C292C, 0xAF63DC4C8601EC8C),
        ("foobar", 0xBF9CF968, 0x85944171F73967E8),
        ("tenant-42", 0xF7D215C2, 0x2944B77B49F24DE2),
        ("é", 0x1E9DE8C1, 0x0AC21707B7181E01),
        ("日本", 0x9F26EE51, 0x121D7E35A6D3CE91),
        ("😀", 0x33A29608, 0xFEFF073875020288),
    ],
)
def test_fnv1a_gives_the_published_values_over_utf_8(data: str, in_32: int, in_64: int) -> None:
    assert fnv1a_32(data) == fnv1a_32(data.encode()) == in_32
    assert fnv1a_64(data) == fnv1a_64(data.encode()) == in_64


@pytest.mark.parametrize(
    ("key", "buckets", "bucket"),
    [  # From the tests of ClickHouse's jumpConsistentHash.
        (1, 1, 0),
        (42, 57, 43),
        (256, 1024, 520),
        (3735883980, 1, 0),
        (3735883980, 666, 361),
        (16045690984833335023, 255, 237),
    ],
)
def test_jump_hash_gives_the_published_values(key: int, buckets: int, bucket: int) -> None:
    assert jump_hash(key, buckets) == bucket


def test_jump_hash_takes_the_low_64_bits() -> None:
    assert jump_hash(-1, 1000) == jump_hash(2**64 - 1, 1000)


def test_jump_hash_needs_a_bucket() -> None:
    with pytest.raises(ValueError, match="bucket"):
        jump_hash(1, 0)
