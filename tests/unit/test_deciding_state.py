"""The state topic: what is read back, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from hotshard.core.deciding.book import RouteBook, wire_keys
from hotshard.core.wire import state
from hotshard.core.wire.route import EarlierRoute, Epoch, RouteState
from hotshard.doors.kafka.contract import Log
from hotshard.errors import WireError
from hotshard.job.seat import read_state
from tests.support.deciding import HEAD
from tests.support.registry import route

if TYPE_CHECKING:
    from collections.abc import Iterable


def log(*records: tuple[bytes | None, bytes | None]) -> Iterable[Log]:
    return [Log("state", 0, offset, key, value, 0) for offset, (key, value) in enumerate(records)]


def head(topic: str = "orders", **changes: object) -> tuple[bytes, bytes]:
    return state.head_key(topic), state.encode(msgspec.structs.replace(HEAD, topic=topic, **changes))


def test_the_newest_of_every_record_is_read() -> None:
    first, second, other = route("a\x1f1"), route("a\x1f1", suffixes=("7",)), route("a\x1f2")
    stored = read_state(
        log(
            head(),
            (state.route_key("orders", b"a\x1f1"), state.encode(first)),
            (state.route_key("orders", b"a\x1f2"), state.encode(other)),
            head(state_version=4),
            (state.route_key("orders", b"a\x1f1"), state.encode(second)),
            (state.route_key("orders", b"a\x1f2"), None),
            head("payments"),
        )
    )
    assert stored.heads == {
        "orders": msgspec.structs.replace(HEAD, state_version=4),
        "payments": msgspec.structs.replace(HEAD, topic="payments"),
    }
    assert stored.routes == {"orders": {b"a\x1f1": second}}


@pytest.mark.parametrize(
    "damaged",
    [
        (None, b""),
        (b"", state.encode(HEAD)),
        (b"head", state.encode(HEAD)),
        (b"head\x00\xff", state.encode(HEAD)),
        (b"head\x00orders\x00more", state.encode(HEAD)),
        (b"route\x00orders", state.encode(route())),
        (b"other\x00orders", b"x"),
        (state.head_key("orders"), b""),
        (state.head_key("orders"), state.encode(HEAD)[:-1]),
        (state.head_key("orders"), state.encode(HEAD) + b"\x00"),
        (state.head_key("orders"), state.encode(route())),
        (state.head_key("orders"), state.encode(msgspec.structs.replace(HEAD, version=99))),
        (state.route_key("orders", b"a"), b"\xc1"),
        (state.route_key("orders", b"a"), state.encode(HEAD)),
        (state.route_key("unknown", b"a"), None),
        (state.head_key("orders"), state.encode(msgspec.structs.replace(HEAD, topic="payments"))),
        (state.route_key("orders", b"a"), state.encode(route("b"))),
        (state.route_key("payments", b"b"), state.encode(route("b"))),
        (state.route_key("orders", b"b"), state.encode(route("b", ("",)))),
        (state.route_key("orders", b"b"), state.encode(route("b", ("\x1f",)))),
        (state.route_key("orders", b"b"), state.encode(msgspec.structs.replace(route("b"), key=None))),
        (state.route_key("orders", b"b"), state.encode(msgspec.structs.replace(route("b"), key_b64="yg=="))),
    ],
)
def test_a_damaged_record_is_left_out_and_all_others_stand(damaged: tuple[bytes | None, bytes | None]) -> None:
    good = (state.route_key("orders", b"g"), state.encode(route("g")))
    stored = read_state(log(head("payments"), damaged, good))
    assert stored.heads.keys() == {"payments"}
    assert stored.routes == {"orders": {b"g": route("g")}}


def test_a_state_topic_full_of_damage_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    read_state(log(*[(b"nonsense", b"x")] * 1000))
    assert len(caplog.records) == 1


def test_a_base_key_may_hold_any_bytes() -> None:
    for base in (b"", b"\x00", b"head\x00orders", b"\xff\x00\x1f"):
        assert state.decode_key(state.route_key("orders", base)) == ("orders", base)


def test_a_head_of_a_later_version_says_what_to_do() -> None:
    with pytest.raises(WireError, match="update this worker"):
        state.decode_head(state.encode(msgspec.structs.replace(HEAD, version=99)))


def test_a_book_knows_every_key_on_the_wire_of_every_route_that_is_readable() -> None:
    earlier = EarlierRoute(epoch=Epoch(1, 1), suffixes=("1", "9"), partitions=(1, 2), until_ms=100)
    active = route("a", ("0", "1"), earlier=(earlier,))
    retired = route("b", (), state=RouteState.RETIRED, earlier=(earlier,))
    proposed = route("c", ("4",), state=RouteState.PROPOSED)
    assert set(wire_keys(active)) == {b"a", b"a\x1f0", b"a\x1f1", b"a\x1f9"}
    book = RouteBook([active, retired, proposed])
    assert book.aliases == {
        **dict.fromkeys((b"a", b"a\x1f0", b"a\x1f1", b"a\x1f9"), b"a"),
        **dict.fromkeys((b"b", b"b\x1f1", b"b\x1f9"), b"b"),
        **dict.fromkeys((b"c", b"c\x1f4"), b"c"),
    }
    assert book.live() == (active, proposed)
    assert book.all() == (active, retired, proposed)
    book.forget_past(99)
    assert book.take_changed() == {}
    book.forget_past(100)
    assert book.take_changed() == {b"b": None}
    assert b"b" not in book.aliases
