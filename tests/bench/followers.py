"""From a write to the registry to the first record a producer sends by it: ``python -m tests.bench.followers``.

Each producer is a process of its own with a ``Registry`` that follows as it does by default. Its own thread routes a
record of the hot key every 10 ms, the least rate at which anything is done about a key; the moment is taken when a
record is first routed as the new route says, told by its suffixes. The clock is the machine's monotonic one, and runs
from just before the write. All producers share this machine's cores, where in earnest each has a machine: that makes
it slower here.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from hotshard import Registry
from hotshard.core.keys import SEPARATOR
from hotshard.demo.servers import choose_redis
from hotshard.doors.redis.real import RedisRegistry
from tests.bench.parts import Goal, Part, alone, percentile, rounded
from tests.support.registry import KEY, TOPIC, route, state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection

    from tests.bench.parts import Found, Say

_REGISTRIES: Final = 50
_CHANGES: Final = 60
_PAUSE_S: Final = 0.2
_RECORD_EVERY_S: Final = 0.01
_SHARDS: Final = 8
ROW: Final = "registry write to first routed record"
GOALS: Final = (Goal(ROW, "p99_ms", most=100.0),)


def follow(url: str, to_parent: Connection) -> None:
    """What each process runs: route records until told to end, and tell when each route had its first."""
    with Registry(url, [TOPIC]) as registry:
        to_parent.send(None)
        moments: list[tuple[int, float]] = []
        while not to_parent.poll(_RECORD_EVERY_S):
            version = version_of(registry.route(TOPIC, KEY).key)
            if version is not None and (not moments or moments[-1][0] != version):
                moments.append((version, time.monotonic()))
        to_parent.recv()
        to_parent.send(moments)


def suffixes_of(version: int) -> list[str]:
    return [f"{version}-{shard}" for shard in range(_SHARDS)]


def version_of(key: str) -> int | None:
    """The route by which a record got this key; None for the base key."""
    suffix = key.removeprefix(KEY).removeprefix(SEPARATOR)
    return int(suffix.partition("-")[0]) if suffix else None


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    registries, changes = (4, 10) if tiny else (_REGISTRIES, _CHANGES)
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
    """Publish a route with other suffixes each time; which, and when each was about to be written."""
    door = RedisRegistry(url)
    written = []
    for version in versions:
        changed = state(version, route(suffixes=suffixes_of(version)))
        written.append((version, time.monotonic()))
        await door.publish(changed)
        await asyncio.sleep(_PAUSE_S)
    await door.close()
    return written


def summary(written: Sequence[tuple[int, float]], told: Sequence[Sequence[tuple[int, float]]]) -> Mapping[str, Any]:
    """Milliseconds from each write until each producer routed by it; ``missed``: a later one came first."""
    taken: list[float] = []
    for version, at_s in written:
        for moments in told:
            taken += [1000 * (seen_s - at_s) for seen, seen_s in moments if seen == version][:1]
    return rounded(
        {
            "registries": len(told),
            "changes": len(written),
            "missed": len(written) * len(told) - len(taken),
            "p50_ms": percentile(taken, 50),
            "p99_ms": percentile(taken, 99),
            "most_ms": max(taken, default=None),
        }
    )


PART: Final = Part("followers", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
