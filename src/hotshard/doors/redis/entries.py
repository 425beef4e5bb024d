"""What stands in the fields of the registry, written and read. Everything read is taken for hostile.

A reader that gets a :class:`WireError` from here ignores that entry, counts it and keeps the last good one.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from hotshard.core.keys import MAX_SUFFIX_BYTES, SEPARATOR, is_suffixable
from hotshard.core.topic import Carry
from hotshard.core.wire.orders import Orders
from hotshard.core.wire.route import MAX_EARLIER, SCHEMA, HotEntry, Route, RouteState, Treatment
from hotshard.doors.redis.layout import SCHEMA as META_SCHEMA
from hotshard.doors.redis.layout import is_topic, meta_fields
from hotshard.errors import NewerSchemaError, WireError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_VALUE_BYTES: Final = 64 * 1024
#: Orders are some hundreds of keys of at most 4 KB each.
MAX_ORDERS_BYTES: Final = 16 * 1024 * 1024
#: More shards than this are no plan but damage.
MAX_SHARDS: Final = 1024
MAX_PARTITIONS: Final = 1_000_000
#: Longest name of a partitioner.
MAX_NAME_CHARS: Final = 64
#: More routes than this in one topic are not looked at: the last good ones stay.
MAX_ROUTES: Final = 50_000

#: States in which producers obey a route.
OBEYED: Final = frozenset({RouteState.CHANGING, RouteState.ACTIVE, RouteState.RETIRING})
_SPREADING: Final = frozenset({Treatment.SPLIT, Treatment.ISOLATE})

_Entry = TypeVar("_Entry", Route, HotEntry)

_encoder: Final = msgspec.json.Encoder()
_routes: Final = msgspec.json.Decoder(Route)
_hot: Final = msgspec.json.Decoder(HotEntry)
_orders: Final = msgspec.json.Decoder(Orders)


class Mark(NamedTuple):
    """What ``meta`` says of a topic. ``at_ms`` is Redis' time when its detector was last heard."""

    epoch: int
    version: int
    at_ms: int


class Change(NamedTuple):
    """One entry of the log: how a topic got from ``previous`` to ``version``.

    ``previous`` is -1 for the first state of an epoch. ``reread``: the change is too large for the log.
    ``routes`` has the new value of each route by its field, None for one that is gone.
    """

    topic: str
    epoch: int
    version: int
    previous: int
    at_ms: int
    reread: bool
    hot: bool
    routes: dict[bytes, bytes | None]


def route_field(route: Route) -> bytes:
    """The field of a route in ``routes:<topic>``: its base key."""
    return route.base_key


def hot_field(entry: HotEntry) -> bytes:
    """The field of a hot entry in ``hot:<topic>``."""
    return f"{entry.kind.value}:".encode() + entry.name


def write(entry: Route | HotEntry) -> bytes:
    return _encoder.encode(entry)


def obeyed(route: Route) -> bool:
    """Whether the route's state and treatment tell producers to spread the key."""
    return route.state in OBEYED and route.treatment in _SPREADING


def read_route(topic: str, field: bytes, value: bytes) -> Route:
    """Read the route of the base key ``field``.

    Raises:
        WireError: it is damaged, of an unknown schema, of another topic or key, or could not be obeyed.

    """
    route = _decode(_routes, value)
    if route.topic != topic or _name_of(route) != field:
        raise WireError("route of another topic or key than where it stands")
    if not 0 <= route.partition_count <= MAX_PARTITIONS:  # none where there is no plan, only advice
        raise WireError(f"partition count {route.partition_count}")
    if route.carry is Carry.SUFFIX and route.suffixes and not is_suffixable(field):
        raise WireError("suffixes for a key that cannot bear one")
    if route.carry is Carry.SUFFIX and len(route.suffixes) != len(route.partitions):
        raise WireError(f"{len(route.suffixes)} suffixes for {len(route.partitions)} partitions")
    if route.partitions and not field:
        raise WireError("shards of an empty key")
    if not (_is_name(route.partitioner) and (route.also_partitioner is None or _is_name(route.also_partitioner))):
        raise WireError("a partitioner's name that is empty, too long or unprintable")
    _check_places(route.suffixes, route.partitions, route.partition_count)
    if obeyed(route) and not route.partitions:
        raise WireError("a split without shards")
    _check_earlier(route)
    return route


def read_hot(topic: str, field: bytes, value: bytes) -> HotEntry:
    """Read the hot entry that stands under ``field``.

    Raises:
        WireError: it is damaged, of an unknown schema, or of another topic or name.

    """
    entry = _decode(_hot, value)
    if entry.topic != topic or f"{entry.kind.value}:".encode() + _name_of(entry) != field:
        raise WireError("hot entry of another topic or name than where it stands")
    return entry


