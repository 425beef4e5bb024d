from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from hotshard.core.panes.ledger import Confirmed
from hotshard.core.panes.windows import MAX_GRACES, MAX_OPEN, PartitionStand, Windows, WindowsMemory
from hotshard.core.wire.pane import HeavyList, Mark, Pane, Row

if TYPE_CHECKING:
    from hotshard.core.panes.window import ClosedWindow

WINDOW_MS, GRACE_MS = 10_000, 5_000
NOW_MS = 1_700_000_000_000
DECADE_MS = 10 * 365 * 86_400_000
BUSY = PartitionStand()
GONE = PartitionStand(present=False)


class Feed:
    """Confirmed panes, each a new stretch of offsets and a new message."""

    def __init__(self) -> None:
        self.at = 0
        self.ends: dict[int, int] = {}

    def pane(
        self, partition: int, time_ms: int, records: int = 10, lost: int = 0, keys: HeavyList | None = None
    ) -> Confirmed:
        start = self.ends.get(partition, 0) + lost
        self.ends[partition] = start + records
        self.at += 2
        pane = Pane(
            topic="orders",
            source="mirror.orders",
            partition=partition,
            start=start,
            end=start + records,
            generation=1,
            high_watermark=start + records,
            worker="w",
            records=records,
            size_bytes=100 * records,
            unkeyed=1,
            skipped=2,
            failed=3,
            loads={partition: records - 1},
            keys=keys or HeavyList(),
            time_ms=time_ms,
            span_ms=1000,
            opened_ms=NOW_MS,
            cut_ms=NOW_MS,
        )
        return Confirmed(pane, first_at=self.at - 1, at=self.at, lost_before=lost)


def windows(memory: WindowsMemory | None = None) -> Windows:
    return Windows(window_ms=WINDOW_MS, grace_ms=GRACE_MS, memory=memory)


def stands(*each: PartitionStand) -> dict[tuple[str, int], PartitionStand]:
    return {("mirror.orders", partition): stand for partition, stand in enumerate(each)}


def starts(closed: tuple[ClosedWindow, ...]) -> list[int]:
    return [(window.start_ms - NOW_MS) // WINDOW_MS for window in closed]


def test_a_window_closes_when_every_partition_is_in_a_later_one() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(1, NOW_MS + 9_999))
    made.add(feed.pane(0, NOW_MS + 10_000))
    assert made.close(NOW_MS, stands(BUSY, BUSY)) == ()
    made.add(feed.pane(1, NOW_MS + 12_000))
    (closed,) = made.close(NOW_MS, stands(BUSY, BUSY))
    assert (closed.start_ms, closed.end_ms, closed.revision) == (NOW_MS, NOW_MS + 10_000, 0)
    assert closed.completeness == 1
    assert closed.totals.records == 20
    assert closed.loads == {0: 9, 1: 9}
    assert made.close(NOW_MS + 1_000, stands(BUSY, BUSY)) == ()


def test_totals_are_sums_and_adjoining_ranges_are_one() -> None:
    made, feed = windows(), Feed()
    for lost in (0, 0, 7, 0):
        made.add(feed.pane(0, NOW_MS, lost=lost))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    (closed,) = made.close(NOW_MS, stands(BUSY))
    totals = closed.totals
    assert (totals.records, totals.size_bytes, totals.unkeyed, totals.skipped, totals.failed) == (40, 4000, 4, 8, 12)
    assert totals.lost == 7
    assert [(each.start, each.end, each.records, each.lost_before) for each in closed.ranges] == [
        (0, 20, 20, 0),
        (27, 47, 20, 7),
    ]


def test_a_window_without_a_partition_that_is_known_waits_for_its_grace() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    assert made.close(NOW_MS, {}) == ()
    assert made.close(NOW_MS + WINDOW_MS + GRACE_MS - 1, {}) == ()
    closed = made.close(NOW_MS + WINDOW_MS + GRACE_MS, {})
    assert starts(closed) == [0, 1]
    assert [window.completeness for window in closed] == [0, 0]


