"""A snapshot of the registry in a file, for a start without Redis."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.wire.route import Route
from hotshard.doors.redis.layout import is_topic
from hotshard.errors import WireError

if TYPE_CHECKING:
    from hotshard.client.following import Follower

log = logging.getLogger("hotshard.client")

SCHEMA: Final = 1
MAX_FILE_BYTES: Final = 64 * 1024 * 1024


class _Topic(msgspec.Struct):
    epoch: int
    version: int
    routes: list[msgspec.Raw] = []


class _File(msgspec.Struct):
    schema: int
    topics: dict[str, _Topic]


def load(path: str | Path, follower: Follower) -> None:
    """Give the follower what the file holds. A file that is missing or damaged is said and otherwise ignored."""
    try:
        for topic, state in _read(Path(path)).topics.items():
            if is_topic(topic) and follower.wants(topic):
                follower.bootstrap(topic, state.epoch, state.version, dict(map(_field, state.routes)))
    except (OSError, WireError, msgspec.MsgspecError, RecursionError) as error:
        log.warning("bootstrap file %s is not used: %s", path, error)


def dump(follower: Follower) -> bytes:
    """What :func:`load` reads."""
    topics = {
        topic: _Topic(epoch, version, [msgspec.Raw(raw) for raw in routes.values()])
        for topic, (epoch, version, routes) in follower.snapshot().items()
    }
    return msgspec.json.encode(_File(SCHEMA, topics))


def _read(path: Path) -> _File:
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise WireError(f"it has over {MAX_FILE_BYTES} bytes")
    found = msgspec.json.decode(data, type=_File)
    if found.schema != SCHEMA:
        raise WireError(f"it is of schema {found.schema}, known here is {SCHEMA}")
    return found


def _field(raw: msgspec.Raw) -> tuple[bytes, bytes]:
    """The field under which the route would stand, and the route; what is wrong with it the follower finds."""
    try:
        return msgspec.json.decode(raw, type=Route).base_key, bytes(raw)
    except (WireError, msgspec.MsgspecError, RecursionError):
        return b"", bytes(raw)
