"""Asks a Kafka broker, over a bare socket, whether it serves: Metadata version 1, for no topics."""

from __future__ import annotations

import struct

from hotshard.demo.servers.ports import ask

_METADATA, _VERSION, _ID = 3, 1, 7
_CLIENT = b"hotshard-ready"


def metadata_request() -> bytes:
    """Return the request with its length before it."""
    body = struct.pack(">hhih", _METADATA, _VERSION, _ID, len(_CLIENT)) + _CLIENT + struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


def brokers_in(answer: bytes) -> int:
    """Return how many brokers an answer names; 0 for anything that is no answer to our request."""
    if len(answer) < 12:
        return 0
    _, correlation, brokers = struct.unpack_from(">iii", answer)
    return int(brokers) if correlation == _ID else 0


def broker_ready(port: int) -> bool:
    """Whether the broker on this port knows of at least one live broker."""
    return brokers_in(ask(port, metadata_request())) > 0
