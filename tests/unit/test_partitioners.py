"""Partitioners against published values and against the clients themselves."""

from __future__ import annotations

import os
import random
import zlib

import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.partitioner import murmur2 as murmur2_of_aiokafka

from hotshard.core.partitioners import PARTITIONERS, murmur2, partition_of, partitioner
from hotshard.errors import SettingsError


@pytest.mark.parametrize(
    ("key", "signed"),
    [  # Kafka's UtilsTest, and Akka's specification for the numbers.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
        (b"1", -1993445489),
        (b"12", 126087238),
        (b"123", -267702483),
        (b"1234", -1614185708),
        (b"12345", -1188365604),
    ],
)
def test_murmur2_gives_the_values_of_the_java_client(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "masked", "of_six"),
    [  # Confluent, "Standardized Hashing Across Java and Non-Java Producers".
        (b"my_key_1", 1322862588, 0),
        (b"my_key_2", 201614428, 4),
        (b"my_key_3", 273244397, 5),
        (b"my_key_4", 1336656080, 2),
    ],
)
def test_murmur2_puts_keys_where_confluent_says(key: bytes, masked: int, of_six: int) -> None:
    assert murmur2(key) & 0x7FFFFFFF == masked
    assert partitioner("murmur2").partition(key, 6) == of_six


@pytest.mark.parametrize(
    ("key", "by_murmur2", "by_crc32"),
    [
        ("", 9, None),
        ("a", 4, 3),
        ("foobar", 6, 5),
        ("tenant-42", 2, 8),
        ("tenant-42\x1f0", 6, 10),
        ("tenant-42\x1f1", 1, 8),
        ("tenant-42\x1f2", 2, 6),
        ("tenant-42\x1f3", 9, 8),
        ("é", 3, 2),
        ("日本", 3, 8),
        ("😀", 9, 4),
    ],
)
def test_keys_lie_on_these_of_twelve_partitions(key: str, by_murmur2: int, by_crc32: int | None) -> None:
    assert partitioner("murmur2").partition(key.encode(), 12) == by_murmur2
    assert partitioner("crc32").partition(key.encode(), 12) == by_crc32


# What librdkafka's own `rdfnv1a.c` expects, which took its values from Go; the empty key is its NULL too.
OF_LIBRDKAFKA = [
    (b"kafka", 0xD33C4E1),
    (b"giberish123456789", 0x77A58295),
    (b"1234", 0x23BDD03),
    (b"234", 0x2DEA3CD2),
    (b"34", 0x740FA83E),
    (b"4", 0x310CA263),
    (b"PreAmbleWillBeRemoved,ThePrePartThatIs", 0x65CBD69C),
    (b"reAmbleWillBeRemoved,ThePrePartThatIs", 0x6E49C79A),
    (b"eAmbleWillBeRemoved,ThePrePartThatIs", 0x69EED356),
    (b"AmbleWillBeRemoved,ThePrePartThatIs", 0x6ABCC023),
    (b"", 0x7EE3623B),
]


@pytest.mark.parametrize(("key", "hashed"), OF_LIBRDKAFKA)
def test_fnv1a_is_librdkafkas_with_the_sign_taken_off_the_hash(key: bytes, hashed: int) -> None:
    for partitions in (1, 7, 12, 32, 50, 1_000, 100_000):
        assert partitioner("fnv1a").partition(key, partitions) == hashed % partitions


