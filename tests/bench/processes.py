"""One process and two of ``hotshard worker --processes N``: ``python -m tests.bench.processes``.

They read the same topic from its beginning, in turns, and nothing is pinned to a core. A round is timed as in
:mod:`tests.bench.rounds`, from the moment at which all its members have their partitions. The broker waits for the
second member before it gives the first any, as one in earnest does; what is committed when the clock starts, should
the second come later than that, is not in the round's records.

A machine of two cores has no core free for a second process, as the broker needs a part of one. So what is possible
here is measured, too: what two processes reach that share nothing (:mod:`tests.bench.side_by_side`), and how much of
the cores everybody took while one process ran. ``machine_allows`` is what follows: all cores, as fast together as two
counting processes are, divided by the processor time that a record took of members, broker and watch. All of it holds
for a machine that does nothing else: where others want the cores, two processes get more of them than one.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.demo.servers import ApacheKafka
from tests.bench import machine, side_by_side, watching
from tests.bench.filling import Traffic, fill
from tests.bench.parts import Goal, Ground, Part, alone, rounded, servers
from tests.bench.rounds import all_counted, decided_on, observing_group, running, settings_text
from tests.bench.watching import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.bench.parts import Figures, Found, Say
    from tests.bench.rounds import Place

_ONE: Final = "one process"
_TWO: Final = "two processes"
_BESIDE: Final = "two beside one"
_RATIO: Final = "ratio_with_cores_free"
_COPIES: Final = 2
_ASSIGNED_WITHIN_S: Final = 60.0
_DONE_WITHIN_S: Final = 300.0
_BUSY: Final = "not judged: this machine has no core free for each of the two beside what the broker takes"
GOALS: Final = (Goal(_BESIDE, _RATIO, least=1.7, else_=_BUSY),)


class _Waiting(ApacheKafka):
    """A broker that gives a new group its partitions when nobody has joined for a while: Kafka's own default."""

    def settings(self) -> dict[str, str]:
        return {**super().settings(), "group.initial.rebalance.delay.ms": "3000"}


class Spent(NamedTuple):
    """Processor seconds."""

    members: float
    broker: float
    watch: float


class Round(NamedTuple):
    """Records counted, in how long, and what that took of the processor; None where it is not told."""

    records: int
    seconds: float
    spent: Spent | None

    @property
    def per_s(self) -> float:
        return self.records / self.seconds


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    records, rounds, seconds = (1_000_000, 1, 0.5) if tiny else (12_000_000, 3, 2.0)
    loop, counting = (_beside(kind, rounds, seconds, say) for kind in (side_by_side.LOOP, side_by_side.COUNTING))
    traffic = Traffic(topic="processes", records=records)
    with servers(traffic.topic, pin=False, kafka_of=_Waiting) as ground:
        began_s = time.monotonic()
        fill(ground.bootstrap, traffic)
        say(f"processes: {records:,} records produced in {time.monotonic() - began_s:.0f} s")
        found = asyncio.run(_turns(ground, traffic, rounds, say))
    one, two = _figures(found[1]), _figures(found[2])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {_ONE: one, _TWO: two, _BESIDE: compared(one, two, cores, loop, counting)}


# -- what two copies reach ------------------------------------------------------------------------


def _beside(kind: str, rounds: int, seconds: float, say: Say) -> float:
    """Two copies, as a multiple of one: the median of rounds in turns."""
    ratios = []
    for _ in range(rounds):
        one, two = (side_by_side.per_s(kind, copies, seconds) for copies in (1, _COPIES))
        ratios.append(two / one)
    ratio = statistics.median(ratios)
    say(f"processes: {kind}: two that share nothing reach {ratio:.2f} times one")
    return ratio


# -- rounds ---------------------------------------------------------------------------------------


async def _turns(ground: Ground, traffic: Traffic, rounds: int, say: Say) -> dict[int, list[Round]]:
    found: dict[int, list[Round]] = {1: [], _COPIES: []}
    place, broker = ground.place(traffic), _broker()
    for number in range(1, rounds + 1):
        for processes in (1, _COPIES)[:: 1 if number % 2 else -1]:
            result = await _round(place, f"{traffic.topic}-{processes}-{number}", processes, broker)
            found[processes].append(result)
            say(f"processes: round {number} of {rounds}: {processes}, {result.per_s:,.0f} records a second")
    return found


