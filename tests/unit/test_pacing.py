"""Writes to Redis are bounded in the time of whoever writes, whatever changes how fast."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.pacing import (
    ALL_AT_ONCE,
    ALL_PER_BEAT,
    PLANS_AT_ONCE,
    PLANS_PER_BEAT,
    TOPIC_AT_ONCE,
    TOPIC_PER_BEAT,
    WHOLE_AT_ONCE,
    WHOLE_PER_BEAT,
    Budget,
    Haste,
    Pacing,
    haste_of,
)
from hotshard.core.wire.orders import Orders
from hotshard.core.wire.route import HotEntry, HotKind, Route, TopicState
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.job.registry import BEATS_AT_ONCE, RegistryKeeper
from hotshard.job.says import Says
from tests.support.eventually import eventually
from tests.support.registry import route

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hotshard.doors.redis.contract import Beat


def hot(key: str, topic: str, share: float = 0.5) -> HotEntry:
    return HotEntry(
        topic=topic, kind=HotKind.KEY, key=key, since_ms=0, share=share, lower=1, upper=2, load_per_s=1.0
    )  # fmt: skip


def state(
    version: int, *keys: str, topic: str = "t", share: float = 0.5, routes: tuple[Route, ...] = ()
) -> TopicState:  # fmt: skip
    heat = tuple(hot(key, topic, share) for key in keys)
    return TopicState(topic=topic, epoch=1, version=version, at_ms=0, hot=heat, routes=routes)


def planned(version: int, *keys: str, topic: str = "t") -> TopicState:
    """A state with a route that was changed last at ``version``."""
    return state(version, *keys, topic=topic, routes=(route(topic=topic, offset=version),))


class Counting(MemoryRegistry):
    """A registry that notes what is written, and when."""

    def __init__(self, world: World) -> None:
        super().__init__(world.clock)
        self._world = world
        self.published: list[tuple[float, TopicState]] = []
        self.beaten: list[tuple[float, int]] = []

    async def publish(self, state: TopicState) -> bool:
        self.published.append((self._world.now_s, state))
        return await super().publish(state)

    async def beats(self, beats: Sequence[Beat]) -> tuple[bool, ...]:
        self.beaten.append((self._world.now_s, len(beats)))
        return await super().beats(beats)

    def times_s(self, topic: str | None = None) -> list[float]:
        return [at_s for at_s, each in self.published if topic in (None, each.topic)]


@dataclass
class World:
    """A keeper that turns whenever it would, in a time that a test moves."""

    now_s: float = 0.0
    version: int = 0
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.door = Counting(self)
        self.keeper = RegistryKeeper(self.door, Says(self.clock), monotonic_s=lambda: self.now_s)

    def taken(self, *states: TopicState) -> None:
        """Seats are taken, of whose topics Redis holds what the state says."""
        for each in states:
            self.door.store.publish(each)
            self.keeper.keep(each)

    async def passes(self, seconds: float, *changed: Iterable[TopicState]) -> None:
        """Let time pass in steps of 10 ms; in each the next of every ``changed`` is to be kept."""
        changing = [iter(each) for each in changed]
        for _ in range(round(seconds * 100)):
            for each in changing:
                self.keeper.keep(next(each))
            await self.keeper._write_and_beat()  # noqa: SLF001 - a round of the loop, without its waiting
            self.now_s += 0.01


def flood(topic: str) -> Iterable[TopicState]:
    """Every 10 ms another key is hot."""
    version = 0
    while True:
        version += 1
        yield state(version, f"key-{version}", topic=topic)


def figures(topic: str = "t") -> Iterable[TopicState]:
    """Every 10 ms the same key has another share."""
    version = 0
    while True:
        version += 1
        yield state(version, "key", topic=topic, share=version / 1e6)


def most_within(times_s: Sequence[float], span_s: float) -> int:
    """The most that ever lie within a span."""
    return max(
        (sum(begin_s <= at_s < begin_s + span_s - 1e-6 for at_s in times_s) for begin_s in times_s), default=0
    )  # fmt: skip


@pytest.mark.parametrize("topics", [1, 7, 60])
async def test_a_flood_of_changes_over_many_topics_is_written_as_often_as_is_said_and_no_more(topics: int) -> None:
    world = World()
    names = [f"topic-{number}" for number in range(topics)]
    for name in names:
        world.taken(state(0, topic=name))
    await world.passes(20, *(flood(name) for name in names))
    door = world.door
    for span_s in (1.0, 5.0, 20.0):
        assert most_within(door.times_s(), span_s) <= ALL_AT_ONCE + ALL_PER_BEAT * span_s
        assert most_within([at_s for at_s, _ in door.beaten], span_s) <= span_s * -(-topics // BEATS_AT_ONCE)
        for name in names[:3]:
            assert most_within(door.times_s(name), span_s) <= TOPIC_AT_ONCE + TOPIC_PER_BEAT * span_s
    # It is no bound that starves: all that may be written is, and no topic waits much longer than another.
    assert len(door.published) >= min(ALL_AT_ONCE + 19 * ALL_PER_BEAT, topics * (TOPIC_AT_ONCE + 19 * TOPIC_PER_BEAT))
    waits_s = [later - one for name in names for one, later in pairwise([0.0, *door.times_s(name), world.now_s])]
    assert max(waits_s) <= max(1 / TOPIC_PER_BEAT, topics / ALL_PER_BEAT) + 0.5


async def test_new_figures_of_what_is_hot_go_out_once_a_beat(world: World) -> None:
    await world.passes(30, figures())
    assert 29 <= len(world.door.published) <= 31


async def test_figures_of_many_topics_leave_room_for_what_is_new(world: World) -> None:
    """Sixty topics with ever new figures, and one key that turns hot now and then: it never waits."""
    names = [f"topic-{number}" for number in range(60)]
    await world.passes(10, *(figures(name) for name in names))
    for version in range(1, 11):
        world.keeper.keep(state(version, f"key-{version}", topic="quiet"))
        await world.passes(1, *(figures_from(name, version * 10_000) for name in names))
    waits_s = [at_s % 1 for at_s in world.door.times_s("quiet")]
    assert len(waits_s) == 10
    assert all(min(wait_s, 1 - wait_s) < 0.011 for wait_s in waits_s)


def figures_from(topic: str, version: int) -> Iterable[TopicState]:
    while True:
        version += 1
        yield state(version, "key", topic=topic, share=version / 1e6)


async def test_what_turned_hot_goes_out_at_once_although_figures_have_just_gone_out(world: World) -> None:
    world.keeper.keep(state(1, "a"))
    await world.passes(0.01)
    world.keeper.keep(state(2, "a", share=0.6))
    await world.passes(0.5)
    assert [each.version for _, each in world.door.published] == [1]
    world.keeper.keep(state(3, "a", "b", share=0.6))
    await world.passes(0.01)
    assert [each.version for _, each in world.door.published] == [1, 3]


async def test_a_topic_whose_newest_figures_still_wait_is_beaten_all_the_same(world: World) -> None:
    world.keeper.keep(state(1, "a"))
    await world.passes(0.5)
    for version in range(2, 6):
        await world.passes(0.7)
        world.keeper.keep(state(version, "a", share=version / 10))
        world.clock.advance(1)
        await world.passes(0.31)
    assert world.door.store.meta()[b"time:t"] == str(world.clock.now_ms()).encode()
    assert not world.keeper.behind


async def test_hundreds_of_topics_are_beaten_in_a_few_calls_a_second(world: World) -> None:
    for number in range(250):
        world.keeper.keep(state(1, topic=f"topic-{number}"))
    await world.passes(20)
    world.door.beaten.clear()
    await world.passes(10)
    assert [count for _, count in world.door.beaten] == [100, 100, 50] * 10


async def test_a_redis_that_is_emptied_over_and_over_is_written_no_more_often(world: World) -> None:
    for number in range(200):
        world.keeper.keep(state(1, topic=f"topic-{number}"))
    for _ in range(40):
        await world.passes(0.5)
        world.door.store.wipe()
    assert most_within(world.door.times_s(), 20.0) <= WHOLE_AT_ONCE + WHOLE_PER_BEAT * 20
    await world.passes(6)
    assert all(world.door.store.meta().get(f"version:topic-{number}".encode()) == b"1" for number in range(200))


async def test_seats_whose_topics_redis_holds_already_are_taken_without_a_write_and_beaten_at_once(
    world: World,
) -> None:
    names = [f"topic-{number:03}" for number in range(400)]
    world.taken(*(planned(5, topic=name) for name in names))
    world.clock.advance(60)
    await world.passes(0.01)
    assert world.door.published == []
    assert not world.keeper.behind
    assert world.door.beaten == [(0.0, BEATS_AT_ONCE)] * 4
    now = str(world.clock.now_ms()).encode()
    assert all(world.door.store.meta()[f"time:{name}".encode()] == now for name in names)


async def test_a_seat_taken_between_two_beats_is_asked_for_once_and_at_once(world: World) -> None:
    await world.passes(0.5)
    world.taken(*(planned(5, topic=f"topic-{number}") for number in range(150)))
    await world.passes(0.4)
    assert [count for at_s, count in world.door.beaten if at_s > 0] == [100, 50]
    assert world.door.published == []


async def test_a_plan_changed_just_after_a_seat_was_taken_goes_out_at_once(world: World) -> None:
    for name in (names := [f"topic-{number}" for number in range(400)]):
        world.taken(planned(5, topic=name))
        world.keeper.release(name)
        world.keeper.keep(planned(5, topic=name))
    world.keeper.keep(planned(6, topic=names[-1]))
    await world.passes(0.01)
    assert world.door.published == [(0.0, planned(6, topic=names[-1]))]


async def test_no_flood_of_anything_else_holds_back_a_plan(world: World) -> None:
    """Hundreds of topics that Redis does not hold, and sixty whose hot keys change all the time: the plan's too."""
    for number in range(400):
        world.keeper.keep(state(1, topic=f"new-{number}"))
    names = [*(f"topic-{number}" for number in range(60)), "z"]
    await world.passes(3, *(flood(name) for name in names))
    for version in range(1000, 1005):
        world.keeper.keep(planned(version, topic="z"))
        kept_s = world.now_s
        await world.passes(0.01)
        assert (kept_s, planned(version, topic="z")) in world.door.published