def test_a_partition_idle_since_the_windows_end_counts_as_past() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    before, after = (PartitionStand(idle_ms=NOW_MS + WINDOW_MS + more) for more in (-1, 0))
    assert made.close(NOW_MS + 11_000, stands(BUSY, before)) == ()
    assert starts(made.close(NOW_MS + 11_000, stands(BUSY, after))) == [0]


def test_a_topic_that_falls_silent_closes_its_last_window() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    idle = PartitionStand(idle_ms=NOW_MS + WINDOW_MS)
    assert starts(made.close(NOW_MS + WINDOW_MS, stands(idle, idle))) == [0]


def test_timestamps_ahead_of_the_clock_close_by_progress_too() -> None:
    """An idle partition counts once it was idle after another had passed the window."""
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS + DECADE_MS))
    made.add(feed.pane(0, NOW_MS + DECADE_MS + WINDOW_MS))
    assert made.close(NOW_MS, stands(BUSY, PartitionStand(idle_ms=NOW_MS - 100))) == ()
    assert len(made.close(NOW_MS + 900, stands(BUSY, PartitionStand(idle_ms=NOW_MS + 800)))) == 1


def test_a_backlog_closes_window_after_window_by_progress() -> None:
    made, feed = windows(), Feed()
    closed: list[ClosedWindow] = []
    for number in range(360):
        for partition in range(3):
            made.add(feed.pane(partition, NOW_MS - DECADE_MS + number * WINDOW_MS))
        closed += made.close(NOW_MS + number, stands(BUSY, BUSY, BUSY, PartitionStand(idle_ms=NOW_MS)))
    assert len(closed) == 359
    assert {window.completeness for window in closed} == {1.0}
    assert len(made) == 1


def test_a_lagging_partition_is_waited_for_until_the_grace_is_over() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(1, NOW_MS - WINDOW_MS))
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    assert made.close(NOW_MS, stands(BUSY, BUSY)) == ()
    assert made.close(NOW_MS + GRACE_MS - 1, stands(BUSY, BUSY)) == ()
    closed = made.close(NOW_MS + GRACE_MS, stands(BUSY, BUSY))
    assert starts(closed) == [-1, 0]
    assert [window.completeness for window in closed] == [0.5, 0.5]


def test_a_missing_partition_is_not_waited_for_but_told() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    (closed,) = made.close(NOW_MS, stands(BUSY, GONE, GONE, GONE))
    assert closed.completeness == 0.25


def test_what_comes_late_is_a_revision_of_only_that() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS, records=30))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    assert [window.revision for window in made.close(NOW_MS, stands(BUSY, GONE))] == [0]
    for revision in (1, 2, 3):
        made.add(feed.pane(1, NOW_MS + revision))
        made.add(feed.pane(1, NOW_MS + revision))
        assert made.close(NOW_MS, stands(BUSY, BUSY)) == ()
        made.add(feed.pane(1, NOW_MS + WINDOW_MS))
        (late,) = made.close(NOW_MS, stands(BUSY, BUSY))
        assert (late.start_ms, late.revision, late.totals.records) == (NOW_MS, revision, 20)


def test_numbers_of_revisions_rise_also_when_they_are_forgotten() -> None:
    made, feed = windows(), Feed()
    numbers: list[tuple[int, int]] = []
    for number in range(400):
        made.add(feed.pane(0, NOW_MS + number * WINDOW_MS))
        made.add(feed.pane(0, NOW_MS + number * 7 % 13 * WINDOW_MS))
        closed = made.close(NOW_MS + number * 60_000, stands(BUSY))
        numbers += [(window.start_ms, window.revision) for window in closed]
        made = restarted(made)
    assert len(set(numbers)) == len(numbers)
    for start_ms in {start for start, _ in numbers}:
        revisions = [revision for start, revision in numbers if start == start_ms]
        assert revisions == sorted(revisions)


def restarted(made: Windows) -> Windows:
    """Made again when nothing is open that would have to be replayed, or as it was."""
    if made.oldest_needed() is not None:
        return made
    return windows(msgspec.msgpack.decode(msgspec.msgpack.encode(made.memory()), type=WindowsMemory))


