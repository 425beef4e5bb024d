"""What tests of plans share: a key, an even background, and verdicts taken apart."""

from __future__ import annotations

from hotshard.core.partitioners import Partitioner, partitioner
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.verdict import Plan, Refusal

MURMUR2 = partitioner("murmur2")
KEY = b"tenant-42\x1fconversation-1"


def at(place: int) -> Partitioner:
    """A partitioner that sends a bare key to ``place`` and a suffix to the partition of that number."""
    return Partitioner("numbered", lambda key, n: number_of(key) % n if number_of(key) >= 0 else place)


def number_of(key: bytes) -> int:
    """The number that is the key's suffix; -1 for a bare key."""
    return int(key.split(b"\x1f")[2]) if key.count(b"\x1f") == 2 else -1


def planned(verdict: Plan | Refusal | None) -> Plan:
    assert isinstance(verdict, Plan), verdict
    return verdict


def refused(verdict: Plan | Refusal | None) -> Refusal:
    assert isinstance(verdict, Refusal), verdict
    return verdict


def even(share: float, partitions: int = 12) -> list[float]:
    """The rest of a whole of 1, evenly on all partitions."""
    return [(1 - share) / partitions] * partitions


def standing(share: float) -> Plan:
    return planned(plan_split(HotLoad(KEY, share), even(share), Terms(partitioner=MURMUR2)))
