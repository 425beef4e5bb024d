"""The registry as a person reads it: what is asked, and what the answers say. Damaged entries are left out, counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from hotshard.core.wire.orders import Orders
from hotshard.doors.redis import entries
from hotshard.doors.redis.asking import unless_wrong_type
from hotshard.doors.redis.commands import read_entry
from hotshard.doors.redis.contract import Desk, TopicDesk
from hotshard.errors import NewerSchemaError, WireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hotshard.core.wire.route import HotEntry, Route
    from hotshard.doors.redis.asking import Command
    from hotshard.doors.redis.contract import RawHash
    from hotshard.doors.redis.entries import Mark
    from hotshard.doors.redis.layout import Layout

#: Entries of the commands stream that a person is shown at most.
COMMANDS_SHOWN: Final = 200

_Entry = TypeVar("_Entry", "Route", "HotEntry")


def desk_commands(layout: Layout, topics: Sequence[str]) -> list[Command]:
    """What is asked, in one transaction."""
    return [
        ("TIME",),
        ("HGETALL", layout.meta),
        ("XREVRANGE", layout.commands, "+", "-", "COUNT", COMMANDS_SHOWN),
        *(
            ("HGETALL", name)
            for topic in topics
            for name in (layout.routes(topic), layout.hot(topic), layout.orders(topic))
        ),
    ]


def desk_of(topics: Sequence[str], answers: Sequence[Any]) -> Desk:
    """What the answers say. Raises what Redis answered, other than a wrong type.

    Raises:
        NewerSchemaError: the registry has a newer schema than is known here.

    """
    (seconds, micros), meta, commands, *hashes = (unless_wrong_type(answer) for answer in answers)
    shown = {
        topic: desk
        for topic, routes, hot, orders in zip(topics, hashes[::3], hashes[1::3], hashes[2::3], strict=True)
        if (desk := topic_desk(topic, meta, routes, hot, orders)) is not None
    }
    heard = tuple(read_entry(place, fields or {}) for place, fields in reversed(commands or ()))
    return Desk(now_ms=seconds * 1000 + micros // 1000, topics=shown, commands=heard)


def topic_desk(topic: str, meta: RawHash, routes: RawHash, hot: RawHash, orders: RawHash) -> TopicDesk | None:
    """What the registry holds of one topic; None where it says nothing of it.

    Raises:
        NewerSchemaError: the registry has a newer schema than is known here.

    """
    mark, damaged_mark = _mark(topic, meta)
    if mark is None:
        return None
    found_routes, damaged_routes = _readable(topic, routes, entries.read_route)
    found_hot, damaged_hot = _readable(topic, hot, entries.read_hot)
    fields = orders or {}
    ordered, damaged_orders = _orders(fields)
    return TopicDesk(
        mark=mark,
        mode=fields.get(b"mode", b"").decode("ascii", "replace"),
        orders=ordered,
        routes=tuple(sorted(found_routes, key=lambda route: (-route.share, route.base_key))),
        hot=tuple(sorted(found_hot, key=lambda entry: (-entry.share, entry.name))),
        damaged=damaged_mark + damaged_routes + damaged_hot + damaged_orders,
    )


def _mark(topic: str, meta: RawHash) -> tuple[Mark | None, int]:
    """How far a topic is; one that is damaged is of no time, and keeps nobody from seeing and commanding others."""
    try:
        return entries.read_mark(meta or {}, topic), 0
    except NewerSchemaError:
        raise
    except WireError:
        return entries.Mark(0, 0, 0), 1


def _orders(fields: Mapping[bytes, bytes]) -> tuple[Orders, int]:
    try:
        return entries.read_orders(fields[b"orders"]) if b"orders" in fields else Orders(), 0
    except WireError:
        return Orders(), 1


def _readable(topic: str, fields: RawHash, read: Callable[[str, bytes, bytes], _Entry]) -> tuple[Iterable[_Entry], int]:
    if fields is None:
        return (), 1
    found, damaged = [], 0
    for field, value in fields.items():
        try:
            found.append(read(topic, field, value))
        except WireError:
            damaged += 1
    return found, damaged
