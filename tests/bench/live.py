"""Live traffic: what it costs, and how soon a flood is in the registry and at the producers.

``python -m tests.bench.live`` runs :mod:`tests.bench.latency` with floods of 30 % and of 5 %, and
:mod:`tests.bench.followers`. Everything has default settings.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Final

from tests.bench import followers, latency
from tests.bench.filling import Traffic
from tests.bench.parts import Goal, Part, alone, rounded, servers

if TYPE_CHECKING:
    from tests.bench.parts import Figures, Found, Say

_LARGE: Final = "floods of 30 % of 50,000 a second"
_SMALL: Final = "floods of 5 % of 50,000 a second"
_MODEST: Final = "floods of 30 % of 20,000 a second"
#: Share, records a second, floods.
RUNS: Final = {_LARGE: (0.3, 50_000, 100), _SMALL: (0.05, 50_000, 100), _MODEST: (0.3, 20_000, 30)}
#: Where no flood was found there are none.
_TIMES: Final = ("p50_s", "p99_s", "most_s")
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
    found: dict[str, Figures] = {}
    for name, (share, per_s, floods) in RUNS.items():
        found[name] = floods_of(share, per_s // 5 if tiny else per_s, 2 if tiny else floods)
        say(f"latency: {name}: {found[name]}")
    return {**found, **followers.measure(say, tiny)}


def floods_of(share: float, per_s: int, floods: int) -> Figures:
    with servers("live") as ground:
        options = argparse.Namespace(share=share, per_s=per_s, floods=floods)
        told = asyncio.run(latency.measure(ground.place(Traffic(topic="live", records=0)), options))
    none = told["missed"] == told["floods"]
    return rounded({name: None if none and name in _TIMES else told[name] for name in told if name != "share"})


PART: Final = Part("latency", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
