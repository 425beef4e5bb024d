"""What stands in the compacted state topic, the truth: one head per topic, and one record per route.

Records are msgpack under the keys ``head NUL topic`` and ``route NUL topic NUL base key``; a topic
name holds no NUL. A route without a value has been forgotten.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from hotshard.core.deciding.recalled import JudgingMemory
from hotshard.core.keys import with_suffix
from hotshard.core.panes.ledger import Expected
from hotshard.core.panes.windows import WindowsMemory
from hotshard.core.policy.memory import HeatMemory
from hotshard.core.wire.orders import Orders, Seen
from hotshard.core.wire.route import HotEntry, Route
from hotshard.errors import KeyPartError, WireError

VERSION: Final = 1
_HEAD: Final = b"head"
_ROUTE: Final = b"route"


class TopicHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker that takes over a topic needs to go on as if nothing had happened."""

    version: int = VERSION
    topic: str
    #: The registry's epoch of this topic, made when its first head was written (ms since 1970).
    registry_epoch: int
    #: Rises by one with every transaction.
    state_version: int
    at_ms: int
    #: Messages of the panes topic from here on are heard again, in silence up to ``done``.
    replay_from: int
    done: int
    #: The offsets expected next, as they stood just before ``replay_from``.
    expected: tuple[Expected, ...]
    windows: WindowsMemory
    keys: HeatMemory
    tenants: HeatMemory
    hot: tuple[HotEntry, ...] = ()
    #: The last message at which a turn of heat or a changed route was told; epochs rise above it.
    told_at: int = -1
    #: What people ordered, and how far their commands were read.
    orders: Orders = Orders()
    seen: Seen = Seen()
    #: The windows told last, and how the plans that stand do.
    judging: JudgingMemory = JudgingMemory()


class Record(NamedTuple):
    """A record of the state topic: a route where there is a base key, else a head. Without a value it is forgotten."""

    topic: str
    base_key: bytes | None
    value: TopicHead | Route | None


_encoder = msgspec.msgpack.Encoder()
_heads: msgspec.msgpack.Decoder[TopicHead] = msgspec.msgpack.Decoder(TopicHead)
_routes: msgspec.msgpack.Decoder[Route] = msgspec.msgpack.Decoder(Route)


def head_key(topic: str) -> bytes:
    return b"\x00".join((_HEAD, topic.encode()))


def route_key(topic: str, base_key: bytes) -> bytes:
    return b"\x00".join((_ROUTE, topic.encode(), base_key))


def encode(record: TopicHead | Route) -> bytes:
    return _encoder.encode(record)


def decode_key(key: bytes | None) -> tuple[str, bytes | None]:
    """The topic of a state record, and the base key of a route or None of a head.

    Raises:
        WireError: not a key of the state topic.

    """
    parts = (key or b"").split(b"\x00", 2)
    try:
        if parts[0] == _HEAD and len(parts) == 2:
            return parts[1].decode(), None
        if parts[0] == _ROUTE and len(parts) == 3:
            return parts[1].decode(), parts[2]
    except UnicodeDecodeError:
        pass
    raise WireError("not a key of the state topic")


def read(key: bytes | None, value: bytes | None) -> Record:
    """Read a record of the state topic.

    Raises:
        WireError: key or value are damaged, do not fit together, or are of a version not known here.

    """
    topic, base = decode_key(key)
    if value is None:
        return Record(topic, base, None)
    if base is None:
        head = decode_head(value)
        if head.topic != topic:
            raise WireError("a head in the state topic stands under another topic's key")
        return Record(topic, None, head)
    route = decode_route(value)
    if (route.topic, route.base_key) != (topic, base):
        raise WireError("a route in the state topic stands under another key")
    return Record(topic, base, route)


def decode_head(value: bytes) -> TopicHead:
    """Read a head.

    Raises:
        WireError: damaged, or of a version not known here.

    """
    try:
        head = _heads.decode(value)
    except msgspec.MsgspecError as error:
        raise WireError(f"damaged head in the state topic: {error}") from None
    if head.version > VERSION:
        known = f"known here is {VERSION}: update this worker"
        raise WireError(f"head of version {head.version} in the state topic, {known}")
    return head


def decode_route(value: bytes) -> Route:
    """Read a route.

    Raises:
        WireError: damaged, or with a suffix that is none.

    """
    try:
        route = _routes.decode(value)
        for suffix in (*route.suffixes, *(each for earlier in route.earlier for each in earlier.suffixes)):
            with_suffix(b"", suffix)
    except (msgspec.MsgspecError, KeyPartError) as error:
        raise WireError(f"damaged route in the state topic: {error}") from None
    return route
