"""About how much of each partition the tenants have, where partitions are computed from the key; or the other way."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.slab import Slab

#: Records that are all looked at; of later ones every 13th, which is in step with few patterns.
_ALL: Final = 20_000
_EVERY: Final = 13
#: Names kept of all partitions together when they have grown to twice as many.
_KEPT: Final = 16_384


class Filling:
    """The load of those that stand beside a record's partition key, by partition: an estimate, without bounds."""

    __slots__ = ("_by_record", "_by_tenant", "_loads", "_seen")

    def __init__(self, *, by_tenant: bool, by_record: bool) -> None:
        self._by_tenant = by_tenant
        self._by_record = by_record
        self._seen = 0
        self._loads: Counter[tuple[int, bytes]] = Counter()

    def add(self, slab: Slab, place: Callable[[bytes], int | None]) -> None:
        """Take in a slab with tenants; ``place`` gives the partition of what lies on partitions."""
        tenants = slab.tenants or []
        every = 1 if self._seen < _ALL else _EVERY
        first = -self._seen % every
        self._seen += len(slab)
        columns = (slab.keys, tenants) if not self._by_tenant else (tenants, slab.keys)
        placed, beside = (islice(column, first, None, every) for column in columns)
        loads = self._loads
        if self._by_record:
            counted: Mapping[tuple[bytes | None, bytes | None], int] = Counter(zip(placed, beside, strict=True))
        else:
            counted = _by_size(zip(placed, beside, islice(slab.sizes, first, None, every), strict=True))
        for (key, name), load in counted.items():
            if key is not None and name is not None:
                partition = place(key)
                if partition is not None:
                    loads[partition, name] += load * every
        if len(loads) > 2 * _KEPT:
            self._loads = Counter(dict(loads.most_common(_KEPT)))

    def by_partition(self) -> Mapping[int, dict[bytes, int]]:
        """The load by name of every partition."""
        found: dict[int, dict[bytes, int]] = {}
        for (partition, name), load in self._loads.items():
            found.setdefault(partition, {})[name] = load
        return found


def _by_size(rows: zip[tuple[bytes | None, bytes | None, int]]) -> Mapping[tuple[bytes | None, bytes | None], int]:
    counted: dict[tuple[bytes | None, bytes | None], int] = {}
    for key, name, size in rows:
        counted[key, name] = counted.get((key, name), 0) + size
    return counted
