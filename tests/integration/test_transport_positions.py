"""Where reading begins, how it goes back, and that a commit is made once or not at all; on a real broker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from faust.types import TP

from hotshard.errors import UnavailableError
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, make_mirror, mirroring, running
from tests.support.topics import Sent, create_topic, produce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.demo.servers import ApacheKafka, EmbeddedKafka

pytestmark = pytest.mark.integration


async def _filled(bootstrap: str, topic: str, records: int = 600, partitions: int = 3) -> dict[TP, int]:
    """Return where the partitions end. (The embedded broker, asked, answers less.)"""
    await create_topic(bootstrap, topic, partitions)
    await _send(bootstrap, topic, records, partitions)
    return {TP(topic, part): records // partitions for part in range(partitions)}


async def _send(bootstrap: str, topic: str, records: int, partitions: int) -> None:
    rows = [Sent(b"k%d" % n, b"v", n % partitions, 1000 + n) for n in range(records)]
    await produce(bootstrap, topic, rows, max_batch_size=1024)


async def _committed(bootstrap: str, group: str, *tps: TP) -> dict[TP, int | None]:
    """Ask the broker with a client that belongs to no group."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        return {tp: await consumer.committed(TopicPartition(*tp)) for tp in tps}
    finally:
        await consumer.stop()


# -- where reading begins ------------------------------------------------------------------------


async def test_a_group_without_offsets_begins_where_the_app_says(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name)
    early = make_mirror(kafka.bootstrap, [name], group=f"{name}-e")
    late = make_mirror(kafka.bootstrap, [name], group=f"{name}-l", consumer_auto_offset_reset="latest")
    async with running(early, late):
        await early.until(ends)
        await eventually(late.consumer.marks, what="marks")
        await _send(kafka.bootstrap, name, 30, 3)
        await late.until({tp: end + 10 for tp, end in ends.items()})
        assert {slabs[0].start for slabs in early.taken.values()} == {0}
        assert {slabs[0].start for slabs in late.taken.values()} == {200}


