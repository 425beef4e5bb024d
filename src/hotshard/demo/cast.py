"""Who sends: two hundred tenants, one that will flood, and a small one whose key shares its partition. Pure."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hotshard.core.keys import partition_key
from hotshard.core.partitioners import partition_of

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOODING_TENANT: Final = "globex"
SMALL_TENANT: Final = "corner-bakery"
#: Entities of each of the ordinary tenants.
_ENTITIES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The keys of everybody, as they go on the wire without a suffix."""

    partitions: int
    tenants: int
    flood_key: bytes
    #: The partition on which the flood lands while its key is whole.
    flooded: int
    #: The small tenant's one key; it lies on the flooded partition.
    small_key: bytes
    #: Keys of all the others, and the sums of their weights up to each.
    crowd: tuple[bytes, ...]
    cumulative: tuple[float, ...]

    def crowd_keys(self, seed: int) -> Iterator[bytes]:
        """Keys of the crowd by their weights, without end; the same ones for the same seed."""
        rng = random.Random(seed)  # noqa: S311 - traffic, no secret
        while True:
            yield from rng.choices(self.crowd, cum_weights=self.cumulative, k=1000)


def assemble(*, partitions: int = 12, tenants: int = 200) -> Cast:
    """Put the cast together. Tenants differ in size, the largest five times the smallest, and none of them is hot."""
    flood_key = partition_key(FLOODING_TENANT, "broadcast").encode()
    flooded = partition_of("murmur2", partitions)(flood_key)
    names = [f"tenant-{number:03}" for number in range(1, tenants - 1)]
    sized = [
        (partition_key(name, f"thread-{number}").encode(), _size(rank))
        for rank, name in enumerate(names)
        for number in range(1, _ENTITIES + 1)
    ]
    return Cast(
        partitions=partitions,
        tenants=tenants,
        flood_key=flood_key,
        flooded=flooded,
        small_key=_key_on(flooded, SMALL_TENANT, partitions),
        crowd=tuple(key for key, _ in sized),
        cumulative=tuple(itertools.accumulate(size for _, size in sized)),
    )


def _size(rank: int) -> float:
    return 1.0 / (1 + rank % 5)


def _key_on(partition: int, tenant: str, partitions: int) -> bytes:
    """The first key of ``tenant`` that lands on ``partition``."""
    place = partition_of("murmur2", partitions)
    keys = (partition_key(tenant, f"thread-{number}").encode() for number in itertools.count(1))
    return next(key for key in keys if place(key) == partition)
