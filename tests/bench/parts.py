"""What the parts of the benchmark have in common: servers, a table, goals, and how they compare with a stored result.

A part gives rows of figures, all by name. Names of figures end in their unit.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hotshard.demo.servers import ApacheKafka, apache_missing, choose_redis
from hotshard.demo.servers.child import new_folder, remove_folder
from hotshard.errors import HotshardError, UnavailableError
from tests.bench import machine
from tests.bench.rounds import Place
from tests.bench.watching import StoppedError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.filling import Traffic

_NAME: Final = 48

Figures = Mapping[str, float | None]
#: Rows by name.
Found = Mapping[str, Figures]
Say = Callable[[str], None]


class Goal(NamedTuple):
    """A figure of a row is to be at most, or at least, so much.

    A row that was measured without the figure misses it, but where ``else_`` says why there may be none.
    """

    row: str
    figure: str
    most: float | None = None
    least: float | None = None
    else_: str = ""

    def __str__(self) -> str:
        return f"{self.row}: {self.figure}"

    def verdict(self, found: Found) -> str | None:
        """One line; None where the row was not measured."""
        if self.row not in found:
            return None
        is_ = found[self.row].get(self.figure)
        if is_ is None:
            return f"{self}: {self.else_ or 'MISSED: no figure'}"
        limit = f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"
        verdict = "MISSED" if self.is_missed(found) else "reached"
        return f"{self} {number(is_)}, the goal of {limit} is {verdict}"

    def is_missed(self, found: Found) -> bool:
        if self.row not in found:
            return False
        is_ = found[self.row].get(self.figure)
        if is_ is None:
            return not self.else_
        return (self.most is not None and is_ > self.most) or (self.least is not None and is_ < self.least)


class Part(NamedTuple):
    """One part of the benchmark. ``measure`` takes where progress goes, and whether all is to be tiny."""

    name: str
    measure: Callable[[Say, bool], Found]
    goals: Sequence[Goal]


@dataclass(frozen=True)
class Ground:
    """Servers that run, a folder for files, and who gets which core."""

    bootstrap: str
    redis_url: str
    folder: Path
    cores: machine.Cores

    def place(self, traffic: Traffic) -> Place:
        return Place(self.bootstrap, self.redis_url, traffic, self.folder, self.cores)


@contextmanager
def servers(name: str, *, pin: bool = True, kafka_of: Callable[[], ApacheKafka] = ApacheKafka) -> Iterator[Ground]:
    """Start a Kafka and a Redis. Raises UnavailableError where they cannot run."""
    missing = apache_missing()
    if missing is not None:
        raise UnavailableError(f"the benchmark needs Apache Kafka: {missing}")
    cores = machine.share_out(pin=pin)
    with ExitStack() as stack:
        folder = new_folder(name)
        stack.callback(remove_folder, folder)
        stack.enter_context(machine.on(cores.servers))
        kafka = stack.enter_context(kafka_of())
        redis_server = stack.enter_context(choose_redis().server)
        yield Ground(kafka.bootstrap, redis_server.url, folder, cores)


def show(found: Found, goals: Sequence[Goal]) -> str:
    """Rows with the same figures stand under one head; then the goals."""
    lines: list[str] = []
    for figures, rows in groupby(found.items(), key=lambda row: tuple(row[1])):
        lines.append(_row("", figures, [max(11, len(figure) + 2) for figure in figures]))
        for name, values in rows:
            widths = [max(11, len(figure) + 2) for figure in figures]
            lines.append(_row(name, [number(values[figure]) for figure in figures], widths))
        lines.append("")
    return "\n".join([*lines, *(line for goal in goals if (line := goal.verdict(found)))])


def _row(first: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    return f"{first:{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"


def as_json(found: Found, goals: Sequence[Goal]) -> dict[str, Any]:
    """For programs: the rows, and the names of the goals that are missed."""
    return {**found, "missed": [str(goal) for goal in goals if goal.is_missed(found)]}


def compared(now: Found, stored: Found) -> list[str]:
    """Every figure that is in both, and now / stored."""
    widths = (14, 14, 12)
    lines = [_row("now beside what is stored", ("now", "stored", "now/stored"), widths)]
    for row, figures in now.items():
        for figure, value in figures.items():
            then = stored.get(row, {}).get(figure)
            if value is not None and then is not None:
                ratio = f"{value / then:.2f}" if then else ""
                lines.append(_row(f"{row}: {figure}", (number(value), number(then), ratio), widths))
    return lines


def load() -> float:
    """Processes that ran or waited to, on average of the last minute."""
    return round(os.getloadavg()[0], 2)


def alone(part: Part) -> int:
    """Run one part by itself: a table, then a line for programs."""
    parser = argparse.ArgumentParser(description=f"The part {part.name} of the benchmark.")
    parser.add_argument("--tiny", action="store_true", help="sizes that only show that it works")
    tiny: bool = parser.parse_args().tiny
    quieten()
    before = load()
    try:
        found = part.measure(say, tiny)
    except (HotshardError, StoppedError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    out(f"{machine.description()}; load average {before} before, {load()} after")
    out(show(found, part.goals))
    out(json.dumps({part.name: as_json(found, part.goals)}))
    return 0


def quieten() -> None:
    """The broker's first group makes it create the topic of offsets; aiokafka takes the wait for an error."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def out(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def settings_with(text: str, topics: Sequence[str]) -> str:
    """Settings that watch further topics, too."""
    return text + "".join(f"\n[topics.{topic}]\n" for topic in topics)


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Between the two values next to it; None of no values."""
    if len(values) < 2:
        return next(iter(values), None)
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def rounded(figures: Mapping[str, Any], digits: int = 3) -> dict[str, float | None]:
    return {name: None if value is None else round(float(value), digits) for name, value in figures.items()}
