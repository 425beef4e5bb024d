"""Every way in which an entry of the registry can be wrong, made from a route that is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hotshard.doors.redis.entries import MAX_SHARDS, MAX_VALUE_BYTES, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.wire.route import Route


def _with(**fields: Any) -> Callable[[Route], bytes]:  # noqa: ANN401 - whatever is wrong
    return lambda route: json.dumps({**json.loads(write(route)), **fields}).encode()


def _without(field: str) -> Callable[[Route], bytes]:
    def make(route: Route) -> bytes:
        fields = json.loads(write(route))
        del fields[field]
        return json.dumps(fields).encode()

    return make


def _places(suffixes: list[Any], partitions: list[Any]) -> Callable[[Route], bytes]:
    return _with(suffixes=suffixes, partitions=partitions)


_EARLIER = {"epoch": {"registry": 1, "offset": 1}, "until_ms": 1}

#: Add a kind of damage here, and it is tried everywhere.
DAMAGE: dict[str, Callable[[Route], bytes]] = {
    "nothing": lambda _: b"",
    "not JSON": lambda _: b"\x00\xff{",
    "cut off": lambda route: write(route)[:-9],
    "no object": lambda _: b"[1, 2]",
    "deep nesting": lambda _: b'{"x":' * 5_000,
    "not UTF-8": lambda route: write(route).replace(b'"test"', b'"\xff"'),
    "too large": lambda route: write(route) + b" " * MAX_VALUE_BYTES,
    "newer schema": _with(schema=2),
    "schema of text": _with(schema="1"),
    "unknown state": _with(state="exploded"),
    "unknown treatment": _with(treatment="dance"),
    "unknown ordering": _with(ordering="roughly"),
    "unknown carry": _with(carry="pigeon"),
    "no state": _without("state"),
    "no epoch": _without("epoch"),
    "another topic": _with(topic="payments"),
    "another key": _with(key="somebody\x1felse"),
    "no key": _with(key=None),
    "two keys": _with(key_b64="eA=="),
    "damaged base64": _with(key=None, key_b64="?"),
    "half a surrogate as key": lambda route: write(route).replace(b"cart", b"\\ud800"),
    "empty suffix": _places(["0", ""], [0, 1]),
    "separator in suffix": _places(["0", "1\x1f2"], [0, 1]),
    "long suffix": _places(["0", "x" * 9], [0, 1]),
    "long suffix in UTF-8": _places(["0", "é" * 5], [0, 1]),
    "suffix of a number": _places(["0", 1], [0, 1]),
    "suffix of half a surrogate": lambda route: write(route).replace(b'["0",', b'["\\ud800",'),
    "suffix twice": _places(["0", "0"], [0, 1]),
    "partition twice": _places(["0", "1"], [1, 1]),
    "more suffixes than partitions": _places(["0", "1", "2"], [0, 1]),
    "more partitions than suffixes": _places(["0", "1"], [0, 1, 2]),
    "negative partition": _places(["0", "1"], [0, -1]),
    "partition out of range": _places(["0", "1"], [0, 64]),
    "partition of text": _places(["0", "1"], [0, "1"]),
    "partition of a fraction": _places(["0", "1"], [0, 0.5]),
    "enormous partition": _places(["0", "1"], [0, 10**30]),
    "no shards": _places([], []),
    "absurd shard count": _with(
        suffixes=[f"{n:x}" for n in range(MAX_SHARDS + 1)],
        partitions=list(range(MAX_SHARDS + 1)),
        partition_count=10_000,
    ),
    "no partitions in the topic": _with(partition_count=0),
    "absurd partition count": _with(partition_count=10**9),
    "partition count of text": _with(partition_count="64"),
    "partitioner without a name": _with(partitioner=""),
    "partitioner with a name that is no name": _with(partitioner="murmur2\n"),
    "another partitioner with too long a name": _with(also_partitioner="x" * 65),
    "another partitioner of a number": _with(also_partitioner=2),
    "bad suffix in the past": _with(earlier=[{**_EARLIER, "suffixes": ["\x1f"], "partitions": [0]}]),
    "absurdly long past": _with(earlier=[{**_EARLIER, "suffixes": [], "partitions": []}] * 65),
    "infinite share": lambda route: write(route).replace(b'"share":0.3', b'"share":1e999'),
    "share that is no number": lambda route: write(route).replace(b'"share":0.3', b'"share":NaN'),
}
