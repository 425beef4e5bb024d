"""The whole course of the demo, in memory and with short floods."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from hotshard.client.tasks import AsyncRegistry
from hotshard.core.topic import Mode
from hotshard.demo.cast import assemble
from hotshard.demo.drawing import draw, summary
from hotshard.demo.measures import Half, Outcome
from hotshard.demo.paced import PacedConsumer
from hotshard.demo.picture import svg
from hotshard.demo.scene import Act
from hotshard.demo.script import Script
from hotshard.demo.seen import Seen
from hotshard.demo.session import while_running
from hotshard.demo.show import LineShow
from hotshard.demo.stage import Stage
from hotshard.demo.traffic import Rates, Traffic
from hotshard.demo.watch import RegistryWatch
from hotshard.doors.clock import SystemClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import UnavailableError
from tests.support.demo_world import TOPIC, MemoryDetector, MemoryTopic

if TYPE_CHECKING:
    from hotshard.demo.scene import Scene

SHORT = Script(
    rates=Rates(crowd=360, small=60, flood=420),
    handled_per_s=240,
    calm_s=0.2,
    flood_s=1.0,
    settled_s=0.5,
    cool_within_s=3,
    drain_within_s=4,
)
CAST = assemble()


@dataclass
class _Played:
    outcome: Outcome
    scenes: list[Scene]
    lines: str
    modes: list[Mode]


class _Recorder(LineShow):
    def __init__(self, stream: io.StringIO) -> None:
        super().__init__(stream)
        self.scenes: list[Scene] = []

    def draw(self, scene: Scene) -> None:
        super().draw(scene)
        self.scenes.append(scene)


async def _play(detector_of: type[MemoryDetector] = MemoryDetector) -> _Played:
    clock, redis, seen, lines = SystemClock(), MemoryRegistry(), Seen(CAST), io.StringIO()
    show = _Recorder(lines)
    async with AsyncRegistry(redis, [TOPIC]) as registry:
        topic = MemoryTopic(CAST.partitions, registry)
        detector = detector_of(topic, redis, CAST.flood_key, CAST.partitions)
        traffic = Traffic(CAST, SHORT.rates, TOPIC, clock)
        consumer = PacedConsumer(CAST.partitions, SHORT.handled_per_s, seen, clock)
        watch = RegistryWatch(redis.reader(), redis, TOPIC, clock)
        stage = Stage(
            cast=CAST,
            script=SHORT,
            traffic=traffic,
            consumer=consumer,
            seen=seen,
            watch=watch,
            worker=detector,
            clock=clock,
        )
        beside = (traffic.run(topic, topic), consumer.run(topic), watch.run(), stage.show_forever(show))
        outcome = await while_running(stage.play(), *beside)
        await detector.stop()
    return _Played(outcome, show.scenes, lines.getvalue(), detector.modes)


async def test_a_split_is_seen_to_help() -> None:
    played = await _play()
    outcome = played.outcome
    assert outcome.missing() == []
    assert outcome.detected_key == "globex\x1fbroadcast"
    assert outcome.detect_s is not None
    assert outcome.detect_s >= 0
    assert outcome.apply_s is not None
    assert outcome.apply_s >= 0
    assert outcome.before is not None
    assert outcome.after is not None
    assert outcome.before.imbalance is not None
    assert outcome.after.imbalance is not None
    assert outcome.before.imbalance > 4
    assert outcome.after.imbalance < outcome.before.imbalance / 2
    assert outcome.before.small_p99_ms is not None
    assert outcome.after.small_p99_ms is not None
    assert outcome.after.small_p99_ms < outcome.before.small_p99_ms / 2
    assert played.modes == [Mode.SHADOW, Mode.ACTIVE]
    acts = list(dict.fromkeys(scene.act for scene in played.scenes))
    assert acts == sorted(acts, key=list(Act).index)
    assert {Act.FIRST_FLOOD, Act.SECOND_FLOOD} <= set(acts)
    assert "proposed only" in played.lines
    assert "first obeyed after" in played.lines
    assert "detected: globex / broadcast" in played.lines


class _Blind(MemoryDetector):
    async def _detect(self, mode: Mode) -> None:
        del mode
        await asyncio.Event().wait()


async def test_a_flood_that_is_not_found_is_said_to_be_so() -> None:
    played = await _play(_Blind)
    assert played.outcome.detected_key is None
    assert played.outcome.missing() == [
        "the flooding key was never entered in the registry",
        "no record was ever sent with a suffix",
    ]
    assert played.outcome.before is not None
    assert played.outcome.before.imbalance is not None
    assert played.outcome.before.imbalance > 4
    out = io.StringIO()
    Console(file=out, width=200).print(summary(played.outcome))
    assert "The flooding key was never entered in the registry." in out.getvalue()


def _still_stage() -> Stage:
    return Stage(
        cast=CAST,
        script=SHORT,
        traffic=Traffic(CAST, SHORT.rates, TOPIC, SystemClock()),
        consumer=PacedConsumer(CAST.partitions, 10, Seen(CAST), SystemClock()),
        seen=Seen(CAST),
        watch=RegistryWatch(MemoryRegistry().reader(), MemoryRegistry(), TOPIC, SystemClock()),
        worker=MemoryDetector.__new__(MemoryDetector),
        clock=SystemClock(),
    )


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("plain", [False, True])
async def test_what_is_drawn_fits_the_terminal(width: int, *, plain: bool) -> None:
    stage = _still_stage()
    out = io.StringIO()
    Console(file=out, width=width).print(draw(stage.scene(), width, plain=plain))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.endswith("/s") or "/s " in line for line in lines) == CAST.partitions
    assert not plain or out.getvalue().isascii()


async def test_the_picture_is_a_drawing_that_fetches_nothing() -> None:
    stage = _still_stage()
    outcome = Outcome(records=1, detected_key="t\x1fe", detect_s=0.4, apply_s=0.1, before=Half(4, 90), after=Half(1, 9))
    text = svg([stage.scene(), stage.scene()], outcome)
    root = ET.fromstring(text)  # noqa: S314 - our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert text.count("http") == 1
    assert "400" in text
    assert text == svg([stage.scene(), stage.scene()], outcome)


async def test_what_breaks_beside_the_stage_ends_the_demo() -> None:
    async def broken() -> None:
        await asyncio.sleep(0)
        raise UnavailableError("gone")

    async def never() -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.RaisesGroup(pytest.RaisesExc(UnavailableError, match="gone")):
        await while_running(never(), broken())
