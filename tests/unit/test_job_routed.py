"""Routes that a worker follows, so that it counts their keys exactly."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from hotshard.core.deciding.book import RETIRED_MS
from hotshard.core.wire import state
from hotshard.core.wire.route import EarlierRoute, Epoch, HotEntry, HotKind, Route, RouteState
from hotshard.doors.clock import ManualClock
from hotshard.doors.kafka.contract import Log, Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.job.routed import Routed, follow_state
from hotshard.job.says import Says
from tests.support.deciding import HEAD
from tests.support.eventually import eventually
from tests.support.registry import route

if TYPE_CHECKING:
    import pytest


def records(*pairs: tuple[bytes, bytes | None]) -> list[Log]:
    return [Log("state", 0, offset, key, value, 0) for offset, (key, value) in enumerate(pairs)]


def stored(one: Route) -> tuple[bytes, bytes]:
    return state.route_key(one.topic, one.base_key), state.encode(one)


def hot(name: str, kind: HotKind = HotKind.KEY) -> HotEntry:
    return HotEntry(topic="orders", kind=kind, key=name, since_ms=0, share=0.5, lower=1, upper=1, load_per_s=1)


def test_every_key_of_a_route_and_every_hot_key_is_counted_exactly() -> None:
    routed = Routed()
    earlier = EarlierRoute(epoch=Epoch(1, 1), suffixes=("9",), partitions=(1,), until_ms=1)
    active = route("a", ("0", "1"), earlier=(earlier,))
    head = msgspec.structs.replace(HEAD, hot=(hot("b"), hot("t", HotKind.TENANT)))
    routed.hear(records(stored(active), (state.head_key("orders"), state.encode(head))))
    assert routed.aliases("orders") == {
        **dict.fromkeys((b"a", b"a\x1f0", b"a\x1f1", b"a\x1f9"), b"a"),
        b"b": b"b",
    }
    assert routed.aliases("another") == {}


def test_the_same_mapping_stands_until_something_changes() -> None:
    routed = Routed()
    routed.hear(records(stored(route("a"))))
    before = routed.aliases("orders")
    routed.hear(records(stored(route("a", share=0.9)), (state.head_key("orders"), state.encode(HEAD))))
    assert routed.aliases("orders") is before
    routed.hear(records((state.route_key("orders", b"a"), None)))
    assert routed.aliases("orders") == {}
    assert before[b"a"] == b"a"


def test_a_retired_route_is_counted_exactly_for_a_while_and_then_no_more() -> None:
    routed, retired_ms = Routed(), HEAD.at_ms
    earlier = EarlierRoute(epoch=Epoch(1, 1), suffixes=("0", "3"), partitions=(1, 2), until_ms=retired_ms + 10**9)
    retired = msgspec.structs.replace(
        route("a", (), state=RouteState.RETIRED, earlier=(earlier,)), changed_ms=retired_ms
    )
    head = msgspec.structs.replace(HEAD, at_ms=retired_ms + RETIRED_MS)
    routed.hear(records(stored(retired), (state.head_key("orders"), state.encode(head))))
    assert set(routed.aliases("orders")) == {b"a", b"a\x1f0", b"a\x1f3"}
    head = msgspec.structs.replace(HEAD, at_ms=retired_ms + RETIRED_MS + 1)
    routed.hear(records((state.head_key("orders"), state.encode(head))))
    assert not routed.aliases("orders")


def test_damaged_records_are_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    routed = Routed()
    routed.hear(
        records(
            (b"nonsense", b"x"),
            (state.route_key("orders", b"b"), state.encode(route("b", ("",)))),
            stored(route("a")),
            (state.head_key("orders"), b"\xc1"),
        )
    )
    assert set(routed.aliases("orders")) == {b"a", b"a\x1f0", b"a\x1f1"}
    assert len(caplog.records) == 1, "a topic full of damage would fill the log"


async def test_the_state_topic_is_followed_through_an_outage() -> None:
    clock = ManualClock()
    kafka = MemoryKafka(clock=clock)
    routed = Routed()
    following = asyncio.create_task(follow_state(kafka.reader(), "state", routed, Says(clock)))
    await asyncio.sleep(0.05)
    kafka.cluster.create(TopicWanted(name="state", partitions=1))
    key, value = stored(route("a", state=RouteState.RETIRED))
    await kafka.publisher().publish([Out(topic="state", key=key, value=value)])
    await eventually(lambda: b"a" in routed.aliases("orders"))
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
