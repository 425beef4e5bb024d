"""The observer on twins: what is published before what is committed, and what becomes of a doubt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from faust.types import TP

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.wire import pane as wire
from hotshard.errors import UnavailableError
from tests.support.deciding import SOURCE
from tests.support.eventually import PATIENCE_S
from tests.support.job import PANES, Watching, turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.slab import Slab

P0, P1 = TP(SOURCE, 0), TP(SOURCE, 1)


async def test_a_pane_is_published_before_its_end_is_committed() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    await watching.cut()
    assert watching.steps == ["commit", "publish", "commit"]  # the first is the start of a partition never read
    assert watching.ranges() == [(0, 10)]
    assert watching.mirror.committed_at == {P0: 10}
    assert watching.observer.records == 10


async def test_partitions_that_are_due_are_cut_together_and_those_that_are_not_wait() -> None:
    watching = Watching(0, 1, 2)
    await watching.assigned()
    await watching.take(0)
    watching.clock.advance(0.9)
    await watching.take(0, place=P1)
    watching.clock.advance(0.15)
    await watching.take(0, place=watching.places[2])
    await watching.observer.cut_once()
    assert [sorted(pane.partition for pane in watching.published())] == [[0, 1]]
    assert watching.mirror.steps[-1] == ("commit", {P0: 10, P1: 10})


async def test_the_next_pane_of_a_partition_is_published_only_after_the_commit_of_the_one_before() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.at_commit.close()
    watching.clock.advance(1.1)
    cutting = asyncio.create_task(watching.observer.cut_once())
    await watching.mirror.at_commit.reached()
    await watching.take(10)
    watching.clock.advance(5)
    assert watching.ranges() == [(0, 10)]
    watching.mirror.at_commit.open()
    await cutting
    assert watching.ranges() == [(0, 10)]
    await watching.observer.cut_once()
    assert watching.ranges() == [(0, 10), (10, 20)]


async def test_a_refused_commit_drops_what_was_counted_and_reads_it_again() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.refuse = 1
    await watching.cut()
    assert watching.mirror.steps[-1] == ("seek", {P0: 0})
    watching.current = False
    await watching.take(10)  # on its way when the seek came
    watching.current = True
    await watching.take(0, 15)
    await watching.cut()
    assert watching.ranges()[-1] == (0, 15)
    assert watching.mirror.committed_at == {P0: 15}


async def test_a_commit_whose_answer_was_lost_is_not_counted_again() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.lose_answers = 1
    await watching.cut()
    assert watching.mirror.steps[-1] == ("seek", {P0: 10})
    await watching.take(10)
    await watching.cut()
    assert watching.ranges() == [(0, 10), (10, 20)]


async def test_nothing_is_committed_that_could_not_be_published_and_it_is_tried_again() -> None:
    watching = Watching()
    await watching.assigned()
    before = len(watching.steps)
    await watching.take(0)
    watching.publisher.error = UnavailableError("down")
    for _ in range(3):
        await watching.cut()
    assert watching.steps[before:] == []
    watching.publisher.error = None
    await watching.observer.cut_once()
    assert watching.steps[before:] == ["publish", "commit"]
    assert watching.ranges() == [(0, 10)]


async def test_slabs_wait_while_panes_cannot_be_published_and_none_is_lost() -> None:
    watching = Watching()
    await watching.assigned()
    watching.publisher.error = UnavailableError("down")
    await watching.take(0)
    await watching.cut()
    await watching.take(10)
    await watching.cut()
    waiting = asyncio.create_task(watching.take(20))
    await watching.cut()
    assert not waiting.done()
    watching.publisher.error = None
    await watching.cut()
    await waiting
    await watching.cut()
    await watching.cut()
    assert watching.ranges() == [(0, 10), (10, 20), (20, 30)]
    assert watching.observer.stale_slabs == 0


def backlogged(watching: Watching, place: TP, start: int, windows: int) -> Slab:
    """A slab of so many windows, 10 records in each, of an hour ago."""
    slab = watching.slab(start, 10 * windows, place=place)
    begin_ms = watching.clock.now_ms() // 10_000 * 10_000 - 3_600_000
    slab.timestamps = [begin_ms + 1_000 * (start + index) for index in range(10 * windows)]
    return slab


async def test_a_backlogged_slab_is_published_and_committed_window_by_window() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.observer.take_safely(backlogged(watching, P0, 0, 5), lambda: True)
    for _ in range(5):
        await watching.cut(0.3)
    assert watching.ranges() == [(start, start + 10) for start in range(0, 50, 10)]
    assert watching.mirror.committed_at == {P0: 50}


@pytest.mark.parametrize("down", [True, False])
async def test_there_is_no_rest_between_rounds_while_sealed_panes_wait_and_can_be_published(
    monkeypatch: pytest.MonkeyPatch, *, down: bool
) -> None:
    monkeypatch.setattr("hotshard.job.observe.LOOK_S", 3_600)
    watching = Watching()
    await watching.assigned()
    await watching.observer.take_safely(backlogged(watching, P0, 0, 9), lambda: True)
    watching.publisher.error = UnavailableError("down") if down else None
    cutting = asyncio.create_task(watching.observer.cut_forever())
    await turns(200)
    cutting.cancel()
    assert watching.mirror.committed_at == {P0: 0 if down else 80}


async def crowded() -> tuple[Watching, asyncio.Task[None]]:
    """So many panes of one partition wait that a slab of another has to."""
    watching = Watching(0, 1)
    await watching.assigned()
    await watching.observer.take_safely(backlogged(watching, P0, 0, 40), lambda: True)
    waiting = asyncio.create_task(watching.observer.take_safely(backlogged(watching, P1, 0, 40), lambda: True))
    await turns()
    assert not waiting.done()
    return watching, waiting


async def test_panes_of_all_partitions_that_wait_are_bounded_whatever_slabs_span() -> None:
    watching, waiting = await crowded()
    while not waiting.done():
        await watching.observer.cut_once()
    assert len(watching.ranges()) < 10
    await watching.observer.finish()
    assert [end - start for place in (P0, P1) for start, end in watching.ranges(place)] == [10] * 80
    assert watching.mirror.committed_at == {P0: 400, P1: 400}


async def test_a_slab_that_waits_for_panes_of_others_is_let_go_when_all_is_taken_away() -> None:
    watching, waiting = await crowded()
    watching.observer.revoked()
    await asyncio.wait_for(waiting, PATIENCE_S)


@pytest.mark.parametrize("given", [True, False])
async def test_a_slab_that_waits_for_room_is_let_go_when_the_partition_is_taken_away(*, given: bool) -> None:
    watching = Watching()
    await watching.assigned()
    watching.publisher.error = UnavailableError("down")
    await watching.take(0)
    await watching.cut()
    await watching.take(10)
    await watching.cut()
    waiting = asyncio.create_task(watching.take(20))
    await turns()
    assert not waiting.done()
    watching.observer.revoked()
    if given:
        await watching.assigned(generation=2)
    await asyncio.wait_for(waiting, 5)
    assert watching.observer.stale_slabs == 1


async def test_slabs_of_an_old_generation_or_from_before_a_seek_are_left_alone() -> None:
    watching = Watching()
    await watching.assigned(generation=2)
    await watching.take(0, generation=1)
    watching.current = False
    await watching.take(0)
    watching.current = True
    await watching.take(0, place=TP(SOURCE, 5))
    assert watching.observer.stale_slabs == 3
    await watching.cut()
    assert watching.published() == []
    await watching.take(0)
    await watching.cut()
    assert watching.ranges() == [(0, 10)]


async def test_records_deleted_before_they_were_read_are_passed_over() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.earliest_at[P0] = 500
    await watching.take(500)
    await watching.cut(0.01)
    assert watching.ranges() == [(0, 10)]  # what was counted before the gap is good
    assert watching.mirror.steps[-2:] == [("commit", {P0: 500}), ("seek", {P0: 500})]
    await watching.take(500)
    await watching.cut()
    assert watching.ranges() == [(0, 10), (500, 510)]


async def test_a_topic_made_again_is_read_from_its_beginning() -> None:
    watching = Watching()
    watching.mirror.committed_at[P0] = 1000
    await watching.assigned()
    await watching.take(1000)
    await watching.take(0, 5, end=5)
    await watching.cut(0.01)
    assert watching.ranges() == [(1000, 1010)]
    assert watching.mirror.steps[-1] == ("seek", {P0: 0})
    await watching.take(0, 5)
    await watching.cut()
    assert watching.ranges()[-1] == (0, 5)
    assert watching.mirror.committed_at == {P0: 5}


async def test_slabs_are_left_alone_until_the_seek_has_been_done() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.refuse = 1
    watching.mirror.at_seek.close()
    watching.clock.advance(1.1)
    cutting = asyncio.create_task(watching.observer.cut_once())
    await watching.mirror.at_seek.reached()
    for start in range(10, 100, 10):  # fetched before the seek
        await watching.take(start)
    watching.mirror.at_seek.open()
    await cutting
    await watching.take(0)
    await watching.cut()
    await watching.cut()
    assert watching.ranges() == [(0, 10), (0, 10)]
    assert watching.steps.count("seek") == 1


async def test_a_seek_that_fails_is_tried_again() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.refuse = 1
    watching.mirror.fail = 1
    await watching.cut()
    assert "seek" not in watching.steps
    await watching.cut()
    assert watching.mirror.steps[-1] == ("seek", {P0: 0})
    await watching.take(0)
    await watching.cut()
    assert watching.ranges()[-1] == (0, 10)


async def test_a_doubt_that_a_rebalance_has_settled_seeks_nothing() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.refuse = 1
    watching.mirror.at_question.close()
    watching.clock.advance(1.1)
    cutting = asyncio.create_task(watching.observer.cut_once())
    await watching.mirror.at_question.reached()
    watching.mirror.at_question.open()
    watching.mirror.committed_at[P0] = 40  # somebody else had it meanwhile
    await watching.assigned(generation=2)
    await cutting
    assert [offsets for step, offsets in watching.mirror.steps if step == "seek" and offsets] == []
    await watching.take(40)
    await watching.cut()
    assert watching.ranges()[-1] == (40, 50)
    assert watching.published()[-1].generation == 2


async def test_what_was_published_before_a_rebalance_is_not_committed_after_it() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    watching.mirror.at_commit.close()
    watching.clock.advance(1.1)
    cutting = asyncio.create_task(watching.observer.cut_once())
    await watching.mirror.at_commit.reached()
    watching.observer.revoked()
    watching.mirror.at_commit.open()
    await watching.assigned(generation=2)
    await cutting
    assert watching.mirror.committed_at == {P0: 0}
    await watching.take(0, 20)
    await watching.cut()
    assert watching.ranges()[-1] == (0, 20)
    assert watching.mirror.committed_at == {P0: 20}


async def test_partitions_taken_away_while_their_offsets_are_asked_are_not_counted() -> None:
    watching = Watching()
    watching.mirror.at_question.close()
    placing = asyncio.create_task(watching.assigned())
    await watching.mirror.at_question.reached()
    watching.observer.revoked()
    watching.mirror.at_question.open()
    assert await placing == {}
    await watching.take(0)
    assert watching.observer.stale_slabs == 1


@pytest.mark.parametrize(
    ("committed", "earliest", "start", "commits"),
    [
        (None, 0, 0, [{P0: 0}]),
        (None, 70, 70, [{P0: 70}]),
        (100, 70, 100, []),
        (50, 70, 70, [{P0: 70}]),
        (0, 0, 0, []),
    ],
)
async def test_reading_begins_at_the_committed_offset_or_at_the_earliest_record(
    committed: int | None, earliest: int, start: int, commits: list[dict[TP, int]]
) -> None:
    watching = Watching()
    if committed is not None:
        watching.mirror.committed_at[P0] = committed
    watching.mirror.earliest_at[P0] = earliest
    assert await watching.assigned() == {P0: start}
    assert [offsets for step, offsets in watching.mirror.steps] == commits


async def test_a_source_that_is_new_to_a_running_group_begins_at_its_end_and_later_partitions_at_their_earliest() -> (
    None
):
    watching = Watching(new=True)
    p1 = TP(P0.topic, 1)
    watching.mirror.latest_at = {P0: 900}
    watching.mirror.refuse = 1
    with pytest.raises(UnavailableError):
        await watching.assigned()
    assert await watching.assigned() == {P0: 900}
    watching.mirror.latest_at = {P0: 950, p1: 40}
    assert await watching.assigned(places=[P0, p1]) == {P0: 900, p1: 0}


async def test_nothing_is_counted_from_a_start_that_could_not_be_committed() -> None:
    watching = Watching()
    watching.mirror.refuse = 1
    with pytest.raises(UnavailableError):
        await watching.assigned()
    await watching.take(0)
    assert watching.observer.stale_slabs == 1
    assert await watching.assigned() == {P0: 0}


async def test_an_assignment_of_nothing_asks_nothing() -> None:
    watching = Watching()
    watching.mirror.fail = 1
    assert await watching.assigned(places=[]) == {}


@pytest.fixture
def faulty_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first slab that starts at 10 be counted half-way, and fail."""
    add = PartitionPanes.add
    spoilt: list[Slab] = []

    def failing(self: PartitionPanes, slab: Slab, now_ms: int, aliases: Mapping[bytes, bytes]) -> None:
        if slab.start == 10 and not spoilt:
            spoilt.append(slab)
            self._open.counter.add(slab)
            raise ZeroDivisionError
        add(self, slab, now_ms, aliases)

    monkeypatch.setattr(PartitionPanes, "add", failing)


