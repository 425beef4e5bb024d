"""How the job starts and stops Faust apps inside its own loop: the pattern, as small as it can be."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from faust.types import TP

from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.job.transport import AsIs, QuietApp, quiet_app, slab_transport
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.topics import Sent, create_topic, produce

if TYPE_CHECKING:
    from hotshard.core.slab import Slab
    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration


def _collecting(bootstrap: str, topic: str, group: str, into: list[Slab]) -> QuietApp:
    connection = KafkaConnection(bootstrap_servers=(bootstrap,))
    app = quiet_app(group, connection)
    app.transport = slab_transport(app, topics=frozenset({topic}), connection=connection)

    async def observe(stream: Any) -> None:  # noqa: ANN401 - Faust's stream
        async for event in stream.events():
            if app.consumer.is_current(event.message):  # type: ignore[attr-defined]  # ours is a SlabConsumer
                into.append(event.value)  # noqa: PERF401 - as they come

    app.agent(app.topic(topic, schema=AsIs(), acks=False))(observe)
    return app


def _listening() -> set[int]:
    """Return the ports on which this process listens (Linux only)."""
    inodes = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


async def test_two_apps_start_collect_and_stop_in_one_process(
    kafka: ApacheKafka,
    fresh_topic_name: str,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    name = fresh_topic_name
    slabs: tuple[list[Slab], list[Slab]] = ([], [])
    threads, ports = set(threading.enumerate()), _listening()
    await create_topic(kafka.bootstrap, name, 3)
    await produce(kafka.bootstrap, name, [Sent(b"k%d" % n, b"v", n % 3) for n in range(300)])
    caplog.set_level(logging.INFO)
    apps = [_collecting(kafka.bootstrap, name, f"{name}-{number}", into) for number, into in enumerate(slabs)]

    await asyncio.gather(*(app.start() for app in apps))
    await eventually(lambda: [sum(map(len, into)) for into in slabs] == [300, 300])
    assert _listening() == ports
    async with asyncio.timeout(30.0):
        await asyncio.gather(*(app.stop() for app in apps))

    assert {TP(slab.topic, slab.partition) for slab in slabs[0]} == {TP(name, part) for part in range(3)}
    assert set(threading.enumerate()) == threads
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert os.listdir() == []  # noqa: PTH208 - of the folder it runs in
    told = [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    # the coordinator of a group's first topic comes into being with the first question
    assert [r.getMessage() for r in told if "GroupCoordinatorNotAvailable" not in r.getMessage()] == []


async def test_the_check_for_listeners_sees_one() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, family=socket.AF_INET)
    async with server:
        assert server.sockets[0].getsockname()[1] in _listening()


async def test_an_app_that_was_never_started_leaves_nothing(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    threads = set(threading.enumerate())
    app = _collecting(kafka.bootstrap, fresh_topic_name, fresh_topic_name, [])
    await app.stop()
    assert set(threading.enumerate()) == threads


async def test_a_crash_in_the_jobs_own_signal_is_seen_by_who_waits_for_the_app(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    await create_topic(kafka.bootstrap, fresh_topic_name)
    app = _collecting(kafka.bootstrap, fresh_topic_name, fresh_topic_name, [])

    async def fail(*_: Any, **__: Any) -> None:  # noqa: ANN401 - Faust's signal
        raise ValueError("ours")

    app.on_partitions_assigned.connect(fail)
    await app.start()
    await asyncio.wait_for(app.wait_until_stopped(), PATIENCE_S)
    assert isinstance(app.crash_reason, ValueError)
    await app.stop()
