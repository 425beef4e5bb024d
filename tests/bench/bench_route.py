"""What routing costs a producer: run by hand, ``python tests/bench/bench_route.py``.

Nanoseconds per call, of the best of many short rounds, so that a neighbour's load counts little; the loop's own
cost is taken off.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import TYPE_CHECKING, Any

from hotshard import MemoryRegistry, Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_CALLS = 2_000
_ROUNDS = 200
_TOPIC = "orders"
_HOT = "acme\x1fcart-7"


def nanoseconds(work: Callable[[Any], object], arguments: Iterable[object]) -> float:
    stock = iter(arguments)
    rounds = [list(itertools.islice(stock, _CALLS)) for _ in range(_ROUNDS)]

    def best_ns(call: Callable[[Any], object]) -> int:
        return min(_round_ns(call, given) for given in rounds)

    return (best_ns(work) - best_ns(id)) / _CALLS


def _round_ns(call: Callable[[Any], object], given: list[object]) -> int:
    started = time.perf_counter_ns()
    for argument in given:
        call(argument)
    return time.perf_counter_ns() - started


def main() -> None:
    memory = MemoryRegistry()
    for n in range(1_000):
        memory.split(_TOPIC, f"tenant-{n}\x1fentity", [str(shard) for shard in range(8)])
    memory.split(_TOPIC, _HOT, [str(shard) for shard in range(8)])
    hot = _HOT.encode()
    with Registry(memory) as registry:
        route = registry.route
        rows: dict[str, tuple[Callable[[Any], object], Iterable[object]]] = {
            "bytes key without a route": (lambda key: route(_TOPIC, key), itertools.repeat(b"other")),
            "text key without a route": (lambda key: route(_TOPIC, key), itertools.repeat("other")),
            "unknown topic": (lambda key: route("x", key), itertools.repeat(b"other")),
            "hot key, in turn": (lambda key: route(_TOPIC, key), itertools.repeat(hot)),
            "hot key, 1,000 discriminators": (
                lambda user: route(_TOPIC, _HOT, user),
                (f"user-{n % 1_000}" for n in itertools.count()),
            ),
            "hot key, ever new discriminators": (
                lambda user: route(_TOPIC, _HOT, user),
                (f"user-{n}" for n in itertools.count()),
            ),
        }
        for name, (work, arguments) in rows.items():
            sys.stdout.write(f"{name:34} {nanoseconds(work, arguments):7.0f} ns\n")


if __name__ == "__main__":
    main()