async def test_a_topic_whose_hot_keys_used_up_what_it_may_write_has_its_plan_written_at_once(world: World) -> None:
    world.taken(state(0))
    await world.passes(3, flood("t"))
    assert world.keeper.behind
    world.keeper.keep(planned(1000))
    await world.passes(0.01)
    assert world.door.published[-1][1] == planned(1000)


async def test_what_redis_does_not_hold_is_asked_for_once_although_it_waits_to_be_written(world: World) -> None:
    await world.passes(0.5)
    for number in range(200):
        world.keeper.keep(state(1, topic=f"topic-{number}"))
    await world.passes(0.4)
    assert world.keeper.behind
    assert [count for at_s, count in world.door.beaten if at_s > 0] == [100, 100]


async def test_two_hundred_plans_taken_back_are_written_at_once_and_more_of_them_as_is_said(world: World) -> None:
    names = [f"topic-{number:03}" for number in range(400)]
    world.taken(*(planned(5, topic=name) for name in names))
    await world.passes(0.01)
    for name in names:
        world.keeper.keep(state(6, topic=name))
    await world.passes(3)
    times_s = world.door.times_s()
    assert len(times_s) == 400
    assert times_s.count(times_s[0]) == PLANS_AT_ONCE == 200
    assert most_within(times_s, 1.0) <= PLANS_AT_ONCE + PLANS_PER_BEAT
    assert times_s[-1] - times_s[0] == pytest.approx(200 / PLANS_PER_BEAT, abs=0.05)


