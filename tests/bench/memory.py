"""Resident memory of the whole worker on a real Kafka: ``python -m tests.bench.memory``.

It reads a topic in which every record has a key of its own, and its memory is taken as it goes; then it watches many
partitions of live traffic, and a few of the same, from whose difference follows what one partition takes: its panes,
its part of windows and view, and what the clients keep for it. There, too, no key comes twice: memory's worst case.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.bench import machine, watching
from tests.bench.filling import Keys, Traffic, config, fill
from tests.bench.parts import Goal, Ground, Part, alone, rounded, servers
from tests.bench.pumping import pumping
from tests.bench.rounds import observing_group, running, settings_text
from tests.bench.watching import Group, Patience, StoppedError
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hotshard.demo.servers.child import Child
    from tests.bench.parts import Figures, Found, Say
    from tests.bench.rounds import Place

_EVERY_S: Final = 0.1
_LIVE_PER_S: Final = 20_000
_WITHIN_S: Final = 300.0
_DISTINCT: Final = "ever new keys"
_LIVE: Final = "{:,} partitions, live"
_EACH: Final = "each partition, live"
#: The memory of windows reaches back 90 s; after that nothing more is to be added.
_LONG_S: Final = 105.0
_MANY: Final = 1000
_FEW: Final = 12
GOALS: Final = (
    Goal(_DISTINCT, "most_to_first", most=1.1),
    Goal(_LIVE.format(_MANY), "most_mb", most=1000.0),
    Goal(_EACH, "mb", most=0.75),
)


class Sample(NamedTuple):
    """Keys committed, and memory, at one moment."""

    keys: int
    mb: float


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    first, last = (100_000, 1_000_000) if tiny else (1_000_000, 20_000_000)
    many, seconds = (100, 8.0) if tiny else (_MANY, _LONG_S)
    found: dict[str, Figures] = {}
    with servers("memory") as ground:
        found[_DISTINCT] = asyncio.run(_distinct(ground, first, last, say))
        least = found[_LIVE.format(_FEW)] = asyncio.run(_live(ground, _FEW, seconds, say))
        most = found[_LIVE.format(many)] = asyncio.run(_live(ground, many, seconds, say))
    grown_mb = (most["most_mb"] or 0.0) - (least["most_mb"] or 0.0)
    found[_EACH] = rounded({"mb": grown_mb / (many - _FEW)})
    return found


# -- ever new keys -------------------------------------------------------------------------------


async def _distinct(ground: Ground, first: int, last: int, say: Say) -> Figures:
    traffic = Traffic(topic="distinct", records=last, keys_are=Keys.DISTINCT)
    await asyncio.to_thread(fill, ground.bootstrap, traffic)
    say(f"memory: {last:,} records produced, each with a key of its own")
    await watching.begin_at_zero(ground.bootstrap, observing_group(traffic.topic), traffic.topic, traffic.partitions)
    async with _worker(ground.place(traffic)) as (child, group):
        samples = [sample async for sample in _samples(child, group, last)]
    return flatness(samples, first)


async def _samples(child: Child, group: Group, last: int) -> AsyncIterator[Sample]:
    until_s = time.monotonic() + _WITHIN_S
    keys = 0
    while keys < last:
        if time.monotonic() > until_s:
            raise StoppedError(f"not within {_WITHIN_S:.0f} s: it has read everything")
        keys = sum((await group.committed()).values())
        yield Sample(keys, _resident(child))
        await asyncio.sleep(_EVERY_S)


def flatness(samples: Sequence[Sample], first: int) -> Figures:
    """Memory when the first ``first`` keys were committed, at each doubling, and the most from there on."""
    at_first = next(sample.mb for sample in samples if sample.keys >= first)
    marks = [first * times for times in (1, 2, 5, 10, 20)]
    reached = {mark: [sample.mb for sample in samples if sample.keys >= mark] for mark in marks}
    most = max(reached[first])
    by_mark = {f"mb_at_{mark / 1e6:g}m": values[0] for mark, values in reached.items() if values}
    return rounded({**by_mark, "most_mb": most, "most_to_first": most / at_first})


# -- live traffic --------------------------------------------------------------------------------


async def _live(ground: Ground, partitions: int, seconds: float, say: Say) -> Figures:
    topic = f"live-{partitions}"
    await create_topic(ground.bootstrap, topic, partitions, config(partitions))
    await watching.end_offsets(ground.bootstrap, topic, partitions)
    place = ground.place(Traffic(topic=topic, records=0, partitions=partitions))
    async with _worker(place) as (child, group):
        await Patience(_WITHIN_S, lambda: child.running).until(group.assigned, "it has partitions")
        at_start = _resident(child)
        async with pumping(ground.bootstrap, {topic: partitions}, _LIVE_PER_S, ever_new=True) as pump:
            samples, sent = [at_start], pump.sent
            began_s, before_s = time.monotonic(), machine.cpu_s(child.pid)
            while time.monotonic() < began_s + seconds:
                await asyncio.sleep(_EVERY_S)
                samples.append(_resident(child))
            took_s, after_s = time.monotonic() - began_s, machine.cpu_s(child.pid)
    say(f"memory: {partitions:,} partitions: {at_start:.0f} MB assigned, {samples[-1]:.0f} MB after {seconds:.0f} s")
    cores = None if before_s is None or after_s is None else (after_s - before_s) / took_s
    figures = {
        "records_per_s": (pump.sent - sent) / took_s,
        "assigned_mb": at_start,
        "most_mb": max(samples),
        "cores": cores,
    }
    return rounded(figures)


@asynccontextmanager
async def _worker(place: Place) -> AsyncIterator[tuple[Child, Group]]:
    name = place.traffic.topic
    settings = place.folder / f"{name}.toml"
    settings.write_text(settings_text(place, name))
    command = ["-m", "hotshard", "worker", "--settings", str(settings)]
    async with place.group(observing_group(name)) as group, running(place, name, command) as child:
        yield child, group


def _resident(child: Child) -> float:
    mb = machine.resident_mb(child.pid) if child.running else None
    if mb is None:
        raise StoppedError("ended, or its memory is not told here: /proc is needed")
    return mb


PART: Final = Part("memory", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
