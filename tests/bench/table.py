"""What came out, for people and for programs."""

from __future__ import annotations

import json
import statistics
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.bench.throughput import (
    CONFLUENT,
    GETMANY,
    GETMANY_500,
    LARGE,
    PLAIN_FAUST,
    QUIXSTREAMS,
    SMALL,
    WORKER,
    of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.bench.rounds import Result
    from tests.bench.throughput import Rounds

NAMES: Final = {
    WORKER: "hotshard worker, the whole path",
    GETMANY: "aiokafka getmany alone",
    GETMANY_500: "getmany alone, 500 records a call",
    CONFLUENT: "confluent-kafka merely consuming",
    PLAIN_FAUST: "plain Faust agent, same sketches",
    QUIXSTREAMS: "quixstreams, count per key and window",
}


class Goal(NamedTuple):
    """The worker is to be so many times as fast as a peer."""

    case: str
    peer: str
    times: float

    def __str__(self) -> str:
        return f"{self.case}: worker / {self.peer}"

    def is_asked(self, found: Mapping[str, Rounds]) -> bool:
        """Whether both took part, whatever came of it."""
        return {WORKER, self.peer} <= found.get(self.case, {}).keys()

    def verdict(self, found: Mapping[str, Rounds]) -> str:
        is_ = ratio(found, self.case, self.peer)
        row = f"{self.case}: worker / {NAMES[self.peer]}"
        if is_ is None:
            return f"{row}: the goal of {self.times:g} is MISSED: no figure"
        return f"{row}: {is_:.2f}, the goal of {self.times:g} is {'MISSED' if self.is_missed(found) else 'reached'}"

    def is_missed(self, found: Mapping[str, Rounds]) -> bool:
        is_ = ratio(found, self.case, self.peer)
        return is_ is None or is_ < self.times


GOALS: Final = (
    Goal(SMALL, GETMANY, 2.5),
    Goal(SMALL, CONFLUENT, 1.5),
    Goal(SMALL, PLAIN_FAUST, 100.0),
    Goal(SMALL, QUIXSTREAMS, 25.0),
    Goal(LARGE, GETMANY, 1.0),
    Goal(LARGE, CONFLUENT, 1.0),
)


#: What programs know the medians of the small case by, and whose they are.
FIGURES: Final = {f"{name}_per_s": name for name in (WORKER, PLAIN_FAUST, GETMANY, CONFLUENT, QUIXSTREAMS)}
#: Told beside the goals, with none of its own: ``getmany`` as nobody's documentation writes it.
_BESIDE: Final = ((SMALL, GETMANY_500), (LARGE, GETMANY_500))


def ratio(found: Mapping[str, Rounds], case: str, peer: str) -> float | None:
    """How many times as fast as a peer the worker is; None where one of them has no figure."""
    mine, theirs = of(found, case, WORKER), of(found, case, peer)
    return median_per_s(mine) / median_per_s(theirs) if mine and theirs else None


def missed(found: Mapping[str, Rounds]) -> list[str]:
    """The goals that were asked and are not reached."""
    return [str(goal) for goal in GOALS if goal.is_asked(found) and goal.is_missed(found)]


def median_per_s(results: Sequence[Result]) -> float:
    return statistics.median(result.per_s for result in results)


def table(found: Mapping[str, Rounds]) -> str:
    """A line per case and contestant, in records a second."""
    head = ("records a second", "rounds", "median", "least", "most", "seconds", "per CPU second")
    lines: list[str] = []
    for case, rounds in found.items():
        lines += ["", case, _row(*head)]
        lines += [_line(NAMES[name], results) for name, results in rounds.items()]
    return "\n".join([*lines, "", *_goals(found)])


def _line(name: str, results: Sequence[Result]) -> str:
    if not results:
        return f"{name}: none of its rounds came to an end"
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
    return f"{first:38}" + "".join(f"{other:>{15 if at == 5 else 11}}" for at, other in enumerate(others))


def _goals(found: Mapping[str, Rounds]) -> list[str]:
    lines = [goal.verdict(found) for goal in GOALS if goal.is_asked(found)]
    for case, peer in _BESIDE:
        is_ = ratio(found, case, peer)
        if is_ is not None:
            lines.append(f"{case}: worker / {NAMES[peer]}: {is_:.2f}, no goal")
    return lines


def as_json(found: Mapping[str, Rounds]) -> str:
    """One line; null for a contestant that did not run, or did not come to an end."""
    short = {
        figure: round(median_per_s(results)) if (results := of(found, SMALL, name)) else None
        for figure, name in FIGURES.items()
    }
    return json.dumps({**short, "missed": missed(found)})


def as_stored(found: Mapping[str, Rounds]) -> dict[str, Any]:
    """Records a second by case and contestant: the median, the least and the most."""
    return {
        case: {
            name: {
                "median": round(median_per_s(results)),
                "least": round(min(result.per_s for result in results)),
                "most": round(max(result.per_s for result in results)),
            }
            for name, results in rounds.items()
            if results
        }
        for case, rounds in found.items()
    }


def compared(found: Mapping[str, Rounds], stored: Mapping[str, Any]) -> list[str]:
    """What was measured now beside what is stored: also as a ratio to getmany, which cancels the machine."""
    now = as_stored(found)
    lines = [_row("now / stored", "now", "stored", "now/stored", "to getmany")]
    for case, names in now.items():
        then = stored.get(case, {})
        lines += [_compared(case, name, (names, then)) for name in names if name in then]
    return lines


def _compared(case: str, name: str, sides: tuple[Mapping[str, Any], Mapping[str, Any]]) -> str:
    now, then = (side[name]["median"] for side in sides)
    floor_now, floor_then = (side.get(GETMANY, {}).get("median") for side in sides)
    relative = f"{now / floor_now / (then / floor_then):.2f}" if floor_now and floor_then else ""
    return _row(f"{case}: {name}", f"{now:,}", f"{then:,}", f"{now / then:.2f}", relative)