def test_pane_times_years_off_hold_up_nothing_and_leave_nothing_behind() -> None:
    made, feed = windows(), Feed()
    closed: list[ClosedWindow] = []
    for second in range(100):
        now_ms = NOW_MS + second * 1_000
        made.add(feed.pane(0, now_ms))
        made.add(feed.pane(1, now_ms))
        if second % 10 == 5:
            made.add(feed.pane(0, now_ms + DECADE_MS))
            made.add(feed.pane(1, now_ms - DECADE_MS))
            made.add(feed.pane(0, now_ms))
            made.add(feed.pane(1, now_ms))
        closed += made.close(now_ms, stands(BUSY, BUSY))
    right = [window for window in closed if abs(window.start_ms - NOW_MS) < 1_000_000]
    assert [(window.start_ms - NOW_MS) // WINDOW_MS for window in right] == list(range(9))
    assert {window.completeness for window in right} == {1.0}
    closed += made.close(NOW_MS + 200_000, stands(BUSY, BUSY))
    assert len(made) == 0
    assert sum(window.totals.records for window in closed) == 2400


def test_windows_that_are_open_are_bounded() -> None:
    made, feed = windows(), Feed()
    total = 0
    for number in range(4 * MAX_OPEN):
        made.add(feed.pane(0, NOW_MS + number * number * WINDOW_MS))
        made.add(feed.pane(1, NOW_MS - DECADE_MS))
        if number % 50 == 0:
            total += sum(window.totals.records for window in made.close(NOW_MS + number, stands(GONE, BUSY)))
            assert len(made) <= MAX_OPEN
    assert made.forced > MAX_OPEN
    for now_ms in (NOW_MS + 100_000, NOW_MS + 200_000):
        total += sum(window.totals.records for window in made.close(now_ms, {}))
    assert total == 4 * MAX_OPEN * 20


def test_rows_held_in_open_windows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hotshard.core.panes.windows.MAX_ROWS", 1_000)
    made, feed = windows(), Feed()
    for number in range(30):
        rows = tuple(Row(b"%d-%d" % (number, row), 5, 9) for row in range(256))
        made.add(feed.pane(0, NOW_MS + number * WINDOW_MS, keys=HeavyList(rows, 5)))
        made.close(NOW_MS + number, stands(BUSY, BUSY))
        assert len(made) <= 3
    assert made.forced == 27


def test_a_clock_that_is_set_back_starts_the_grace_anew() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    made.close(NOW_MS + DECADE_MS, stands(BUSY, BUSY))
    assert made.close(NOW_MS, stands(BUSY, BUSY)) == ()
    assert starts(made.close(NOW_MS + GRACE_MS, stands(BUSY, BUSY))) == [0]


def test_a_restart_holds_what_was_not_said_and_nothing_else() -> None:
    first, feed = windows(), Feed()
    panes = [feed.pane(0, NOW_MS), feed.pane(0, NOW_MS + WINDOW_MS)]
    for each in panes:
        first.add(each)
    first.close(NOW_MS, stands(BUSY))
    late = [feed.pane(0, NOW_MS + WINDOW_MS, records=8), feed.pane(0, NOW_MS, records=7)]
    for each in late:
        first.add(each)
    assert first.oldest_needed() == panes[1].first_at
    second = windows(first.memory())
    for each in panes + late:
        second.add(each)
    assert second.memory() == first.memory()
    assert second.oldest_needed() == first.oldest_needed()
    for made in (first, second):
        assert made.close(NOW_MS + 50_000, stands(BUSY)) == ()
    both = [made.close(NOW_MS + 70_000, stands(GONE)) for made in (first, second)]
    assert both[0] == both[1]
    assert [(window.revision, window.totals.records) for window in both[0]] == [(1, 7), (0, 18)]


def test_how_a_mark_tells_an_idle_partition() -> None:
    assert PartitionStand.of(Mark(0, 10, 10, 10, 1), 5) == PartitionStand(idle_ms=5)
    for committed, position, watermark in ((9, 10, 10), (10, 10, 11), (9, 9, 10)):
        assert PartitionStand.of(Mark(0, committed, position, watermark, 1), 5) == PartitionStand()


# -- waiting for those that catch up -----------------------------------------------------------------


def caught_up_at(pace: float, behind: int, *, until_ms: int = 60_000) -> tuple[int, float]:
    """When, after partition 0 is past it, window 0 closes, and how complete.

    Partition 1 was in the window ``behind`` windows earlier then; its event time goes on at ``pace``.
    """
    made, feed = windows(), Feed()
    made.add(feed.pane(1, NOW_MS - behind * WINDOW_MS))
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    for past_ms in range(0, until_ms, 250):
        made.add(feed.pane(1, round(NOW_MS - behind * WINDOW_MS + pace * past_ms)))
        for closed in made.close(NOW_MS + past_ms, stands(BUSY, BUSY)):
            if closed.start_ms == NOW_MS:
                return past_ms, closed.completeness
    raise AssertionError("it never closed")


def test_a_partition_that_catches_up_is_waited_for_beyond_the_grace() -> None:
    past_ms, completeness = caught_up_at(5, behind=8)
    assert GRACE_MS < past_ms <= 18_000
    assert completeness == 1


def test_a_partition_that_is_only_a_little_behind_is_waited_for_too() -> None:
    past_ms, completeness = caught_up_at(1, behind=1)
    assert GRACE_MS < past_ms <= 20_000
    assert completeness == 1


@pytest.mark.parametrize(("pace", "behind"), [(1, 60), (1, 10), (5, 100), (0, 2)])
def test_one_that_would_not_come_in_time_is_given_up_when_the_grace_is_over(pace: float, behind: int) -> None:
    """By then what counts is its pace, so windows far ahead of a slow one are told as soon as ever."""
    past_ms, completeness = caught_up_at(pace, behind)
    assert GRACE_MS <= past_ms <= 2 * GRACE_MS
    assert completeness == 0.5


def test_one_that_stops_catching_up_is_given_up_before_the_limit() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    closed_ms = None
    for past_ms in range(0, 60_000, 250):
        made.add(feed.pane(1, NOW_MS - 60_000 + min(3 * past_ms, 30_000)))
        closed = [each for each in made.close(NOW_MS + past_ms, stands(BUSY, BUSY)) if each.start_ms == NOW_MS]
        if closed:
            assert closed[0].completeness == 0.5
            closed_ms = past_ms
            break
    assert closed_ms is not None
    assert 10_000 < closed_ms < MAX_GRACES * GRACE_MS


def test_a_partition_of_which_nothing_is_known_is_waited_for_no_longer_than_the_grace() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    assert made.close(NOW_MS, stands(BUSY, BUSY)) == ()
    assert starts(made.close(NOW_MS + GRACE_MS, stands(BUSY, BUSY))) == [0]


def test_one_that_is_first_heard_of_during_the_grace_has_a_pace_from_then_on() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.add(feed.pane(0, NOW_MS + WINDOW_MS))
    made.close(NOW_MS, stands(BUSY, BUSY))
    made.add(feed.pane(1, NOW_MS - 9 * WINDOW_MS))
    made.close(NOW_MS + GRACE_MS - 1_000, stands(BUSY, BUSY))
    made.add(feed.pane(1, NOW_MS - 5 * WINDOW_MS))
    assert 0 not in starts(made.close(NOW_MS + GRACE_MS, stands(BUSY, BUSY)))
    made.add(feed.pane(1, NOW_MS + WINDOW_MS))
    (*_, closed) = made.close(NOW_MS + GRACE_MS + 2_000, stands(BUSY, BUSY))
    assert (closed.start_ms, closed.completeness) == (NOW_MS, 1)


def test_a_window_that_waits_for_one_that_catches_up_need_not_be_added_to() -> None:
    made, feed = windows(), Feed()
    made.add(feed.pane(0, NOW_MS))
    made.close(NOW_MS, stands(BUSY, BUSY))
    made.add(feed.pane(0, NOW_MS + 20 * WINDOW_MS))
    for past_ms in range(1_000, 28_000, 1_000):
        made.add(feed.pane(1, NOW_MS - 28 * WINDOW_MS + 10 * past_ms))
        assert NOW_MS not in [each.start_ms for each in made.close(NOW_MS + past_ms, stands(BUSY, BUSY))]
    made.add(feed.pane(1, NOW_MS + WINDOW_MS))
    (*_, closed) = made.close(NOW_MS + 28_000, stands(BUSY, BUSY))
    assert (closed.start_ms, closed.completeness) == (NOW_MS, 1)
