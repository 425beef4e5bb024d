"""After an outage of ten minutes: ``python -m tests.bench.catchup``.

Twelve million records wait, stamped as they would have been sent, 20,000 a second; when the worker starts traffic goes
on at that rate. Timed, from the assignment, is when it is live again: its group has committed all but the last second.

Then its reports are held against the topic itself: the offsets they count tile each partition, all of them are
complete and guaranteed, no window holds far more or less than was sent in it, and what they say of a key lies between
its bounds: every record of that key's partition is read again, by another client, and counted.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from hotshard.core.partitioners import partition_of
from hotshard.core.wire.report import WindowReport
from tests.bench import machine, watching
from tests.bench.filling import Traffic, fill
from tests.bench.parts import Goal, Ground, Part, alone, rounded, servers
from tests.bench.pumping import pumping
from tests.bench.rounds import observing_group, running, settings_text
from tests.bench.watching import Group, Patience
from tests.support.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.parts import Found, Say

_PER_S: Final = 20_000
_NAME: Final = "catchup"
_WINDOW_MS: Final = 10_000
#: Filling begins so much after it is told to.
_ABOUT_MS: Final = 1_500
_WITHIN_S: Final = 300.0
#: The key whose counts are looked at: neither the heaviest, nor far from it.
_RANK: Final = 1
_TIME: Final = "live again after an outage"
_WINDOWS: Final = "windows of that time"
GOALS: Final = (
    Goal(_WINDOWS, "not_whole", most=0),
    Goal(_WINDOWS, "holes", most=0),
    Goal(_WINDOWS, "median_off_even_percent", most=5.0),
    Goal(_WINDOWS, "counts_out_of_bounds", most=0),
)


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    outage_s = 40 if tiny else 600
    with servers(_NAME) as ground:
        return asyncio.run(_measure(ground, outage_s, say))


async def _measure(ground: Ground, outage_s: int, say: Say) -> Found:
    traffic = Traffic(topic=_NAME, records=outage_s * _PER_S, per_s=_PER_S)
    began_s, began_ms = time.monotonic(), time.time_ns() // 1_000_000
    await asyncio.to_thread(fill, ground.bootstrap, traffic)
    say(f"catchup: {traffic.records:,} records produced in {time.monotonic() - began_s:.0f} s")
    await watching.begin_at_zero(ground.bootstrap, observing_group(_NAME), _NAME, traffic.partitions)
    ends = await watching.end_offsets(ground.bootstrap, _NAME, traffic.partitions)
    figures = await _read(ground, traffic, say)
    reports = await _reports(ground.bootstrap)
    say(f"catchup: {len(reports)} reports; now the partition of one key is read again")
    key = traffic.key(_RANK)
    partition = partition_of("murmur2", traffic.partitions)(key)
    offsets = await _offsets_of(ground.bootstrap, key, partition)
    told = Reports(reports, began_ms - 1000 * outage_s, began_ms)
    return {_TIME: figures, _WINDOWS: judged(told, ends, key.decode(), partition, offsets)}


async def _read(ground: Ground, traffic: Traffic, say: Say) -> dict[str, float | None]:
    """Let the worker catch up while traffic goes on, and then close the windows of the outage."""
    place = ground.place(traffic)
    settings = ground.folder / f"{_NAME}.toml"
    settings.write_text(settings_text(place, _NAME))
    command = ["-m", "hotshard", "worker", "--settings", str(settings)]
    async with (
        pumping(ground.bootstrap, {_NAME: traffic.partitions}, _PER_S),
        place.group(observing_group(_NAME)) as group,
        running(place, _NAME, command) as child,
    ):
        patience = Patience(_WITHIN_S, lambda: child.running)
        start_s = await patience.until(group.assigned, "it has partitions")
        waiting = sum((await watching.end_offsets(ground.bootstrap, _NAME, traffic.partitions)).values())
        used_s = machine.cpu_s(child.pid) or 0.0
        live_s = await patience.until(_Lag(ground.bootstrap, group, traffic.partitions).is_live, "it is live again")
        spent_s = (machine.cpu_s(child.pid) or 0.0) - used_s
        say(f"catchup: live again after {live_s - start_s:.1f} s")
        ended_ms = time.time_ns() // 1_000_000
        await patience.until(lambda: _has_closed(ground.bootstrap, ended_ms - _WINDOW_MS), "its windows are closed")
    took_s = live_s - start_s
    return rounded({"waiting": waiting, "live_again_s": took_s, "records_per_s": waiting / took_s, "cpu_s": spent_s})


@dataclass
class _Lag:
    bootstrap: str
    group: Group
    partitions: int

    async def is_live(self) -> bool:
        ends = await watching.end_offsets(self.bootstrap, _NAME, self.partitions)
        return sum(ends.values()) - sum((await self.group.committed()).values()) <= _PER_S


async def _reports(bootstrap: str) -> list[WindowReport]:
    stored = await read_topic(bootstrap, f"{_NAME}-windows", committed=True)
    return [msgspec.json.decode(each.value or b"", type=WindowReport) for each in stored]


async def _has_closed(bootstrap: str, until_ms: int) -> bool:
    await asyncio.sleep(1.0)
    return any(report.end_ms >= until_ms for report in await _reports(bootstrap))


async def _offsets_of(bootstrap: str, key: bytes, partition: int) -> list[int]:
    """Where the records of a key stand in its partition."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    found: list[int] = []
    try:
        place = TopicPartition(_NAME, partition)
        consumer.assign([place])
        end = (await consumer.end_offsets([place]))[place]
        while await consumer.position(place) < end:
            batch: dict[Any, Any] = await consumer.getmany(timeout_ms=200)
            found += [record.offset for record in batch.get(place, ()) if record.key == key]
    finally:
        await consumer.stop()
    return found


