"""Whatever befalls the workers that decide, every record is told once, no event twice, and Redis holds what stands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from hotshard.doors.clock import ManualClock
from hotshard.errors import HotshardError
from tests.support.deciding import TOPIC, key
from tests.support.job import PANES, Deciders, Producing, memory_kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

CALM = {key(0, f"t{number}"): 10 for number in range(12)}
LOADS: tuple[dict[bytes, int], ...] = (CALM, CALM | {key(1): 200}, CALM | {key(2): 300}, {})
OTHER = "another-topic"


class World:
    """Two workers on one Kafka; a dead one is followed by a new one."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.kafka = memory_kafka(self.clock)
        self.producing = [Producing(self.kafka, self.clock, name) for name in (TOPIC, OTHER)]
        self.workers = [self._worker(), self._worker()]

    def _worker(self) -> Deciders:
        return Deciders(self.kafka, self.clock, topics=(TOPIC, OTHER))

    async def second(self, number: int) -> None:
        self.clock.advance(1)
        for one in self.producing:
            await one.second(LOADS[number % len(LOADS)])

    async def round(self, number: int, seconds: float = 0.3) -> None:
        self.clock.advance(seconds)
        await self.workers[number % 2].round()

    async def give(self, number: int, *partitions: int) -> None:
        """The group gives these to one worker, which may not be able to take them."""
        try:
            await self.workers[number % 2].assigned(*partitions)
        except HotshardError:
            await self.workers[number % 2].revoked()

    async def end(self) -> Deciders:
        cluster = self.kafka.cluster
        cluster.down, cluster.lose_answers, cluster.lose_requests = False, 0, 0
        last = self._worker()
        await last.assigned()
        for _ in range(16):
            await self.second(3)
            await last.round()
        await last.keeper._write()  # noqa: SLF001
        return last


Step = tuple["Callable[[World, int], Coroutine[Any, Any, None]]", int]


def _second(world: World, number: int) -> Coroutine[Any, Any, None]:
    return world.second(number)


def _round(world: World, number: int) -> Coroutine[Any, Any, None]:
    return world.round(number)


async def _second_and_rounds(world: World, number: int) -> None:
    await world.second(number)
    for each in (0, 1):
        await world.round(each, 0)


async def _all_to_one(world: World, number: int) -> None:
    await world.workers[(number + 1) % 2].revoked()
    await world.give(number, 0, 1)


async def _one_each(world: World, number: int) -> None:
    for worker in world.workers:
        await worker.revoked()
    await world.give(0, number % 2)
    await world.give(1, (number + 1) % 2)


def _stolen(world: World, number: int) -> Coroutine[Any, Any, None]:
    """One worker does not know (yet) that it has lost everything."""
    return world.give(number, 0, 1)


async def _killed(world: World, number: int) -> None:
    world.workers[number % 2] = world._worker()  # noqa: SLF001
    await world.give(number, 0, 1)


async def _an_answer_is_lost(world: World, number: int) -> None:
    world.kafka.cluster.lose_answers = 1
    await world.round(number)
    world.kafka.cluster.lose_answers = 0


async def _a_request_is_lost(world: World, number: int) -> None:
    world.kafka.cluster.lose_requests = 1
    await world.round(number)
    world.kafka.cluster.lose_requests = 0


async def _an_outage(world: World, number: int) -> None:
    world.kafka.cluster.down = True
    for worker in world.workers:
        world.clock.advance(0.6)
        await worker.deciding.decide_once()
    if number % 2:
        await world.give(number, 0, 1)
    world.kafka.cluster.down = False


async def _a_message_is_missed(world: World, number: int) -> None:
    positions = world.workers[number % 2].positions
    for partition in positions:
        if positions[partition] < len(world.kafka.cluster.partition(PANES, partition).slots):
            positions[partition] += 1


async def _a_seek_fails(world: World, number: int) -> None:
    world.workers[number % 2].fail_seeks = 1


USUAL = (_second, _second_and_rounds, _second_and_rounds, _round)
TROUBLE = (
    _all_to_one,
    _one_each,
    _stolen,
    _killed,
    _an_answer_is_lost,
    _a_request_is_lost,
    _an_outage,
    _a_message_is_missed,
    _a_seek_fails,
)
steps = st.lists(st.tuples(st.sampled_from(USUAL * 3 + TROUBLE), st.integers(0, 11)), max_size=40)


async def lived(given_steps: list[Step]) -> tuple[World, Deciders]:
    world = World()
    await world.give(0, 0, 1)
    for step, number in given_steps:
        await step(world, number)
    return world, await world.end()


@given(given_steps=steps)
def test_every_record_is_told_once_and_no_event_twice_whatever_befalls_the_workers(given_steps: list[Step]) -> None:
    world, last = asyncio.run(lived(given_steps))
    reports, events = last.reports(), last.events()
    for one, topic in zip(world.producing, (TOPIC, OTHER), strict=True):
        assert sum(report.records for report in reports if report.topic == topic) == one.records
    named = [(report.topic, report.start_ms, report.revision) for report in reports]
    assert len(named) == len(set(named))
    ids = [event.id for event in events]
    assert len(ids) == len(set(ids))
    newest = {head.topic: head.state_version for head in last.heads()}
    meta = last.registry.store.meta()
    assert {topic: int(meta[f"version:{topic}".encode()]) for topic in newest} == newest
