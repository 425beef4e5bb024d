"""What a machine allows two processes that share nothing, beside one: without Kafka, without a network.

Copies begin together, each in a process of its own. ``LOOP`` is arithmetic in the processor's nearest cache;
``COUNTING`` is the worker's counting and cutting of slabs that lie in memory, their keys made anew as a parser does.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.partitioners import partition_of
from hotshard.core.slab import Slab
from hotshard.core.topic import TopicSpec
from hotshard.core.wire.pane import encode
from tests.bench.filling import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PARTITIONS: Final = 12
_SLAB: Final = 3_000
#: Records that are counted again and again.
_KEPT: Final = 600_000
_TURNS: Final = 20_000
_NO_ALIASES: Final[Mapping[bytes, bytes]] = {}
_VALUE_BYTES: Final = 13


class _Loop:
    def step(self) -> int:
        total = 0
        for number in range(_TURNS):
            total += number & 7
        return _TURNS


class _Counting:
    """Slabs of all partitions in turn, each panes' second by the clock of the machine."""

    def __init__(self) -> None:
        spec = TopicSpec(name="t", sources=("t",))
        now_ms = _now_ms()
        self._panes = [
            PartitionPanes(
                spec=spec,
                source="t",
                partition=partition,
                worker="w",
                start=0,
                generation=1,
                now_ms=now_ms,
                window_ms=10_000,
            )
            for partition in range(_PARTITIONS)
        ]
        self._runs = cycle(_runs())

    def step(self) -> int:
        partition, joined = next(self._runs)
        panes, keys, now_ms = self._panes[partition], joined.split(b"\n"), _now_ms()
        slab = Slab(
            topic="t",
            partition=partition,
            start=panes.position,
            end=panes.position + len(keys),
            generation=1,
            high_watermark=1 << 60,
            keys=[*keys],
            sizes=[_VALUE_BYTES + len(keys[0])] * len(keys),
            timestamps=[now_ms] * len(keys),
        )
        panes.add(slab, now_ms, _NO_ALIASES)
        if panes.due(now_ms):
            panes.seal(now_ms)
        while pane := panes.publishable():
            encode(pane)
            panes.committed(pane.end)
        return len(keys)


LOOP: Final = "loop"
COUNTING: Final = "counting"
_KINDS: Final[Mapping[str, Callable[[], _Loop | _Counting]]] = {LOOP: _Loop, COUNTING: _Counting}


def per_s(kind: str, copies: int, seconds: float) -> float:
    """Turns, or records, a second of all copies together while they run so long."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(copies)
    with ProcessPoolExecutor(copies, mp_context=context, initializer=_begin, initargs=(together,)) as pool:
        return sum(pool.map(_timed, [kind] * copies, [seconds] * copies))


def _runs() -> Sequence[tuple[int, bytes]]:
    """Partition and joined keys of a slab; the partitions take turns."""
    traffic = Traffic(topic="t", records=2 * _KEPT, partitions=_PARTITIONS)
    place = partition_of("murmur2", _PARTITIONS)
    columns: list[list[bytes]] = [[] for _ in range(_PARTITIONS)]
    for ranks in traffic.ranks(0):
        for rank in ranks:
            key = traffic.key(rank)
            columns[place(key)].append(key)
    return [
        (partition, b"\n".join(part))
        for start in range(0, max(map(len, columns)), _SLAB)
        for partition, column in enumerate(columns)
        if (part := column[start : start + _SLAB])
    ]


_together: Any = None


def _begin(together: Any) -> None:  # noqa: ANN401 - a barrier of another context than the threads'
    """In each process, once."""
    global _together  # noqa: PLW0603 - it comes to a process when that is made, and no later
    _together = together


def _timed(kind: str, seconds: float) -> float:
    work = _KINDS[kind]()
    _together.wait()
    done, began_s = 0, time.monotonic()
    while (spent_s := time.monotonic() - began_s) < seconds:
        done += work.step()
    return done / spent_s


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
