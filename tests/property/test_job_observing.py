"""Whatever befalls an observer, what it leaves on the panes topic counts every record exactly once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.panes.ledger import Confirmed, Ledger
from hotshard.core.wire import pane as wire
from hotshard.errors import UnavailableError
from tests.support.deciding import SOURCE
from tests.support.job import PANES, Watching, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from hotshard.core.slab import Slab

PLACES = (TP(SOURCE, 0), TP(SOURCE, 1))


class World:
    """A mirror that fetches ahead, an agent that takes one slab at a time, and all the trouble there may be."""

    def __init__(self) -> None:
        self.watching = Watching(0, 1)
        self.mirror = self.watching.mirror
        self.written = dict.fromkeys(PLACES, 0)
        self.fetched = dict.fromkeys(PLACES, 0)
        #: Slabs on their way to the agent, with the seeks of their partition when they were fetched.
        self.queue: list[tuple[Slab, int]] = []
        self.taking: asyncio.Task[None] | None = None
        self.round: asyncio.Task[None] | None = None
        self.telling: asyncio.Task[None] | None = None

    # -- what goes on by itself ------------------------------------------------------------------

    async def begin(self) -> None:
        self.fetched.update(await self.watching.assigned())

    def fetch(self, place: TP, count: int) -> None:
        self._heed_seeks()
        self.written[place] += count
        start = self.fetched[place]
        if start < self.written[place]:
            slab = self.watching.slab(start, self.written[place] - start, place=place)
            self.queue.append((slab, self.mirror.seeks.get(place, 0)))
            self.fetched[place] = self.written[place]

    def _heed_seeks(self) -> None:
        for step, offsets in self.mirror.steps:
            if step == "seek":
                self.fetched.update(offsets)
                offsets.clear()

    async def deliver(self) -> None:
        """Give the agent its next slab, if it is done with the one before."""
        if self.taking is not None and not self.taking.done():
            return
        if self.queue:
            slab, seeks = self.queue.pop(0)
            place = TP(slab.topic, slab.partition)

            def is_current() -> bool:
                return slab.generation == self.mirror.generation and self.mirror.seeks.get(place, 0) == seeks

            self.taking = asyncio.create_task(self.watching.observer.take_safely(slab, is_current))
        await turns()

    async def cut(self, seconds: float) -> None:
        self.watching.clock.advance(seconds)
        if self.round is None or self.round.done():
            self.round = asyncio.create_task(self.watching.observer.cut_once())
        await turns(20)

    async def tell(self) -> None:
        if self.telling is None or self.telling.done():
            self.telling = asyncio.create_task(self._tell())
        await turns()

    async def _tell(self) -> None:
        with contextlib.suppress(UnavailableError):
            await self.watching.observer.tell_progress()

    # -- trouble ---------------------------------------------------------------------------------

    async def rebalance(self) -> None:
        self.watching.observer.revoked()
        await turns()
        self.fetched.update(await self.watching.assigned(generation=self.mirror.generation + 1))

    async def heal(self) -> None:
        self.watching.publisher.error = None
        self.mirror.refuse = self.mirror.lose_answers = self.mirror.fail = 0
        for gate in (self.mirror.at_commit, self.mirror.at_seek, self.watching.publisher.gate):
            gate.open()
        await turns(20)

    async def end(self) -> None:
        """Let everything run until all is committed, and say so."""
        await self.heal()
        for number in range(60):
            for place in PLACES:
                self.fetch(place, 1 if number == 0 else 0)
            await self.deliver()
            await self.cut(0.4)
            if all(self.mirror.committed_at.get(place) == self.written[place] for place in PLACES):
                break
        await self.watching.observer.tell_progress()

    # -- the proof -------------------------------------------------------------------------------

    def messages(self) -> list[wire.PaneMessage]:
        logs = [log for each in self.watching.kafka.cluster.partitions(PANES) for log in each.committed(0, 1 << 30)]
        return [wire.decode(log.value or b"") for log in logs]

    def confirmed(self) -> list[Confirmed]:
        ledger = Ledger()
        confirmed: list[Confirmed] = []
        for at, message in enumerate(self.messages()):
            hear: Callable[..., tuple[Confirmed, ...]] = (
                ledger.pane if isinstance(message, wire.Pane) else ledger.progress
            )
            confirmed += hear(message, at)
        return confirmed


def _deliver(world: World, _: int) -> Coroutine[Any, Any, None]:
    return world.deliver()


async def _fetch(world: World, number: int) -> None:
    world.fetch(PLACES[number % 2], number % 7 * 5)


def _cut(world: World, number: int) -> Coroutine[Any, Any, None]:
    return world.cut((0.05, 0.4, 1.1)[number % 3])


def _tell(world: World, _: int) -> Coroutine[Any, Any, None]:
    return world.tell()


async def _publishing_fails(world: World, _: int) -> None:
    world.watching.publisher.error = UnavailableError("down")


async def _commits_are_refused(world: World, number: int) -> None:
    world.mirror.refuse = 1 + number % 2


async def _answers_are_lost(world: World, _: int) -> None:
    world.mirror.lose_answers = 1


async def _questions_fail(world: World, number: int) -> None:
    world.mirror.fail = 1 + number % 3


async def _everything_takes_long(world: World, number: int) -> None:
    (world.mirror.at_commit, world.mirror.at_seek, world.watching.publisher.gate)[number % 3].close()


def _rebalance(world: World, _: int) -> Coroutine[Any, Any, None]:
    return world.rebalance()


def _heal(world: World, _: int) -> Coroutine[Any, Any, None]:
    return world.heal()


async def _offsets_are_lost(world: World, number: int) -> None:
    """A slab is left out, as after a stale one was dropped."""
    if world.queue:
        world.queue.pop(number % len(world.queue))


USUAL = (_deliver, _fetch, _cut, _deliver, _fetch, _cut, _deliver, _tell)
TROUBLE = (
    _publishing_fails,
    _commits_are_refused,
    _answers_are_lost,
    _questions_fail,
    _everything_takes_long,
    _rebalance,
    _offsets_are_lost,
    _heal,
    _heal,
)
steps = st.lists(st.tuples(st.sampled_from(USUAL + USUAL + TROUBLE), st.integers(0, 50)), max_size=60)


async def lived(given_steps: list[tuple[Callable[[World, int], Coroutine[Any, Any, None]], int]]) -> World:
    world = World()
    await world.begin()
    for step, number in given_steps:
        if step is _rebalance and (world.mirror.refuse or world.mirror.fail):
            continue  # the transport tries such an assignment again, which is not this test's
        if step is _rebalance and world.mirror.at_commit.is_closed:
            continue
        await step(world, number)
    await world.end()
    return world


@given(given_steps=steps)
def test_every_record_is_counted_exactly_once_whatever_befalls_the_observer(
    given_steps: list[tuple[Callable[[World, int], Coroutine[Any, Any, None]], int]],
) -> None:
    world = asyncio.run(lived(given_steps))
    assert {place: world.mirror.committed_at[place] for place in PLACES} == world.written
    confirmed = world.confirmed()
    for place in PLACES:
        panes = sorted((each.pane for each in confirmed if each.pane.partition == place.partition), key=_start)
        assert [pane.start for pane in panes] == [0, *(pane.end for pane in panes)][: len(panes)]
        assert sum(pane.records for pane in panes) == world.written[place]


def _start(pane: wire.Pane) -> int:
    return pane.start
