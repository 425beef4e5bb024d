"""Workers share the work and hand it on without a seam, whatever the records are like."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest

from hotshard.core.wire import pane
from hotshard.doors.kafka.slabs.sample import Record, batch
from tests.support.eventually import eventually
from tests.support.exactness import assert_exact, counted
from tests.support.raw import produce_raw
from tests.support.topics import Sent, create_topic, produce, read_topic
from tests.support.traffic import Traffic
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS: Final = 6
_YEAR_2200_MS: Final = 7_258_118_400_000

#: What a mirror may hold; add what else has been seen.
ODD: Final = (
    Sent(None, b"no key"),
    Sent(b"acme\x1fcart", None),
    Sent(b"", b"an empty key"),
    Sent(b"\xff\xfe\x00", b"not UTF-8"),
    Sent(b"\x1f\x1f\x1f", b"separators alone"),
    Sent(b"k" * 5_000, b"a long key"),
    Sent(b"acme\x1fcart\x1fno-such-shard", b"a suffix nobody gave"),
    Sent(b"acme\x1fold", b"from 1970", None, 0),
    Sent(b"acme\x1fnew", b"from far ahead", None, _YEAR_2200_MS),
    Sent(b"acme\x1flarge", b"x" * 500_000),
    Sent(b"acme\x1fheaders", b"v", None, None, (("hotshard-epoch", b"\xff"), ("hotshard-base", b""), ("", b"v"))),
)
#: What no producer sends: damaged headers, and neither key nor value.
RAW: Final = (Record(b"acme\x1fdamaged", b"v", 1, [(b"\xff\xfe", None)]), Record(None, None))
_UNKEYED: Final = sum(record.key is None for record in (*ODD, *RAW))


async def test_two_workers_share_the_work_and_hand_it_on_without_a_seam(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    topic = fresh_topic_name
    await create_topic(kafka.bootstrap, topic, PARTITIONS)
    settings = {"window_s": 1, "grace_s": 2}
    install = Install(tmp_path, kafka.bootstrap, redis_server.url, f"{topic}-hs", {topic: {}}, settings)
    first, second = WorkerProcess(install, 0), WorkerProcess(install, 1)
    try:
        first.start()
        await first.assigned()
        second.start()
        await eventually(lambda: first.holds == second.holds == PARTITIONS // 2)
        async with Traffic(kafka.bootstrap, topic) as traffic:
            odd = await send_odd(kafka.bootstrap, topic)
            await eventually(lambda: both_count(install))
            assert first.stop() == 0
            await eventually(lambda: second.holds == PARTITIONS)
            odd += await send_odd(kafka.bootstrap, topic)
            assert second.stop() == 0
            first.start()
            await first.assigned()
            await assert_exact(install, topic, traffic, beside=odd)
        assert first.stop() == 0
        assert seams(await panes(install)) == []
        reports = (await counted(install.bootstrap, install.windows, topic)).reports
        assert sum(report.unkeyed for report in reports) == 2 * _UNKEYED
        assert sum(report.failed + report.skipped for report in reports) == 0
        for worker in (first, second):
            assert "Traceback" not in worker.log, worker.log
    finally:
        first.end()
        second.end()


async def send_odd(bootstrap: str, topic: str) -> int:
    """Send each of them; how many that are."""
    await produce(bootstrap, topic, ODD, max_request_size=2_000_000)
    await produce_raw(bootstrap, topic, batch(0, RAW))
    return len(ODD) + len(RAW)


async def panes(install: Install) -> list[pane.Pane]:
    """The panes that were published, in their order."""
    messages = [pane.decode(record.value or b"") for record in await read_topic(install.bootstrap, install.panes)]
    return [message for message in messages if isinstance(message, pane.Pane)]


async def both_count(install: Install) -> bool:
    return {each.worker for each in await panes(install)} == {"w0", "w1"}


def seams(found: list[pane.Pane]) -> list[str]:
    """Where a worker began elsewhere than where the one before it ended: records counted again, or left out."""
    by_place: dict[int, list[pane.Pane]] = defaultdict(list)
    for each in found:
        by_place[each.partition].append(each)
    return [
        f"partition {after.partition}: {after.worker} begins at {after.start}, {before.worker} ended at {before.end}"
        for row in by_place.values()
        for before, after in pairwise(row)
        if after.worker != before.worker and after.start != before.end
    ]
