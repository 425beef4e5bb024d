"""All of the input added up: exact totals, and the heaviest names with bounds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, cast

from hotshard.core.panes.tenancy import tenant_in_key
from hotshard.core.sketching.beside import add_sizes
from hotshard.core.sketching.whole import WholeCount, WholeSum
from hotshard.core.topic import KeyLayout, Load
from hotshard.core.wire.pane import WHOLE_KEY_BYTES, travelling_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.scanning.lanes import Counted, Stretch
    from hotshard.core.topic import TopicSpec

#: Names kept of the first source partition; of the n-th one n-th of them, and at least so many.
_KEPT: Final = 8192
_KEPT_OF_EACH: Final = 512


class Overall:
    """What slabs and stretches come to, one after the other.

    ``read``: partitions are those that records are read from, and the heaviest of each are kept apart.
    """

    def __init__(self, spec: TopicSpec, partitions: int, *, read: bool) -> None:
        self.records = self.size_bytes = self.unkeyed = self.failed = 0
        #: Records without a key by source partition.
        self.unkeyed_by: Counter[int] = Counter()
        #: The largest load of one record.
        self.largest_record = 1
        #: Load of keyed records by production partition, one entry each.
        self.loads = [0] * partitions
        self.keys, self.tenants = WholeCount(), WholeCount()
        #: By source partition, where these are production's.
        self.keys_of: dict[int, WholeSum] = {}
        self.tenants_of: dict[int, WholeSum] = {}
        self._by_record = spec.load is Load.RECORDS
        self._spec = spec
        self._read = read

    @property
    def load(self) -> int:
        """The load of all records, those without a key included."""
        return self.records if self._by_record else self.size_bytes

    def counted(self, names: Sequence[bytes | None], sizes: Sequence[int]) -> dict[bytes, int]:
        """The load of each name of a slab; those that are missing count for none."""
        counted: dict[bytes | None, int] = Counter(names) if self._by_record else {}
        if not self._by_record:
            add_sizes(counted, names, sizes)
        counted.pop(None, None)
        return cast("dict[bytes, int]", counted)

    def add_names(self, keys: Mapping[bytes, int], tenants: Mapping[bytes, int] | None) -> None:
        """Take in the load of each key of a slab, and of each tenant where these stand beside."""
        self.keys.add(_travelling(keys))
        if tenants is not None:
            self.tenants.add(_travelling(tenants))
        elif self._spec.layout is not KeyLayout.ENTITY:
            self.tenants.add(_travelling(self._by_tenant(keys)))

    def add_stretch(self, stretch: Stretch) -> None:
        self.records += stretch.records
        self.size_bytes += stretch.size_bytes
        self.unkeyed += stretch.unkeyed
        self.unkeyed_by.update(stretch.unkeyed_by)
        self.failed += stretch.failed
        self.largest_record = max(self.largest_record, stretch.largest_record)
        for partition, load in stretch.loads.items():
            if partition >= len(self.loads):
                self.loads += [0] * (partition + 1 - len(self.loads))
            self.loads[partition] += load
        if self._read:
            for part in stretch.parts:
                self._add_part(part)

    def _by_tenant(self, keys: Mapping[bytes, int]) -> dict[bytes, int]:
        tenants: dict[bytes, int] = {}
        for key, load in keys.items():
            tenant = tenant_in_key(key, self._spec)
            if tenant is not None:
                tenants[tenant] = tenants.get(tenant, 0) + load
        return tenants

    def _add_part(self, part: Counted) -> None:
        if part.partition not in self.keys_of:
            kept = max(_KEPT_OF_EACH, _KEPT // (1 + len(self.keys_of)))
            self.keys_of[part.partition], self.tenants_of[part.partition] = WholeSum(kept), WholeSum(kept)
        self.keys_of[part.partition].add(part.keys)
        self.tenants_of[part.partition].add(part.tenants)


def _travelling(loads: Mapping[bytes, int]) -> Mapping[bytes, int]:
    """Loads above 0, by names in the form in which they travel."""
    if 0 in loads.values():
        loads = {name: load for name, load in loads.items() if load}
    if max(map(len, loads), default=0) <= WHOLE_KEY_BYTES:
        return loads
    return {travelling_key(name): load for name, load in loads.items()}
