"""The access lists in deploy/redis.acl, and the ways to reach a Redis: a socket, TLS, a cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from hotshard import AsyncRegistry, Registry, RegistryState
from hotshard.core.wire.command import START, Command, CommandKind
from hotshard.demo.servers import RedisServer, free_port
from hotshard.doors.redis.layout import Layout
from hotshard.doors.redis.real import RedisRegistry
from hotshard.errors import RefusedError
from tests.support.eventually import eventually
from tests.support.registry import KEY, TOPIC, HarmInRedis, hot_entry, route, state
from tests.support.require import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.client.router import Router

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
LAYOUT = Layout()


def shards(registry: Router) -> int:
    return len({registry.route(TOPIC, KEY).key for _ in range(8)})


async def follow_a_change(url: str, detector_url: str, **options: Any) -> None:  # noqa: ANN401 - redis-py's
    """Publish, follow with both kinds of client, and change."""
    door = RedisRegistry(detector_url, options=options)
    assert await door.publish(state(1, route(), hot=(hot_entry(),)))
    with Registry(url, options=options) as threads:
        async with AsyncRegistry(url, [TOPIC], options=options) as tasks:
            assert (threads.state, tasks.state) == (RegistryState.READY, RegistryState.READY)
            assert shards(threads) == shards(tasks) == 2
            assert await door.publish(state(2, route(suffixes=("0", "1", "2"))))
            await eventually(lambda: shards(threads) == shards(tasks) == 3)
            assert await door.beat(TOPIC, 1, 2)
            assert threads.counters.snapshots == tasks.counters.snapshots == 1
    await door.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis with the users of deploy/redis.acl, and a default user that may do everything."""
    users = tmp_path / "users.acl"
    users.write_text(f"user default on nopass ~* &* +@all\n{(ROOT / 'deploy' / 'redis.acl').read_text()}")
    with RedisServer(options={"aclfile": str(users)}) as server:
        yield server


def login(server: RedisServer, who: str) -> str:
    return f"redis://hotshard-{who}:CHANGE-ME-{who}@127.0.0.1:{server.port}/0"


async def test_the_access_lists_suffice(guarded: RedisServer) -> None:
    await follow_a_change(login(guarded, "producer"), login(guarded, "detector"))
    detector, operator = (RedisRegistry(login(guarded, who)) for who in ("detector", "operator"))
    assert await detector.publish(state(3, hot=(hot_entry(),)))
    place = await operator.command(Command(kind=CommandKind.FREEZE, by="ann"))
    assert [one.id for one in (await detector.commands(START)).entries] == [place]
    assert len(await operator.hot(TOPIC)) == 1
    assert set((await operator.desk()).topics) == {TOPIC}
    await detector.close()
    await operator.close()


async def test_the_detector_may_repair_what_has_the_wrong_type(guarded: RedisServer) -> None:
    harm = HarmInRedis(guarded.url, "default")
    door = RedisRegistry(login(guarded, "detector"))
    for version, key in enumerate((LAYOUT.meta, LAYOUT.log, LAYOUT.routes(TOPIC), LAYOUT.hot(TOPIC))):
        harm.ask("DEL", key)
        harm.ask("SET", key, "wrong")
        assert await door.publish(state(version, route()))
        assert harm.ask("TYPE", key) == (b"stream" if key == LAYOUT.log else b"hash") or key == LAYOUT.hot(TOPIC)
        assert await door.beat(TOPIC, 1, version)
    await door.close()


async def test_a_log_that_takes_no_more_entries_is_begun_again(guarded: RedisServer) -> None:
    harm = HarmInRedis(guarded.url, "default")
    harm.ask("XADD", LAYOUT.log, f"{2**64 - 1}-{2**64 - 1}", "a", "b")
    await follow_a_change(login(guarded, "producer"), login(guarded, "detector"))


