"""Writes to Redis are bounded in the time of whoever writes, whatever changes how fast."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.wire.orders import Orders
from hotshard.core.wire.route import HotEntry, HotKind, TopicState
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.job.pacing import ALL_AT_ONCE, ALL_PER_BEAT, TOPIC_AT_ONCE, TOPIC_PER_BEAT, Budget, Pacing, is_news
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


def state(version: int, *keys: str, topic: str = "t", share: float = 0.5) -> TopicState:
    return TopicState(
        topic=topic, epoch=1, version=version, at_ms=0, hot=tuple(hot(key, topic, share) for key in keys)
    )  # fmt: skip


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
    for number in range(60):
        world.keeper.keep(state(1, topic=f"topic-{number}"))
    for _ in range(40):
        await world.passes(0.5)
        world.door.store.wipe()
    assert most_within(world.door.times_s(), 20.0) <= ALL_AT_ONCE + ALL_PER_BEAT * 20
    await world.passes(5)
    assert all(world.door.store.meta().get(f"version:topic-{number}".encode()) == b"1" for number in range(60))


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
    ("other", "new"),
    [
        (state(2, "a", "b", share=0.9), False),
        (state(2, "b", "a"), False),
        (state(2, "a"), True),
        (state(2, "a", "b", "c"), True),
        (TopicState(topic="t", epoch=2, version=1, at_ms=0, hot=state(1, "a", "b").hot), True),
        (TopicState(topic="t", epoch=1, version=2, at_ms=0, hot=state(1, "a", "b").hot, routes=(route(),)), True),
        (TopicState(topic="t", epoch=1, version=2, at_ms=0, hot=state(1, "a", "b").hot, mode="act"), True),
        (
            TopicState(
                topic="t",
                epoch=1,
                version=2,
                at_ms=0,
                hot=state(1, "a", "b").hot,
                orders=Orders(done=()),
            ),
            False,
        ),
    ],
)
def test_only_figures_are_no_news(other: TopicState, new: bool) -> None:  # noqa: FBT001 - a case
    assert is_news(state(1, "a", "b"), other) is new


def test_whatever_comes_first_is_news() -> None:
    assert is_news(None, state(1))


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
        assert pacing.wait_s(f"topic-{number}", 0.0, is_news=True) == 0
        pacing.published(f"topic-{number}", 0.0)
    assert pacing.wait_s("another", 0.0, is_news=True) == pytest.approx(1 / ALL_PER_BEAT)
    assert pacing.wait_s("another", 0.0, is_news=False) == pytest.approx(ALL_AT_ONCE / 2 / ALL_PER_BEAT)


@pytest.fixture
def world() -> World:
    return World()
