from __future__ import annotations

import msgspec
import pytest

from hotshard.core.panes.ledger import Confirmed, Expected, Ledger
from hotshard.core.panes.line import ASIDE_MESSAGES, MAX_VERSIONS
from hotshard.core.wire.pane import Mark, Pane, Progress

SOURCE = "mirror.orders"
Message = Pane | Progress


def pane(start: int, end: int, generation: int = 1, worker: str = "a", high_watermark: int = 100_000) -> Pane:
    return Pane(
        topic="orders",
        source=SOURCE,
        partition=0,
        start=start,
        end=end,
        generation=generation,
        high_watermark=high_watermark,
        worker=worker,
        records=end - start,
        size_bytes=0,
        time_ms=0,
        span_ms=0,
        opened_ms=0,
        cut_ms=0,
    )


def mark(committed: int, generation: int = 1, worker: str = "a", high_watermark: int = 100_000) -> Progress:
    marks = (Mark(0, committed, committed, high_watermark, generation),)
    return Progress(topic="orders", source=SOURCE, worker=worker, sent_ms=0, partitions=1, marks=marks)


def hear(ledger: Ledger, messages: list[Message], at: int = 0) -> list[Confirmed]:
    confirmed: list[Confirmed] = []
    for offset, message in enumerate(messages, at):
        heard = ledger.pane(message, offset) if isinstance(message, Pane) else ledger.progress(message, offset)
        confirmed += heard
    return confirmed


def ranges(messages: list[Message]) -> list[tuple[int, int]]:
    return [(each.pane.start, each.pane.end) for each in hear(Ledger(), messages)]