@pytest.mark.parametrize(
    ("who", "command"),
    [
        ("producer", ("HSET", LAYOUT.meta, "a", "b")),
        ("producer", ("HSET", LAYOUT.routes(TOPIC), "a", "b")),
        ("producer", ("HDEL", LAYOUT.routes(TOPIC), "a")),
        ("producer", ("XADD", LAYOUT.log, "*", "a", "b")),
        ("producer", ("XADD", LAYOUT.commands, "*", "a", "b")),
        ("producer", ("EVAL", "return 1", 0)),
        ("producer", ("HGETALL", "hotshard:{other}:meta")),
        ("operator", ("HSET", LAYOUT.meta, "a", "b")),
        ("operator", ("XADD", LAYOUT.log, "*", "a", "b")),
        ("operator", ("DEL", LAYOUT.commands)),
        ("detector", ("HSET", "hotshard:{other}:meta", "a", "b")),
        ("detector", ("SET", LAYOUT.meta, "a")),
        *((who, ("FLUSHALL",)) for who in ("producer", "detector", "operator")),
        *((who, ("KEYS", "*")) for who in ("producer", "detector", "operator")),
    ],
)
def test_the_access_lists_give_no_more(guarded: RedisServer, who: str, command: tuple[Any, ...]) -> None:
    client = redis.Redis.from_url(login(guarded, who), protocol=2)
    with pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py leaves it so
    client.close()


def test_a_producer_may_write_its_lease(guarded: RedisServer) -> None:
    client = redis.Redis.from_url(login(guarded, "producer"), protocol=2)
    assert client.hset(LAYOUT.leases, "me", "x") == 1
    assert client.hdel(LAYOUT.leases, "me") == 1
    client.close()


async def test_missing_rights_are_one_clear_line(guarded: RedisServer) -> None:
    door = RedisRegistry(login(guarded, "producer"))
    with pytest.raises(RefusedError, match=r"rights that deploy/redis\.acl lists"):
        await door.publish(state(1, route()))
    await door.close()
    with Registry(login(guarded, "producer"), namespace="other", start_timeout_s=30.0) as registry:
        assert registry.state is RegistryState.NOT_READY
        assert "rights" in (registry.error or "")


async def test_a_unix_socket_is_an_address(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    with RedisServer(options={"unixsocket": str(path)}):
        await follow_a_change(f"unix://{path}", f"unix://{path}?db=0")


def certificate(folder: Path) -> tuple[Path, Path]:
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, cert


async def test_tls_is_passed_through(tmp_path: Path) -> None:
    (key, cert), port = certificate(tmp_path), free_port()
    tls = {"tls-port": str(port), "tls-cert-file": str(cert), "tls-key-file": str(key), "tls-auth-clients": "no"}
    server = RedisServer(options=tls)
    try:
        server.start()
    except Exception as error:  # noqa: BLE001 - a Redis that was built without TLS ends at once
        server.close()
        require(f"a redis-server with TLS: {error}")
    with server:
        url = f"rediss://127.0.0.1:{port}/0"
        await follow_a_change(f"{url}?ssl_ca_certs={cert}", url, ssl_ca_certs=str(cert))
        async with AsyncRegistry(url, start_timeout_s=1.0) as registry:
            assert registry.state is RegistryState.NOT_READY
            assert "certificate" in (registry.error or "").lower()


async def test_any_node_of_a_cluster_leads_to_the_registry() -> None:
    options = {"cluster-enabled": "yes", "cluster-node-timeout": "2000"}
    with RedisServer(options=options) as one, RedisServer(options=options) as two:
        ask_one, ask_two = (HarmInRedis(server.url, "default").ask for server in (one, two))
        ask_one("CLUSTER", "ADDSLOTSRANGE", 0, 8191)
        ask_two("CLUSTER", "ADDSLOTSRANGE", 8192, 16383)
        ask_one("CLUSTER", "MEET", "127.0.0.1", two.port)
        asks = (ask_one, ask_two)
        await eventually(
            lambda: all("cluster_state:ok" in str(ask("CLUSTER", "INFO")) for ask in asks), what="cluster_state:ok"
        )
        await follow_a_change(one.url, two.url)
        for ask in asks:
            ask("FLUSHALL")
        await follow_a_change(two.url, one.url)


async def test_a_beat_and_a_change_are_one_round_trip_each(guarded: RedisServer) -> None:
    """A script is sent whole only where Redis does not know it."""
    door = RedisRegistry(login(guarded, "detector"))
    await door.publish(state(1, route()))
    assert [await door.beat(TOPIC, 1, 1) for _ in range(5)] == [True] * 5
    await door.publish(state(2, route()))
    used = HarmInRedis(guarded.url, "default").ask("INFO", "commandstats")
    await door.close()
    assert (used["cmdstat_eval"]["calls"], used["cmdstat_evalsha"]["calls"]) == (2, 7)