async def test_plans_go_first_then_what_is_hot_then_what_redis_does_not_hold_then_figures(world: World) -> None:
    world.taken(*(state(1, "a", topic=name) for name in "abc"))
    await world.passes(1.5)
    world.keeper.keep(state(2, "a", topic="a", share=0.6))
    world.keeper.keep(state(1, topic="aa"))
    world.keeper.keep(state(2, "a", "b", topic="b"))
    world.keeper.keep(planned(2, "a", topic="c"))
    await world.passes(0.01)
    assert [each.topic for _, each in world.door.published] == ["c", "b", "aa", "a"]


async def test_what_redis_did_not_have_written_is_not_counted_against_other_topics(world: World) -> None:
    """Another detector is ahead in as many topics as may be written on end."""
    names = [f"topic-{number}" for number in range(ALL_AT_ONCE)]
    world.taken(*(state(1, topic=name) for name in names), state(1, topic="z"))
    await world.passes(0.5)
    for name in names:
        world.door.store.publish(state(9, topic=name))
        world.keeper.keep(state(2, "a", topic=name))
    await world.passes(0.01)
    world.keeper.keep(state(2, "a", topic="z"))
    await world.passes(0.01)
    assert world.door.store.meta()[b"version:z"] == b"2"


async def test_a_topic_that_was_lost_is_restored_as_quickly_although_its_figures_change_meanwhile(
    world: World,
) -> None:
    """As many topics are lost as use up what may be written on end: the last of them wait, and have new figures."""
    names = [f"topic-{number:03}" for number in range(WHOLE_AT_ONCE + 1)]
    world.taken(*(state(1, "a", topic=name) for name in names))
    await world.passes(1.0)
    world.door.store.wipe()
    await world.passes(0.01)
    assert len(world.door.published) == WHOLE_AT_ONCE
    (last,) = set(names) - {each.topic for _, each in world.door.published}
    # Figures were published less than a beat ago, so that as figures alone this would wait for the next beat.
    world.keeper.keep(state(2, "a", topic=last, share=0.6))
    world.door.published.clear()
    await world.passes(2 / WHOLE_PER_BEAT)
    assert [each.topic for _, each in world.door.published] == [last]


