"""Live traffic: what it costs, and how soon a flood is in the registry and at the producers.

``python -m tests.bench.live`` runs :mod:`tests.bench.latency` with floods of 30 % and of 5 %, and
:mod:`tests.bench.followers`. Everything has default settings. What live traffic costs is measured at 20,000 records
a second in batches of 11, as ``worker_cores``.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tests.bench import followers, latency
from tests.bench.filling import Traffic
from tests.bench.latency import Floods
from tests.bench.parts import Goal, Part, alone, servers

if TYPE_CHECKING:
    from tests.bench.parts import Found, Say

_LARGE: Final = "floods of 30 % of 50,000 a second"
_SMALL: Final = "floods of 5 % of 50,000 a second"
_MODEST: Final = "floods of 30 % of 20,000 a second"
#: Twelve partitions get a batch each tick: the last of these of 11 records, the others of 83.
RUNS: Final = {
    _LARGE: Floods(0.3, 50_000, 100),
    _SMALL: Floods(0.05, 50_000, 30),
    _MODEST: Floods(0.3, 20_000, 16, tick_s=0.0066),
}
GOALS: Final = (
    Goal(_LARGE, "p50_s", most=0.7),
    Goal(_LARGE, "p99_s", most=1.5),
    Goal(_LARGE, "missed", most=0),
    Goal(_SMALL, "p99_s", most=4.0),
    Goal(_SMALL, "missed", most=0),
    Goal(_MODEST, "worker_cores", most=0.15),
    *followers.GOALS,
)


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    kinds = {name: replace(kind, floods=3, per_s=kind.per_s // 5) for name, kind in RUNS.items()} if tiny else RUNS
    with servers("live") as ground:
        found = asyncio.run(latency.measure(ground.place(Traffic(topic="live", records=0)), kinds, say))
    return {**found, **followers.measure(say, tiny)}


PART: Final = Part("latency", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
