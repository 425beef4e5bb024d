"""Whatever stands in the registry, a client keeps the last good routes and never raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hotshard.core.keys import is_suffixable
from hotshard.core.topic import Carry
from hotshard.core.wire.route import Route, RouteState
from hotshard.doors.redis.commands import read_entry
from hotshard.doors.redis.entries import (
    MAX_SHARDS,
    obeyed,
    read_change,
    read_hot,
    read_mark,
    read_route,
    topics_of,
    write,
)
from hotshard.errors import WireError
from tests.support.damage import DAMAGE
from tests.support.following import Driven
from tests.support.registry import KEY, TOPIC, route, state

BASE = KEY.encode()
NAMES = ("topic", "epoch", "version", "previous", "at", "schema", "reread", "set:a", "del:b", "epoch:orders")

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([KEY, "split"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
hashes = st.dictionaries(
    st.binary(max_size=8) | st.sampled_from([name.encode() for name in NAMES]),
    st.binary(max_size=20) | st.integers().map(lambda n: str(n).encode()) | st.just(b"orders"),
    max_size=8,
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A route with some of its fields replaced by anything, and then perhaps some of its bytes."""
    fields: dict[str, Any] = json.loads(write(route()))
    for name in draw(st.lists(st.sampled_from(sorted(fields)), max_size=3)):
        fields[name] = draw(anything)
    value = bytearray(json.dumps(fields).encode())
    for at in draw(st.lists(st.integers(0, len(value) - 1), max_size=2)):
        value[at] = draw(st.integers(0, 255))
    return bytes(value)


def check_route(found: Route) -> None:
    """All that a client relies on."""
    assert (found.topic, found.base_key) == (TOPIC, BASE)
    assert len(found.partitions) == len(set(found.partitions)) <= MAX_SHARDS
    assert len(found.suffixes) == len(set(found.suffixes))
    assert all(0 <= partition < found.partition_count for partition in found.partitions)
    assert all(suffix and "\x1f" not in suffix and len(suffix.encode()) <= 8 for suffix in found.suffixes)
    if found.carry is Carry.SUFFIX:
        assert len(found.suffixes) == len(found.partitions)
        assert not found.suffixes or is_suffixable(BASE)
    assert not obeyed(found) or found.partitions


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()) | mutated())
def test_a_route_is_either_refused_or_can_be_relied_upon(value: bytes) -> None:
    try:
        found = read_route(TOPIC, BASE, value)
    except WireError:
        return
    check_route(found)


@given(st.binary() | anything.map(lambda value: json.dumps(value).encode()))
def test_hot_entries_and_commands_are_refused_or_read(value: bytes) -> None:
    read_entry(b"0-1", {b"command": value})
    with pytest.raises(WireError):
        read_hot(TOPIC, b"key:" + BASE, value)


@given(hashes)
def test_meta_and_log_entries_are_refused_or_read(fields: dict[bytes, bytes]) -> None:
    topics_of(fields)
    for read in (lambda: read_mark(fields, TOPIC), lambda: read_change(fields)):
        try:
            read()
        except WireError:
            continue


class Damaged(RuleBasedStateMachine):
    """Somebody damages the registry between the detector's writes; a client is held against what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.driven = Driven()
        self.version = 0
        self.published: dict[str, tuple[str, ...]] = {}
        self.expected: dict[bytes, set[bytes]] = {}

    @rule(
        changes=st.dictionaries(
            st.sampled_from([KEY, "acme\x1fcart-8", "zeta\x1f1"]),
            st.lists(st.sampled_from(["0", "1", "2", "é"]), max_size=3, unique=True),
            max_size=2,
        )
    )
    def publish(self, changes: dict[str, list[str]]) -> None:
        self.version += 1
        self.published |= {key: tuple(suffixes) for key, suffixes in changes.items()}
        assert self.driven.publish(state(self.version, *map(self._route, self.published)))
        self.driven.settle()
        self.expected = {
            key.encode(): {f"{key}\x1f{suffix}".encode() for suffix in suffixes}
            for key, suffixes in self.published.items()
            if suffixes
        }

    def _route(self, key: str) -> Route:
        suffixes = self.published[key]
        return route(key, suffixes, state=RouteState.ACTIVE if suffixes else RouteState.RETIRED, offset=self.version)

    @rule(kind=st.sampled_from(sorted(DAMAGE)), field=st.sampled_from([BASE, b"zeta\x1f1", b"new", b"\xff"]))
    def damage_a_route(self, kind: str, field: bytes) -> None:
        self.driven.registry.store.put_route(TOPIC, field, DAMAGE[kind](route()) + b"]")

    @rule(value=st.binary(max_size=30), field=st.binary(max_size=10))
    def put_bytes(self, field: bytes, value: bytes) -> None:
        self.driven.registry.store.put_route(TOPIC, field, value)

    @rule(name=st.sampled_from(NAMES), value=st.binary(max_size=10).filter(lambda value: not value.isdigit()))
    def damage_meta(self, name: str, value: bytes) -> None:
        self.driven.registry.store.put_meta(name.encode(), value)

    @rule(fields=hashes.filter(lambda fields: not fields.get(b"version", b"").isdigit()))
    def damage_the_log(self, fields: dict[bytes, bytes]) -> None:
        self.driven.registry.store.put_log(fields)

    @rule()
    def lose_the_routes(self) -> None:
        self.driven.registry.store.lose_routes(TOPIC)

    @rule()
    def put_no_hash(self) -> None:
        self.driven.registry.store.spoil_routes(TOPIC)

    @rule()
    def wipe(self) -> None:
        self.driven.registry.store.wipe()

    @precondition(lambda self: self.version)
    @rule()
    def keep(self) -> None:
        """What the job does every second: beat, and publish again where that fails."""
        last = state(self.version, *map(self._route, self.published))
        if not self.driven.beat(last):
            self.driven.publish(last)

    @rule(seconds=st.sampled_from([0.1, 2.0, 30.0]))
    def wait(self, seconds: float) -> None:
        self.driven.wait(seconds)

    @rule()
    def reconnect(self) -> None:
        self.driven.follower.begin_again()

    @invariant()
    def producers_send_by_what_was_published_last(self) -> None:
        self.driven.settle()
        assert self.driven.sends(TOPIC) == self.expected


Damaged.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestDamaged = Damaged.TestCase
