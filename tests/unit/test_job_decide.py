"""Seats on an in-memory Kafka: taken, fenced, in doubt, taken again; and what the group does meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from faust.types import TP

from hotshard.core.deciding.decider import TopicDecider
from hotshard.core.partitioners import partition_of
from hotshard.core.wire.event import EventType
from hotshard.doors.clock import ManualClock
from hotshard.doors.kafka.contract import Out, TopicWanted
from hotshard.errors import UnavailableError
from hotshard.job.decide import FENCED_S, MAX_SEEKS, RETRY_S
from hotshard.job.resting import MAX_REST_S, REST_S, rest_s
from tests.support.deciding import TOPIC, key
from tests.support.job import PANES, Deciders, Producing, memory_kafka, turns

if TYPE_CHECKING:
    from collections.abc import Mapping

CALM = {key(0, f"t{number}"): 10 for number in range(24)}
FLOOD = CALM | {key(1): 200}
SEAT = partition_of("murmur2", 2)(TOPIC.encode())
#: A topic on the same seat.
SIBLING = next(name for name in map("topic-{}".format, range(99)) if partition_of("murmur2", 2)(name.encode()) == SEAT)


class House:
    """One Kafka, traffic, and workers that decide on it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.kafka = memory_kafka(self.clock)
        self.producing = Producing(self.kafka, self.clock)

    def worker(self, *topics: str) -> Deciders:
        return Deciders(self.kafka, self.clock, topics=topics or (TOPIC,))

    async def live(self, worker: Deciders, loads: Mapping[bytes, int], seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1)
            await self.producing.second(loads)
            await worker.round()

    async def all_told(self, worker: Deciders) -> None:
        """Let everything be quiet until all windows are told, and every record once."""
        await self.live(worker, {}, 8)
        reports = worker.reports()
        assert sum(report.records for report in reports) == self.producing.records
        assert len({(report.start_ms, report.revision) for report in reports}) == len(reports)
        ids = [event.id for event in worker.events()]
        assert len(ids) == len(set(ids))


@pytest.fixture
def house() -> House:
    return House()


# -- taking a seat -----------------------------------------------------------------------------------


async def test_a_worker_that_takes_over_goes_on_where_the_one_before_stopped(house: House) -> None:
    first, second = house.worker(), house.worker()
    assert await first.assigned() == {TP(PANES, 0): 0, TP(PANES, 1): 0}
    await house.live(first, CALM, 4)
    await house.live(first, FLOOD, 3)
    before = first.events()
    assert EventType.PLAN_ACTIVATED in [event.type for event in before]
    await first.revoked()
    head = first.heads()[-1]
    assert (await second.assigned())[TP(PANES, SEAT)] == head.replay_from
    await second.round()
    assert second.events() == before
    await house.live(second, CALM, 12)
    assert EventType.PLAN_RETIRED in [event.type for event in second.events()]
    await house.all_told(second)


async def test_a_worker_that_dies_without_a_word_is_followed_as_well(house: House) -> None:
    workers = [house.worker() for _ in range(4)]
    for worker in workers:
        await worker.assigned()
        await house.live(worker, FLOOD, 3)
        await worker.round(0.25)
    await house.all_told(workers[-1])


async def test_what_is_to_stand_in_redis_is_known_as_soon_as_a_seat_is_taken(house: House) -> None:
    first, second = house.worker(), house.worker()
    await first.assigned()
    await house.live(first, FLOOD, 6)
    await second.assigned()
    assert second.keeper.behind
    await second.keeper._write()  # noqa: SLF001
    assert list(second.registry.store.snapshot(None).routes[TOPIC] or {}) == [key(1)]


async def test_each_seat_has_the_topics_whose_messages_are_on_its_partition(house: House) -> None:
    names = [f"topic-{number}" for number in range(40)]
    worker = house.worker(*names)
    await worker.assigned()
    for name in names:
        await Producing(house.kafka, house.clock, name).second(CALM)
    house.clock.advance(1)
    await worker.round()
    assert {head.topic for head in worker.heads()} == set(names)


async def test_messages_of_a_topic_that_had_nothing_to_tell_yet_are_not_lost(house: House) -> None:
    first, second = house.worker(TOPIC, SIBLING), house.worker(TOPIC, SIBLING)
    await first.assigned()
    await house.live(first, FLOOD, 20)
    late = Producing(house.kafka, house.clock, SIBLING)
    await late.second(CALM)
    await house.live(first, FLOOD, 1)
    await second.assigned()
    for _ in range(14):
        house.clock.advance(1)
        await late.second({})
        await house.producing.second({})
        await second.round()
    told = sum(report.records for report in second.reports() if report.topic == SIBLING)
    assert told == late.records


