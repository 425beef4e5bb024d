from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from hotshard.core.topic import Carry
from hotshard.core.wire.route import EarlierRoute, Epoch, HotKind, RouteState, Treatment
from hotshard.doors.redis.entries import (
    hot_field,
    obeyed,
    read_change,
    read_hot,
    read_mark,
    read_route,
    route_field,
    topics_of,
    write,
)
from hotshard.doors.redis.layout import Layout
from hotshard.errors import SettingsError, WireError
from tests.support.damage import DAMAGE
from tests.support.registry import KEY, TOPIC, hot_entry, route

if TYPE_CHECKING:
    from hotshard.core.wire.route import Route

EARLIER = EarlierRoute(epoch=Epoch(registry=1, offset=0), suffixes=("x",), partitions=(3,), until_ms=9)
META = {b"schema": b"1", b"epoch:orders": b"2", b"version:orders": b"3", b"time:orders": b"4"}
ENTRY = {b"topic": b"orders", b"epoch": b"1", b"version": b"2", b"previous": b"1", b"at": b"5"}


@pytest.mark.parametrize(
    "good",
    [
        route(),
        route(earlier=(EARLIER,)),
        route("alice"),
        route("größe\x1f☃"),
        route(suffixes=[f"{n:x}" for n in range(64)]),
        route(b"\xff\x00", (), state=RouteState.PROPOSED),
        route(b"\xff\x00", (), partitions=(3, 5), carry=Carry.PARTITION),
        route(b"x" * 256, (), partitions=(3, 5), carry=Carry.PARTITION),
        msgspec.structs.replace(route(), also_partitioner="crc32"),
        route(suffixes=(), state=RouteState.RETIRED),
        msgspec.structs.replace(route(b"\xff", (), state=RouteState.PROPOSED), partition_count=0),
    ],
)
def test_a_good_route_comes_back_as_it_was(good: Route) -> None:
    assert read_route(TOPIC, route_field(good), write(good)) == good


def test_fields_of_a_later_version_are_left_alone() -> None:
    value = json.dumps({**json.loads(write(route())), "colour": "red"}).encode()
    assert read_route(TOPIC, KEY.encode(), value) == route()


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_route_is_refused(kind: str) -> None:
    value = DAMAGE[kind](route())
    assert value != write(route()), "this damage does nothing"
    with pytest.raises(WireError):
        read_route(TOPIC, KEY.encode(), value)


@pytest.mark.parametrize("key", [b"\xff", b"\x00avro", b"", b"x" * 300])
def test_a_key_that_bears_no_suffix_gets_none(key: bytes) -> None:
    with pytest.raises(WireError, match="cannot bear"):
        read_route(TOPIC, key, write(route(key)))


def test_an_empty_key_is_given_no_partitions() -> None:
    with pytest.raises(WireError, match="empty key"):
        read_route(TOPIC, b"", write(route(b"", (), partitions=(3, 5), carry=Carry.PARTITION)))


def test_a_route_of_before_there_were_mixed_fleets_is_read() -> None:
    value = json.loads(write(route()))
    del value["also_partitioner"]
    assert read_route(TOPIC, KEY.encode(), json.dumps(value).encode()) == route()


@pytest.mark.parametrize("state", RouteState)
def test_producers_obey_what_is_in_force_and_nothing_else(state: RouteState) -> None:
    in_force = state in {RouteState.CHANGING, RouteState.ACTIVE, RouteState.RETIRING}
    assert obeyed(route(state=state)) is in_force


def test_producers_obey_no_mere_advice() -> None:
    value = json.dumps({**json.loads(write(route())), "treatment": Treatment.THROTTLE}).encode()
    assert not obeyed(read_route(TOPIC, KEY.encode(), value))


def test_a_hot_entry_comes_back_and_stands_only_where_it_belongs() -> None:
    entry = hot_entry(kind=HotKind.TENANT)
    assert read_hot(TOPIC, hot_field(entry), write(entry)) == entry
    for topic, field in (("other", hot_field(entry)), (TOPIC, b"key:" + entry.name), (TOPIC, b"")):
        with pytest.raises(WireError):
            read_hot(topic, field, write(entry))


def test_meta_says_how_a_topic_stands() -> None:
    assert read_mark(META, TOPIC) == (2, 3, 4)
    assert read_mark(META, "other") is None
    assert read_mark({}, TOPIC) is None
    assert topics_of({**META, b"epoch:a b": b"1", b"epoch:\xff": b"1", b"epoch:": b"1"}) == {TOPIC}


@pytest.mark.parametrize("field", META)
@pytest.mark.parametrize("value", [None, b"", b"-1", b"1.0", b"0x1", b"1e3", b"x", b"9" * 16, "٣".encode()])
def test_damaged_meta_is_refused(field: bytes, value: bytes | None) -> None:
    meta = {name: old for name, old in META.items() if name != field} | ({field: value} if value is not None else {})
    with pytest.raises(WireError):
        read_mark(meta, TOPIC)


def test_a_registry_of_a_later_form_is_refused_with_what_to_do() -> None:
    with pytest.raises(WireError, match="update hotshard"):
        read_mark({**META, b"schema": b"2"}, TOPIC)


def test_a_log_entry_says_what_changed() -> None:
    change = read_change({**ENTRY, b"set:a": b"A", b"del:b": b"", b"set:\xff": b"C", b"later": b"?"})
    assert change.routes == {b"a": b"A", b"b": None, b"\xff": b"C"}
    assert (change.topic, change.epoch, change.version, change.previous) == (TOPIC, 1, 2, 1)
    assert read_change({**ENTRY, b"previous": b"-1"}).previous == -1


@pytest.mark.parametrize("field", ENTRY)
@pytest.mark.parametrize("value", [None, b"", b"x y", b"-2 ", b"\xff"])
def test_a_damaged_log_entry_is_refused(field: bytes, value: bytes | None) -> None:
    fields = {name: old for name, old in ENTRY.items() if name != field} | ({field: value} if value is not None else {})
    with pytest.raises(WireError):
        read_change(fields)


@pytest.mark.parametrize("namespace", ["", "a b", "a}b", "{a}", "x" * 65, "a:b", "é"])
def test_a_namespace_that_could_break_the_hash_tag_is_refused(namespace: str) -> None:
    with pytest.raises(SettingsError):
        Layout(namespace)
