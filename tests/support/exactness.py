"""Whether the windows topic, read committed, counts every record exactly once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from hotshard.core.wire.report import WindowReport
from tests.support.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Mapping


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


async def counted(bootstrap: str, windows: str, topic: str) -> Counted:
    """Read all reports of ``topic`` that stand."""
    total = Counted()
    ranges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for record in await read_topic(bootstrap, windows, committed=True):
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
