"""What routing adds to a producer's send: ``python -m tests.bench.producing``.

On a real Kafka, one aiokafka producer, short rounds of the bare one and of ``shard()`` around it in turns; each round
sends its records one after the other and waits for the last acknowledgement. Processor time of this process is
compared, of each round with the bare one beside it, and medians over the pairs are told, so that what else the machine
does meets both alike; half of the pairs lie within the quartiles. Where a key is routed the bare producer sends what
would be sent by hand: the shards' keys in turn, without headers, so that both fill the same batches. There routing
can cost less than nothing: it works out a shard's partition once, which aiokafka does at every send, in Python. With a
partitioner of the user's own it cannot, and nothing hides what the two headers of a shard's record cost; that row is
told beside the others and has no goal. ``route`` alone is measured as sends are: rounds of it and of a call of nothing
in turns, and the median of what it took more.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
import sys
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner

from hotshard import MemoryRegistry, Registry, shard
from hotshard.core.topic import Carry
from tests.bench.parts import Goal, Part, alone, percentile, rounded, servers
from tests.support.registry import route, state
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.bench.parts import Figures, Found, Say

_TOPIC: Final = "producing"
_GIVEN: Final = "producing-given"  #: its route gives partitions
_PLAIN: Final = "producing-plain"  #: no routes
_PARTITIONS: Final = 12
_VALUE: Final = b"thirteen byte"
_HOT: Final = b"t007\x1fcart-7"
_SHARDS: Final = 8
_ROUTES: Final = 1000
_CALLS: Final = 2000
_WITHOUT: Final = "shard(), key without an entry"
_WITH: Final = "shard(), key with an entry"
_ROUTE_WITHOUT: Final = "route, key without an entry"
_ROUTE_WITH: Final = "route, key with an entry, in turn"
_BY_DISCRIMINATOR: Final = f"{_WITH}, by discriminator"
_PARTITIONS_GIVEN: Final = f"{_WITH}, partitions given"
_OWN_PARTITIONER: Final = f"{_WITH}, own partitioner"
_ROUTE_BY_DISCRIMINATOR: Final = "route, with an entry, by discriminator"
_GOAL_ROWS: Final = (
    _ROUTE_WITHOUT,
    _ROUTE_WITH,
    _ROUTE_BY_DISCRIMINATOR,
    _WITHOUT,
    _WITH,
    _BY_DISCRIMINATOR,
    _PARTITIONS_GIVEN,
)
GOALS: Final = tuple(Goal(row, "added_percent", most=3.0) for row in _GOAL_ROWS)


class OwnPartitioner(DefaultPartitioner):  # type: ignore[misc]  # aiokafka has no types
    """For what is known of it, it may do anything: no partition can be worked out in its place."""


class Way(NamedTuple):
    """A bare producer and the wrapped one, what keys each is to send where, and whether each record is waited for."""

    bare: Any
    wrapped: Any
    topic: str
    keys: Sequence[bytes]
    wrapped_keys: Sequence[bytes]
    waits: bool = False


class Size(NamedTuple):
    records: int
    waited: int
    pairs: int


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    memory = MemoryRegistry()
    for number in range(_ROUTES):
        memory.split(_TOPIC, f"t{number % 200:03d}\x1fentity-{number}", [str(shard) for shard in range(_SHARDS)])
    memory.split(_TOPIC, _HOT.decode(), [str(number) for number in range(_SHARDS)])
    given = route(_HOT, (), topic=_GIVEN, partitions=range(_SHARDS), partition_count=_PARTITIONS, carry=Carry.PARTITION)
    memory.store.publish(state(1, given, topic=_GIVEN))
    size = Size(500, 10, 4) if tiny else Size(4_000, 50, 80)
    with Registry(memory) as registry, servers("producing") as ground:
        sending = asyncio.run(_sending(ground.bootstrap, registry, size, say))
        bare_us = sending[_WITHOUT]["bare_us"] or 0.0
        return {**_routing(registry, bare_us), **sending}


# -- route alone ---------------------------------------------------------------------------------


def _routing(registry: Registry, bare_us: float) -> Found:
    """Beside a bare send, which takes ``bare_us``."""
    route = registry.route
    users = [f"user-{number % 1000}" for number in range(_CALLS)]
    took_ns = {
        _ROUTE_WITHOUT: _nanoseconds(lambda key: route(_TOPIC, key), itertools.repeat(b"other", _CALLS)),
        _ROUTE_WITH: _nanoseconds(lambda key: route(_TOPIC, key), itertools.repeat(_HOT, _CALLS)),
        _ROUTE_BY_DISCRIMINATOR: _nanoseconds(lambda user: route(_TOPIC, _HOT, user), users),
    }
    return {name: rounded({"ns": ns, "added_percent": ns / (10 * bare_us)}) for name, ns in took_ns.items()}


def _nanoseconds(work: Callable[[Any], object], arguments: Iterable[object]) -> float:
    """Of one call, beside a call of nothing: the median of pairs of short rounds."""
    given = list(arguments)
    return statistics.median(_once(work, given) - _once(id, given) for _ in range(100)) / len(given)


def _once(call: Callable[[Any], object], given: list[object]) -> int:
    began = time.process_time_ns()
    for argument in given:
        call(argument)
    return time.process_time_ns() - began


# -- around a producer ---------------------------------------------------------------------------


async def _sending(bootstrap: str, registry: Registry, size: Size, say: Say) -> dict[str, Figures]:
    for topic in (_TOPIC, _GIVEN, _PLAIN):
        await create_topic(bootstrap, topic, _PARTITIONS)
    async with AsyncExitStack() as stack:
        usual = await stack.enter_async_context(AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5))
        other = await stack.enter_async_context(
            AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, partitioner=OwnPartitioner())
        )
        gc.freeze()  # what is there already is not gone through before each round
        stack.callback(gc.unfreeze)
        found = {}
        for name, way in _ways(usual, other, registry).items():
            found[name] = await _compare(way, size)
            say(f"producing: {name}: {found[name]}")
        return found


def _ways(usual: Any, other: Any, registry: Registry) -> dict[str, Way]:  # noqa: ANN401
    shards = [registry.route(_TOPIC, _HOT).key for _ in range(_SHARDS)]
    others = [b"t%03d\x1f%08d" % (rank % 200, rank) for rank in range(1000)]
    wrapped = shard(usual, registry)
    users = itertools.cycle(f"user-{number}" for number in range(1000))
    by_user = shard(usual, registry, discriminator=lambda _key, _value, _headers: next(users))
    return {
        "shard(), topic without routes": Way(usual, wrapped, _PLAIN, others, others),
        _WITHOUT: Way(usual, wrapped, _TOPIC, others, others),
        _WITH: Way(usual, wrapped, _TOPIC, shards, [_HOT]),
        _BY_DISCRIMINATOR: Way(usual, by_user, _TOPIC, shards, [_HOT]),
        _PARTITIONS_GIVEN: Way(usual, wrapped, _GIVEN, shards, [_HOT]),
        _OWN_PARTITIONER: Way(other, shard(other, registry), _TOPIC, shards, [_HOT]),
        f"{_WITHOUT}, each waited for": Way(usual, wrapped, _TOPIC, others, others, waits=True),
        f"{_WITH}, each waited for": Way(usual, wrapped, _TOPIC, shards, [_HOT], waits=True),
    }


async def _compare(way: Way, size: Size) -> Figures:
    records = size.waited if way.waits else size.records
    await _pair(way, records, 0)
    return _compared([await _pair(way, records, number) for number in range(size.pairs)], records)


async def _pair(way: Way, records: int, number: int) -> tuple[float, float]:
    """Seconds of the bare round and of the other; which comes first changes."""
    sides = ((way.bare, way.keys), (way.wrapped, way.wrapped_keys))
    took = [0.0, 0.0]
    for side in (number % 2, 1 - number % 2):
        producer, keys = sides[side]
        took[side] = await _round(producer, way, itertools.islice(itertools.cycle(keys), records))
    return took[0], took[1]


async def _round(producer: Any, way: Way, keys: Iterable[bytes]) -> float:  # noqa: ANN401
    topic = way.topic
    gc.collect()
    began = time.process_time()
    if way.waits:
        for key in keys:
            await producer.send_and_wait(topic, _VALUE, key)
    else:
        for key in keys:
            await producer.send(topic, _VALUE, key)
        await producer.flush()
    return time.process_time() - began


def _compared(pairs: Sequence[tuple[float, float]], records: int) -> Figures:
    bare_us, wrapped_us = (1e6 * statistics.median(side) / records for side in zip(*pairs, strict=True))
    added_us = statistics.median(1e6 * (wrapped - bare) / records for bare, wrapped in pairs)
    percents = [100 * (wrapped / bare - 1) for bare, wrapped in pairs]
    quartiles = {f"quartile_{which}_percent": percentile(percents, which * 25) for which in (1, 3)}
    added = {"added_us": added_us, "added_percent": statistics.median(percents)}
    return rounded({"bare_us": bare_us, "sharded_us": wrapped_us, **added, **quartiles})


PART: Final = Part("producing", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