# -- doubt -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dial", ["lose_answers", "lose_requests"])
@pytest.mark.parametrize("after", range(9))
async def test_an_unknown_outcome_is_looked_up_in_the_state_and_nothing_is_said_twice(
    house: House, dial: str, after: int
) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 2)
    for number in range(9):
        house.clock.advance(1)
        await house.producing.second(FLOOD if number > 2 else CALM)
        worker.read()
        if number == after:
            setattr(house.kafka.cluster, dial, 1)
        await worker.deciding.decide_once()
        setattr(house.kafka.cluster, dial, 0)
    await house.live(worker, CALM, 12)
    assert [event.type for event in worker.events() if event.subject.endswith("e1")][:3] == [
        EventType.HOTKEY_DETECTED,
        EventType.PLAN_PROPOSED,
        EventType.PLAN_ACTIVATED,
    ]
    await house.all_told(worker)


async def test_an_outage_is_waited_for_and_said_once(house: House, caplog: pytest.LogCaptureFixture) -> None:
    worker = house.worker(TOPIC, SIBLING)
    await worker.assigned()
    await house.live(worker, FLOOD, 3)
    house.kafka.cluster.down = True
    for _ in range(18):
        house.clock.advance(0.5)
        await worker.deciding.decide_once()
    assert caplog.text.count("waiting for the state topic") == 1
    assert "there again" not in caplog.text
    house.kafka.cluster.down = False
    house.clock.advance(RETRY_S)
    await worker.deciding.decide_once()
    assert caplog.text.count("the state topic is there again") == 1
    await house.all_told(worker)


