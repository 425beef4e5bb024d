"""The noisy neighbour, simulated: 70,000 events of one tenant and 10 of another over 32 partitions.

The large tenant has 5,000 conversations. Everything is produced before anything is consumed, and a
record waits behind all records of other tenants on its partition: the worst that can happen to it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from hotshard.core.keys import partition_key, sharded_partition_key
from hotshard.core.partitioners import PARTITIONERS, partition_of
from hotshard.core.skew import Skew, describe_skew, skew_alerts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PARTITIONS = 32
LARGE, SMALL = "tenant-large", "tenant-small"

Event = tuple[str, str]


def events(seed: int) -> list[Event]:
    """Tenant and conversation of every event; the large tenant's fall on its conversations at random."""
    chance = random.Random(seed)  # noqa: S311 -- a simulation
    large = [(LARGE, f"conversation-{chance.randrange(5_000)}") for _ in range(70_000)]
    small = [(SMALL, f"conversation-{number}") for number in range(10)]
    return large + small


def keyed_by_tenant(event: Event) -> str:
    return event[0]


def keyed_by_conversation(event: Event) -> str:
    return partition_key(*event)


def simulated(records: Iterable[Event], key_of: Callable[[Event], str], partitioner: str) -> tuple[Skew, int]:
    """The load by partition described, and behind how many others the small tenant waits at worst."""
    place_of = partition_of(partitioner, PARTITIONS)
    loads = dict.fromkeys(range(PARTITIONS), 0)
    small = dict.fromkeys(range(PARTITIONS), 0)
    for event in records:
        place = place_of(key_of(event).encode())
        loads[place] += 1
        small[place] += event[0] == SMALL
    return describe_skew(loads), max(loads[place] - count for place, count in small.items() if count)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_keyed_by_tenant_one_partition_holds_nearly_everything(partitioner: str) -> None:
    skew, _ = simulated(events(seed=1), keyed_by_tenant, partitioner)
    assert skew.total == 70_010
    assert skew.max > 60_000
    assert skew.idle_partitions >= 30
    assert [alert.reason for alert in skew_alerts(skew)] == ["partition_lag_high", "partition_key_skew"]


def test_keyed_by_tenant_whoever_shares_the_partition_waits_behind_all_of_it() -> None:
    place_of = partition_of("murmur2", PARTITIONS)
    unlucky = next(
        name for name in map("tenant-{}".format, range(1_000)) if place_of(name.encode()) == place_of(LARGE.encode())
    )
    _, waits_behind = simulated(events(seed=1), lambda event: LARGE if event[0] == LARGE else unlucky, "murmur2")
    assert waits_behind == 70_000


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@pytest.mark.parametrize("seed", range(5))
def test_keyed_by_tenant_and_conversation_the_small_tenant_waits_behind_few(seed: int, partitioner: str) -> None:
    skew, waits_behind = simulated(events(seed), keyed_by_conversation, partitioner)
    assert waits_behind < 3_000
    assert skew.max < 3_000
    assert skew.max / skew.median < 1.5
    assert skew.idle_partitions == 0
    assert [alert.reason for alert in skew_alerts(skew)] == []


def test_one_conversation_that_floods_needs_shards_by_discriminator() -> None:
    flood = [(LARGE, "broadcast")] * 70_000

    def sharded(number: int) -> str:
        return sharded_partition_key(LARGE, "broadcast", shard_count=64, discriminator=f"recipient-{number}")

    whole, _ = simulated([*flood, (SMALL, "conversation-0")], keyed_by_conversation, "murmur2")
    place_of = partition_of("murmur2", PARTITIONS)
    spread = dict.fromkeys(range(PARTITIONS), 0)
    for number in range(70_000):
        spread[place_of(sharded(number).encode())] += 1
    assert whole.max >= 70_000
    assert describe_skew(spread).max < 70_000 / 8