def readable_hot(topic: str, fields: Mapping[bytes, bytes]) -> tuple[HotEntry, ...]:
    """The hot entries of a topic, the most loaded first, without damaged ones."""
    found = []
    for field, value in fields.items():
        with contextlib.suppress(WireError):
            found.append(read_hot(topic, field, value))
    return tuple(sorted(found, key=lambda entry: (-entry.share, entry.name)))


def write_orders(orders: Orders) -> bytes:
    return _encoder.encode(orders)


def read_orders(value: bytes) -> Orders:
    """Read what stands in ``orders:<topic>``.

    Raises:
        WireError: it is damaged.

    """
    if len(value) > MAX_ORDERS_BYTES:
        raise WireError(f"orders of {len(value)} bytes")
    try:
        orders = _orders.decode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise WireError(f"damaged: {error}") from None
    for each in (*orders.pins, *orders.approvals, *orders.pauses, *orders.done):
        _ = each.base_key  # raises where it is damaged
    return orders


def read_mark(meta: Mapping[bytes, bytes], topic: str) -> Mark | None:
    """What ``meta`` says of ``topic``; None where it says nothing.

    Raises:
        WireError: of an unknown schema, or damaged.

    """
    if not meta:
        return None
    if _integer(meta.get(b"schema"), "schema") > META_SCHEMA:
        raise NewerSchemaError
    epoch, version, at_ms = (meta.get(field.encode()) for field in meta_fields(topic))
    if epoch is None and version is None:
        return None
    return Mark(_integer(epoch, "epoch"), _integer(version, "version"), _integer(at_ms, "time"))


def topics_of(meta: Mapping[bytes, bytes]) -> frozenset[str]:
    """Every topic that ``meta`` speaks of. Damaged names are left out."""
    names = (field[len(b"epoch:") :].decode("ascii", "replace") for field in meta if field.startswith(b"epoch:"))
    return frozenset(name for name in names if is_topic(name))


def read_change(fields: Mapping[bytes, bytes]) -> Change:
    """Read an entry of the log. Fields not known here are left alone.

    Raises:
        WireError: it is damaged.

    """
    topic = fields.get(b"topic", b"").decode("ascii", "replace")
    if not is_topic(topic):
        raise WireError("log entry without a topic")
    previous = fields.get(b"previous")
    return Change(
        topic=topic,
        epoch=_integer(fields.get(b"epoch"), "epoch"),
        version=_integer(fields.get(b"version"), "version"),
        previous=-1 if previous == b"-1" else _integer(previous, "previous version"),
        at_ms=_integer(fields.get(b"at"), "time"),
        reread=b"reread" in fields,
        hot=b"hot" in fields,
        routes={**_with_prefix(fields, b"set:"), **dict.fromkeys(_with_prefix(fields, b"del:"))},
    )


def _with_prefix(fields: Mapping[bytes, bytes], prefix: bytes) -> dict[bytes, bytes | None]:
    return {name[len(prefix) :]: value for name, value in fields.items() if name.startswith(prefix)}


def _decode(decoder: msgspec.json.Decoder[_Entry], value: bytes) -> _Entry:
    if len(value) > MAX_VALUE_BYTES:
        raise WireError(f"a value of {len(value)} bytes")
    try:
        entry = decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise WireError(f"damaged: {error}") from None
    if entry.schema != SCHEMA:
        raise WireError(f"schema {entry.schema}, known here is {SCHEMA}")
    return entry


def _name_of(entry: Route | HotEntry) -> bytes:
    return entry.base_key if isinstance(entry, Route) else entry.name


def _check_places(suffixes: tuple[str, ...], partitions: tuple[int, ...], partition_count: int) -> None:
    # Where the partition itself is given there need be no suffixes.
    if suffixes and len(suffixes) != len(partitions):
        raise WireError(f"{len(suffixes)} suffixes for {len(partitions)} partitions")
    if len(partitions) > MAX_SHARDS:
        raise WireError(f"{len(partitions)} shards")
    if not all(_is_suffix(suffix) for suffix in suffixes):
        raise WireError("a suffix that is empty, too long or holds U+001F")
    if len(set(suffixes)) != len(suffixes) or len(set(partitions)) != len(partitions):
        raise WireError("a suffix or a partition twice")
    if not all(0 <= partition < partition_count for partition in partitions):
        raise WireError(f"a partition outside 0 to {partition_count - 1}")


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME_CHARS and name.isprintable()


def _is_suffix(suffix: str) -> bool:
    try:
        size = len(suffix.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= MAX_SUFFIX_BYTES and SEPARATOR not in suffix


def _check_earlier(route: Route) -> None:
    if len(route.earlier) > MAX_EARLIER:
        raise WireError(f"{len(route.earlier)} earlier epochs")
    for earlier in route.earlier:
        # The partition count may have been another then.
        _check_places(earlier.suffixes, earlier.partitions, MAX_PARTITIONS)


def _integer(text: bytes | None, what: str) -> int:
    if text is None or not text.isdigit() or len(text) > 15:
        raise WireError(f"damaged {what} in the registry")
    return int(text)
