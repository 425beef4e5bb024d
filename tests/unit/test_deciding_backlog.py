"""A worker that starts before a backlog: what is counted of it is told window by window, whole and right."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.slab import Slab
from hotshard.core.wire.pane import Mark
from tests.support.deciding import NOW_MS, SOURCE, Hearing, key, progress, setup, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.report import WindowReport

WINDOW_MS, GRACE_MS = 2_000, 3_000
PARTITIONS = 3
#: Of each partition: two minutes, a record every 20 ms, in order.
BACKLOG_MS, EVERY_MS = 120_000, 20
BEGIN_MS = NOW_MS - BACKLOG_MS
RECORDS = BACKLOG_MS // EVERY_MS


class Catching:
    """One partition of the backlog, read in slabs, and its panes said one after the other as they are committed."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.panes = PartitionPanes(
            spec=spec(),
            source=SOURCE,
            partition=partition,
            worker="w1",
            start=0,
            generation=1,
            now_ms=NOW_MS,
            window_ms=WINDOW_MS,
        )
        self.due = 0.0

    def read(self, records: int, now_ms: int) -> None:
        start = self.panes.position
        count = min(records, RECORDS - start)
        if count:
            stamps = [BEGIN_MS + EVERY_MS * (start + index) for index in range(count)]
            self.panes.add(self._slab(start, stamps), now_ms, {})
        if self.panes.due(now_ms):
            self.panes.seal(now_ms)

    def _slab(self, start: int, stamps: list[int]) -> Slab:
        return Slab(
            topic=SOURCE,
            partition=self.partition,
            start=start,
            end=start + len(stamps),
            generation=1,
            high_watermark=RECORDS,
            keys=[key(index % 5, f"t{self.partition}") for index in range(len(stamps))],
            sizes=[10] * len(stamps),
            timestamps=stamps,
        )

    def mark(self) -> Mark:
        return Mark(self.partition, self.panes.committed_start, self.panes.position, RECORDS, 1)


def caught_up(paces: Mapping[int, float], slab: int, *, seconds: float) -> list[WindowReport]:
    """Read each partition at so many times the speed of its traffic, in slabs of so many records."""
    hearing = Hearing(setup(spec(), partitions=PARTITIONS, window_ms=WINDOW_MS, grace_ms=GRACE_MS))
    places = [Catching(partition) for partition in range(PARTITIONS)]
    for step in range(round(seconds * 10)):
        now_ms = NOW_MS + 100 * step
        for place in places:
            place.due += paces[place.partition] * 100 / EVERY_MS
            while place.due >= slab:
                place.due -= slab
                place.read(slab, now_ms)
            place.read(0, now_ms)
            while (head := place.panes.publishable()) is not None:
                hearing.hear(head, now_ms)
                place.panes.committed(head.end)
        if step % 10 == 0:
            hearing.hear(progress([each.mark() for each in places], now_ms=now_ms, partitions=PARTITIONS), now_ms)
        hearing.tick(now_ms)
    return hearing.told.reports


def exact() -> Counter[int]:
    windows: Counter[int] = Counter()
    for index in range(RECORDS):
        windows[(BEGIN_MS + EVERY_MS * index) // WINDOW_MS * WINDOW_MS] += PARTITIONS
    return windows


def test_partitions_caught_up_with_at_one_pace_give_complete_and_exact_windows() -> None:
    reports = caught_up(dict.fromkeys(range(PARTITIONS), 20), 700, seconds=12)
    assert {(report.revision, report.completeness, report.guaranteed) for report in reports} == {(0, 1.0, True)}
    assert {report.start_ms: report.records for report in reports} == exact()


def test_windows_wait_for_partitions_that_catch_up_more_slowly_than_others() -> None:
    reports = caught_up({0: 60, 1: 15, 2: 9}, 700, seconds=20)
    assert {(report.revision, report.completeness, report.guaranteed) for report in reports} == {(0, 1.0, True)}
    assert {report.start_ms: report.records for report in reports} == exact()


def test_a_partition_that_stands_still_is_given_up_and_told() -> None:
    reports = caught_up({0: 20, 1: 20, 2: 0}, 700, seconds=12)
    assert reports
    assert {report.completeness for report in reports} == {2 / 3}
    assert not any(report.guaranteed for report in reports)