async def test_nothing_is_read_before_the_job_has_said_where_to_begin(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    name, asked, answer = fresh_topic_name, asyncio.Event(), asyncio.Event()
    ends = await _filled(kafka.bootstrap, name)
    mirror = make_mirror(kafka.bootstrap, [name], group=name)

    async def begin(assigned: frozenset[TP]) -> Mapping[TP, int]:
        assert assigned == set(ends)
        asked.set()
        await answer.wait()
        return {TP(name, 0): 150, TP(name, 1): 0}

    mirror.consumer.start_positions = begin
    async with running(mirror):
        await asyncio.wait_for(asked.wait(), PATIENCE_S)
        assert await mirror.consumer.commit_once({TP(name, 2): 77}, mirror.consumer.generation)
        await mirror.until_assigned()
        assert not mirror.taken
        answer.set()
        await mirror.until(ends)
        assert {tp.partition: slabs[0].start for tp, slabs in mirror.taken.items()} == {0: 150, 1: 0, 2: 77}
        mirror.assert_tiled()


async def test_a_job_that_cannot_say_where_to_begin_is_asked_again_and_nothing_is_read(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    name, seen = fresh_topic_name, []
    ends = await _filled(kafka.bootstrap, name)
    mirror = make_mirror(kafka.bootstrap, [name], group=name)

    async def begin(_: frozenset[TP]) -> Mapping[TP, int]:
        seen.append(dict(mirror.taken))
        if len(seen) < 3:
            raise UnavailableError
        return dict.fromkeys(ends, 5)

    mirror.consumer.start_positions = begin
    async with running(mirror):
        await mirror.until(ends)
        assert seen == [{}, {}, {}]
        assert {slabs[0].start for slabs in mirror.taken.values()} == {5}


async def test_reading_goes_on_at_the_committed_offset(
    any_kafka: ApacheKafka | EmbeddedKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(any_kafka.bootstrap, name)
    async with mirroring(any_kafka.bootstrap, name, group=name) as first:
        await first.until(ends)
        assert await first.consumer.commit_once({TP(name, 0): 111, TP(name, 1): 0}, first.consumer.generation)
        assert await first.consumer.committed(list(ends)) == {TP(name, 0): 111, TP(name, 1): 0}
    async with mirroring(any_kafka.bootstrap, name, group=name, consumer_auto_offset_reset="latest") as second:
        await second.until({TP(name, 0): 200, TP(name, 1): 200})
        assert [second.taken[TP(name, part)][0].start for part in (0, 1)] == [111, 0]


async def test_a_position_whose_records_are_gone_begins_at_the_earliest(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name)
    mirror = make_mirror(kafka.bootstrap, [name], group=name, consumer_auto_offset_reset="latest")

    async def begin(assigned: frozenset[TP]) -> Mapping[TP, int]:
        return dict.fromkeys(assigned, 10_000)

    mirror.consumer.start_positions = begin
    async with running(mirror):
        await mirror.until(ends)
        assert {slabs[0].start for slabs in mirror.taken.values()} == {0}


async def test_earliest_and_latest_are_told(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    ends = await _filled(kafka.bootstrap, fresh_topic_name)
    async with mirroring(kafka.bootstrap, fresh_topic_name, group=fresh_topic_name) as mirror:
        assert await mirror.consumer.earliest(list(ends)) == dict.fromkeys(ends, 0)
        assert await mirror.consumer.latest(list(ends)) == ends


# -- going back ----------------------------------------------------------------------------------


async def test_after_going_back_what_is_current_begins_exactly_there(
    any_kafka: ApacheKafka | EmbeddedKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(any_kafka.bootstrap, name, 6000)
    # one batch a fetch, so that many slabs are on their way
    async with mirroring(any_kafka.bootstrap, name, group=name, consumer_max_fetch_size=1024) as mirror:
        await mirror.until(ends)
        for turn in range(8):
            mirror.flowing.clear()  # what is on its way now waits in queues
            await _send(any_kafka.bootstrap, name, 300, 3)
            mirror.taken.clear()
            await mirror.consumer.seek_back(dict.fromkeys(ends, 50 + turn))
            mirror.flowing.set()
            await mirror.until({tp: end + 100 * (turn + 1) for tp, end in ends.items()})
            assert {slabs[0].start for slabs in mirror.taken.values()} == {50 + turn}
            mirror.assert_tiled()


async def test_one_partition_goes_back_and_the_others_go_on(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name)
    async with mirroring(kafka.bootstrap, name, group=name) as mirror:
        await mirror.until(ends)
        await mirror.consumer.seek_back({TP(name, 1): 3, TP("never assigned", 0): 5})
        await eventually(lambda: [s.start for s in mirror.taken[TP(name, 1)]][-1:] == [3])
        assert [len(mirror.taken[TP(name, part)]) for part in (0, 2)] == [1, 1]


async def test_a_pause_loses_nothing(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name, 30)
    async with mirroring(kafka.bootstrap, name, group=name) as mirror:
        await mirror.until(ends)
        for turn in range(10):
            sending = asyncio.ensure_future(_send(kafka.bootstrap, name, 300, 3))
            mirror.consumer.pause_partitions(set(ends))
            await sending
            mirror.consumer.resume_partitions(set(ends))
            await mirror.until({tp: end + 100 * (turn + 1) for tp, end in ends.items()})
        mirror.assert_tiled()
        assert len(mirror.keys(name)) == 3030


async def test_an_agent_that_waits_holds_reading_up_and_loses_nothing(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name, 3000)
    async with mirroring(kafka.bootstrap, name, group=name, stream_buffer_maxsize=1) as mirror:
        mirror.flowing.clear()
        for _ in range(20):
            await _send(kafka.bootstrap, name, 30, 3)
        mirror.flowing.set()
        await mirror.until({tp: end + 200 for tp, end in ends.items()})
        mirror.assert_tiled()


# -- commits -------------------------------------------------------------------------------------


async def test_a_commit_of_another_generation_or_partition_is_not_made(
    any_kafka: ApacheKafka | EmbeddedKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(any_kafka.bootstrap, name)
    async with mirroring(any_kafka.bootstrap, name, group=name) as mirror:
        await mirror.until(ends)
        now = mirror.consumer.generation
        assert not await mirror.consumer.commit_once({TP(name, 0): 5}, now - 1)
        assert not await mirror.consumer.commit_once({TP(name, 0): 5}, now + 1)
        assert not await mirror.consumer.commit_once({TP(name, 0): 5}, -1)
        assert not await mirror.consumer.commit_once({TP(name, 0): 5, TP(name, 9): 5}, now)
        assert await mirror.consumer.committed(list(ends)) == {}


async def test_no_commit_is_made_while_the_group_is_about_to_join_again(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name)
    async with mirroring(kafka.bootstrap, name, group=name) as mirror:
        await mirror.until(ends)

        async def rejoin_and_commit() -> bool:
            thread = mirror.consumer._thread  # noqa: SLF001 - the thread's own loop is where it can be timed
            assert thread.group is not None
            thread._ensure_consumer()._coordinator.request_rejoin()  # noqa: SLF001
            return await thread.group.commit_once({TP(name, 0): 5}, thread.group.generation)

        assert not await mirror.consumer._thread.inside(rejoin_and_commit())  # noqa: SLF001
        assert (await _committed(kafka.bootstrap, name, TP(name, 0))) == {TP(name, 0): None}


async def test_a_commit_is_one_attempt(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    name, attempts = fresh_topic_name, []
    ends = await _filled(kafka.bootstrap, name)
    async with mirroring(kafka.bootstrap, name, group=name) as mirror:
        await mirror.until(ends)
        coordinator = mirror.consumer._thread._ensure_consumer()._coordinator  # noqa: SLF001

        async def fail(request: Any) -> None:  # noqa: ANN401 - aiokafka has no types
            attempts.append(request)
            raise ConnectionError

        send, coordinator._send_req = coordinator._send_req, fail  # noqa: SLF001
        assert not await mirror.consumer.commit_once({TP(name, 0): 5}, mirror.consumer.generation)
        coordinator._send_req = send  # noqa: SLF001
        assert len(attempts) == 1
        assert await mirror.consumer.commit_once({TP(name, 0): 6}, mirror.consumer.generation)


async def test_members_that_come_and_go_share_the_partitions_and_stale_commits_change_nothing(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    name = fresh_topic_name
    ends = await _filled(kafka.bootstrap, name, partitions=4)
    first, second = (make_mirror(kafka.bootstrap, [name], group=name) for _ in range(2))
    async with running(first):
        await first.until(ends)
        alone = first.consumer.generation
        assert await first.consumer.commit_once(dict.fromkeys(ends, 100), alone)
        first.taken.clear()
        async with running(second):
            await eventually(lambda: len(first.consumer.assignment()) == len(second.consumer.assignment()) == 2)
            assert not await first.consumer.commit_once(dict.fromkeys(first.consumer.assignment(), 10), alone)
            await _both_until(first, second, ends)
            assert all(slabs[0].start == 100 for mirror in (first, second) for slabs in mirror.taken.values())
            assert not first.taken.keys() & second.taken.keys()
            generations = {slab.generation for slabs in second.taken.values() for slab in slabs}
            assert generations == {second.consumer.generation}
        first.taken.clear()
        await first.until(ends)
        assert set(first.ends()) == set(ends)
        first.assert_tiled()
    assert await _committed(kafka.bootstrap, name, *ends) == dict.fromkeys(ends, 100)


async def _both_until(first: Mirror, second: Mirror, ends: Mapping[TP, int]) -> None:
    await eventually(lambda: {**first.ends(), **second.ends()} == dict(ends))


# -- what is told --------------------------------------------------------------------------------


async def test_marks_tell_position_end_and_generation(
    any_kafka: ApacheKafka | EmbeddedKafka, fresh_topic_name: str
) -> None:
    ends = await _filled(any_kafka.bootstrap, fresh_topic_name)
    async with mirroring(any_kafka.bootstrap, fresh_topic_name, group=fresh_topic_name) as mirror:
        await mirror.until(ends)
        now = mirror.consumer.generation
        assert await mirror.consumer.marks() == {tp: (end, end, now) for tp, end in ends.items()}
    assert await mirror.consumer.marks() == {}


async def test_faust_commits_nothing_by_itself(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    ends = await _filled(kafka.bootstrap, fresh_topic_name)
    settings = {"broker_commit_interval": 0.05, "broker_commit_every": 1}
    async with mirroring(kafka.bootstrap, fresh_topic_name, group=fresh_topic_name, **settings) as mirror:
        await mirror.until(ends)
        assert not mirror.consumer.unacked
        assert not await mirror.consumer.commit()
        assert not await mirror.consumer.force_commit()
    assert set((await _committed(kafka.bootstrap, fresh_topic_name, *ends)).values()) == {None}