async def test_the_loop_sleeps_until_what_waits_may_be_written() -> None:
    """In real time: figures kept just after a publish are written without anything waking the loop again."""
    door = MemoryRegistry()
    keeper = RegistryKeeper(door, Says(ManualClock()))
    keeper.keep(state(1, "a"))
    running = asyncio.create_task(keeper.run())
    try:
        await eventually(lambda: not keeper.behind)
        keeper.keep(state(2, "a", share=0.6))
        await eventually(lambda: not keeper.behind)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert door.store.meta()[b"version:t"] == b"2"


@pytest.mark.parametrize(
    ("other", "haste"),
    [
        (state(2, "a", "b", share=0.9), Haste.FIGURES),
        (state(2, "b", "a"), Haste.FIGURES),
        (state(2, "a"), Haste.HOT),
        (planned(2, "a"), Haste.PLAN),
        (state(2, "a", "b", "c"), Haste.HOT),
        (TopicState(topic="t", epoch=2, version=1, at_ms=0, hot=state(1, "a", "b").hot), Haste.WHOLE),
        (TopicState(topic="t", epoch=1, version=2, at_ms=0, hot=state(1, "a", "b").hot, routes=(route(),)), Haste.PLAN),
        (TopicState(topic="t", epoch=1, version=2, at_ms=0, hot=state(1, "a", "b").hot, mode="act"), Haste.PLAN),
        (
            TopicState(
                topic="t",
                epoch=1,
                version=2,
                at_ms=0,
                hot=state(1, "a", "b").hot,
                orders=Orders(done=()),
            ),
            Haste.FIGURES,
        ),
    ],
)
def test_the_haste_of_a_state_is_that_of_the_most_urgent_it_says(other: TopicState, haste: Haste) -> None:
    assert haste_of(state(1, "a", "b"), other) is haste


@given(st.lists(st.floats(0, 3), max_size=60))
def test_a_budget_lets_no_more_through_than_it_says_in_any_span(steps: list[float]) -> None:
    budget, now_s, spent_s = Budget(5, 2.0), 0.0, list[float]()
    for step in steps:
        now_s += step
        if budget.wait_s(now_s) <= 0:
            budget.spend(now_s)
            spent_s.append(now_s)
        else:
            assert budget.wait_s(now_s + budget.wait_s(now_s)) < 1e-6
    for first, begin_s in enumerate(spent_s):
        for last in range(first, len(spent_s)):
            assert last - first + 1 <= 5 + 2.0 * (spent_s[last] - begin_s) + 1e-6


def test_figures_wait_for_half_of_what_may_be_written() -> None:
    pacing = Pacing(1.0)
    for number in range(ALL_AT_ONCE):
        assert pacing.wait_s(f"topic-{number}", 0.0, Haste.HOT) == 0
        pacing.published(f"topic-{number}", 0.0, Haste.HOT)
    assert pacing.wait_s("another", 0.0, Haste.HOT) == pytest.approx(1 / ALL_PER_BEAT)
    assert pacing.wait_s("another", 0.0, Haste.FIGURES) == pytest.approx(ALL_AT_ONCE / 2 / ALL_PER_BEAT)


def test_what_changed_nothing_in_redis_is_given_back_to_all_topics_but_not_to_its_own() -> None:
    pacing = Pacing(1.0)
    for number in range(ALL_AT_ONCE):
        pacing.published(f"topic-{number // TOPIC_AT_ONCE}", 0.0, Haste.HOT)
    pacing.not_written(Haste.HOT)
    assert pacing.wait_s("another", 0.0, Haste.HOT) == 0
    assert pacing.wait_s("topic-0", 0.0, Haste.HOT) == pytest.approx(1 / TOPIC_PER_BEAT)


def test_a_budget_given_back_is_never_more_than_at_first() -> None:
    budget = Budget(5, 2.0)
    budget.spend(0.0)
    for _ in range(3):
        budget.give_back()
    for _ in range(5):
        assert budget.wait_s(0.0) == 0
        budget.spend(0.0)
    assert budget.wait_s(0.0) == pytest.approx(0.5)


@pytest.fixture
def world() -> World:
    return World()