@pytest.mark.parametrize(
    ("key", "default_of_12", "reference_of_12", "default_of_50", "reference_of_50"),
    [  # given by Sarama 1.45.1 itself, and column default_of_12 by librdkafka 2.16.0's fnv1a too
        ("kafka", 5, 5, 45, 45),
        ("giberish123456789", 5, 5, 23, 23),
        ("1234", 3, 5, 35, 13),
        ("", 3, 5, 35, 13),
        ("a", 0, 8, 26, 22),
        ("foobar", 0, 8, 26, 22),
        ("tenant-42", 10, 10, 14, 34),
        ("tenant-42\x1f0", 3, 5, 43, 5),
        ("tenant-42\x1f1", 2, 6, 12, 36),
        ("é", 9, 9, 17, 17),
        ("日本", 7, 1, 25, 23),
        ("😀", 8, 8, 6, 6),
        # the key of Sarama's own test whose hash is the smallest number of 32 bits
        ("1468509572224", 8, 0, 48, 0),
    ],
)
def test_saramas_two_partitioners_differ_in_how_they_lose_the_sign(
    key: str, default_of_12: int, reference_of_12: int, default_of_50: int, reference_of_50: int
) -> None:
    default, reference = partitioner("sarama"), partitioner("sarama_reference")
    raw = key.encode()
    assert (default.partition(raw, 12), default.partition(raw, 50)) == (default_of_12, default_of_50)
    assert (reference.partition(raw, 12), reference.partition(raw, 50)) == (reference_of_12, reference_of_50)


@pytest.mark.parametrize(
    ("key", "of_100"),
    [  # Sarama's own TestConsistentCRCHashPartitioner
        (b"abc123def456", 57),
        (b"SheetJS", 26),
        (b"9e8c7f4cf45857cfff7645d6", 24),
        (b"3900446192ff85a5f67da10c", 75),
        (b"0f4407b7a67d6d27de372198", 50),
    ],
)
def test_crc32_puts_keys_where_sarama_says(key: bytes, of_100: int) -> None:
    assert {partitioner(name).partition(key, 100) for name in ("crc32", "consistent", "sarama_crc32")} == {of_100}


def test_only_librdkafkas_default_has_no_place_for_the_empty_key() -> None:
    # librdkafka 2.16.0 gives 9, 0 and 3 for the empty key under murmur2, consistent and fnv1a
    assert {name: chosen.partition(b"", 12) for name, chosen in PARTITIONERS.items()} == {
        "murmur2": 9,
        "crc32": None,
        "consistent": 0,
        "fnv1a": 3,
        "sarama_reference": 5,
    }


def test_murmur2_agrees_with_aiokafka_on_keys_of_every_length() -> None:
    for length in range(70):
        for key in (os.urandom(length), bytes(length), b"\xff" * length):
            assert murmur2(key) == murmur2_of_aiokafka(key) & 0xFFFFFFFF


def test_partitions_agree_with_aiokafkas_own_partitioner() -> None:
    theirs, ours = DefaultPartitioner(), partitioner("murmur2")
    for number in range(500):
        key, partitions = os.urandom(random.randrange(40)), number % 40 + 1  # noqa: S311 -- no secret
        assert ours.partition(key, partitions) == theirs(key, list(range(partitions)), [])


def test_crc32_is_zlibs() -> None:
    for key in (b"a", b"tenant-42", os.urandom(300)):
        assert partitioner("crc32").partition(key, 48) == zlib.crc32(key) % 48


@pytest.mark.parametrize(
    ("alias", "name"),
    [("murmur2_random", "murmur2"), ("consistent_random", "crc32"), ("fnv1a_random", "fnv1a"), ("sarama", "fnv1a")],
)
def test_other_names_of_a_rule_are_understood(alias: str, name: str) -> None:
    assert partitioner(alias) is PARTITIONERS[name]


def test_an_unknown_partitioner_is_refused_naming_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"murmur2, crc32, .*did you mean murmur2\?"):
        partitioner("mumur2")


def test_a_table_for_counting_gives_the_same_partitions() -> None:
    for name, chosen in PARTITIONERS.items():
        counted = partition_of(name, 12)
        assert partition_of(name, 12) is counted
        for key in (b"a", b"foobar", b"tenant-42", b"a"):
            assert counted(key) == chosen.partition(key, 12)


def test_empty_keys_are_hashed_by_murmur2_and_strewn_by_crc32() -> None:
    assert {partition_of("murmur2", 12)(b"") for _ in range(24)} == {9}
    assert sorted(partition_of("crc32", 12)(b"") for _ in range(24)) == sorted([*range(12), *range(12)])


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="partition"):
        partition_of("murmur2", 0)
