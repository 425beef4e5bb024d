"""What views and reports cost a decider, without Kafka: run by hand, ``python tests/bench/bench_view.py``.

Every second each partition cuts a pane with so many rows of keys, and a fifth as many of tenants. Both views
of a policy take them in and let them go, and are asked what heat asks, forty times a second. Printed is the
share of one core that takes, and how long the report of a ten-second window takes; ``--profile`` shows where
it goes. Panes are decoded anew, as they come from Kafka.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import resource
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hotshard.core.panes.ledger import Confirmed
from hotshard.core.panes.reporting import window_report
from hotshard.core.panes.view import View
from hotshard.core.panes.window import OpenWindow
from hotshard.core.topic import TopicSpec
from hotshard.core.wire.pane import HeavyList, Pane, Row, decode, encode
from hotshard.core.wire.report import encode as encode_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hotshard.core.panes.window import ClosedWindow

NOW_MS = 1_700_000_000_000
WINDOW_S = 10
ASKED_PER_S = 40
HOT = 5


@dataclass(frozen=True)
class Case:
    """``local``: no key is on two partitions, as a partitioner puts them."""

    name: str
    partitions: int = 1000
    rows: int = 100
    local: bool = True
    #: Routed keys of 8 shards, each counted exactly in every pane.
    routed: int = 0
    seconds: int = 20


CASES = (
    Case("32 partitions", partitions=32),
    Case("1,000 partitions"),
    Case("the same keys everywhere", local=False),
    Case("256 rows a pane", rows=256),
    Case("20 routes", routed=20),
)


def key(number: int) -> bytes:
    return b"t%04d\x1f%07d" % (number % 200, number)


def aliases(case: Case) -> dict[bytes, bytes]:
    return {key(n) + tail: key(n) for n in range(case.routed) for tail in (b"", *(b"\x1f%d" % s for s in range(8)))}


def panes(case: Case, second: int) -> Iterator[Pane]:
    """The panes of one second; keys come and go, a third of them stays."""
    draw = random.Random(second)  # noqa: S311  # traffic, no secrets
    exact = dict.fromkeys(aliases(case), 3)
    for partition in range(case.partitions):
        base = 10_000 * partition if case.local else 0
        numbers = [*range(case.rows // 3), *draw.sample(range(case.rows, 9_000), case.rows - case.rows // 3)]
        rows = tuple(row(key(base + number), 4_000 // (rank + 1)) for rank, number in enumerate(numbers))
        tenants = tuple(row(b"t%04d" % number, 400 // (number + 1)) for number in range(case.rows // 5))
        yield decoded(
            Pane(
                topic="orders", source="orders", partition=partition, start=second * 20_000,
                end=(second + 1) * 20_000, generation=1, high_watermark=(second + 1) * 20_000, worker="w1",
                records=20_000, size_bytes=400_000, loads={partition: 20_000}, keys=HeavyList(rows, 20),
                tenants=HeavyList(tenants, 20), exact=exact, time_ms=NOW_MS + second * 1000, span_ms=1000,
                opened_ms=NOW_MS + (second - 1) * 1000, cut_ms=NOW_MS + second * 1000,
            )
        )  # fmt: skip


def row(name: bytes, load: int) -> Row:
    return Row(name, load, load + 2)


def decoded(pane: Pane) -> Pane:
    message = decode(encode(pane))
    if not isinstance(message, Pane):
        raise TypeError
    return message


class Measured:
    """A case being run, and the processor time that its parts took."""

    def __init__(self, case: Case, profile: cProfile.Profile | None) -> None:
        self.case = case
        self.views = [View(2_000), View(10_000)]
        self.window = OpenWindow(NOW_MS, 0, 0)
        self.routed = aliases(case)
        for view in self.views:
            view.aliases = self.routed
        self.put_ns = self.ask_ns = self.report_ns = 0
        self._profile = profile

    def second(self, number: int) -> None:
        made, now_ms = list(panes(self.case, number)), NOW_MS + number * 1000
        put_ns = self._spent(self._put, made, now_ms)
        ask_ns = sum(self._spent(self._ask, now_ms) for _ in range(ASKED_PER_S))
        if number >= WINDOW_S:  # by then as much leaves as comes
            self.put_ns += put_ns
            self.ask_ns += ask_ns
        if number >= self.case.seconds - WINDOW_S:
            for pane in made:
                self.window.add(Confirmed(pane, 0, 0))

    def report(self) -> bytes:
        closed, reports = self.window.closed(1000 * WINDOW_S, 1.0), list[bytes]()
        self.report_ns = self._spent(lambda: reports.append(self._report(closed)))
        return reports[0]

    def _spent(self, doing: Callable[..., object], *given: object) -> int:
        if self._profile:
            self._profile.enable()
        began_ns = time.thread_time_ns()
        doing(*given)
        spent_ns = time.thread_time_ns() - began_ns
        if self._profile:
            self._profile.disable()
        return spent_ns

    def _put(self, made: list[Pane], now_ms: int) -> None:
        for view in self.views:
            for pane in made:
                view.put(pane)
            view.expire(now_ms)

    def _ask(self, now_ms: int) -> None:
        """What a round of deciding asks of the views."""
        for view in self.views:
            view.expire(now_ms)
            view.span_s(now_ms)
            for side in (view.keys, view.tenants):
                for name, _, _ in side.candidates(20_000 * self.case.partitions // 200):
                    side.bounds(name)
        for number in range(HOT):
            self.views[1].keys.bounds(key(number))
            self.views[1].by_partition(key(number))

    def _report(self, closed: ClosedWindow) -> bytes:
        spec, none = TopicSpec(name="orders", sources=("orders",)), frozenset[bytes]()
        count, routed = self.case.partitions, self.routed
        return encode_report(
            window_report(closed, spec, partitions=count, aliases=routed, hot_keys=none, hot_tenants=none)
        )


def run(case: Case, profile: cProfile.Profile | None = None) -> str:
    measured = Measured(case, profile)
    for number in range(case.seconds):
        measured.second(number)
    size, counted = len(measured.report()), case.seconds - WINDOW_S
    return (
        f"{case.name:25} {measured.put_ns / counted / 1e7:6.1f} % of a core for panes  "
        f"{measured.ask_ns / counted / 1e7:6.1f} % for questions  {len(measured.views[1].keys):9,} keys  "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:6.0f} MB at most  "
        f"report {measured.report_ns / 1e6:6.0f} ms, {size / 1000:5.0f} kB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the case of this name")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    for case in CASES:
        if asked.only in {None, case.name}:
            profile = cProfile.Profile() if asked.profile else None
            print(run(replace(case, seconds=asked.seconds), profile), flush=True)  # noqa: T201
            if profile:
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