@pytest.mark.usefixtures("faulty_counting")
async def test_a_fault_of_our_own_in_counting_ends_nothing_and_what_it_spoilt_is_not_published(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watching = Watching(0, 1)
    await watching.assigned()
    await watching.take(0)
    await watching.take(10)
    await watching.take(0, place=P1)
    await watching.cut()
    assert watching.ranges() == []
    assert watching.ranges(P1) == [(0, 10)]
    assert watching.mirror.steps[-1] == ("seek", {P0: 0})
    await watching.take(0, 20)
    await watching.cut()
    assert watching.ranges() == [(0, 20)]
    assert watching.published()[-1].records == 20
    assert "could not be counted" in caplog.text


async def test_a_fault_of_our_own_in_a_round_ends_nothing_and_everything_is_counted_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    with monkeypatch.context() as patch:
        patch.setattr(wire, "encode", lambda _: 1 / 0)
        for _ in range(5):
            await watching.cut()
    assert watching.mirror.steps[-1] == ("seek", {P0: 0})
    assert caplog.text.count("observing failed") == 1
    await watching.take(0)
    await watching.cut()
    assert watching.ranges() == [(0, 10)]


async def test_finishing_cuts_and_commits_everything_and_says_so() -> None:
    watching = Watching(0, 1)
    await watching.assigned()
    await watching.take(0)
    await watching.take(0, 30, place=P1)
    await watching.observer.finish()
    assert watching.mirror.committed_at == {P0: 10, P1: 30}
    assert (watching.ranges(), watching.ranges(P1)) == ([(0, 10)], [(0, 30)])
    step, (word,) = watching.mirror.steps[-1]
    assert step == "publish"
    assert isinstance(word, wire.Progress)
    assert [(mark.partition, mark.committed) for mark in word.marks] == [(0, 10), (1, 30)]


async def test_finishing_ends_where_nothing_can_be_committed() -> None:
    watching = Watching(0, 1)
    await watching.assigned()
    await watching.take(0)
    await watching.take(0, place=P1)
    watching.mirror.refuse = 9
    await asyncio.wait_for(watching.observer.finish(), 5)
    assert watching.mirror.committed_at == {P0: 0, P1: 0}


@pytest.mark.usefixtures("faulty_counting")
async def test_one_partition_in_doubt_does_not_keep_the_others_from_finishing() -> None:
    watching = Watching(0, 1)
    await watching.assigned()
    await watching.take(0)
    await watching.take(0, place=P1)
    await watching.take(10)
    await watching.observer.finish()
    assert watching.mirror.committed_at == {P0: 0, P1: 10}


async def test_a_worker_says_of_each_source_how_far_its_partitions_are() -> None:
    watching = Watching(sources={SOURCE: 6, "mirror.b": 2})
    watching.places = [P0, P1, TP("mirror.b", 1)]
    await watching.assigned(generation=3)
    await watching.take(0)
    await watching.observer.tell_progress()
    step, words = watching.mirror.steps[-1]
    assert step == "publish"
    assert {(word.source, word.partitions, word.worker) for word in words} == {(SOURCE, 6, "w1"), ("mirror.b", 2, "w1")}
    first = next(word for word in words if word.source == SOURCE)
    assert first.marks == (wire.Mark(0, 0, 10, 10, 3), wire.Mark(1, 0, 0, 0, 3))
    watching.observer.revoked()
    before = len(watching.mirror.steps)
    await watching.observer.tell_progress()
    assert len(watching.mirror.steps) == before


async def test_a_flood_is_told_early_and_the_early_version_commits_nothing() -> None:
    watching = Watching()
    await watching.assigned()
    before = len(watching.steps)
    await watching.take(0, 5000)
    await watching.cut(0.2)
    assert watching.steps[before:] == ["publish"]
    (early,) = watching.published()
    assert (early.start, early.end) == (0, 5000)
    await watching.take(5000)
    await watching.cut()
    assert watching.ranges() == [(0, 5000), (0, 5010)]
    assert watching.mirror.committed_at == {P0: 5010}


async def test_messages_stand_under_the_name_of_the_production_topic() -> None:
    watching = Watching()
    await watching.assigned()
    await watching.take(0)
    await watching.cut()
    partitions = watching.kafka.cluster.partitions(PANES)
    (log,) = [log for each in partitions for log in each.committed(0, 10)]
    assert log.key == b"orders"
    assert wire.decode(log.value or b"") == watching.published()[0]


class Spiteful(bytes):
    def __hash__(self) -> int:
        raise RuntimeError("spite")


async def test_a_record_that_cannot_be_counted_is_told_with_its_offset_and_the_rest_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watching = Watching()
    await watching.assigned()
    slab = watching.slab(0)
    slab.keys[4] = Spiteful(b"evil")
    await watching.observer.take_safely(slab, lambda: True)
    await watching.cut()
    (pane,) = watching.published()
    assert (pane.records, pane.failed) == (10, 1)
    assert f"{SOURCE}-0: 1 records at offset 4 could not be counted: RuntimeError: spite" in caplog.messages