# -- are they right ------------------------------------------------------------------------------


@dataclass
class Reports:
    """All reports of a topic, revisions included, and when the traffic of the outage began and ended."""

    every: Sequence[WindowReport]
    began_ms: int
    ended_ms: int

    def whole(self) -> list[int]:
        """Records of each window that lies within the outage as a whole."""
        windows: Counter[int] = Counter()
        for report in self.every:
            if self.began_ms + _ABOUT_MS <= report.start_ms and report.end_ms <= self.ended_ms:
                windows[report.start_ms] += report.records
        return list(windows.values())

    def not_whole(self) -> int:
        return sum(not each.guaranteed or each.completeness < 1 or each.lost > 0 for each in self.every)

    def holes(self, ends: dict[int, int]) -> int:
        """Places where the ranges of a partition do not follow on, up to the end of what waited."""
        return sum(_holes(self._ranges(partition), end) for partition, end in ends.items())

    def _ranges(self, partition: int) -> Iterable[tuple[int, int]]:
        ranges = (each for report in self.every for each in report.ranges if each.partition == partition)
        return sorted((each.start, each.end) for each in ranges)

    def out_of_bounds(self, key: str, partition: int, offsets: Sequence[int]) -> tuple[int, int]:
        """Reports that name the key, and those in which its true count does not lie within its bounds."""
        named = wrong = 0
        for report in self.every:
            row = next((row for row in report.keys if row.key == key), None)
            ranges = [(each.start, each.end) for each in report.ranges if each.partition == partition]
            true = sum(any(start <= offset < end for start, end in ranges) for offset in offsets)
            if row is not None:
                named += 1
                wrong += not row.lower <= true <= row.upper
            else:
                wrong += true > report.threshold
        return named, wrong


def _holes(ranges: Iterable[tuple[int, int]], end: int) -> int:
    holes, position = 0, 0
    for start, stop in ranges:
        holes += start != position
        position = stop
    return holes + (position < end)


def judged(
    reports: Reports, ends: dict[int, int], key: str, partition: int, offsets: Sequence[int]
) -> dict[str, float | None]:
    """What is wrong with the reports."""
    even, whole = _PER_S * _WINDOW_MS / 1000, reports.whole()
    off = [abs(records / even - 1) for records in whole] or [0.0]
    named, wrong = reports.out_of_bounds(key, partition, offsets)
    return rounded(
        {
            "windows": len(whole),
            "not_whole": reports.not_whole(),
            "holes": reports.holes(ends),
            "median_off_even_percent": 100 * statistics.median(off),
            "most_off_even_percent": 100 * max(off),
            "reports_that_name_a_key": named,
            "counts_out_of_bounds": wrong,
        }
    )


PART: Final = Part(_NAME, measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
