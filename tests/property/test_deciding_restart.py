"""A decider that is made anew from what it wrote goes on as one that never was."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.keys import with_suffix
from hotshard.core.wire.route import Route, RouteState
from tests.support.deciding import PARTITIONS, PLACE, Hearing, Traffic, key, setup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.pane import PaneMessage
    from hotshard.core.wire.report import WindowReport

FLOODS = (key(1), key(2, "globex"), b"\x00binary")


class Second(NamedTuple):
    """What happens in one second of traffic."""

    #: Records a second of each flooded key.
    floods: tuple[int, ...]
    #: Records a second of everything else, in each partition.
    calm: int
    #: Partitions that say something early; that count nothing; whose worker is gone; that are taken over.
    early: frozenset[int]
    idle: frozenset[int]
    gone: frozenset[int]
    moved: frozenset[int]
    #: Which of the restarts of this second take place: before a message, before a tick, or instead of writing.
    restarts: frozenset[int]


some = st.frozensets(st.integers(0, PARTITIONS - 1), max_size=3)
none: st.SearchStrategy[frozenset[int]] = st.just(frozenset())
rarely = st.one_of(none, none, none, some)
seconds = st.builds(
    Second,
    floods=st.tuples(*(st.sampled_from((0, 0, 60, 250)) for _ in FLOODS)),
    calm=st.sampled_from((0, 10, 30)),
    early=some,
    idle=rarely,
    gone=rarely,
    moved=rarely,
    restarts=st.frozensets(st.integers(0, 20), max_size=4),
)
#: Floods last some seconds: each second drawn is lived through a few times.
lives = st.lists(st.tuples(seconds, st.integers(1, 5)), min_size=2, max_size=7)


class Pair:
    """The same panes topic heard by a decider that is never restarted, and by one that is."""

    def __init__(self, every: int) -> None:
        self.steady = Hearing(setup(), every=every)
        self.restarted = Hearing(setup(), every=every)
        self.restarts = 0

    def hear(self, message: PaneMessage, now_ms: int, *, restart: bool) -> None:
        if restart:
            self.restart(now_ms)
        self.steady.hear(message, now_ms)
        self.restarted.hear(message, now_ms)

    def tick(self, now_ms: int, *, before: bool, instead: bool) -> None:
        """Let both decide; what the one says the other says, too, when it has to do with heat or routes."""
        if before:
            self.restart(now_ms)
        if instead:
            self.restarted.tick(now_ms, written=False)
            self.restart(now_ms)
        one, other = self.steady.tick(now_ms), self.restarted.tick(now_ms)
        assert (other.events if other else ()) == (one.events if one else ())
        assert (dict(other.routes) if other else {}) == (dict(one.routes) if one else {})

    def restart(self, now_ms: int) -> None:
        self.restarts += 1
        self.restarted.restart(now_ms)


def loads_of(second: Second, routes: Mapping[bytes, Route]) -> dict[int, dict[bytes, int]]:
    """What each partition gets, producers obeying the routes."""
    loads: dict[int, dict[bytes, int]] = {each: {} for each in range(PARTITIONS)}
    for number in range(PARTITIONS * 4):
        name = key(100 + number)
        if second.calm:
            loads[PLACE(name)][name] = second.calm // 3
    for name, load in zip(FLOODS, second.floods, strict=True):
        route = routes.get(name)
        shards = {PLACE(name): name}
        if route is not None and route.state is RouteState.ACTIVE:
            shards = {p: with_suffix(name, s) for p, s in zip(route.partitions, route.suffixes, strict=True)}
        for partition, wire in shards.items():
            if load:
                loads[partition][wire] = load // len(shards)
    return loads


def live(second: Second, traffic: Traffic, pair: Pair) -> None:
    """A second: early versions, a look, final versions, what workers say, and two looks."""
    loads, began_ms = loads_of(second, pair.steady.told.routes), traffic.now_ms
    common: dict[str, Any] = {"opened_ms": began_ms}
    turn = iter(range(1000))

    def hear(message: PaneMessage) -> None:
        pair.hear(message, traffic.now_ms, restart=next(turn) in second.restarts)

    def tick() -> None:
        number = next(turn)
        pair.tick(traffic.now_ms, before=number in second.restarts, instead=number + 1 in second.restarts)

    counting = [p for p in range(PARTITIONS) if p not in second.idle | second.gone and loads[p]]
    traffic.now_ms = began_ms + 300
    for partition in set(counting) & second.early:
        hear(traffic.version(partition, {k: n // 2 for k, n in loads[partition].items()}, **common))
    tick()
    traffic.now_ms = began_ms + 1000
    for partition in counting:
        if partition in second.moved:
            hear(traffic.version(partition, loads[partition], **common))
            traffic.taken_over(partition)
            # Whoever has it now may cut it elsewhere.
            hear(traffic.cut(partition, {k: n // 3 for k, n in loads[partition].items()}, **common))
        else:
            hear(traffic.cut(partition, loads[partition], **common))
    present = [p for p in range(PARTITIONS) if p not in second.gone]
    hear(traffic.progress(*present))
    tick()
    traffic.now_ms += 200
    tick()
    traffic.now_ms = began_ms + 1000


def summed(reports: list[WindowReport]) -> dict[int, Counter[str]]:
    """What the reports of each window come to together."""
    sums: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for report in reports:
        found = sums[report.start_ms]
        found["records"] += report.records
        found["bytes"] += report.size_bytes
        found["lost"] += report.lost
        for each in report.partitions:
            found[f"partition {each.partition}"] += each.load
    return sums


def ranges(reports: list[WindowReport]) -> list[int]:
    """Every offset that was counted, of every partition."""
    return sorted(
        each.partition * 1_000_000_000 + offset
        for report in reports
        for each in report.ranges
        for offset in range(each.start, each.end)
    )


QUIET = Second((0, 0, 0), 0, *(frozenset[int]() for _ in range(5)))


@given(life=lives, every=st.integers(1, 3))
def test_a_decider_restarted_anywhere_says_what_one_that_was_not_says_and_nothing_twice(
    life: list[tuple[Second, int]], every: int
) -> None:
    traffic, pair = Traffic(), Pair(every)
    for second, times in life:
        for _ in range(times):
            live(second, traffic, pair)
    for _ in range(12):
        live(QUIET, traffic, pair)
    steady, restarted = pair.steady.told, pair.restarted.told
    assert restarted.events == steady.events
    assert restarted.routes == steady.routes
    ids = [event.id for event in restarted.events]
    assert len(ids) == len(set(ids))
    named = [(report.start_ms, report.revision) for report in restarted.reports]
    assert len(named) == len(set(named))
    assert summed(restarted.reports) == summed(steady.reports)
    counted = ranges(restarted.reports)
    assert len(counted) == len(set(counted)) == sum(traffic.counted.values())
