"""All of the input added up: exact totals, and the heaviest names with bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.sketching.whole import WholeSum
from hotshard.core.topic import Load

if TYPE_CHECKING:
    from hotshard.core.scanning.lanes import Counted, Stretch

#: Names kept of the first source partition; of the n-th one n-th of them, and at least so many.
_KEPT: Final = 8192
_KEPT_OF_EACH: Final = 512


class Overall:
    """What stretches come to, one after the other."""

    def __init__(self, load: Load, partitions: int) -> None:
        self.records = self.size_bytes = self.unkeyed = self.failed = 0
        #: Load of keyed records by production partition, one entry each.
        self.loads = [0] * partitions
        #: By source partition.
        self.keys: dict[int, WholeSum] = {}
        self.tenants: dict[int, WholeSum] = {}
        self._load = load

    @property
    def load(self) -> int:
        """The load of all records, those without a key included."""
        return self.records if self._load is Load.RECORDS else self.size_bytes

    def add(self, stretch: Stretch) -> None:
        self.records += stretch.records
        self.size_bytes += stretch.size_bytes
        self.unkeyed += stretch.unkeyed
        self.failed += stretch.failed
        for partition, load in stretch.loads.items():
            if partition >= len(self.loads):
                self.loads += [0] * (partition + 1 - len(self.loads))
            self.loads[partition] += load
        for part in stretch.parts:
            self._add_part(part)

    def all_keys(self) -> WholeSum:
        return WholeSum.together(list(self.keys.values()))

    def all_tenants(self) -> WholeSum:
        return WholeSum.together(list(self.tenants.values()))

    def _add_part(self, part: Counted) -> None:
        if part.partition not in self.keys:
            kept = max(_KEPT_OF_EACH, _KEPT // (1 + len(self.keys)))
            self.keys[part.partition], self.tenants[part.partition] = WholeSum(kept), WholeSum(kept)
        self.keys[part.partition].add(part.keys)
        self.tenants[part.partition].add(part.tenants)
