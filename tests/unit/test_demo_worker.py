"""The worker's settings, when it is at work, and what the registry is seen to hold."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hotshard.core.topic import Mode, Ordering
from hotshard.core.wire import pane
from hotshard.core.wire.route import HotEntry, HotKind, TopicState
from hotshard.demo.ground import Ground
from hotshard.demo.readiness import Observing, at_work, deciding
from hotshard.demo.watch import RegistryWatch, ahead_ms, heard_ms
from hotshard.demo.worker import as_toml, settings_of
from hotshard.doors.clock import ManualClock, SystemClock
from hotshard.doors.kafka.contract import Log, Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.settings.load import load
from tests.support.eventually import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TOPIC = "orders"
PANES = "panes"


def _ground(folder: Path, *, transactions: bool = True) -> Ground:
    return Ground(
        bootstrap="127.0.0.1:19092",
        redis_url="redis://127.0.0.1:16379/0",
        run="hotshard-demo-0a1b2c",
        transactions=transactions,
        folder=folder,
    )


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.ACTIVE])
def test_the_worker_takes_the_settings_as_they_are_meant(tmp_path: Path, mode: Mode) -> None:
    ground = _ground(tmp_path, transactions=False)
    file = tmp_path / "settings.toml"
    file.write_text(as_toml(settings_of(ground, mode, 12)))
    settings = load(file)
    assert settings.mirror.bootstrap_servers == (ground.bootstrap,)
    assert settings.redis.url == ground.redis_url
    assert settings.worker.transactions is False
    assert settings.worker.namespace == ground.run
    (topic,) = settings.topics
    assert (topic.name, topic.sources, topic.partitions) == (ground.topic, (ground.topic,), 12)
    assert (topic.mode, topic.ordering) == (mode, Ordering.NONE)


def test_everything_the_worker_makes_bears_the_runs_name(tmp_path: Path) -> None:
    ground = _ground(tmp_path)
    settings = settings_of(ground, Mode.SHADOW, 12)
    names = [name for name in settings["own_topics"].values() if isinstance(name, str)]
    assert len(names) == 4
    assert all(name.startswith(ground.run) for name in (*names, ground.topic, str(settings["worker"]["group"])))


def _progress(partitions: Sequence[int], *, sent_ms: int, behind: int = 0) -> bytes:
    marks = tuple(pane.Mark(partition, 100, 100, 100 + behind, 1) for partition in partitions)
    message = pane.Progress(topic=TOPIC, source=TOPIC, worker="w", sent_ms=sent_ms, partitions=3, marks=marks)
    return pane.encode(message)


def _log(value: bytes | None) -> Log:
    return Log(PANES, 0, 0, b"orders", value, 0)


def test_a_worker_observes_when_every_partition_has_been_reported_since_it_began() -> None:
    observing = Observing(3, since_ms=1000, most_behind=50)
    assert not observing.hear([_log(_progress([0, 1, 2], sent_ms=900))])
    assert not observing.hear([_log(_progress([0, 1], sent_ms=1100)), _log(b"damaged"), _log(None)])
    assert not observing.hear([_log(_progress([2], sent_ms=1200, behind=51))])
    assert observing.hear([_log(_progress([2], sent_ms=1300, behind=50))])


def _state(clock: ManualClock, version: int, *, hot: bool = False) -> TopicState:
    entry = HotEntry(
        topic=TOPIC,
        kind=HotKind.KEY,
        key="k",
        since_ms=1,
        share=0.4,
        lower=3,
        upper=5,
        load_per_s=2.0,
        reason="fast_share",
    )
    return TopicState(topic=TOPIC, epoch=1, version=version, at_ms=clock.now_ms(), hot=(entry,) if hot else ())


async def test_a_worker_is_at_work_once_it_observes_and_decides() -> None:
    kafka, redis, now_ms = MemoryKafka(), MemoryRegistry(), SystemClock().now_ms()
    reader = kafka.reader()
    waiting = asyncio.create_task(
        at_work((reader, PANES, Observing(2, since_ms=now_ms, most_behind=0)), (redis.reader(), TOPIC))
    )
    await kafka.admin().ensure(TopicWanted(name=PANES, partitions=1))
    publisher = kafka.publisher()
    await publisher.publish([Out(PANES, _progress([0, 1], sent_ms=now_ms + 1))])
    _, pending = await asyncio.wait([waiting], timeout=0.3)
    assert pending, "nothing has decided yet"
    await redis.publish(_state(ManualClock(), 1))
    async with asyncio.timeout(PATIENCE_S):
        await waiting
    await publisher.stop()
    await reader.stop()


async def test_an_earlier_detectors_word_does_not_count() -> None:
    clock = ManualClock()
    redis = MemoryRegistry(clock)
    await redis.publish(_state(clock, 1))
    clock.advance(5)
    waiting = asyncio.create_task(deciding(redis.reader(), TOPIC))
    _, pending = await asyncio.wait([waiting], timeout=0.3)
    assert pending
    clock.advance(1)
    assert await redis.beat(TOPIC, 1, 1)
    async with asyncio.timeout(PATIENCE_S):
        await waiting
    heard, now = await heard_ms(redis.reader(), TOPIC)
    assert heard == now == clock.now_ms()


async def test_an_entry_is_seen_with_its_time_by_our_own_clock() -> None:
    ours, theirs = ManualClock(), ManualClock(now_ms=1_800_000_000_000)
    redis = MemoryRegistry(theirs)
    watch = RegistryWatch(redis.reader(), redis, TOPIC, ours)
    running = asyncio.create_task(watch.run())
    await redis.publish(_state(theirs, 1))
    await asyncio.sleep(0)
    began_ms = ours.now_ms()
    for clock in (ours, theirs):
        clock.advance(2.5)
    await redis.publish(_state(theirs, 2, hot=True))
    await eventually(lambda: watch.hot.keys() == {b"k"})
    assert watch.entered_ms(b"k", began_ms) == began_ms + 2500
    assert watch.entered_ms(b"k", began_ms + 2501) is None
    assert watch.entered_ms(b"other", began_ms) is None
    for clock in (ours, theirs):
        clock.advance(1)
    await redis.publish(_state(theirs, 3))
    await eventually(lambda: not watch.hot)
    await redis.publish(_state(theirs, 4, hot=True))
    await eventually(lambda: watch.hot)
    assert watch.entered_ms(b"k", began_ms) == began_ms + 2500
    assert watch.entered_ms(b"k", began_ms + 2501) == began_ms + 3500
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_a_clock_that_cannot_be_told_from_ours_is_taken_for_ours() -> None:
    assert ahead_ms(1005, 1000, 1040) == 0
    assert ahead_ms(999, 1000, 1000) == 0
    assert ahead_ms(5020, 1000, 1040) == 4000
    assert ahead_ms(20, 1000, 1040) == -1000


async def test_tenants_are_no_keys_and_routes_are_seen() -> None:
    redis = MemoryRegistry()
    watch = RegistryWatch(redis.reader(), redis, TOPIC, SystemClock())
    running = asyncio.create_task(watch.run())
    entry = HotEntry(topic=TOPIC, kind=HotKind.TENANT, key="k", since_ms=1, share=0.4, lower=3, upper=5, load_per_s=2.0)
    await redis.publish(TopicState(topic=TOPIC, epoch=1, version=1, at_ms=1, hot=(entry,)))
    redis.split(TOPIC, "k", ["a", "b"])
    await eventually(lambda: b"k" in watch.routes)
    assert watch.routes[b"k"].suffixes == ("a", "b")
    assert not watch.hot
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
