"""The test vectors of the wire protocol, run on this library. They are a contract: they may grow, never change."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from hotshard.client.held import entry
from hotshard.core.hashing import fnv1a_32, fnv1a_64, jump_hash
from hotshard.core.keys import base_key, partition_key, sharded_partition_key, with_suffix
from hotshard.core.partitioners import murmur2, partitioner
from hotshard.core.planning.shards import shard_of
from hotshard.core.topic import KeyLayout
from hotshard.core.wire.route import RouteState
from hotshard.doors.redis.entries import read_route
from hotshard.doors.redis.layout import Layout
from hotshard.errors import KeyPartError, WireError

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "protocol"
VECTORS: dict[str, Any] = json.loads((FOLDER / "vectors.json").read_text())
PAGE = (FOLDER / "PROTOCOL.md").read_text()


def each(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", VECTORS[name], ids=lambda vector: vector.get("what", ""))


@each("fnv1a_32")
def test_fnv1a_32(vector: dict[str, Any]) -> None:
    assert f"{fnv1a_32(vector['text']):08x}" == vector["hash"]


@each("fnv1a_64")
def test_fnv1a_64(vector: dict[str, Any]) -> None:
    assert f"{fnv1a_64(vector['text']):016x}" == vector["hash"]


@each("jump_hash")
def test_jump_hash(vector: dict[str, Any]) -> None:
    assert jump_hash(int(vector["key"], 16), vector["buckets"]) == vector["bucket"]


@each("shards")
def test_shards(vector: dict[str, Any]) -> None:
    assert shard_of(vector["discriminator"], vector["shards"]) == vector["shard"]


@each("murmur2")
def test_murmur2(vector: dict[str, Any]) -> None:
    assert f"{murmur2(vector['text'].encode()):08x}" == vector["hash"]


@each("partitions")
def test_partitions(vector: dict[str, Any]) -> None:
    found = partitioner(vector["partitioner"]).partition(b64decode(vector["key_b64"]), vector["partitions"])
    assert found == vector["partition"]


@each("keys")
def test_keys(vector: dict[str, Any]) -> None:
    assert partition_key(vector["tenant"], vector["entity"]) == vector["key"]


@each("refused_keys")
def test_refused_keys(vector: dict[str, Any]) -> None:
    with pytest.raises(KeyPartError):
        partition_key(vector["tenant"], vector["entity"])


@each("suffixed_keys")
def test_suffixed_keys(vector: dict[str, Any]) -> None:
    assert with_suffix(vector["base"], vector["suffix"]) == vector["key"]


@each("static_shards")
def test_static_shards(vector: dict[str, Any]) -> None:
    made = sharded_partition_key(
        vector["tenant"],
        vector["entity"],
        shard_count=vector["shard_count"],
        discriminator=vector["discriminator"],
    )
    assert made == vector["key"]


@each("base_keys")
def test_base_keys(vector: dict[str, Any]) -> None:
    assert base_key(vector["key"], KeyLayout(vector["layout"])) == vector["base"]


def test_redis_keys() -> None:
    named = VECTORS["redis_keys"]
    layout = Layout(named["namespace"])
    for name in ("meta", "log", "leases", "commands"):
        assert getattr(layout, name) == named[name]
    assert (layout.routes(named["topic"]), layout.hot(named["topic"])) == (named["routes"], named["hot"])


@each("routes")
def test_routes(vector: dict[str, Any]) -> None:
    field, value = b64decode(vector["field_b64"]), b64decode(vector["value_b64"])
    if not vector["accepted"]:
        with pytest.raises(WireError):
            read_route(vector["topic"], field, value)
        return
    spread = entry(value, read_route(vector["topic"], field, value)).keys
    assert (spread is not None) == vector["obeyed"]
    for send in vector.get("sends", ()):
        assert spread is not None
        routed = spread.pick(send["discriminator"])
        assert (routed.key, routed.partition) == (b64decode(send["key_b64"]), send["partition"])
        assert dict(routed.headers) == {name: b64decode(raw) for name, raw in send["headers"].items()}


@pytest.mark.parametrize("name", VECTORS.keys() - {"schema", "about"})
def test_the_page_names_every_group_of_vectors(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", [*RouteState, "hotshard-base", "hotshard-epoch", "hotshard-fence"])
def test_the_page_names_every_state_and_header(name: str) -> None:
    assert f"`{name}`" in PAGE
