"""Keys with sub-units, from the records that workers count to the plan, or to why there is none."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hotshard.core.deciding.book import counted_exactly
from hotshard.core.keys import with_suffix
from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.planning.shards import shard_of
from hotshard.core.slab import Slab
from hotshard.core.topic import Field, Load, Place
from hotshard.core.wire.event import EventType, PlanChange
from hotshard.core.wire.route import HotKind, Route, RouteState
from tests.support.deciding import NOW_MS, PARTITIONS, PLACE, QUICK, SOURCE, Hearing, Traffic, key, setup, spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import Progress

HOT = key(1)
CALM = [key(number, f"t{number % 20}") for number in range(300)]


def spread(number: int) -> bytes:
    """A hundred recipients alike."""
    return b"r%d" % (number % 100)


def skewed(number: int) -> bytes:
    """Nine in ten records go to one recipient."""
    return b"all" if number % 10 else spread(number)


class World:
    """A topic, a worker that counts it and hears a second late what is to be counted exactly, and a decider."""

    def __init__(self, of: TopicSpec) -> None:
        self.hearing = Hearing(setup(of))
        self.now_ms = NOW_MS
        self._draw = random.Random(1)  # noqa: S311 - nothing is secret here
        self._aliases: dict[bytes, bytes] = {}
        self._panes = [
            PartitionPanes(
                spec=of, source=SOURCE, partition=each, worker="w1", start=0, generation=1, now_ms=NOW_MS,
                window_ms=2000,
            )
            for each in range(PARTITIONS)
        ]  # fmt: skip

    def seconds(self, count: int, hot: int = 0, of: Callable[[int], bytes | None] = spread, size: int = 10) -> None:
        """Traffic of 600 calm records a second and ``hot`` ones, which follow what stands in the registry."""
        for _ in range(count):
            self.now_ms += 1000
            there: list[list[tuple[bytes, bytes | None]]] = [[] for _ in range(PARTITIONS)]
            for name in CALM * 2:
                there[PLACE(name)].append((name, spread(self._draw.randrange(100))))
            for number in range(hot):
                discriminator = of(number)
                name = self._shard(discriminator)
                there[PLACE(name)].append((name, discriminator))
            self._count(there, size)
            self.hearing.tick(self.now_ms)
            self._hear()

    def _shard(self, discriminator: bytes | None) -> bytes:
        route = self.hearing.told.routes.get(HOT)
        if route is None or route.state is not RouteState.ACTIVE or not route.suffixes:
            return HOT
        return with_suffix(HOT, route.suffixes[shard_of(discriminator or b"", len(route.suffixes))])

    def _count(self, there: list[list[tuple[bytes, bytes | None]]], size: int) -> None:
        for panes, rows in zip(self._panes, there, strict=True):
            self._draw.shuffle(rows)
            end = panes.position + len(rows)
            slab = Slab(
                topic=SOURCE, partition=0, start=panes.position, end=end, generation=1, high_watermark=end,
                keys=[name for name, _ in rows], sizes=[size] * len(rows), timestamps=[self.now_ms - 500] * len(rows),
                discriminators=[discriminator for _, discriminator in rows],
            )  # fmt: skip
            panes.add(slab, self.now_ms - 1, self._aliases)
            panes.seal(self.now_ms)
            while (pane := panes.publishable()) is not None:
                panes.committed(pane.end)
                self.hearing.hear(pane, self.now_ms)
        self.hearing.hear(self._progress(), self.now_ms)

    def _progress(self) -> Progress:
        traffic = Traffic(now_ms=self.now_ms)
        traffic.offsets = {each: panes.position for each, panes in enumerate(self._panes)}
        return traffic.progress()

    def _hear(self) -> None:
        told = self.hearing.told
        hot = () if told.head is None else told.head.hot
        names = [entry.name for entry in hot if entry.kind is HotKind.KEY]
        self._aliases = counted_exactly(told.routes.values(), names, self.now_ms)

    @property
    def route(self) -> Route:
        return self.hearing.told.routes[HOT]

    def told(self) -> list[tuple[EventType, str]]:
        return [
            (event.type, event.data.reason)
            for event in self.hearing.told.events
            if isinstance(event.data, PlanChange) and event.data.key == HOT.decode()
        ]


def world(**changes: Any) -> World:  # noqa: ANN401 - any field of a spec
    return World(spec(**({"discriminator": Field(Place.HEADER, "to")} | changes)))


@pytest.mark.parametrize("load", list(Load))
def test_a_key_whose_discriminator_is_itself_hot_is_never_split(load: Load) -> None:
    here = world(load=load)
    here.seconds(4)
    here.seconds(20, hot=400, of=skewed)
    assert here.told() == [(EventType.PLAN_PROPOSED, "hot_discriminator")]
    assert (here.route.state, here.route.partitions) == (RouteState.PROPOSED, ())
    report = here.hearing.told.reports[-1]
    assert (report.cause, report.reason) == ("hot_discriminator", "skewed_discriminator")
    assert report.numbers["largest_sub"] == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("load", list(Load))
def test_a_key_whose_discriminator_is_spread_is_split_once_that_is_known_and_stays_so(load: Load) -> None:
    here = world(load=load)
    here.seconds(4)
    here.seconds(3, hot=400)
    assert here.hearing.told.routes == {}
    here.seconds(2, hot=400)
    first = here.route
    assert first.state is RouteState.ACTIVE
    here.seconds(20, hot=400)
    assert {kind for kind, _ in here.told()} == {EventType.PLAN_PROPOSED, EventType.PLAN_ACTIVATED}
    assert here.route.partitions[: len(first.partitions)] == first.partitions


def test_a_plan_ends_when_its_discriminator_turns_hot_and_comes_back_when_it_is_spread_again() -> None:
    here = world(policy=replace(QUICK, hold_s=60))
    here.seconds(4)
    here.seconds(10, hot=400)
    assert here.route.state is RouteState.ACTIVE
    here.seconds(15, hot=400, of=skewed)
    assert here.told()[-2:] == [
        (EventType.PLAN_RETIRED, "hot_discriminator"),
        (EventType.PLAN_PROPOSED, "hot_discriminator"),
    ]
    here.seconds(15, hot=400)
    assert here.route.state is RouteState.ACTIVE
    kinds = [kind for kind, _ in here.told()]
    assert kinds.count(EventType.PLAN_RETIRED) == 1


def test_records_without_a_discriminator_keep_a_plan_waiting_for_a_moment_only() -> None:
    here = world()
    here.seconds(4)
    here.seconds(5, hot=400, of=lambda _: None)
    assert here.route.state is RouteState.ACTIVE


def test_a_topic_without_discriminators_waits_for_nothing() -> None:
    here = world(discriminator=Field())
    here.seconds(4)
    here.seconds(2, hot=400)
    assert here.route.state is RouteState.ACTIVE


def test_a_recipient_of_few_records_without_one_is_not_taken_for_all_of_the_key() -> None:
    here = world()
    here.seconds(4)
    here.seconds(20, hot=400, of=lambda number: b"all" if number < 40 else None)
    assert here.route.state is RouteState.ACTIVE
