"""One suite for the registry: in memory, and in a real Redis."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hotshard.core.wire.command import START, Command, CommandKind, Page, StreamId
from hotshard.core.wire.orders import Given, Orders, PinOrder
from hotshard.core.wire.route import HotKind, RouteState
from hotshard.doors.redis.contract import Beat
from hotshard.doors.redis.entries import Mark, read_change, read_mark, read_route, topics_of
from hotshard.errors import WireError
from tests.support.registry import KEY, TOPIC, Place, hot_entry, place_in_memory, place_in_redis, route, state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hotshard.core.wire.route import Route
    from hotshard.doors.redis.contract import RawSnapshot
    from hotshard.doors.redis.entries import Change


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.integration)])
async def place(request: pytest.FixtureRequest, fresh_namespace: str) -> AsyncIterator[Place]:
    if request.param == "memory":
        made = place_in_memory()
    else:
        made = place_in_redis(request.getfixturevalue("redis_server").url, fresh_namespace)
    yield made
    await made.close()


def mark(snapshot: RawSnapshot, topic: str = TOPIC) -> Mark | None:
    return read_mark(snapshot.meta or {}, topic)


def routes(snapshot: RawSnapshot, topic: str = TOPIC) -> dict[bytes, Route]:
    return {field: read_route(topic, field, raw) for field, raw in (snapshot.routes[topic] or {}).items()}


async def log(place: Place, after: bytes = b"0-0") -> list[Change]:
    return [read_change(raw.fields) for raw in await place.reader.changes(after, 0.01)]


async def test_an_empty_registry_has_nothing_and_no_beat_lands(place: Place) -> None:
    snapshot = await place.reader.snapshot([TOPIC])
    assert (snapshot.meta, snapshot.routes, snapshot.last_id) == ({}, {TOPIC: {}}, b"0-0")
    assert not await place.door.beat(TOPIC, 1, 1)
    assert await place.reader.meta([TOPIC]) == {}


async def test_what_is_published_is_read_by_both_readers(place: Place) -> None:
    binary = route(b"\xff\x00", (), state=RouteState.PROPOSED)
    assert await place.door.publish(state(4, route(), binary))
    snapshot = await place.reader.snapshot([TOPIC])
    assert routes(snapshot) == {KEY.encode(): route(), b"\xff\x00": binary}
    found = mark(snapshot)
    assert found is not None
    assert (found.epoch, found.version) == (1, 4)
    assert abs(found.at_ms - snapshot.now_ms) < 5_000
    assert place.blocking_reader.snapshot([TOPIC]).routes == snapshot.routes


async def test_all_topics_are_found_without_naming_them(place: Place) -> None:
    for topic in ("a", "b.c-d_e"):
        assert await place.door.publish(state(1, route(topic=topic), topic=topic))
    snapshot = await place.reader.snapshot(None)
    assert set(snapshot.routes) == {"a", "b.c-d_e"} == topics_of(snapshot.meta or {})
    assert place.blocking_reader.snapshot(None).routes == snapshot.routes
    assert await place.reader.meta(None) == place.blocking_reader.meta(None)


async def test_a_topic_without_a_state_is_read_as_empty(place: Place) -> None:
    await place.door.publish(state(1))
    snapshot = await place.reader.snapshot(["other", TOPIC])
    assert snapshot.routes == {"other": {}, TOPIC: {}}
    assert mark(snapshot, "other") is None


@pytest.mark.parametrize(("epoch", "version"), [(1, 5), (1, 4), (1, 0), (0, 99)])
async def test_a_state_that_is_not_higher_changes_nothing(place: Place, epoch: int, version: int) -> None:
    await place.door.publish(state(5, route()))
    assert not await place.door.publish(state(version, epoch=epoch))
    snapshot = await place.reader.snapshot([TOPIC])
    assert set(routes(snapshot)) == {KEY.encode()}
    assert len(await log(place)) == 1


async def test_a_higher_epoch_wins_whatever_its_version(place: Place) -> None:
    await place.door.publish(state(5, route()))
    assert await place.door.publish(state(1, epoch=2))
    assert [(c.epoch, c.version, c.previous) for c in await log(place)] == [(1, 5, -1), (2, 1, -1)]
    assert routes(await place.reader.snapshot([TOPIC])) == {}


async def test_only_the_difference_is_logged(place: Place) -> None:
    one, two, three = (route(f"acme\x1f{n}") for n in "123")
    await place.door.publish(state(1, one, two))
    resized = route("acme\x1f2", ("0", "1", "2"))
    await place.door.publish(state(2, one, resized, hot=(hot_entry(),)))
    await place.door.publish(state(7, one, three))
    await place.door.publish(state(8, one, three))
    first, second, third, fourth = await log(place)
    assert set(first.routes) == {b"acme\x1f1", b"acme\x1f2"}
    assert set(second.routes) == {b"acme\x1f2"}
    assert read_route(TOPIC, b"acme\x1f2", second.routes[b"acme\x1f2"] or b"") == resized
    assert {field: raw is None for field, raw in third.routes.items()} == {b"acme\x1f2": True, b"acme\x1f3": False}
    assert (fourth.routes, fourth.hot, fourth.reread) == ({}, False, False)
    assert [change.hot for change in (first, second, third)] == [False, True, True]
    assert [(change.version, change.previous) for change in (first, second, third, fourth)] == [
        (1, -1), (2, 1), (7, 2), (8, 7),
    ]  # fmt: skip


async def test_topics_have_versions_of_their_own(place: Place) -> None:
    await place.door.publish(state(9, topic="a"))
    assert await place.door.publish(state(1, topic="b"))
    assert [(c.topic, c.version, c.previous) for c in await log(place)] == [("a", 9, -1), ("b", 1, -1)]


async def test_a_change_too_large_for_the_log_asks_for_a_snapshot(place: Place) -> None:
    many = [route(f"acme\x1f{n}", [str(m) for m in range(60)]) for n in range(100)]
    assert await place.door.publish(state(1, *many))
    (change,) = await log(place)
    assert (change.reread, change.routes) == (True, {})
    assert len(routes(await place.reader.snapshot([TOPIC]))) == 100


async def test_thousands_of_routes_are_one_state(place: Place) -> None:
    many = [route(f"acme\x1f{n}", (), state=RouteState.RETIRED) for n in range(5_000)]
    assert await place.door.publish(state(1, *many))
    assert await place.door.publish(state(2, *many[1:]))
    assert len(routes(await place.reader.snapshot([TOPIC]))) == 4_999
    assert [change.reread for change in await log(place)] == [True, False]


async def test_what_was_logged_before_a_snapshot_does_not_come_after_it(place: Place) -> None:
    await place.door.publish(state(1, route()))
    snapshot = await place.reader.snapshot([TOPIC])
    assert await log(place, snapshot.last_id) == []
    await place.door.publish(state(2))
    assert [change.version for change in await log(place, snapshot.last_id)] == [2]


async def test_a_waiting_reader_is_woken_by_a_change(place: Place) -> None:
    waiting = asyncio.create_task(place.reader.changes(b"0-0", 10.0))
    in_thread = asyncio.create_task(asyncio.to_thread(place.blocking_reader.changes, b"0-0", 10.0))
    await asyncio.sleep(0.05)  # both may begin to wait; the test holds if they do not
    await place.door.publish(state(1))
    assert len(await waiting) == len(await in_thread) == 1


async def test_a_reader_in_a_thread_can_be_interrupted(place: Place) -> None:
    waiting = asyncio.create_task(asyncio.to_thread(place.blocking_reader.changes, b"0-0", 30.0))
    while not waiting.done():
        place.blocking_reader.interrupt()
        await asyncio.sleep(0.01)
    assert waiting.exception() is not None or waiting.result() == []


async def test_a_beat_moves_the_time_of_its_own_topic_only(place: Place) -> None:
    await place.door.publish(state(1, topic="a"))
    await place.door.publish(state(1, topic="b"))
    before = await place.reader.snapshot(["a", "b"])
    await asyncio.sleep(0.005)  # Redis' clock must tick
    assert await place.door.beat("a", 1, 1)
    after = await place.reader.meta(["a", "b"])
    assert (read_mark(after or {}, "a") or Mark(0, 0, 0)).at_ms > (mark(before, "a") or Mark(0, 0, 0)).at_ms
    assert read_mark(after or {}, "b") == mark(before, "b")


@pytest.mark.parametrize(("epoch", "version"), [(1, 2), (1, 4), (0, 3), (2, 3)])
async def test_no_beat_lands_on_another_state(place: Place, epoch: int, version: int) -> None:
    await place.door.publish(state(3, route()))
    before = await place.reader.meta([TOPIC])
    assert not await place.door.beat(TOPIC, epoch, version)
    assert await place.reader.meta([TOPIC]) == before


async def test_many_topics_are_beaten_in_one_call_each_by_itself(place: Place) -> None:
    for topic in ("a", "b", "c", "d"):
        await place.door.publish(state(3, route(topic=topic), topic=topic))
    place.harm.lose_routes("c")
    before = await place.reader.meta(None)
    await asyncio.sleep(0.005)  # Redis' clock must tick
    beats = [Beat("a", 1, 3), Beat("b", 1, 2), Beat("c", 1, 3), Beat("unknown", 1, 1), Beat("d", 1, 3)]
    assert await place.door.beats(beats) == (True, False, False, False, True)
    after = await place.reader.meta(None)
    marks = [(read_mark(before or {}, topic), read_mark(after or {}, topic)) for topic in "abcd"]
    assert [old == new for old, new in marks] == [False, True, False, False]
    assert marks[2][1] is None, "its routes were lost, so the same state is taken again"
    assert await place.door.publish(state(3, route(topic="c"), topic="c"))
    assert await place.door.beats(()) == ()


async def test_an_emptied_registry_takes_the_same_state_again(place: Place) -> None:
    await place.door.publish(state(3, route()))
    place.harm.wipe()
    assert not await place.door.beat(TOPIC, 1, 3)
    assert await place.door.publish(state(3, route()))
    assert await place.door.beat(TOPIC, 1, 3)
    assert routes(await place.reader.snapshot([TOPIC])) == {KEY.encode(): route()}


async def test_lost_routes_are_noticed_by_the_beat_and_written_again(place: Place) -> None:
    await place.door.publish(state(3, route()))
    place.harm.lose_routes(TOPIC)
    assert not await place.door.beat(TOPIC, 1, 3)
    assert await place.door.publish(state(3, route()))
    assert routes(await place.reader.snapshot([TOPIC])) == {KEY.encode(): route()}
    assert (await log(place))[-1].previous == -1, "clients must read a snapshot"


async def test_a_key_of_the_wrong_type_is_told_and_healed(place: Place) -> None:
    await place.door.publish(state(3, route()))
    place.harm.spoil_routes(TOPIC)
    for snapshot in (await place.reader.snapshot([TOPIC]), place.blocking_reader.snapshot([TOPIC])):
        assert snapshot.routes[TOPIC] is None
        assert mark(snapshot) is not None
    assert not await place.door.beat(TOPIC, 1, 3)
    assert await place.door.publish(state(3, route()))
    assert routes(await place.reader.snapshot([TOPIC])) == {KEY.encode(): route()}


@pytest.mark.parametrize("field", [b"schema", b"epoch:orders", b"version:orders", b"time:orders", b"routes:orders"])
@pytest.mark.parametrize("value", [b"", b"?", b"inf", b"0x10", b"9" * 40])
async def test_damaged_meta_is_healed_by_the_beat_or_the_same_state(place: Place, field: bytes, value: bytes) -> None:
    await place.door.publish(state(3, route()))
    place.harm.put_meta(field, value)
    assert await place.door.beat(TOPIC, 1, 3) or await place.door.publish(state(3, route()))
    assert await place.door.beat(TOPIC, 1, 3)
    snapshot = await place.reader.snapshot([TOPIC])
    assert (mark(snapshot) or Mark(0, 0, 0))[:2] == (1, 3)
    assert routes(snapshot) == {KEY.encode(): route()}


@pytest.mark.parametrize("field", [b"schema", b"epoch:orders", b"version:orders", b"time:orders"])
async def test_damage_to_the_meta_keeps_nobody_from_commanding(place: Place, field: bytes) -> None:
    """A topic that nobody serves any more is healed by nobody, and `freeze` of all is for the others."""
    await place.door.publish(state(3, route()))
    await place.door.publish(state(1, topic="other"))
    place.harm.put_meta(field, b"?")
    topics = (await place.person.desk()).topics
    assert set(topics) == {TOPIC, "other"}
    assert (topics[TOPIC].mark, topics[TOPIC].damaged, topics[TOPIC].routes) == (Mark(0, 0, 0), 1, (route(),))
    assert await place.person.command(FREEZE)
    place.harm.put_meta(b"schema", b"9")
    with pytest.raises(WireError, match="newer schema than this library knows: update hotshard"):
        await place.person.desk()


async def test_a_foreign_field_is_gone_with_the_next_state(place: Place) -> None:
    await place.door.publish(state(1, route()))
    place.harm.put_route(TOPIC, b"foreign", b"?")
    place.harm.put_route(TOPIC, KEY.encode(), b"damaged")
    await place.door.publish(state(2, route()))
    assert routes(await place.reader.snapshot([TOPIC])) == {KEY.encode(): route()}


async def test_what_is_hot_is_read_the_hottest_first(place: Place) -> None:
    entries = (hot_entry("a", share=0.1), hot_entry("b", share=0.5), hot_entry("a", HotKind.TENANT, share=0.3))
    await place.door.publish(state(1, hot=entries))
    assert [(one.kind, one.key) for one in await place.person.hot(TOPIC)] == [
        (HotKind.KEY, "b"), (HotKind.TENANT, "a"), (HotKind.KEY, "a"),
    ]  # fmt: skip
    await place.door.publish(state(2))
    assert await place.person.hot(TOPIC) == ()


FREEZE = Command(kind=CommandKind.FREEZE, by="ann", at_ms=5, reason="incident")
RETIRE = Command(kind=CommandKind.RETIRE, topic=TOPIC, key=KEY, by="ben")


async def test_commands_are_read_in_order_from_where_one_stands(place: Place) -> None:
    assert await place.door.commands(START) == Page(START, ())
    first = await place.person.command(FREEZE)
    second = await place.person.command(RETIRE)
    assert START < first < second
    heard = await place.door.commands(START)
    assert heard.newest == second
    assert [(one.id, one.command) for one in heard.entries] == [(first, FREEZE), (second, RETIRE)]
    assert len({one.mark for one in heard.entries}) == 2
    part = await place.door.commands(START, limit=1)
    assert (part.newest, [one.id for one in part.entries]) == (second, [first])
    assert [one.id for one in (await place.door.commands(first)).entries] == [second]
    assert await place.door.commands(second) == Page(second, ())
    assert await place.door.commands(StreamId(2**64 - 1, 2**64 - 1)) == Page(second, ())


@pytest.mark.parametrize("damage", [b"", b"?", b"{}", b'{"kind":"dance"}', b"\xff", b"x" * 100_000])
async def test_a_damaged_command_is_passed_over_with_what_is_wrong(place: Place, damage: bytes) -> None:
    first = await place.person.command(FREEZE)
    place.harm.put_command(damage)
    last = await place.person.command(RETIRE)
    heard = await place.door.commands(START)
    assert [one.id for one in heard.entries][::2] == [first, last]
    assert [one.command for one in heard.entries] == [FREEZE, None, RETIRE]
    assert heard.entries[1].fault


async def test_commands_of_a_registry_made_again_come_from_the_start(place: Place) -> None:
    before = await place.person.command(FREEZE)
    place.harm.wipe()
    assert await place.door.commands(before) == Page(START, ())
    place.harm.put_command(b"{}", "5-1")
    heard = await place.door.commands(before)
    assert heard == Page(StreamId(5, 1), ())
    assert [one.id for one in (await place.door.commands(START)).entries] == [StreamId(5, 1)]


async def test_only_the_newest_commands_are_kept(place: Place) -> None:
    for _ in range(1300):
        place.harm.put_command(b"{}")
    last = await place.person.command(FREEZE)
    heard = await place.door.commands(START, limit=5000)
    assert 1000 <= len(heard.entries) <= 1200
    assert heard.entries[-1].id == last


async def test_a_person_reads_everything_at_once(place: Place) -> None:
    orders = Orders(
        frozen=Given(by="ann", at_ms=3, reason="incident"),
        pins=(PinOrder(key=KEY, shards=None, given=Given(by="ben")),),
    )
    await place.door.publish(state(4, route(), hot=(hot_entry(),), orders=orders, mode="approve"))
    await place.door.publish(state(1, topic="other"))
    at = await place.person.command(FREEZE)
    desk = await place.person.desk()
    assert set(desk.topics) == {TOPIC, "other"}
    topic = desk.topics[TOPIC]
    assert (topic.mark.version, topic.mode, topic.orders, topic.damaged) == (4, "approve", orders, 0)
    assert abs(desk.now_ms - topic.mark.at_ms) < 5_000
    assert (topic.routes, topic.hot) == ((route(),), (hot_entry(),))
    assert [(one.id, one.command) for one in desk.commands] == [(at, FREEZE)]
    assert desk.topics["other"].orders == Orders()
    assert set((await place.person.desk([TOPIC, "unknown"])).topics) == {TOPIC}


async def test_what_is_damaged_is_left_out_of_what_a_person_reads_and_counted(place: Place) -> None:
    await place.door.publish(state(4, route()))
    place.harm.put_route(TOPIC, b"foreign", b"?")
    place.harm.put_orders(TOPIC, b"?")
    desk = (await place.person.desk()).topics[TOPIC]
    assert (desk.routes, desk.orders, desk.damaged) == ((route(),), Orders(), 2)
    place.harm.spoil_routes(TOPIC)
    assert (await place.person.desk()).topics[TOPIC].damaged == 2
    place.harm.wipe()
    assert (await place.person.desk()).topics == {}
