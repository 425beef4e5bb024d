"""What is told early is what the policy turns hot, and what its counts decide is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.keys import tenant_of
from hotshard.core.panes.sliding import Bounds
from hotshard.core.policy.evidence import Heat, Part, Totals
from hotshard.core.policy.rules import flood_reason, limits
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import KeyLayout, TopicSpec
from hotshard.core.wire.route import HotKind
from tests.support.early import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.early import Round

PARTITIONS = 4
#: A key in each partition that may flood, of the topic's policy or of a tenant with its own.
HOT = {0: b"t\x1fa", 1: b"own\x1fb", 2: b"t\x1fc", 3: b"own\x1fd"}
OTHERS = {n: [b"o%d\x1f%d" % (n, key) for key in range(8)] for n in range(PARTITIONS)}

policies = st.builds(
    Policy,
    on_share=st.none() | st.sampled_from((0.05, 0.3, 1.0)),
    on_load_per_s=st.none() | st.sampled_from((60.0, 200.0)),
    on_partition_share=st.none() | st.sampled_from((0.4, 0.8)),
    floor_fast=st.sampled_from((0, 40, 150)),
    floor_name_per_s=st.sampled_from((0.0, 20.0, 100.0)),
    tenant_on_share=st.just(1.0),
    cool_down_s=st.just(0.0),
)
#: How many records a tenth of a second brings, of the hot key and of each other.
loads = st.tuples(st.sampled_from((0, 0, 1, 5, 20, 60)), st.sampled_from((0, 1, 1, 5)))
#: The same for some tenths of a second.
stretches = st.tuples(st.integers(1, 12), st.lists(loads, min_size=PARTITIONS, max_size=PARTITIONS))
traffic = st.lists(stretches, min_size=1, max_size=7)


def records(per_partition: list[tuple[int, int]]) -> dict[int, Counter[bytes]]:
    return {
        n: Counter({key: count for key, count in ((HOT[n], hot), *((key, others) for key in OTHERS[n])) if count})
        for n, (hot, others) in enumerate(per_partition)
    }


@dataclass
class Exactly:
    """An exact count of the short view, by another way than the one under test."""

    policies: Mapping[str, Policy]
    sealed: list[tuple[int, int, Counter[bytes]]] = field(default_factory=list)
    open: dict[int, Counter[bytes]] = field(default_factory=lambda: {n: Counter() for n in range(PARTITIONS)})

    told: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))

    def add(self, made: Round, loads: Mapping[int, Counter[bytes]]) -> None:
        for partition, keys in loads.items():
            self.open[partition] += keys
        for pane in made.final:
            self.sealed.append((pane.cut_ms, pane.partition, self.open[pane.partition]))
            self.open[pane.partition] = Counter()
            self.told[pane.partition] = 0
        for pane in made.early:
            self.told[pane.partition] = pane.records

    def decided(self, partition: int, clock_ms: int, span_s: float) -> bool:
        """Whether the counts of its hot key, a little less than they are, turn it hot by the short view."""
        key, now = HOT[partition], self.open[partition]
        if not now[key]:
            return False
        lately = [(where, keys) for cut_ms, where, keys in self.sealed if clock_ms - cut_ms < 2000]
        own = [keys for where, keys in lately if where == partition]
        told = sum(load for where, load in self.told.items() if where != partition)
        total = sum(keys.total() for _, keys in lately) + told + now.total()
        # Of a sealed pane, keys with less than one in 64 of it are forgotten.
        load = sum(keys[key] for keys in own if 64 * keys[key] >= keys.total()) + now[key]
        part = load / (sum(keys.total() for keys in own) + now.total())
        tenant = tenant_of(key, KeyLayout.TENANT_ENTITY) or b""
        to = limits(self.policies[tenant.decode()], PARTITIONS, HotKind.KEY)
        bounds = Bounds(load, load)
        return flood_reason(Heat(key, bounds, bounds, Part(part, part)), Totals(total, span_s), to) is not None


@given(policies, policies, traffic)
def test_what_is_told_early_is_hot_by_the_policy_and_what_is_decided_is_told(
    policy: Policy, own: Policy, stretches: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    spec = TopicSpec(name="orders", sources=("mirror.orders",), policy=policy, tenant_policies={"own": own})
    world, exactly = World(spec, PARTITIONS), Exactly({"t": policy, "own": own})
    for looks, per_partition in stretches:
        for _ in range(looks):
            made = world.look(records(per_partition))
            exactly.add(made, records(per_partition))
            for version in made.early:
                assert {row.key for row in version.keys.rows} & made.hot_keys
            if world.now_ms < 2000:
                continue  # so young it holds a key against what others have not sealed yet, too
            for partition, (hot, others) in enumerate(per_partition):
                if (hot or others) and exactly.decided(partition, world.clock_ms, 2.0):
                    assert HOT[partition] in made.hot_keys
