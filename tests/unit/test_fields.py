"""Where a tenant or a discriminator stands, as text; and reading it from records."""

from __future__ import annotations

import pytest

from hotshard.core.fields import FieldReader, field_text, parse_field, reader_for
from hotshard.core.topic import Field, Place, TopicSpec

NOWHERE = Field()


def tenants(text: str, values: list[bytes | None]) -> tuple[list[bytes | None] | None, int]:
    found = FieldReader(parse_field(text), NOWHERE).read([], values)
    return found.tenants, found.damaged


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("none", Field()),
        ("key", Field(Place.KEY)),
        ("header:tenant", Field(Place.HEADER, "tenant")),
        ("header:x:y", Field(Place.HEADER, "x:y")),
        ("json:tenant", Field(Place.JSON, "tenant")),
        ("json:customer.id", Field(Place.JSON, "customer.id")),
        (r"json:service\.name", Field(Place.JSON, r"service\.name")),
    ],
)
def test_what_is_written_is_what_is_read(text: str, field: Field) -> None:
    assert parse_field(text) == field
    assert parse_field(f" {text} ") == field
    assert field_text(field) == text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "is not"),
        ("keys", "is not"),
        ("key:x", "is not"),
        ("header", "names no header"),
        ("header:", "names no header"),
        ("json", "names no field"),
        ("json:", "names no field"),
        ("json:a..b", "an empty part"),
        ("json:.a", "an empty part"),
        ("json:a.", "an empty part"),
        ('json:a"b', "a quote"),
        ("json:a\\", "a backslash"),
    ],
)
def test_what_names_no_place_is_refused_with_the_reason(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse_field(text)


def test_the_first_header_of_the_name_counts() -> None:
    reader = FieldReader(parse_field("header:t"), NOWHERE)
    found = reader.read([[("x", b"0"), ("t", b"a"), ("t", b"b")], [("T", b"a")], [], [("t", None)], [("t", b"")]], [])
    assert found.tenants == [b"a", None, None, None, None]
    assert found.discriminators is None


def test_text_and_whole_numbers_of_json_are_taken_and_nothing_else() -> None:
    values = [b'{"t":"x\xc3\xa4"}', b'{"t":7}', b'{"t":-12345678901234567890123}', b'{"a":{"t":1}}', b'{"t":""}', None]
    assert tenants("json:t", [*values]) == (
        ["x\u00e4".encode(), b"7", b"-12345678901234567890123", None, None, None],
        0,
    )
    others: list[bytes | None] = [b'{"t":7.0}', b'{"t":1e3}', b'{"t":true}', b'{"t":null}', b'{"t":["x"]}', b'{"t":{}}']
    assert tenants("json:t", others) == ([None] * len(others), 0)


def test_a_path_leads_through_objects_only() -> None:
    values: list[bytes | None] = [b'{"a":{"b":"x"}}', b'{"a":"b"}', b'{"a":[{"b":"x"}]}', b"{}", b"[1]", b'"a"', b"7"]
    assert tenants("json:a.b", values) == ([b"x", *[None] * 6], 0)


def test_a_dot_within_a_name_is_written_with_a_backslash() -> None:
    assert tenants(r"json:r.service\.name", [b'{"r":{"service.name":"x"}}']) == ([b"x"], 0)


def test_damaged_json_is_counted_and_has_no_field() -> None:
    deep = b'{"t":' + b"[" * 5000 + b"]" * 5000 + b"}"
    values: list[bytes | None] = [b'{"t":"x"', b'{"t":"\xff"}', b"", b'{"t":"x"} y', deep, b'{"t":"\\ud800"}', b"\x00"]
    assert tenants("json:t", values) == ([None] * len(values), len(values))


def test_the_head_of_a_schema_serializer_is_passed_over() -> None:
    assert tenants("json:t", [b'\x00\x00\x00\x00\x07{"t":"x"}']) == ([b"x"], 0)


def test_tenant_and_discriminator_come_from_one_look_at_the_value() -> None:
    reader = FieldReader(parse_field("json:a.t"), parse_field("json:a.d"))
    assert reader.read([], [b'{"a":{"t":"x","d":2}}', b"{"]) == ([b"x", None], [b"2", None], 1)


def test_tenant_and_discriminator_may_stand_in_different_places() -> None:
    reader = FieldReader(parse_field("header:t"), parse_field("json:d"))
    assert reader.read([[("t", b"x")]], [b'{"d":"y"}']) == ([b"x"], [b"y"], 0)
    other = FieldReader(parse_field("json:d"), parse_field("header:t"))
    assert other.read([[("t", b"x")]], [b'{"d":"y"}']) == ([b"y"], [b"x"], 0)


def test_a_topic_whose_parts_stand_in_the_key_needs_no_reader() -> None:
    assert reader_for(TopicSpec(name="t", sources=("t",))) is None
    header = reader_for(TopicSpec(name="t", sources=("t",), tenant=Field(Place.HEADER, "x")))
    assert header is not None
    assert (header.headers, header.values) == (True, False)
