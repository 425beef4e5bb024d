"""From a write to the registry to the first record a producer sends by it: ``python -m tests.bench.followers``.

Each producer is a process of its own that follows the registry as every producer does. The moment is taken in it when
what was read has become what is sent by, after a ``route`` that gives the new shards; the clock is the machine's
monotonic one. All producers share this machine's cores, where in earnest each has a machine: that makes it slower here.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from hotshard import Registry
from hotshard.demo.servers import choose_redis
from hotshard.doors.redis.real import RedisRegistry
from tests.bench.parts import Goal, Part, alone, rounded
from tests.support.registry import KEY, TOPIC, route, state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection

    from tests.bench.parts import Found, Say

_REGISTRIES: Final = 50
_PAUSE_S: Final = 0.2
_SHARDS: Final = 40
ROW: Final = "registry write to first routed record"
GOALS: Final = (Goal(ROW, "p99_ms", most=100.0),)


class Watching(Registry):
    """A registry that takes down when it first routes by another number of shards."""

    def __init__(self, url: str) -> None:
        self.moments: list[tuple[int, float]] = []
        super().__init__(url, [TOPIC])

    def _swap(self) -> None:
        super()._swap()
        self.route(TOPIC, KEY)
        found = self.find(TOPIC, KEY)
        shards = 0 if found is None else len(found)
        if shards and (not self.moments or self.moments[-1][0] != shards):
            self.moments.append((shards, time.monotonic()))


def follow(url: str, to_parent: Connection) -> None:
    """What each process runs: follow until told to end, and tell what was taken down."""
    with Watching(url) as registry:
        to_parent.send(None)
        to_parent.recv()
        to_parent.send(registry.moments)


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    registries, changes = (4, 10) if tiny else (_REGISTRIES, 100)
    spawned = multiprocessing.get_context("spawn")
    with choose_redis().server as server:
        asyncio.run(_publish(server.url, [0]))
        pipes, processes = [], []
        for _ in range(registries):
            here, there = spawned.Pipe()
            process: Any = spawned.Process(target=follow, args=(server.url, there), daemon=True)
            process.start()
            pipes.append(here)
            processes.append(process)
        for pipe in pipes:
            pipe.recv()
        say(f"followers: {registries} producers follow the registry")
        written = asyncio.run(_publish(server.url, range(1, changes + 1)))
        told = [_ended(pipe) for pipe in pipes]
        for process in processes:
            process.join()
    return {ROW: summary(written, told)}


def _ended(pipe: Connection) -> list[tuple[int, float]]:
    pipe.send(None)
    moments: list[tuple[int, float]] = pipe.recv()
    return moments


async def _publish(url: str, versions: Sequence[int]) -> list[tuple[int, float]]:
    """Publish a route with another number of shards each time; those, and when each was about to be written."""
    door = RedisRegistry(url)
    written = []
    for version in versions:
        shards = version % _SHARDS + 1
        written.append((shards, time.monotonic()))
        await door.publish(state(version, route(suffixes=[str(number) for number in range(shards)])))
        await asyncio.sleep(_PAUSE_S)
    await door.close()
    return written


def summary(written: Sequence[tuple[int, float]], told: Sequence[Sequence[tuple[int, float]]]) -> Mapping[str, Any]:
    """Milliseconds from each write until each producer routed by it; ``missed``: a later one came first."""
    taken: list[float] = []
    for (shards, at_s), until_s in zip(written, [at_s for _, at_s in written[1:]] + [float("inf")], strict=True):
        for moments in told:
            taken += [seen_s - at_s for seen, seen_s in moments if seen == shards and at_s <= seen_s < until_s][:1]
    cuts = statistics.quantiles(taken, n=100, method="inclusive") if len(taken) > 1 else [0.0] * 99
    missed = len(written) * len(told) - len(taken)
    return rounded(
        {
            "registries": len(told),
            "changes": len(written),
            "missed": missed,
            "p50_ms": 1000 * cuts[49],
            "p99_ms": 1000 * cuts[98],
            "most_ms": 1000 * max(taken, default=0.0),
        }
    )


PART: Final = Part("followers", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
