from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hotshard.core.keys import tenant_of
from hotshard.core.panes.reporting import MAX_REPORT_BYTES
from hotshard.core.partitioners import partition_of
from hotshard.core.sketching.merging import merge, threshold
from hotshard.core.skew import describe_skew
from hotshard.core.topic import KeyLayout, Load, PartitionsFrom, TopicSpec
from hotshard.core.wire.pane import Pane, travelling_key
from hotshard.core.wire.report import WindowReport, encode
from tests.support.counting import NOW_MS, partition_panes, slab, take, topic
from tests.support.reports import closed_window, name_of, report_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.panes.cutting import PartitionPanes
    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.slab import Slab
    from hotshard.core.wire.pane import HeavyList
    from hotshard.core.wire.report import HeavyReport, Name

PARTITIONS = 5
ROUTED = {b"t1\x1f%d" % n + tail: b"t1\x1f%d" % n for n in range(3) for tail in (b"", b"\x1fa", b"\x1fb")}
ODD_KEYS = (None, b"", b"\x1f", b"\xff\xfe", b"solo", b"t9\x1f" + b"k" * 300, b"\xc3" * 300, *ROUTED)


@dataclass(frozen=True)
class Stretch:
    """A run of records of one source partition, and whether its worker knew the routes."""

    source: str
    partition: int
    records: int
    distinct: int
    routes_known: bool


stretches = st.lists(
    st.builds(
        Stretch,
        source=st.sampled_from(["m1", "m1", "m2"]),
        partition=st.integers(0, PARTITIONS - 1),
        records=st.one_of(st.integers(0, 40), st.integers(0, 4_000)),
        distinct=st.sampled_from([1, 3, 300, 10**6]),
        routes_known=st.booleans(),
    ),
    max_size=8,
)
specs = st.builds(
    lambda load, layout, where: topic(load=load, layout=layout, partitions_from=where),
    st.sampled_from(Load),
    st.sampled_from(KeyLayout),
    st.sampled_from(PartitionsFrom),
)


@dataclass
class World:
    """Records as they were sent, counted exactly, and the panes that workers made of them."""

    spec: TopicSpec
    #: The routes that stand when it is told.
    aliases: Mapping[bytes, bytes] = field(default_factory=lambda: ROUTED)
    panes: list[Pane] = field(default_factory=list)
    records: int = 0
    unkeyed: int = 0
    size_bytes: int = 0
    #: By production partition.
    keys: dict[int, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))
    tenants: dict[int, Counter[bytes]] = field(default_factory=lambda: defaultdict(Counter))
    counters: dict[tuple[str, int], PartitionPanes] = field(default_factory=dict)

    @property
    def computed(self) -> bool:
        return self.spec.partitions_from is PartitionsFrom.COMPUTED

    def run(self, draw: random.Random, stretch: Stretch) -> None:
        counter = self.counters.setdefault((stretch.source, stretch.partition), self.counter(stretch))
        part = records(draw, stretch, counter.position)
        counter.add(part, NOW_MS, ROUTED if stretch.routes_known else {})
        self.panes += take(counter)
        self.count(part)

    def counter(self, stretch: Stretch) -> PartitionPanes:
        place = partition_of("murmur2", PARTITIONS) if self.computed else None
        return partition_panes(self.spec, source=stretch.source, partition=stretch.partition, partition_of=place)

    def count(self, part: Slab) -> None:
        place = partition_of("murmur2", PARTITIONS)
        for key, size in zip(part.keys, part.sizes, strict=True):
            self.records += 1
            self.size_bytes += size
            if key is None:
                self.unkeyed += 1
                continue
            partition = place(key) if self.computed else part.partition
            load = 1 if self.spec.load is Load.RECORDS else size
            self.keys[partition][travelling_key(self.aliases.get(key, key))] += load
            tenant = tenant_of(key, self.spec.layout)
            if tenant is not None:
                self.tenants[partition][travelling_key(tenant)] += load


