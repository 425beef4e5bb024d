"""What routing adds to a producer's send: ``python -m tests.bench.producing``.

On a real Kafka, one aiokafka producer, rounds of the bare one and of ``shard()`` around it in turns; each round sends
its records one after the other and waits for the last acknowledgement. Processor time of this process is compared, of
each round with the bare one beside it; the median of the ratios is told. Where a key is routed the bare producer sends
what routing would give: the shards' keys in turn, without the headers, so that both fill the same batches.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aiokafka import AIOKafkaProducer

from hotshard import MemoryRegistry, Registry, shard
from tests.bench.parts import Goal, Part, alone, rounded, servers
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.bench.parts import Figures, Found, Say

_TOPIC: Final = "producing"
_PARTITIONS: Final = 12
_VALUE: Final = b"thirteen byte"
_HOT: Final = b"t007\x1fcart-7"
_SHARDS: Final = 8
_ROUTES: Final = 1000
_CALLS: Final = 2000
_WITHOUT: Final = "shard(), key without an entry"
_WITH: Final = "shard(), key with an entry"
GOALS: Final = (Goal(_WITHOUT, "added_percent", most=3.0), Goal(_WITH, "added_percent", most=3.0))


class Way(NamedTuple):
    """Keys to send with the bare producer, and with the wrapped one; whether each is waited for."""

    bare: Sequence[bytes]
    wrapped: Sequence[bytes]
    waits: bool = False


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    memory = MemoryRegistry()
    for number in range(_ROUTES):
        memory.split(_TOPIC, f"t{number % 200:03d}\x1fentity-{number}", [str(shard) for shard in range(_SHARDS)])
    memory.split(_TOPIC, _HOT.decode(), [str(number) for number in range(_SHARDS)])
    with Registry(memory) as registry:
        found: dict[str, Figures] = dict(_routing(registry))
        with servers("producing") as ground:
            records, rounds = (2_000, 3) if tiny else (20_000, 25)
            found |= asyncio.run(_sending(ground.bootstrap, registry, records, rounds, say))
    return found


# -- route alone ---------------------------------------------------------------------------------


def _routing(registry: Registry) -> Found:
    route = registry.route
    users = [f"user-{number % 1000}" for number in range(_CALLS)]
    return {
        "route, key without an entry": _nanoseconds(lambda key: route(_TOPIC, key), itertools.repeat(b"other", _CALLS)),
        "route, key with an entry, in turn": _nanoseconds(
            lambda key: route(_TOPIC, key), itertools.repeat(_HOT, _CALLS)
        ),
        "route, with an entry, by discriminator": _nanoseconds(lambda user: route(_TOPIC, _HOT, user), users),
    }


def _nanoseconds(work: Callable[[Any], object], arguments: Iterable[object]) -> Figures:
    """Of one call, in the best of many short rounds, so that a neighbour's load counts little."""
    given = list(arguments)
    best = [min(_once(call, given) for _ in range(100)) for call in (work, id)]
    return rounded({"ns": (best[0] - best[1]) / len(given)})


def _once(call: Callable[[Any], object], given: list[object]) -> int:
    began = time.perf_counter_ns()
    for argument in given:
        call(argument)
    return time.perf_counter_ns() - began


# -- around a producer ---------------------------------------------------------------------------


async def _sending(bootstrap: str, registry: Registry, records: int, rounds: int, say: Say) -> Found:
    await create_topic(bootstrap, _TOPIC, _PARTITIONS)
    shards = [registry.route(_TOPIC, _HOT).key for _ in range(_SHARDS)]
    others = [b"t%03d\x1f%08d" % (rank % 200, rank) for rank in range(1000)]
    ways = {
        _WITHOUT: Way(others, others),
        _WITH: Way(shards, [_HOT]),
        f"{_WITHOUT}, each waited for": Way(others, others, waits=True),
        f"{_WITH}, each waited for": Way(shards, [_HOT], waits=True),
    }
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)
    await producer.start()
    try:
        wrapped = shard(producer, registry)
        for way in ways.values():
            await _pair(producer, wrapped, way, records // 10, 0)
        found = {}
        for name, way in ways.items():
            many = records // 20 if way.waits else records
            pairs = [await _pair(producer, wrapped, way, many, number) for number in range(rounds)]
            found[name] = _compared(pairs, many)
            say(f"producing: {name}: {found[name]}")
        return found
    finally:
        await producer.stop()


async def _pair(bare: Any, wrapped: Any, way: Way, records: int, number: int) -> tuple[float, float]:  # noqa: ANN401
    """Seconds of the bare round and of the other; which comes first changes."""
    sides = ((bare.send_and_wait, way.bare), (wrapped.send_and_wait, way.wrapped))
    if not way.waits:
        sides = ((bare.send, way.bare), (wrapped.send, way.wrapped))
    took = [0.0, 0.0]
    for side in (number % 2, 1 - number % 2):
        send, keys = sides[side]
        took[side] = await _round(bare, send, keys, records)
    return took[0], took[1]


async def _round(producer: Any, send: Any, keys: Sequence[bytes], records: int) -> float:  # noqa: ANN401
    turn = itertools.cycle(keys)
    gc.collect()
    began = time.process_time()
    for key in itertools.islice(turn, records):
        await send(_TOPIC, _VALUE, key)
    await producer.flush()
    return time.process_time() - began


def _compared(pairs: Sequence[tuple[float, float]], records: int) -> Figures:
    bare_us, wrapped_us = (1e6 * statistics.median(side) / records for side in zip(*pairs, strict=True))
    added = statistics.median(wrapped / bare - 1 for bare, wrapped in pairs)
    return rounded({"bare_us": bare_us, "sharded_us": wrapped_us, "added_percent": 100 * added})


PART: Final = Part("producing", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