async def test_a_fault_of_our_own_ends_nothing_and_is_said_once(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    with monkeypatch.context() as patch:
        patch.setattr(TopicDecider, "decide", lambda *_: 1 / 0)
        for _ in range(18):
            await worker.round(0.5)
    assert len(worker.speakers) <= 2 + 10
    assert caplog.text.count("deciding failed") == 1
    await house.live(worker, FLOOD, 5)
    await house.all_told(worker)


async def test_a_fault_while_a_seat_is_taken_again_ends_nothing_and_is_said_once(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    with monkeypatch.context() as patch:
        patch.setattr(TopicDecider, "decide", lambda *_: 1 / 0)
        patch.setattr(TopicDecider, "__init__", lambda *_, **__: 1 / 0)
        for _ in range(18):
            await worker.round(0.5)
    assert len(worker.speakers) <= 2 + 10
    assert caplog.text.count("could not be taken again") == 1
    await house.live(worker, FLOOD, 5)
    await house.all_told(worker)


# -- fenced ------------------------------------------------------------------------------------------


async def test_a_fenced_seat_says_nothing_more_and_is_taken_again_while_it_is_still_ours(house: House) -> None:
    ours, thief = house.worker(), house.worker()
    await ours.assigned()
    await house.live(ours, FLOOD, 3)
    await thief.assigned(SEAT)
    told = len(ours.written("hs-state"))
    taken = len(ours.speakers)
    await house.live(ours, FLOOD, 1)
    assert len(ours.written("hs-state")) == told
    assert len(ours.speakers) == taken
    house.clock.advance(FENCED_S)
    await ours.round()
    assert len(ours.speakers) == taken + 1
    await house.live(ours, FLOOD, 3)
    assert len(ours.written("hs-state")) > told
    await house.all_told(ours)


async def test_a_fenced_seat_that_was_taken_away_is_not_taken_again(house: House) -> None:
    ours, next_owner = house.worker(), house.worker()
    await ours.assigned()
    await house.live(ours, FLOOD, 3)
    await next_owner.assigned()
    await house.live(ours, FLOOD, 1)
    taken = len(ours.speakers)
    await ours.revoked()
    for _ in range(8):
        await ours.round(1)
    assert len(ours.speakers) == taken
    await house.live(next_owner, FLOOD, 3)
    await house.all_told(next_owner)


# -- what the group does while we wait ---------------------------------------------------------------


async def test_a_seat_given_again_is_not_doubted_for_what_became_of_the_one_before(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    worker.gates.say.close()
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    worker.read()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.gates.say.reached()
    await worker.assigned()
    taken = len(worker.speakers)
    worker.gates.say.open()
    await deciding
    await house.live(worker, FLOOD, 2)
    assert len(worker.speakers) == taken
    await house.all_told(worker)


async def test_a_seat_taken_away_while_it_speaks_is_not_kept_in_redis(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    await worker.keeper._write()  # noqa: SLF001
    worker.gates.said.close()
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    worker.read()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.gates.said.reached()
    await worker.revoked()
    worker.gates.said.open()
    await deciding
    assert EventType.HOTKEY_DETECTED in [event.type for event in worker.events()]
    assert not worker.keeper.behind
    taken = len(worker.speakers)
    for _ in range(4):
        await worker.round(1)
    assert len(worker.speakers) == taken


async def test_a_seat_taken_away_while_it_is_left_is_not_taken_again(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    worker.read()
    house.kafka.cluster.lose_requests = 1
    worker.gates.stop.close()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.gates.stop.reached()
    taken = len(worker.speakers)
    revoking = asyncio.create_task(worker.revoked())
    await turns()
    worker.gates.stop.open()
    await asyncio.gather(deciding, revoking)
    assert len(worker.speakers) == taken


async def test_nothing_is_heard_while_a_seat_is_taken_again(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    worker.read()
    house.kafka.cluster.lose_requests = 1
    worker.at_seek.close()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.at_seek.reached()
    await house.producing.second(CALM)
    worker.read()
    worker.at_seek.open()
    await deciding
    assert worker.positions[SEAT] < len(house.kafka.cluster.partition(PANES, SEAT).slots)
    await worker.round(1)
    await house.all_told(worker)


async def test_a_seat_taken_away_while_it_is_taken_again_is_left(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    worker.gates.take.close()
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    house.kafka.cluster.lose_requests = 1
    worker.read()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.gates.take.reached()
    await worker.revoked()
    worker.gates.take.open()
    await deciding
    assert worker.speakers[-1].stopped
    next_owner = house.worker()
    await next_owner.assigned()
    told = next_owner.heads()
    for _ in range(4):
        await worker.round(1)
    assert worker.heads() == told


async def test_a_seat_given_again_while_it_is_taken_again_is_held_once(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    worker.gates.take.close()
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    house.kafka.cluster.lose_requests = 1
    worker.read()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.gates.take.reached()
    again = asyncio.create_task(worker.assigned())
    await turns()
    worker.gates.take.open()
    await asyncio.gather(deciding, again)
    house.clock.advance(FENCED_S)
    await house.live(worker, FLOOD, 6)
    await house.all_told(worker)
    assert sum(not speaker.stopped for speaker in worker.speakers) == 2


async def test_a_seat_that_could_not_be_taken_is_let_go_of(house: House) -> None:
    worker = house.worker()
    house.kafka.cluster.down = True
    with pytest.raises(UnavailableError):
        await worker.assigned()
    assert all(speaker.stopped for speaker in worker.speakers)
    house.kafka.cluster.down = False
    await worker.assigned()
    await house.live(worker, FLOOD, 3)
    await house.all_told(worker)


async def test_an_assignment_that_is_called_off_holds_no_seat(house: House) -> None:
    worker = house.worker()
    worker.gates.take.close()
    placing = asyncio.create_task(worker.assigned())
    await worker.gates.take.reached()
    placing.cancel()
    await asyncio.gather(placing, return_exceptions=True)
    assert [speaker.stopped for speaker in worker.speakers] == [True]


async def test_messages_heard_while_a_seat_speaks_are_told_of_next(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 3)
    worker.gates.say.close()
    house.clock.advance(1)
    await house.producing.second(CALM)
    worker.read()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.gates.say.reached()
    await house.producing.second(FLOOD)
    worker.read()
    worker.gates.say.open()
    await deciding
    await worker.round(0.25)
    assert EventType.HOTKEY_DETECTED in [event.type for event in worker.events()]
    await house.all_told(worker)


# -- messages ----------------------------------------------------------------------------------------


async def test_damaged_messages_and_those_of_unknown_topics_are_skipped_and_counted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = house.worker()
    await worker.assigned()
    seat = worker.deciding._seats[SEAT]  # noqa: SLF001
    for damaged in (b"", b"\xc1", b"\x80"):
        await house.producing.publish(damaged)
    await house.producing.publish(house.producing.traffic.progress(topic="nobody's"))
    await worker.round()
    assert seat.skipped == 4
    with monkeypatch.context() as patch:
        patch.setattr(TopicDecider, "hear", lambda *_: 1 / 0)
        await house.producing.publish(house.producing.traffic.progress())
        await worker.round()
    assert seat.skipped == 5
    await house.live(worker, FLOOD, 5)
    await house.all_told(worker)


async def test_messages_that_do_not_follow_on_are_sought_again(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 2)
    expected = worker.positions[SEAT]
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    worker.positions[SEAT] += 2  # what an agent does not hear is gone for it
    worker.fail_seeks = 1
    await worker.round()
    assert worker.seeks == []
    await worker.round()
    assert worker.seeks == [{TP(PANES, SEAT): expected}]
    await worker.round()
    await house.all_told(worker)


async def test_messages_that_are_gone_are_passed_over_and_said(house: House, caplog: pytest.LogCaptureFixture) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 2)
    expected = worker.positions[SEAT]
    house.clock.advance(1)
    await house.producing.second(CALM)
    house.kafka.cluster.delete_before(PANES, SEAT, expected + 3)
    await worker.round()
    await worker.round()
    assert f"messages {expected} to {expected + 2} are gone" in caplog.text
    await house.live(worker, CALM, 2)
    assert worker.heads()[-1].done > expected + 3


async def test_a_hole_in_the_panes_topic_is_not_sought_for_ever(house: House, caplog: pytest.LogCaptureFixture) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 2)
    expected = worker.positions[SEAT]
    house.kafka.cluster.leave_open("somebody", [Out(topic=PANES, value=b"x", partition=SEAT)])
    house.kafka.cluster.take("somebody")
    await house.live(worker, CALM, 10)
    assert len(worker.seeks) == MAX_SEEKS
    assert f"messages {expected} to {expected + 1} are gone" in caplog.text
    await house.all_told(worker)


async def test_a_panes_topic_made_again_is_heard_from_its_beginning(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, FLOOD, 6)
    await house.live(worker, {}, 6)
    before = house.producing.records
    assert sum(report.records for report in worker.reports()) == before
    epoch = worker.heads()[-1].registry_epoch
    house.kafka.cluster.create(TopicWanted(name=PANES, partitions=2))
    worker.positions = dict.fromkeys(worker.positions, 0)
    await house.live(worker, FLOOD, 4)
    assert worker.heads()[-1].registry_epoch == epoch + 1
    await house.all_told(worker)
    assert sum(report.lost for report in worker.reports()) == 0


async def test_a_worker_that_finds_the_panes_topic_made_again_begins_anew(house: House) -> None:
    first, second = house.worker(), house.worker()
    await first.assigned()
    await house.live(first, FLOOD, 30)
    await house.live(first, {}, 6)
    house.kafka.cluster.create(TopicWanted(name=PANES, partitions=2))
    await second.assigned()
    second.positions = dict.fromkeys(second.positions, 0)  # where a consumer goes whose offset is not there
    await house.live(second, FLOOD, 4)
    await house.all_told(second)


async def test_nothing_is_heard_between_a_seek_that_is_wanted_and_the_seek(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, CALM, 2)
    house.clock.advance(1)
    await house.producing.second(FLOOD)
    worker.positions[SEAT] += 1
    worker.at_seek.close()
    worker.read()
    deciding = asyncio.create_task(worker.deciding.decide_once())
    await worker.at_seek.reached()
    await house.producing.second(CALM)
    worker.read()
    worker.at_seek.open()
    await deciding
    await worker.round()
    await house.all_told(worker)


def counts(worker: Deciders) -> list[int]:
    """The partition counts that the worker's routes were made for."""
    states = [decider.registry_state() for decider in worker.deciding.speaking()]
    return [route.partition_count for one in states if one is not None for route in one.routes]


async def test_a_topic_with_other_partitions_is_decided_on_anew_and_nothing_counts_twice(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, FLOOD, 6)
    assert counts(worker) == [6]
    worker.recount(TOPIC, 12)
    await house.live(worker, FLOOD, 10)
    assert counts(worker) == [12]
    await house.all_told(worker)


async def test_a_message_heard_twice_counts_once(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    await house.live(worker, FLOOD, 3)
    worker.positions[SEAT] = 0
    await worker.round()
    await house.all_told(worker)


async def test_deciding_goes_on_by_itself_when_something_is_heard(house: House) -> None:
    worker = house.worker()
    await worker.assigned()
    running = asyncio.create_task(worker.deciding.decide_forever())
    await house.producing.second(FLOOD)
    worker.read()
    for _ in range(100):
        if worker.heads():
            break
        await asyncio.sleep(0.01)
    assert worker.heads()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_the_more_deciders_take_the_longer_they_rest_within_limits() -> None:
    """A few milliseconds, as for few partitions, change nothing: what is hot is told as soon as before."""
    assert rest_s(0.0) == rest_s(0.001) == REST_S
    assert rest_s(0.005) == pytest.approx(0.2)
    assert rest_s(1.0) == MAX_REST_S
