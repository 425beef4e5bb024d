"""Who spoke for a source partition lately: cases of what is present and how much of it is in the views."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.deciding.stands import BELIEVED_MS, Stands
from hotshard.core.panes.windows import PartitionStand
from hotshard.core.wire.pane import Mark
from tests.support.deciding import NOW_MS, SOURCE, pane, progress

PLACE = (SOURCE, 0)


def stands(partitions: int = 2) -> Stands:
    return Stands({SOURCE: partitions}, NOW_MS)


def mark(partition: int, *, committed: int = 10, position: int = 10, end: int = 10) -> Mark:
    return Mark(partition, committed, position, end, 1)


def test_at_first_all_partitions_may_be_there_and_none_is_in_the_views() -> None:
    present = stands().present(NOW_MS)
    assert present.partitions == {(SOURCE, 0): PartitionStand(), (SOURCE, 1): PartitionStand()}
    assert present.completeness == 0.0


def test_who_does_not_speak_for_long_after_the_begin_is_not_there() -> None:
    one = stands()
    one.hear(progress([mark(0)], now_ms=NOW_MS + 5000, partitions=2), NOW_MS + 5000)
    assert one.present(NOW_MS + BELIEVED_MS - 1).partitions[SOURCE, 1].present
    present = one.present(NOW_MS + BELIEVED_MS)
    assert [present.partitions[SOURCE, number].present for number in (0, 1)] == [True, False]
    assert present.completeness == 0.5
    assert one.present(NOW_MS + 5000 + BELIEVED_MS).completeness == 0.0


@pytest.mark.parametrize(
    ("said", "idle"),
    [
        (mark(0), True),
        (mark(0, committed=9), False),
        (mark(0, end=11), False),
        (mark(0, committed=9, position=9), False),
    ],
)
def test_a_partition_is_idle_when_all_its_records_are_committed(said: Mark, *, idle: bool) -> None:
    one = stands()
    one.hear(progress([said], partitions=2), NOW_MS)
    assert one.present(NOW_MS).partitions[PLACE].idle_ms == (NOW_MS if idle else None)


def test_a_pane_says_that_its_partition_is_not_idle() -> None:
    one = stands()
    one.hear(progress([mark(0)], partitions=2), NOW_MS)
    one.counted(pane(0, 10, {b"k": 1}, now_ms=NOW_MS + 1), NOW_MS + 1)
    assert one.present(NOW_MS + 1).partitions[PLACE] == PartitionStand()


def test_what_was_said_before_is_not_news() -> None:
    one = stands()
    one.counted(pane(0, 10, {b"k": 1}, now_ms=NOW_MS + 1), NOW_MS + 1)
    one.hear(progress([mark(0)], now_ms=NOW_MS, partitions=2), NOW_MS + 1)
    assert one.present(NOW_MS + 1).partitions[PLACE].idle_ms is None


def test_a_partition_read_too_far_behind_is_present_and_not_in_the_views_until_it_has_caught_up() -> None:
    one = stands(1)
    one.counted(pane(0, 0, {b"k": 9}, live=False), NOW_MS)
    assert one.present(NOW_MS).partitions[PLACE].present
    assert one.present(NOW_MS).completeness == 0.0
    one.hear(progress([mark(0, end=11)], now_ms=NOW_MS + 1), NOW_MS + 1)
    assert one.present(NOW_MS).completeness == 0.0
    one.hear(progress([mark(0)], now_ms=NOW_MS + 2), NOW_MS + 2)
    assert one.present(NOW_MS + 2).completeness == 1 / 6
    one.counted(pane(0, 9, {b"k": 9}, live=False, now_ms=NOW_MS + 3), NOW_MS + 3)
    one.counted(pane(0, 18, {b"k": 9}, now_ms=NOW_MS + 4), NOW_MS + 4)
    assert one.present(NOW_MS + 4).completeness == 1 / 6


@pytest.mark.parametrize("ahead_ms", [1, 3_600_000])
def test_a_clock_that_is_ahead_is_not_believed_for_longer(ahead_ms: int) -> None:
    one = stands(1)
    one.hear(progress([mark(0)], now_ms=NOW_MS + ahead_ms, partitions=1), NOW_MS)
    assert one.present(NOW_MS + BELIEVED_MS - 1).completeness == 1.0
    assert one.present(NOW_MS + BELIEVED_MS).completeness == 0.0


def test_partitions_that_a_source_got_since_are_counted_and_other_sources_are_not() -> None:
    one = stands(1)
    one.hear(progress([mark(0)], partitions=1), NOW_MS)
    one.hear(progress([mark(0)], source="another", partitions=9), NOW_MS)
    one.counted(pane(0, 0, {b"k": 1}, source="another"), NOW_MS)
    assert one.present(NOW_MS).completeness == 1.0
    one.counted(pane(3, 0, {b"k": 1}), NOW_MS)
    assert one.present(NOW_MS).completeness == 0.5
    one.hear(progress([mark(0)], partitions=8), NOW_MS)
    assert one.present(NOW_MS).completeness == 0.25


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 25_000), st.booleans(), st.booleans()), max_size=30))
def test_what_is_present_is_what_looking_at_every_partition_gives(words: list[tuple[int, int, bool, bool]]) -> None:
    """Who was heard of within the last ten seconds, and of those all that are not read far behind."""
    one = stands(3)
    heard: dict[int, int] = {}
    behind: set[int] = set()
    count = 3
    for number, after_ms, by_pane, live in words:
        now_ms = NOW_MS + after_ms
        count = max(count, number + 1)
        news = after_ms >= heard.get(number, after_ms)
        if by_pane:
            one.counted(pane(number, 0, {}, now_ms=now_ms, live=live), now_ms)
        else:
            one.hear(progress([mark(number)], now_ms=now_ms, partitions=count), now_ms)
        if news:
            heard[number] = after_ms
            (behind.add if by_pane and not live else behind.discard)(number)
    for after_ms in (0, 9_999, 10_000, 24_000, 35_000):
        present = one.present(NOW_MS + after_ms)
        lately = {number for number, at_ms in heard.items() if after_ms - at_ms < BELIEVED_MS}
        young = after_ms < BELIEVED_MS
        assert [each.present for each in present.partitions.values()] == [n in lately or young for n in range(count)]
        assert present.completeness == len(lately - behind) / count
