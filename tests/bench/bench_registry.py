"""How long a route takes from the detector to its producers: run by hand, ``python tests/bench/bench_registry.py``.

Fifty thread registries follow one Redis; after each publish the time until each of them sends by it is taken,
by looking every half millisecond. Prints the quantiles, and what the followers cost.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import sys
import time
from contextlib import ExitStack

from hotshard import Registry
from hotshard.demo.servers import choose_redis
from hotshard.doors.redis.real import RedisRegistry
from tests.support.registry import KEY, TOPIC, route, state


def _shards(registry: Registry) -> int:
    return len(registry.shards_of(TOPIC, KEY)) - 1


async def _one(door: RedisRegistry, registries: list[Registry], version: int) -> list[float]:
    """Publish once; the seconds until each registry has it."""
    wanted = version % 40 + 1
    started = time.perf_counter()
    await door.publish(state(version, route(suffixes=[str(n) for n in range(wanted)])))
    waiting, taken = list(registries), []
    while waiting:
        late = [registry for registry in waiting if _shards(registry) != wanted]
        taken += [time.perf_counter() - started] * (len(waiting) - len(late))
        waiting = late
        await asyncio.sleep(0.0005)
    return taken


async def measure(url: str, registries: int, changes: int) -> list[float]:
    door = RedisRegistry(url)
    await door.publish(state(0))
    with ExitStack() as stack:
        following = [stack.enter_context(Registry(url, [TOPIC])) for _ in range(registries)]
        taken: list[float] = []
        for version in range(1, changes + 1):
            taken += await _one(door, following, version)
            await asyncio.sleep(0.05)
        idle_from, cpu_from = time.monotonic(), time.process_time()
        await asyncio.sleep(5.0)
        idle = (time.process_time() - cpu_from) / (time.monotonic() - idle_from)
        memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        sys.stdout.write(f"{registries} idle followers use {idle:.1%} of a core, {memory_mb} MB in all\n")
        assert {registry.counters.snapshots for registry in following} == {1}, following[0].counters
    await door.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--registries", type=int, default=50)
    parser.add_argument("--changes", type=int, default=100)
    arguments = parser.parse_args()
    with choose_redis().server as server:
        taken = asyncio.run(measure(server.url, arguments.registries, arguments.changes))
    cuts = statistics.quantiles(taken, n=100)
    p50, p99, most = (round(1000 * seconds, 1) for seconds in (cuts[49], cuts[98], max(taken)))
    sys.stdout.write(f"{len(taken)} changes seen after p50 {p50} ms, p99 {p99} ms, at most {most} ms\n")


if __name__ == "__main__":
    main()
