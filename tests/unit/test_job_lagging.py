"""Reading lag on demand: who is asked, how often, and what is handed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hotshard.core.causes.lag import GroupLag, LagState
from hotshard.doors.clock import ManualClock
from hotshard.doors.kafka.contract import GroupLook, Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.job.lagging import KEPT_S, LagReader
from hotshard.job.says import Says

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.causes.evidence import LagEvidence
    from hotshard.job.decide import Deciding


class Decider:
    """As far as the reader knows one."""

    def __init__(self, topic: str, *groups: str) -> None:
        self.topic = topic
        self.wants_lag = groups
        self.is_wrong = True
        self.heard: list[tuple[LagEvidence, ...]] = []

    def hear_lag(self, lag: Iterable[LagEvidence]) -> None:
        self.heard.append(tuple(lag))

    def last(self) -> tuple[LagEvidence, ...]:
        return self.heard[-1]

    @property
    def states(self) -> list[LagState]:
        return list(GroupLag(self.heard[-1][0]).states.values())


class Held:
    def __init__(self, *deciders: Decider) -> None:
        self.deciders = deciders

    def speaking(self) -> tuple[Decider, ...]:
        return self.deciders


class World:
    def __init__(self, *deciders: Decider) -> None:
        self.kafka, self.clock = MemoryKafka(), ManualClock()
        deciding = cast("Deciding", Held(*deciders))
        self.reader = LagReader(self.kafka.admin(), deciding, clock=self.clock, says=Says(self.clock))

    async def begin(self) -> None:
        await self.kafka.admin().ensure(TopicWanted(name="orders", partitions=2))
        await self.write(0, 10)
        await self.write(1, 10)

    async def write(self, partition: int, count: int) -> None:
        await self.kafka.publisher().publish([Out("orders", b"v", b"k", partition)] * count)

    def commit(self, first: int, second: int) -> None:
        look = GroupLook(committed={0: first, 1: second}, members=1, owners={0: "m", 1: "m"})
        self.kafka.cluster.groups["billing", "orders"] = look


async def test_nothing_is_asked_while_nothing_is_wanted() -> None:
    decider = Decider("orders")
    world = World(decider)
    world.kafka.cluster.down = True
    await world.reader.read_once()
    assert decider.heard == [()]


async def test_a_second_look_tells_what_stands_still() -> None:
    decider = Decider("orders", "billing")
    world = World(decider)
    await world.begin()
    world.commit(3, 5)
    await world.reader.read_once()
    assert decider.states == [LagState.WAITING, LagState.WAITING]
    for _ in range(5):
        world.clock.advance(15)
        await world.reader.read_once()
    world.commit(3, 9)
    await world.reader.read_once()
    assert decider.states == [LagState.STUCK, LagState.MOVING]
    assert decider.last()[0].partitions[0].since_s == 75


async def test_while_nothing_is_wrong_a_minute_passes_between_two_looks_which_find_what_stands_still() -> None:
    decider = Decider("orders", "billing")
    decider.is_wrong = False
    world = World(decider)
    await world.begin()
    world.commit(3, 5)
    for _ in range(4):
        await world.reader.read_once()
        world.clock.advance(15)
    assert len(decider.heard) == 1
    world.commit(3, 9)
    await world.reader.read_once()
    assert len(decider.heard) == 2
    assert decider.states == [LagState.STUCK, LagState.MOVING]
    decider.is_wrong = True
    await world.reader.read_once()
    assert len(decider.heard) == 3


async def test_a_look_is_held_against_one_of_the_last_two_minutes() -> None:
    decider = Decider("orders", "billing")
    world = World(decider)
    await world.begin()
    world.commit(3, 5)
    for _ in range(30):
        await world.reader.read_once()
        world.clock.advance(15)
    assert decider.last()[0].partitions[0].since_s == KEPT_S


async def test_what_is_not_wanted_any_more_is_forgotten() -> None:
    decider = Decider("orders", "billing")
    world = World(decider)
    await world.begin()
    world.commit(3, 5)
    await world.reader.read_once()
    decider.wants_lag = ()
    await world.reader.read_once()
    assert decider.last() == ()
    decider.wants_lag = ("billing",)
    await world.reader.read_once()
    assert decider.last()[0].partitions[0].since_s is None


async def test_an_outage_makes_lag_unknown_and_ends_nothing() -> None:
    decider = Decider("orders", "billing")
    world = World(decider)
    await world.begin()
    world.commit(3, 5)
    await world.reader.read_once()
    world.kafka.cluster.down = True
    await world.reader.read_once()
    assert decider.last() == ()
    world.kafka.cluster.down = False
    await world.reader.read_once()
    assert len(decider.last()) == 1
