"""What came out, for people and for programs."""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.bench.rounds import Result

WORKER: Final = "worker"
PLAIN_FAUST: Final = "plain_faust"
GETMANY: Final = "getmany"
GETMANY_500: Final = "getmany_500"

_NAMES: Final = {
    WORKER: "hotshard worker, the whole path",
    GETMANY: "aiokafka getmany alone",
    GETMANY_500: "getmany alone, 500 records a call",
    PLAIN_FAUST: "plain Faust agent, same sketches",
}


class Goal(NamedTuple):
    """The worker is to be so many times as fast as a peer."""

    peer: str
    times: float


GOALS: Final = (Goal(GETMANY, 2.0), Goal(PLAIN_FAUST, 80.0))


def median_per_s(results: Sequence[Result]) -> float:
    return statistics.median(result.per_s for result in results)


def table(rounds: Mapping[str, Sequence[Result]]) -> str:
    """A line per contestant, in records a second."""
    head = ("records a second", "rounds", "median", "least", "most", "seconds", "per CPU second")
    lines = [_row(*head), *(_line(_NAMES[name], results) for name, results in rounds.items() if results)]
    return "\n".join([*lines, *_goals(rounds)])


def _line(name: str, results: Sequence[Result]) -> str:
    speeds = [result.per_s for result in results]
    by_cpu = [result.records / result.cpu_s for result in results if result.cpu_s]
    return _row(
        name,
        str(len(results)),
        *(f"{speed:,.0f}" for speed in (median_per_s(results), min(speeds), max(speeds))),
        f"{statistics.median(result.seconds for result in results):.2f}",
        f"{statistics.median(by_cpu):,.0f}" if by_cpu else "",
    )


def _row(first: str, *others: str) -> str:
    return f"{first:34}" + "".join(f"{other:>{15 if at == 5 else 11}}" for at, other in enumerate(others))


def _goals(rounds: Mapping[str, Sequence[Result]]) -> list[str]:
    worker = rounds.get(WORKER)
    lines = []
    for peer, times in GOALS:
        if worker and rounds.get(peer):
            is_ = median_per_s(worker) / median_per_s(rounds[peer])
            verdict = "reached" if is_ >= times else "MISSED"
            lines.append(f"worker / {_NAMES[peer]}: {is_:.2f}, the goal of {times:g} is {verdict}")
    return lines


def as_json(rounds: Mapping[str, Sequence[Result]]) -> str:
    """One line; null for a contestant that did not run."""
    return json.dumps(
        {
            f"{name}_per_s": round(median_per_s(rounds[name])) if rounds.get(name) else None
            for name in (WORKER, PLAIN_FAUST, GETMANY)
        }
    )