def records(draw: random.Random, stretch: Stretch, start: int) -> Slab:
    keys = [
        draw.choice(ODD_KEYS)
        if draw.random() < 0.3
        else b"t%d\x1f%d" % (draw.randrange(4), int(draw.random() ** 3 * stretch.distinct))
        for _ in range(stretch.records)
    ]
    sizes = [draw.choice([0, 1, 30, 1_000]) for _ in keys]
    return slab(start, keys, sizes=sizes, partition=stretch.partition)


def total(by_partition: Mapping[int, Counter[bytes]]) -> Counter[bytes]:
    return sum(by_partition.values(), Counter[bytes]())


@given(st.integers(0, 2**32), stretches, specs, st.sampled_from([ROUTED, {}]))
@example(1, [Stretch("m1", n % 5, 4_000, 10**6, n > 2) for n in range(8)], topic(), ROUTED)
@settings(max_examples=80)
def test_a_report_says_what_an_exact_count_says(
    seed: int, wanted: list[Stretch], spec: TopicSpec, at_last: Mapping[bytes, bytes]
) -> None:
    world, draw = World(spec, at_last), random.Random(seed)  # noqa: S311  # traffic, no secrets
    for stretch in wanted:
        world.run(draw, stretch)
    closed = closed_window(world.panes)
    hot = {"hot_keys": frozenset({b"t1\x1f1"}), "hot_tenants": frozenset({b"t2"})}
    report = report_of(closed, spec=spec, partitions=PARTITIONS, aliases=at_last, **hot)
    assert_totals(report, world)
    load = total(world.keys).total()
    assert_listed(report.keys, report.threshold, total(world.keys), load, hot["hot_keys"])
    assert_listed(report.tenants, report.threshold_tenants, total(world.tenants), load, hot["hot_tenants"])
    assert_threshold(report.threshold, [part.keys for part in closed.lists], load, at_last)
    assert_threshold(report.threshold_tenants, [part.tenants for part in closed.lists], load, {})
    assert_tops(report, world, closed)
    assert len(encode(report)) <= MAX_REPORT_BYTES
    assert msgspec.json.decode(encode(report), type=WindowReport) == report


def assert_totals(report: WindowReport, world: World) -> None:
    assert (report.records, report.unkeyed, report.size_bytes) == (world.records, world.unkeyed, world.size_bytes)
    assert (report.failed, report.lost, report.skipped, report.guaranteed) == (0, 0, 0, True)
    loads = {partition: world.keys[partition].total() for partition in range(PARTITIONS)}
    assert {each.partition: each.load for each in report.partitions} == loads
    skew, told = describe_skew(loads), report.skew
    assert (told.total, told.max, told.median) == (sum(loads.values()), max(loads.values()), skew.median)
    assert (told.ratio, told.imbalance) == (skew.skew_ratio, skew.imbalance)
    assert (told.idle, told.hottest) == (skew.idle_partitions, skew.hottest_partition)
    assert sum(each.records for each in report.ranges) == world.records


def assert_listed(
    rows: tuple[HeavyReport, ...], least: int, exact: Counter[bytes], load: int, hot: frozenset[bytes]
) -> None:
    listed = {name_of(row): row for row in rows}
    assert len(listed) == len(rows)
    for name, row in listed.items():
        assert row.lower <= exact[name] <= row.upper
        assert row.lower <= row.estimate <= row.upper
        assert row.share == (round(row.estimate / load, 6) if load else 0)
        assert row.hot == (name in hot)
    assert max((count for name, count in exact.items() if name not in listed), default=0) <= least
    assert list(rows) == sorted(rows, key=lambda row: -row.estimate)


def assert_threshold(least: int, lists: list[HeavyList], load: int, aliases: Mapping[bytes, bytes]) -> None:
    merged = merge(lists)
    names = {aliases.get(row.key, row.key) for row in merged.rows}
    # Beyond so many there is not room for all that may be above it.
    is_told = least == threshold(merged.error, load)
    assert is_told or (len(names) > 200 and least > threshold(merged.error, load))


