"""Whether the windows topic, read committed, counts every record exactly once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.wire.event import Event
from hotshard.core.wire.report import WindowReport
from tests.support.eventually import PATIENCE_S
from tests.support.topics import end_offsets, read_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.traffic import Traffic
    from tests.support.workers import Install

_LOOK_EVERY_S: Final = 0.3


@dataclass
class Counted:
    """What the reports of a topic say together."""

    records: int = 0
    lost: int = 0
    reports: list[WindowReport] = field(default_factory=list)
    #: Offset ranges by partition of the source, sorted.
    ranges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def faults(self, ends: Mapping[int, int], starts: Mapping[int, int] | None = None) -> list[str]:
        """What is wrong: the ranges of each partition must tile from its start to its end, neither twice nor not."""
        found: list[str] = []
        for partition, end in ends.items():
            position = (starts or {}).get(partition, 0)
            for start, stop in self.ranges.get(partition, []):
                if start != position:
                    found.append(f"partition {partition}: {position} expected, the next range is {start} to {stop}")
                position = max(position, stop)
            if position != end:
                found.append(f"partition {partition}: counted up to {position}, it ends at {end}")
        return found

    def reached(self, ends: Mapping[int, int]) -> bool:
        """Whether something of the end of every partition has been counted."""
        return all(not end or (self.ranges.get(p) or [(0, 0)])[-1][1] >= end for p, end in ends.items())

    def contradictions(self) -> list[str]:
        """What the reports say against each other, or against themselves."""
        numbers = Counter((report.start_ms, report.revision) for report in self.reports)
        found = [f"window {start_ms}, revision {number} twice" for (start_ms, number), n in numbers.items() if n > 1]
        for report in self.reports:
            in_ranges = sum(each.records for each in report.ranges)
            if in_ranges != report.records:
                found.append(f"window {report.start_ms}: {report.records} records, its ranges hold {in_ranges}")
        return found


async def counted(bootstrap: str, windows: str, topic: str, *, committed: bool = True) -> Counted:
    """Read all reports of ``topic`` that stand; ``committed`` False where there are no transactions."""
    total = Counted()
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for record in await read_topic(bootstrap, windows, committed=committed):
        report = msgspec.json.decode(record.value or b"", type=WindowReport)
        if report.topic != topic:
            continue
        total.reports.append(report)
        total.records += report.records
        total.lost += report.lost
        for each in report.ranges:
            ranges[each.partition].append((each.start, each.end))
    total.ranges = {partition: sorted(found) for partition, found in ranges.items()}
    return total


@dataclass(frozen=True)
class Truth:
    """What lies in a topic: where each partition ends, and how many records there are in it."""

    ends: Mapping[int, int]

    @property
    def records(self) -> int:
        return sum(self.ends.values())

    def at_least(self, ends: Mapping[int, int]) -> Truth:
        """Where offsets are known that a broker does not tell yet, as the embedded one does."""
        return Truth({partition: max(end, ends.get(partition, 0)) for partition, end in self.ends.items()})


async def truth(bootstrap: str, topic: str) -> Truth:
    """Ask where a topic ends in which every offset is a record: no transactions, nothing compacted."""
    return Truth(await end_offsets(bootstrap, topic))


async def faults(install: Install, topic: str, exact: Truth, *, still_s: float = 30.0) -> list[str]:
    """What is wrong with the count of ``topic``; empty when nothing is.

    What is missing is waited for, but not when ``still_s`` have passed since the end of every partition was counted.
    """
    until_s, reached_s = time.monotonic() + PATIENCE_S, float("inf")
    while True:
        found = await counted(install.bootstrap, install.windows, topic, committed=install.transactions)
        wrong, now_s = _wrong(found, exact), time.monotonic()
        if found.reached(exact.ends):
            reached_s = min(reached_s, now_s)
        if not wrong or now_s > min(until_s, reached_s + still_s):
            return wrong
        await asyncio.sleep(_LOOK_EVERY_S)


def _wrong(found: Counted, exact: Truth) -> list[str]:
    wrong = [*found.faults(exact.ends), *found.contradictions()]
    if found.records != exact.records:
        wrong.append(f"{found.records} records reported, there are {exact.records}")
    if found.lost:
        wrong.append(f"{found.lost} offsets reported as lost")
    return wrong


async def told(install: Install) -> list[Event]:
    """The events that stand, in their order."""
    return [
        msgspec.json.decode(record.value or b"", type=Event)
        for record in await read_topic(install.bootstrap, install.events, committed=install.transactions)
    ]


async def assert_exact(install: Install, topic: str, traffic: Traffic, *, beside: int = 0) -> None:
    """Stop the traffic; then every record is reported exactly once, and every event stands once.

    ``beside`` is how many records others sent.
    """
    sent = await traffic.stop() + beside
    exact = (await truth(install.bootstrap, topic)).at_least(traffic.ends)
    assert exact.records == sent, f"{sent} were sent, {exact.records} are there"
    wrong = await faults(install, topic, exact)
    assert not wrong, wrong
    twice = [name for name, n in Counter(event.id for event in await told(install)).items() if n > 1]
    assert not twice, twice