async def _round(place: Place, name: str, processes: int, broker: Sequence[int]) -> Round:
    """Let so many processes, with topics, group and registry of their own, read everything. Raises StoppedError."""
    traffic, group_name = place.traffic, observing_group(name)
    settings = place.folder / f"{name}.toml"
    settings.write_text(settings_text(place, name))
    ends = await watching.end_offsets(place.bootstrap, traffic.topic, traffic.partitions)
    await watching.begin_at_zero(place.bootstrap, group_name, traffic.topic, traffic.partitions)
    command = ["-m", "hotshard", "worker", "--settings", str(settings), "--processes", str(processes)]
    async with place.group(group_name) as group, running(place, name, command) as child:
        assigned = Patience(_ASSIGNED_WITHIN_S, lambda: child.running)
        start_s = await assigned.until(lambda: group.assigned(processes), "every process has partitions")
        before = sum((await group.committed()).values())
        spent = _spending(child.pid, broker)
        async with watching.listening(place.bootstrap, f"{name}-panes", f"{name}-state") as written:
            patience = Patience(_DONE_WITHIN_S, lambda: child.running)
            await patience.until(lambda: group.has_committed(ends), "the group has committed all")
            _, end_s = await decided_on(patience, place, name, written, ends)
            counted = all_counted(written, ends, traffic)
        return Round(counted - before, end_s - start_s, spent())


def _spending(worker: int, broker: Sequence[int]) -> Callable[[], Spent | None]:
    """From now on; None where it is not told, or where a process ended meanwhile."""

    def taken() -> list[float | None]:
        return [_cpu_s(members), _cpu_s(broker), time.process_time()]

    members = [worker, *_children(worker)]
    began = taken()

    def spent() -> Spent | None:
        parts = [None if a is None or b is None else b - a for a, b in zip(began, taken(), strict=True)]
        told = [part for part in parts if part is not None]
        return Spent(*told) if len(told) == len(parts) else None

    return spent


def _cpu_s(pids: Sequence[int]) -> float | None:
    each = [machine.cpu_s(pid) for pid in pids]
    told = [seconds for seconds in each if seconds is not None]
    return sum(told) if told and len(told) == len(each) else None


def _children(pid: int) -> list[int]:
    """The processes that this one started and that run; none where that is not told."""
    return [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _parent(stat) == pid]


def _parent(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None  # it has ended


def _broker() -> list[int]:
    """Kafka, among the processes that this one started."""
    return [pid for pid in _children(os.getpid()) if b"kafka.Kafka" in Path(f"/proc/{pid}/cmdline").read_bytes()]


# -- figures --------------------------------------------------------------------------------------


def _figures(rounds: Sequence[Round]) -> Figures:
    """Medians; cores are processor seconds a second, and ``per_cpu_s`` is of the members alone."""
    speeds = [each.per_s for each in rounds]
    told = [(each, each.spent) for each in rounds if each.spent is not None]
    return rounded(
        {
            "per_s": statistics.median(speeds),
            "least": min(speeds),
            "most": max(speeds),
            "per_cpu_s": _median([each.records / max(spent.members, 1e-9) for each, spent in told]),
            "member_cores": _median([spent.members / each.seconds for each, spent in told]),
            "broker_cores": _median([spent.broker / each.seconds for each, spent in told]),
            "watch_cores": _median([spent.watch / each.seconds for each, spent in told]),
        }
    )


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def compared(one: Figures, two: Figures, cores: int, loop: float, counting: float) -> Mapping[str, float | None]:
    """Two as a multiple of one, and as a part of what ``cores`` allow; the goal's figure where they allow 2.

    ``loop`` and ``counting`` are what two copies of each reach beside one.
    """
    taken = [one[name] for name in ("member_cores", "broker_cores", "watch_cores")]
    told = [part for part in taken if part is not None]
    ratio = (two["per_s"] or 0.0) / (one["per_s"] or 1.0)
    allows = cores * min(1.0, counting / _COPIES) / sum(told) if told and len(told) == len(taken) else None
    return rounded(
        {
            "ratio": ratio,
            "cores": cores,
            "loop_ratio": loop,
            "counting_ratio": counting,
            "machine_allows": None if allows is None else min(_COPIES, allows),
            _RATIO: ratio if allows is not None and allows >= _COPIES else None,
        }
    )


PART: Final = Part("processes", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