def assert_tops(report: WindowReport, world: World, closed: ClosedWindow) -> None:
    for part in report.partitions:
        lists = [each for each in closed.lists if each.partition == part.partition]
        # A base key may be missing in a list under each of its three names.
        keys_missing = 3 * sum(each.keys.error for each in lists)
        tenants_missing = sum(each.tenants.error for each in lists)
        load = None if world.computed else part.load
        assert_top(part.top_keys, world.keys[part.partition], keys_missing, load)
        assert_top(part.top_tenants, world.tenants[part.partition], tenants_missing, load)


def assert_top(top: tuple[Name, ...], there: Counter[bytes], missing: int, load: int | None) -> None:
    """No load is above its estimate by more than what may be ``missing`` in lists, nor one that is not told."""
    names = [name_of(each) for each in top]
    assert len(set(names)) == len(names) <= 5
    assert [each.share for each in top] == sorted((each.share for each in top), reverse=True)
    if load is None:
        return
    shares = {name: each.share for name, each in zip(names, top, strict=True)}
    least = min(shares.values()) if len(top) == 5 else 0.0
    for name, exact in there.items():
        assert exact <= shares.get(name, least) * load + missing + 1 + 1e-6 * load


@given(st.integers(0, 2**32), st.lists(st.integers(1, 300), min_size=1, max_size=4))
@settings(max_examples=30)
def test_where_few_keys_were_sent_all_is_exact_also_where_partitions_are_computed(seed: int, sizes: list[int]) -> None:
    """Every list is whole, so estimates are the truth, by topic and by partition; shards count for their base key."""
    draw = random.Random(seed)  # noqa: S311  # traffic, no secrets
    world = World(topic(partitions_from=PartitionsFrom.COMPUTED))
    for number, size in enumerate(sizes):
        part = slab(0, [draw.choice([b"a\x1f1", b"a\x1f2", b"b\x1f1", *ROUTED]) for _ in range(size)], partition=number)
        counter = world.counter(Stretch("m1", number, size, 1, routes_known=True))
        counter.add(part, NOW_MS, ROUTED)
        world.panes += take(counter)
        world.count(part)
    report = report_of(closed_window(world.panes), spec=world.spec, partitions=PARTITIONS, aliases=ROUTED)
    assert told(report.keys) == total(world.keys)
    assert told(report.tenants) == total(world.tenants)
    for place in report.partitions:
        for top, exact in ((place.top_keys, world.keys), (place.top_tenants, world.tenants)):
            there = exact[place.partition]
            assert all(each.share == round(there[name_of(each)] / place.load, 6) for each in top)
            assert sorted((there[name_of(each)] for each in top), reverse=True) == sorted(there.values())[:-6:-1]


def told(rows: Iterable[HeavyReport]) -> dict[bytes, int]:
    assert all(row.lower == row.estimate == row.upper for row in rows)
    return {name_of(row): row.estimate for row in rows}


@given(st.integers(0, 2**32), stretches)
@settings(max_examples=30)
def test_a_window_and_its_revisions_say_together_what_one_window_of_all_says(seed: int, wanted: list[Stretch]) -> None:
    world, draw = World(topic()), random.Random(seed)  # noqa: S311  # traffic, no secrets
    for stretch in wanted:
        world.run(draw, stretch)
    cut = len(world.panes) // 2
    parts = [report_of(closed_window(world.panes[:cut])), report_of(closed_window(world.panes[cut:], revision=1))]
    whole = report_of(closed_window(world.panes))
    for name in ("records", "size_bytes", "unkeyed", "failed", "lost"):
        assert sum(amount(part, name) for part in parts) == amount(whole, name)
    assert sum(part.skew.total for part in parts) == whole.skew.total


def amount(report: WindowReport, name: str) -> Any:  # noqa: ANN401  # a number
    return getattr(report, name)
