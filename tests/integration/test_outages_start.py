"""What a worker says when something is not as it should be at its start: one clear line, with what to do."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from hotshard.demo.servers import RedisServer, free_port
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.real import AioKafka
from tests.support.eventually import eventually
from tests.support.exactness import assert_exact
from tests.support.topics import admin, create_topic
from tests.support.traffic import Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.demo.servers import ApacheKafka


pytestmark = pytest.mark.integration

_LOUD = re.compile(r"^\S+ \S+ (WARNING|ERROR|CRITICAL) ", re.MULTILINE)


def install_at(bootstrap: str, redis_url: str, topic: str, folder: Path, **more: Any) -> Install:  # noqa: ANN401 - rows
    return Install(folder, bootstrap, redis_url, f"{topic}-hs", {topic: {}}, {"window_s": 1, "grace_s": 2}, more)


@pytest.fixture
def worker_at() -> Iterator[list[WorkerProcess]]:
    """What is put in here is ended after the test."""
    started: list[WorkerProcess] = []
    yield started
    for each in started:
        each.end()


def begin(started: list[WorkerProcess], install: Install) -> WorkerProcess:
    worker = WorkerProcess(install)
    started.append(worker)
    worker.start()
    return worker


async def only_line(worker: WorkerProcess) -> str:
    """It ends with 1, and has said one line."""
    assert await worker.ended() == 1, worker.recent
    (line,) = worker.recent.splitlines()
    return line


async def test_a_wrong_password_ends_the_start_with_one_line(
    locked_kafka: ApacheKafka,
    redis_server: RedisServer,
    fresh_topic_name: str,
    tmp_path: Path,
    worker_at: list[WorkerProcess],
) -> None:
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "ann", "sasl_password": "wr0ng"}
    install = install_at(locked_kafka.sasl_bootstrap, redis_server.url, fresh_topic_name, tmp_path, mirror=login)
    line = await only_line(begin(worker_at, install))
    assert "refused the connection" in line
    assert "check sasl_username (ann), sasl_password" in line
    assert "wr0ng" not in line


async def test_a_wrong_address_is_told_in_one_line_and_waited_for(
    redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path, worker_at: list[WorkerProcess]
) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    worker = begin(worker_at, install_at(nowhere, redis_server.url, fresh_topic_name, tmp_path))
    line = await worker.says("waiting for Kafka")
    assert f"{nowhere} does not answer" in line
    assert "check that it runs, its address" in line
    assert worker.stop() == 0
    assert [each for each in worker.recent.splitlines() if _LOUD.match(each)] == [line]


async def test_a_panes_topic_with_another_partition_count_ends_the_start_with_one_line(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path, worker_at: list[WorkerProcess]
) -> None:
    install = install_at(kafka.bootstrap, redis_server.url, fresh_topic_name, tmp_path)
    await create_topic(kafka.bootstrap, install.panes, 5)
    line = await only_line(begin(worker_at, install))
    assert install.panes in line
    assert "5" in line
    assert "2" in line


@pytest.fixture
def replica() -> Iterator[RedisServer]:
    """A Redis that takes no writes."""
    with RedisServer(options={"replicaof": "127.0.0.1 1"}) as server:
        yield server


async def test_what_is_missing_is_made_or_waited_for_and_a_redis_that_takes_no_writes_stops_nothing(
    kafka: ApacheKafka, replica: RedisServer, fresh_topic_name: str, tmp_path: Path, worker_at: list[WorkerProcess]
) -> None:
    """hotshard's own topics are made, a source that is missing is waited for, and nothing listens."""
    kept = {"panes_retention_s": 3600, "windows_retention_s": 7200, "events_retention_s": 10800}
    install = install_at(kafka.bootstrap, replica.url, fresh_topic_name, tmp_path, own_topics=kept)
    worker = begin(worker_at, install)
    line = await worker.says(f"waiting for source {fresh_topic_name}")
    assert "does not exist; create it or correct its name" in line
    ours = AioKafka(KafkaConnection(bootstrap_servers=(kafka.bootstrap,))).admin()
    for name in (install.panes, install.state, install.windows, install.events):
        assert await ours.partitions(name) == 2, name
    await ours.stop()
    for name, kept_ms in zip(
        (install.panes, install.windows, install.events), (3_600_000, 7_200_000, 10_800_000), strict=True
    ):
        assert await config(kafka.bootstrap, name) >= {("cleanup.policy", "delete"), ("retention.ms", str(kept_ms))}
    assert ("cleanup.policy", "compact") in await config(kafka.bootstrap, install.state)
    await create_topic(kafka.bootstrap, fresh_topic_name, 3)
    await worker.assigned()
    async with Traffic(kafka.bootstrap, fresh_topic_name) as traffic:
        line = await worker.says("waiting for Redis")
        assert "read-only" in line
        await eventually(lambda: traffic.acked > 500)
        with socket.create_server(("127.0.0.1", 0)):
            assert listening(os.getpid()), "one that listens is seen"
        assert listening(worker.process.pid) == []
        await assert_exact(install, fresh_topic_name, traffic)
    assert worker.stop() == 0
    assert worker.recent.count("waiting for Redis") <= 2


async def config(bootstrap: str, topic: str) -> set[tuple[str, str]]:
    """How a topic stands at the broker."""
    async with admin(bootstrap) as client:
        (answer,) = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    ((_, _, _, _, entries),) = answer.resources
    return {(entry[0], entry[1]) for entry in entries}


def listening(pid: int) -> list[str]:
    """Local addresses on which a process listens for TCP."""
    process = Path("/proc") / str(pid)
    links = (link.readlink().name for link in (process / "fd").iterdir() if link.is_symlink())
    inodes = {name.removeprefix("socket:[").removesuffix("]") for name in links if name.startswith("socket:")}
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in (process / "net" / table).read_text().splitlines()[1:]
    ]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]
