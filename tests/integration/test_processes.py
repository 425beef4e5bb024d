"""``hotshard worker --processes 2``: members of one group under one supervisor."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.eventually import eventually
from tests.support.exactness import assert_exact
from tests.support.topics import create_topic
from tests.support.traffic import Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS: Final = 6


async def test_two_processes_share_the_work_and_survive_a_kill_of_one_and_of_their_supervisor(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic = fresh_topic_name
    await create_topic(kafka.bootstrap, topic, PARTITIONS)
    settings = {"window_s": 1, "grace_s": 2, "processes": 2, "session_timeout_s": 2}
    install = Install(tmp_path, kafka.bootstrap, redis_server.url, f"{topic}-hs", {topic: {}}, settings)
    worker = WorkerProcess(install)
    try:
        worker.start()
        await eventually(lambda: shared(worker) == {"1": 3, "2": 3}, what="both hold partitions")
        async with Traffic(kafka.bootstrap, topic) as traffic:
            os.kill(children(worker.process.pid)[0], signal.SIGKILL)
            await worker.says("is started again")
            await assert_exact(install, topic, traffic)
        before = children(worker.process.pid)
        worker.kill()
        await eventually(lambda: not any(map(exists, before)), what="orphans end by themselves")
    finally:
        worker.end()
    assert "Traceback" not in worker.log, worker.log


def shared(worker: WorkerProcess) -> dict[str, int]:
    """How many partitions each process was given last, by its number."""
    return {
        number: int(count)
        for number, count in re.findall(r"\[(\d)\] .*assigned (\d+) partitions of the sources", worker.recent)
    }


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as listed:  # noqa: PTH123 - no file, a question to the kernel
        return [int(each) for each in listed.read().split()]


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
