"""Whose partitioner a key was placed by: real incidents, and what proves nothing."""

from __future__ import annotations

import pytest

from hotshard.core.planning.whose import DIAGNOSED, RULES, agreeing, explain, fleet, java_string_hash

ONE, OTHER = b"354afe16-939a-4ea8-8e17-8bb0840b6886", b"f562ac3b-2224-4e25-a0ab-56094e10c239"
OF_CONNECTOR = b'Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}'


def test_a_key_on_two_partitions_is_told_by_the_partitioner_of_each() -> None:
    # incident I046: 15 partitions, by Java and by librdkafka
    assert explain(b"TT0124", {10, 9}, 15) == {10: ("murmur2",), 9: ("crc32", "consistent")}


def test_a_wrong_rule_may_explain_one_key_by_chance() -> None:
    # incident I048: 50 partitions, connector and Python
    found = explain(OF_CONNECTOR, {40, 36}, 50)
    assert found[36] == ("crc32", "consistent")
    assert found[40] == ("murmur2", "fnv1a_unsigned")


def test_two_keys_tell_the_rule_that_puts_both_where_they_were_seen() -> None:
    # incident I044: 10 partitions, node-rdkafka in place of Java
    assert agreeing({ONE: 9, OTHER: 6}, 10) == ("crc32", "consistent")
    assert agreeing({ONE: 4, OTHER: 5}, 10) == ("murmur2",)
    assert agreeing({ONE: 9, OTHER: 5}, 10) == ()
    assert agreeing({}, 10) == ()


def test_a_fleet_is_the_fewest_rules_that_explain_every_place() -> None:
    assert fleet({b"TT0124": {10, 9}}, 15) == ("murmur2", "crc32")
    assert fleet({b"TT0124": {10}}, 15) == ("murmur2",)
    assert fleet({}, 15) == ()


def test_an_unstable_hash_is_explained_by_no_fleet() -> None:
    # incident I054: Python's hash(), another one in every process
    seen = set(range(5))
    assert fleet({b"K%d" % number: seen for number in range(4)}, 12) == ()


@pytest.mark.parametrize(("partitions", "differ"), [(12, 459), (32, 0)])
def test_a_mask_left_out_shows_only_where_the_count_is_no_power_of_two(partitions: int, differ: int) -> None:
    # incident I050
    keys = [b"key-%d" % number for number in range(1_000)]
    masked, unsigned = RULES["murmur2"], RULES["murmur2_unsigned"]
    assert sum(masked(key, partitions) != unsigned(key, partitions) for key in keys) == differ


@pytest.mark.parametrize(("partitions", "place"), [(2, 0), (3, 1), (4, 0), (8, 0)])
def test_the_smallest_hash_of_java_stays_in_range(partitions: int, place: int) -> None:
    # incident I052: hashCode is -2147483648, and -2 its remainder in Java at 3
    assert java_string_hash("polygenelubricants") == -(1 << 31)
    assert RULES["java_hash_code"](b"polygenelubricants", partitions) == place


@pytest.mark.parametrize(
    ("text", "hashed"),
    [("", 0), ("a", 97), ("hello", 99162322), ("😀", 1772899)],  # Java's documented sum, by hand for the last
)
def test_javas_hash_of_a_text_is_over_its_utf_16_units(text: str, hashed: int) -> None:
    assert java_string_hash(text) == hashed


def test_java_hashes_no_bytes_that_are_no_text() -> None:
    assert RULES["java_hash_code"](b"\xff", 12) is RULES["java_hash_code_masked"](b"\xff", 12) is None


def test_records_without_a_key_are_on_one_partition_by_librdkafkas_rules_for_them() -> None:
    # given by librdkafka 2.16.0 for NULL and 12 partitions
    assert explain(None, [9, 0, 3, 5], 12) == {9: ("murmur2",), 0: ("consistent",), 3: ("fnv1a",), 5: ()}


def test_what_is_only_diagnosed_can_be_told_from_what_can_be_set() -> None:
    assert list(RULES)[-len(DIAGNOSED) :] == list(DIAGNOSED)


def test_a_topic_without_partitions_is_an_error() -> None:
    with pytest.raises(ValueError, match="partition"):
        explain(b"a", [0], 0)
