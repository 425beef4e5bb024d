"""Keys on the wire: their form, their suffixes, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hotshard.core.hashing import fnv1a_32
from hotshard.core.keys import (
    MAX_SUFFIX_BYTES,
    MAX_SUFFIXABLE_BYTES,
    base_key,
    has_form,
    is_binary,
    is_suffixable,
    partition_key,
    sharded_partition_key,
    tenant_of,
    with_suffix,
)
from hotshard.core.topic import KeyLayout
from hotshard.core.wire.pane import is_cut, travelling_key
from hotshard.errors import DiscriminatorRequiredError, HotshardError, KeyPartError

REFUSED_PARTS: list[Any] = [None, "", "a\x1fb", "\x1f", 7, b"tenant", "\ud800"]


def test_a_key_is_tenant_separator_entity() -> None:
    assert partition_key("tenant-42", "conversation-1") == "tenant-42\x1fconversation-1"


@pytest.mark.parametrize("part", REFUSED_PARTS)
def test_a_bad_part_is_refused_as_tenant_and_as_entity(part: Any) -> None:  # noqa: ANN401 -- what callers give by mistake
    with pytest.raises(KeyPartError, match="tenant"):
        partition_key(part, "e")
    with pytest.raises(KeyPartError, match="entity"):
        partition_key("t", part)
    with pytest.raises(KeyPartError):
        sharded_partition_key(part, "e")


def test_errors_of_keys_are_ours_and_are_value_errors() -> None:
    for error in (KeyPartError, DiscriminatorRequiredError):
        assert issubclass(error, HotshardError)
        assert issubclass(error, ValueError)


def test_one_shard_is_the_base_key_with_or_without_a_discriminator() -> None:
    assert sharded_partition_key("t", "e") == "t\x1fe"
    assert sharded_partition_key("t", "e", shard_count=1, discriminator="d") == "t\x1fe"


def test_a_shard_is_fnv1a_32_of_the_discriminator_modulo_the_count() -> None:
    assert fnv1a_32("foobar") == 0xBF9CF968
    assert sharded_partition_key("t", "e", shard_count=7, discriminator="foobar") == f"t\x1fe\x1f{0xBF9CF968 % 7}"


@pytest.mark.parametrize("discriminator", [None, ""])
def test_several_shards_need_a_discriminator(discriminator: str | None) -> None:
    with pytest.raises(DiscriminatorRequiredError, match="discriminator"):
        sharded_partition_key("t", "e", shard_count=2, discriminator=discriminator)


@pytest.mark.parametrize("count", [0, -1, 1.5, None, "2"])
def test_a_shard_count_below_one_or_not_whole_is_refused(count: Any) -> None:  # noqa: ANN401 -- what callers give by mistake
    with pytest.raises(KeyPartError, match="shard_count"):
        sharded_partition_key("t", "e", shard_count=count, discriminator="d")


def test_a_discriminator_may_hold_the_separator_as_it_is_only_hashed() -> None:
    assert base_key(sharded_partition_key("t", "e", shard_count=4, discriminator="a\x1fb")) == "t\x1fe"


@pytest.mark.parametrize("discriminator", [b"x", 3, "\ud800"])
def test_a_discriminator_that_is_no_text_is_refused(discriminator: Any) -> None:  # noqa: ANN401 -- by mistake
    with pytest.raises(KeyPartError, match="discriminator"):
        sharded_partition_key("t", "e", shard_count=2, discriminator=discriminator)


@pytest.mark.parametrize(
    ("layout", "key", "base"),
    [
        (KeyLayout.TENANT_ENTITY, "t\x1fe\x1f12", "t\x1fe"),
        (KeyLayout.TENANT_ENTITY, "t\x1fe", "t\x1fe"),
        (KeyLayout.TENANT_ENTITY, "t", "t"),
        (KeyLayout.TENANT_ENTITY, "t\x1fe\x1f3\x1f17", "t\x1fe"),
        (KeyLayout.TENANT, "t\x1f12", "t"),
        (KeyLayout.TENANT, "t", "t"),
        (KeyLayout.ENTITY, "e\x1f12", "e"),
        (KeyLayout.TENANT_ENTITY, "", ""),
    ],
)
def test_the_base_key_is_what_stands_before_the_suffix(layout: KeyLayout, key: str, base: str) -> None:
    assert base_key(key, layout) == base
    assert base_key(key.encode(), layout) == base.encode()


def test_bytes_that_are_no_text_keep_whatever_they_hold() -> None:
    assert base_key(b"\xff\x1f\x00\x1f\x07") == b"\xff\x1f\x00\x1f\x07"


@pytest.mark.parametrize("key", [None, 3, bytearray(b"t")])
def test_a_base_key_is_asked_of_text_or_bytes_only(key: Any) -> None:  # noqa: ANN401 -- what callers give by mistake
    with pytest.raises(KeyPartError):
        base_key(key)


@pytest.mark.parametrize("suffix", ["", "a\x1f", None, 3, "\ud800"])
def test_a_bad_suffix_is_refused(suffix: Any) -> None:  # noqa: ANN401 -- what a registry may hold
    with pytest.raises(KeyPartError, match="suffix"):
        with_suffix("t\x1fe", suffix)


def test_a_suffix_leaves_text_text_and_bytes_bytes() -> None:
    assert with_suffix("t\x1fe", "3") == "t\x1fe\x1f3"
    assert with_suffix(b"t\x1fe", "\u00e9") == b"t\x1fe\x1f\xc3\xa9"


@pytest.mark.parametrize(
    ("layout", "key", "tenant"),
    [
        (KeyLayout.TENANT_ENTITY, b"t\x1fe", b"t"),
        (KeyLayout.TENANT_ENTITY, b"t\x1fe\x1f4", b"t"),
        (KeyLayout.TENANT_ENTITY, b"no separator", None),
        (KeyLayout.TENANT_ENTITY, b"\x1fe", None),
        (KeyLayout.TENANT_ENTITY, b"\xff\xfe\x1fe", b"\xff\xfe"),
        (KeyLayout.TENANT, b"t", b"t"),
        (KeyLayout.TENANT, b"t\x1f4", b"t"),
        (KeyLayout.TENANT, b"", None),
        (KeyLayout.ENTITY, b"t\x1fe", None),
    ],
)
def test_the_tenant_is_the_first_part_where_the_layout_has_one(
    layout: KeyLayout, key: bytes, tenant: bytes | None
) -> None:
    assert tenant_of(key, layout) == tenant


@pytest.mark.parametrize(
    ("key", "can"),
    [
        (b"t\x1fe", True),
        ("t\x1fé".encode(), True),
        (b"", False),
        (b"\xff\xfe", False),
        (b"\x00\x00\x00\x00\x07key", False),
        (b"k" * MAX_SUFFIXABLE_BYTES, True),
        (b"k" * (MAX_SUFFIXABLE_BYTES + 1), False),
    ],
)
def test_only_text_that_is_short_enough_is_given_a_suffix(key: bytes, can: bool) -> None:  # noqa: FBT001 -- a case
    assert is_suffixable(key) is can


def test_the_longest_shard_of_a_suffixable_key_travels_whole_in_a_pane() -> None:
    longest = with_suffix(b"k" * MAX_SUFFIXABLE_BYTES, "9" * MAX_SUFFIX_BYTES)
    assert not is_cut(travelling_key(longest))


@pytest.mark.parametrize(
    ("layout", "key", "fits"),
    [
        (KeyLayout.TENANT_ENTITY, b"t\x1fe", True),
        (KeyLayout.TENANT_ENTITY, b"t", False),
        (KeyLayout.TENANT_ENTITY, b"t\x1f", False),
        (KeyLayout.TENANT_ENTITY, b"t\x1fe\x1f3", False),
        (KeyLayout.TENANT, b"t", True),
        (KeyLayout.TENANT, b"t\x1fe", False),
        (KeyLayout.ENTITY, b"e", True),
    ],
)
def test_with_a_layout_a_suffixable_key_must_have_its_form(layout: KeyLayout, key: bytes, fits: bool) -> None:  # noqa: FBT001 -- a case
    assert has_form(key, layout) is fits
    assert is_suffixable(key, layout) is fits


def test_binary_is_what_is_not_utf_8_or_opens_with_a_zero_byte() -> None:
    assert is_binary(b"\x00abc")
    assert is_binary(b"\xc3")
    assert not is_binary("日本".encode())