# What is heard, and the ranges that it confirms. A case is added as a line: its name, messages, ranges.
CASES: dict[str, tuple[list[Message], list[tuple[int, int]]]] = {
    "a version alone is nothing": ([pane(0, 10)], []),
    "a start confirms the version that ends there": ([pane(0, 10), pane(10, 12)], [(0, 10)]),
    "a committed start confirms as well": ([pane(0, 10), mark(10)], [(0, 10)]),
    "it confirms once": ([pane(0, 10), mark(10), mark(10), pane(10, 12), mark(10)], [(0, 10)]),
    "a committed start before the end says nothing": ([pane(0, 10), mark(0)], []),
    "the version that was committed counts, not the longest": (
        [pane(0, 10), pane(0, 15), pane(0, 30), pane(15, 20)],
        [(0, 15)],
    ),
    "the next owner's shorter version counts": (
        [pane(0, 30), pane(0, 10, 2, "b"), pane(10, 20, 2, "b")],
        [(0, 10)],
    ),
    "a zombie's longer version of the open pane does not win": (
        [pane(0, 10, 2, "b"), pane(0, 30, 1, "a"), pane(10, 20, 2, "b")],
        [(0, 10)],
    ),
    "a committed version of a lost generation is confirmed by its end": (
        [pane(0, 10, 1, "a"), mark(10, 2, "b")],
        [(0, 10)],
    ),
    "a zombie's old pane is dropped": (
        [pane(0, 10), pane(10, 20, 2, "b"), pane(0, 10), pane(0, 12), pane(20, 30, 2, "b")],
        [(0, 10), (10, 20)],
    ),
    "its stale watermark does not start the partition anew": (
        [pane(0, 500, 2, "b"), pane(500, 600, 2, "b"), pane(0, 10, 1, "a", high_watermark=12), mark(600, 2, "b")],
        [(0, 500), (500, 600)],
    ),
    "stale progress is dropped": (
        [pane(0, 10), pane(10, 20), mark(0), mark(20), mark(10)],
        [(0, 10), (10, 20)],
    ),
    "a group set back is believed in its new generation": (
        [pane(0, 10), pane(10, 20), mark(20), pane(5, 9, 2, "b"), mark(9, 2, "b")],
        [(0, 10), (10, 20), (5, 9)],
    ),
    "progress alone sets nothing back": (
        [pane(0, 10), pane(10, 20), mark(5, 2, "b"), mark(20)],
        [(0, 10), (10, 20)],
    ),
    "a version that was open when the group was set back does not count": (
        [pane(0, 10), pane(10, 20), pane(5, 30, 2, "b"), mark(30, 2, "b")],
        [(0, 10), (5, 30)],
    ),
    "a topic made again under its worker is believed when the worker goes on": (
        [
            pane(0, 10),
            pane(10, 20),
            pane(0, 3, high_watermark=3),
            pane(3, 5, high_watermark=5),
            mark(5),
        ],
        [(0, 10), (10, 20), (0, 3), (3, 5)],
    ),
    "a group made again, counting from 1, is believed when its worker goes on": (
        [pane(0, 10, 7), pane(10, 20, 7), mark(20, 7), pane(0, 4, 1, "b"), pane(4, 6, 1, "b"), mark(6, 1, "b")],
        [(0, 10), (10, 20), (0, 4), (4, 6)],
    ),
    "the same told by progress": (
        [pane(0, 10, 7), mark(10, 7), pane(0, 4, 1, "b"), mark(4, 1, "b")],
        [(0, 10), (0, 4)],
    ),
    "panes of several workers that lead up to a proof count": (
        [pane(0, 10, 7), mark(10, 7), pane(0, 4, 1, "b"), pane(4, 6, 2, "c"), mark(6, 2, "c")],
        [(0, 10), (0, 4), (4, 6)],
    ),
    "a pane set aside is no proof of another": (
        [pane(0, 10, 7), mark(10, 7), pane(0, 4, 1, "b"), pane(4, 6, 2, "c"), pane(0, 5, 1, "b")],
        [(0, 10)],
    ),
    "the word of an earlier generation does not confirm": (
        [pane(0, 10, 3, "b"), mark(10, 2, "a"), pane(0, 12, 3, "b"), mark(12, 3, "b")],
        [(0, 12)],
    ),
    "unless the group was made again": (
        [pane(0, 10, 7), pane(10, 14, 1, "b"), pane(14, 15, 1, "b"), mark(15, 1, "b")],
        [(0, 10), (10, 14), (14, 15)],
    ),
    "records deleted unread under a new owner": (
        [pane(0, 10), pane(10, 15), pane(50, 60, 2, "b"), mark(60, 2, "b")],
        [(0, 10), (10, 15), (50, 60)],
    ),
    "the longest version before the gap counts": (
        [pane(0, 10), pane(0, 30), pane(0, 60), pane(50, 70, 2, "b"), mark(70, 2, "b")],
        [(0, 30), (50, 70)],
    ),
    "records deleted unread under their worker": (
        [pane(0, 10), pane(50, 60), pane(60, 61), mark(61)],
        [(0, 10), (50, 60), (60, 61)],
    ),
    "a zombie of before does not jump": (
        [pane(0, 10, 2, "b"), pane(10, 20, 2, "b"), pane(50, 60, 1, "a"), mark(20, 2, "b")],
        [(0, 10), (10, 20)],
    ),
    "a pane published again after its commit says nothing": (
        [pane(0, 10), mark(10), pane(0, 10), pane(10, 20), pane(0, 10), mark(20)],
        [(0, 10), (10, 20)],
    ),
    "what a later owner found uncommitted is void": (
        [pane(0, 30), pane(0, 10, 2, "b"), pane(50, 60, 3, "c"), mark(60, 3, "c")],
        [(0, 10), (50, 60)],
    ),
    "an empty stretch is no pane": ([pane(0, 0), pane(0, 10), mark(10)], [(0, 10)]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_confirmed(name: str) -> None:
    messages, expected = CASES[name]
    assert ranges(messages) == expected


@pytest.mark.parametrize("name", CASES)
def test_a_ledger_made_from_any_moment_goes_on_in_the_same_way(name: str) -> None:
    """Whatever is needed and whenever it stops: the replay confirms what is needed, and the rest is as it was."""
    messages, _ = CASES[name]
    for stop in range(len(messages) + 1):
        for needed in range(stop + 1):
            check_restart(messages, stop, needed)


def check_restart(messages: list[Message], stop: int, needed: int) -> None:
    first = Ledger()
    before = hear(first, messages[:stop])
    open_at = first.oldest_open()
    replay_from = min(needed, stop if open_at is None else open_at)
    second = Ledger(first.expected_at(needed))
    replayed = hear(second, messages[replay_from:stop], replay_from)
    assert replayed == [each for each in before if each.first_at >= needed]
    assert second.expected_at(stop) == first.expected_at(stop)
    assert second.open_version(SOURCE, 0) == first.open_version(SOURCE, 0)
    assert second.oldest_open() == open_at
    assert hear(second, messages[stop:], stop) == hear(first, messages[stop:], stop)


def test_a_gap_is_told_with_the_pane_behind_it() -> None:
    ledger = Ledger()
    confirmed = hear(ledger, [pane(0, 10), pane(10, 15), pane(50, 60, 2, "b"), mark(60, 2, "b"), mark(60, 2, "b")])
    assert [each.lost_before for each in confirmed] == [0, 0, 35]
    assert ledger.lost == 35


def test_gaps_without_a_pane_between_are_one() -> None:
    ledger = Ledger()
    confirmed = hear(ledger, [pane(0, 10), mark(40, 2, "b"), mark(50, 3, "c"), pane(50, 60, 3, "c"), mark(60, 3, "c")])
    assert [(each.pane.start, each.lost_before) for each in confirmed] == [(0, 0), (50, 40)]
    assert ledger.lost == 40


def test_a_partition_that_starts_anew_is_told_with_its_first_pane() -> None:
    ledger = Ledger()
    confirmed = hear(ledger, [pane(0, 10), mark(10), pane(5, 9, 2, "b"), pane(9, 11, 2, "b"), mark(11, 2, "b")])
    assert [(each.pane.start, each.restarted) for each in confirmed] == [(0, False), (5, True), (9, False)]
    assert ledger.restarted == 1


def test_the_last_pane_of_a_topic_made_again_counts() -> None:
    again: list[Message] = [pane(10, 20), pane(0, 3, 2, "b", high_watermark=3), mark(3, 2, "b")]
    assert ranges([pane(0, 10), *again]) == [(0, 10), (10, 20), (0, 3)]


def test_what_came_too_late_is_counted() -> None:
    ledger = Ledger()
    hear(ledger, [pane(0, 10), pane(10, 20, 2, "b"), pane(0, 10), pane(0, 12)])
    assert (ledger.dropped, ledger.restarted, ledger.lost) == (2, 0, 0)


def test_a_message_says_what_it_confirmed_and_where_the_pane_was_first_seen() -> None:
    confirmed = hear(Ledger(), [pane(0, 5), pane(0, 10), pane(10, 20), mark(20)], at=7)
    assert [(each.first_at, each.at) for each in confirmed] == [(7, 9), (9, 10)]


def test_one_message_confirms_on_several_partitions() -> None:
    ledger = Ledger()
    for partition in range(3):
        ledger.pane(msgspec.structs.replace(pane(0, 10 + partition), partition=partition), 0)
    marks = tuple(Mark(partition, 10 + partition, 50, 50, 1) for partition in range(3))
    message = Progress(topic="orders", source=SOURCE, worker="a", sent_ms=0, partitions=3, marks=marks)
    assert [each.pane.partition for each in ledger.progress(message, 1)] == [0, 1, 2]


def test_marks_of_partitions_never_counted_are_left_alone() -> None:
    assert Ledger().progress(mark(10), 0) == ()
    assert Ledger().expected_at(0) == ()


def test_the_open_version_is_the_latest_of_the_highest_generation() -> None:
    ledger = Ledger()
    hear(ledger, [pane(0, 10), pane(0, 30)])
    assert ledger.open_version(SOURCE, 0) == pane(0, 30)
    hear(ledger, [pane(0, 5, 2, "b"), pane(0, 40, 1, "a")], at=2)
    assert ledger.open_version(SOURCE, 0) == pane(0, 5, 2, "b")
    hear(ledger, [mark(5, 2, "b")], at=4)
    assert ledger.open_version(SOURCE, 0) is None
    assert ledger.open_version(SOURCE, 1) is None


def test_of_two_versions_with_the_same_end_the_later_generation_counts() -> None:
    confirmed = hear(Ledger(), [pane(0, 10, 2, "b"), pane(0, 10, 1, "a"), mark(10, 2, "b")])
    assert [each.pane.worker for each in confirmed] == ["b"]
    confirmed = hear(Ledger(), [pane(0, 10, 1, "a"), pane(0, 10, 2, "b"), mark(10, 2, "b")])
    assert [each.pane.worker for each in confirmed] == ["b"]


def test_the_highest_generation_never_falls() -> None:
    ledger = Ledger()
    hear(ledger, [pane(0, 10, 7), mark(10, 7), pane(0, 4, 1, "b"), mark(4, 1, "b")])
    assert [(each.offset, each.generation) for each in ledger.expected_at(9)] == [(4, 7)]


def test_versions_of_an_open_pane_are_bounded_and_the_newest_stay() -> None:
    ledger = Ledger()
    versions: list[Message] = [pane(0, end) for end in range(1, 3 * MAX_VERSIONS)]
    hear(ledger, versions)
    newest = 3 * MAX_VERSIONS - 1
    assert [each.pane.end for each in hear(ledger, [mark(newest - MAX_VERSIONS // 2)], at=len(versions))] == [
        newest - MAX_VERSIONS // 2
    ]


def test_a_pane_set_aside_holds_the_replay_back_only_so_long() -> None:
    ledger = Ledger()
    hear(ledger, [pane(0, 10, 2), mark(10, 2), pane(0, 4, 1, "b")])
    assert ledger.oldest_open() == 2
    ledger.progress(mark(10, 2), 3 + ASIDE_MESSAGES)
    assert ledger.oldest_open() is None
    assert ledger.pane(pane(4, 6, 1, "b"), 4 + ASIDE_MESSAGES) == ()


def test_history_is_forgotten_up_to_what_is_needed() -> None:
    ledger = Ledger()
    hear(ledger, [pane(start, start + 10) for start in range(0, 50, 10)])
    ledger.forget_before(2)
    assert [each.offset for needed in (2, 3, 9) for each in ledger.expected_at(needed)] == [20, 30, 40]


def test_what_is_expected_says_from_which_message_on_it_listens() -> None:
    expected = Expected(SOURCE, 0, 20, 1, at=5)
    ledger = Ledger([expected])
    assert hear(ledger, [pane(10, 15, 9), pane(40, 50, 9), mark(40, 9)], at=2) == []
    assert ledger.expected_at(9) == (expected,)
