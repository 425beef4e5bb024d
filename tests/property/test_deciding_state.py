"""Whatever stands on the state topic, it is read back as it was written, or left out."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.panes.ledger import Expected
from hotshard.core.panes.windows import OpenMemory, WindowsMemory
from hotshard.core.policy.memory import HeatMemory, HotMemory, PastMemory
from hotshard.core.topic import Carry, Ordering
from hotshard.core.wire import state
from hotshard.core.wire.command import CommandKind
from hotshard.core.wire.names import key_text
from hotshard.core.wire.orders import Approval, Done, Given, Orders, Pause, PinOrder, Seen
from hotshard.core.wire.route import EarlierRoute, Epoch, HotEntry, HotKind, Route, RouteState, Treatment
from hotshard.doors.kafka.contract import Log
from hotshard.doors.redis import entries
from hotshard.job.seat import read_state

numbers = st.integers(-1, 2**62)
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
keys = st.binary(max_size=20)
texts = st.tuples(*[st.text(max_size=5)] * 2)
epochs = st.builds(Epoch, registry=numbers, offset=numbers)
times = st.lists(numbers, max_size=3).map(tuple)
memories = st.builds(
    HeatMemory,
    st.lists(st.builds(HotMemory, keys, numbers, st.none() | numbers, times), max_size=3).map(tuple),
    st.lists(st.builds(PastMemory, keys, numbers, times), max_size=3).map(tuple),
)
windows = st.builds(
    WindowsMemory,
    numbers,
    st.lists(st.builds(OpenMemory, numbers, numbers, numbers)).map(tuple),
    st.lists(st.tuples(numbers, numbers)).map(tuple),
    st.none() | numbers,
)
expected = st.builds(Expected, names, numbers, numbers, numbers, numbers, numbers, st.booleans())


@st.composite
def hot_entries(draw: st.DrawFn) -> HotEntry:
    text, b64 = key_text(draw(keys))
    return HotEntry(
        topic=draw(names),
        kind=draw(st.sampled_from(HotKind)),
        key=text,
        key_b64=b64,
        tenant=draw(st.none() | names),
        since_ms=draw(numbers),
        share=draw(st.floats(0, 1)),
        lower=draw(numbers),
        upper=draw(numbers),
        load_per_s=draw(st.floats(0, 1e12)),
    )


orders_given = st.builds(Given, by=names, at_ms=numbers, reason=names)
shards = st.tuples(st.lists(names, max_size=3).map(tuple), st.lists(numbers, max_size=3).map(tuple))
orders = st.builds(
    Orders,
    frozen=st.none() | orders_given,
    pins=st.lists(st.builds(PinOrder, key=names, shards=st.none() | numbers, given=orders_given), max_size=3).map(
        tuple
    ),
    approvals=st.lists(
        st.builds(
            lambda both, given: Approval(key_b64="/w==", suffixes=both[0], partitions=both[1], given=given),
            shards,
            orders_given,
        ),
        max_size=3,
    ).map(tuple),
    pauses=st.lists(st.builds(Pause, until_ms=numbers, given=orders_given), max_size=3).map(tuple),
    done=st.lists(
        st.builds(
            Done, id=names, kind=st.sampled_from(CommandKind), applied=st.booleans(), outcome=names, given=orders_given
        ),
        max_size=3,
    ).map(tuple),
)
heads = st.builds(
    state.TopicHead,
    topic=names,
    registry_epoch=numbers,
    state_version=numbers,
    at_ms=numbers,
    replay_from=numbers,
    done=numbers,
    expected=st.lists(expected, max_size=3).map(tuple),
    windows=windows,
    keys=memories,
    tenants=memories,
    hot=st.lists(hot_entries(), max_size=3).map(tuple),
    told_at=numbers,
    orders=orders,
    seen=st.builds(Seen, position=names, marks=keys),
)


@st.composite
def routes(draw: st.DrawFn) -> Route:
    text, b64 = key_text(draw(keys))
    places = st.lists(st.integers(0, 99), max_size=4).map(tuple)
    suffixes = st.lists(st.from_regex(r"[0-9a-z]{1,8}", fullmatch=True), max_size=4).map(tuple)
    earlier = st.builds(EarlierRoute, epoch=epochs, suffixes=suffixes, partitions=places, until_ms=numbers)
    return Route(
        topic=draw(names),
        key=text,
        key_b64=b64,
        tenant=draw(st.none() | names),
        treatment=draw(st.sampled_from(Treatment)),
        state=draw(st.sampled_from(RouteState)),
        epoch=draw(epochs),
        suffixes=draw(suffixes),
        partitions=draw(places),
        partition_count=draw(numbers),
        partitioner=draw(names),
        carry=draw(st.sampled_from(Carry)),
        ordering=draw(st.sampled_from(Ordering)),
        since_ms=draw(numbers),
        changed_ms=draw(numbers),
        share=draw(st.floats(0, 1)),
        reason=draw(names),
        imbalance_before=draw(st.none() | st.floats(0, 1e6)),
        earlier=tuple(draw(st.lists(earlier, max_size=3))),
    )


@given(head=heads, route=routes())
def test_heads_and_routes_are_read_back_as_they_were_written(head: state.TopicHead, route: Route) -> None:
    assert state.decode_head(state.encode(head)) == head
    assert state.decode_route(state.encode(route)) == route


@given(topic=names, base=keys)
def test_keys_of_the_state_topic_are_read_back_as_they_were_written(topic: str, base: bytes) -> None:
    assert state.decode_key(state.head_key(topic)) == (topic, None)
    assert state.decode_key(state.route_key(topic, base)) == (topic, base)


@given(
    damage=st.lists(st.tuples(st.none() | keys, st.none() | st.binary(max_size=40))),
    head=heads,
    place=st.integers(0, 400),
    byte=st.integers(0, 255),
)
def test_no_record_of_the_state_topic_stops_a_worker(
    damage: list[tuple[bytes | None, bytes | None]], head: state.TopicHead, place: int, byte: int
) -> None:
    head = msgspec.structs.replace(head, topic="good")
    good = state.encode(head)
    spoilt = bytearray(good)
    spoilt[place % len(spoilt)] = byte
    records = [*damage, (state.head_key("spoilt"), bytes(spoilt)), (state.head_key("good"), good)]
    stored = read_state(Log("state", 0, offset, key, value, 0) for offset, (key, value) in enumerate(records))
    assert stored.heads["good"] == head


@given(head=heads)
def test_a_head_from_before_there_were_commands_is_read_with_none(head: state.TopicHead) -> None:
    fields = msgspec.msgpack.decode(state.encode(head))
    del fields["orders"], fields["seen"]
    old = state.decode_head(msgspec.msgpack.encode(fields))
    assert old == msgspec.structs.replace(head, orders=Orders(), seen=Seen())


@given(ordered=orders)
def test_orders_in_the_registry_are_read_back_as_they_were_written(ordered: Orders) -> None:
    assert entries.read_orders(entries.write_orders(ordered)) == ordered
