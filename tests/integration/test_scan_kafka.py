"""scan of a real topic: its own partitions, what fills them, and what would help."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

import pytest

from hotshard.cli.main import main
from hotshard.core.partitioners import partition_of
from tests.support.topics import Sent, create_topic, produce

if TYPE_CHECKING:
    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration


async def test_a_hot_key_of_a_topic_is_found_where_it_lies(
    kafka: ApacheKafka, fresh_topic_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place, now_ms = partition_of("murmur2", 6), time.time_ns() // 1_000_000
    keys = [b"t9\x1fhot" if not at % 4 else b"t%d\x1fk%d" % (at % 7, at % 3001) for at in range(24_000)]
    await create_topic(kafka.bootstrap, fresh_topic_name, 6)
    sent = [Sent(key, b"v" * 10, place(key), now_ms - 120_000 + at * 5) for at, key in enumerate(keys)]
    await produce(kafka.bootstrap, fresh_topic_name, sent, linger_ms=20)
    words = ["scan", f"kafka://{kafka.bootstrap}/{fresh_topic_name}", "--last", "1h", "--ordering", "none", "--json"]
    assert await asyncio.to_thread(main, words) == 1
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert report["records"] == 24_000
    loads = [0] * 6
    for key in keys:
        loads[place(key)] += 1
    assert [each["load"] for each in report["partitions"]] == loads
    assert [(each["key"], each["tenant"]) for each in report["keys"] if each["hot"]] == [("t9\x1fhot", "t9")]
    hottest = report["partitions"][place(b"t9\x1fhot")]
    assert (hottest["partition"], hottest["top_keys"][0]["key"]) == (report["skew"]["hottest"], "t9\x1fhot")
    (plan,) = (each for each in report["plans"] if each["treatment"] == "split")
    shards = [place(b"t9\x1fhot\x1f" + suffix.encode()) for suffix in plan["suffixes"]]
    assert shards == plan["partitions"]
    assert plan["imbalance_after"] < plan["imbalance_before"]
