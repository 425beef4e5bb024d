"""Who fills the production partitions in a window: the heaviest keys and tenants of each."""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.keys import tenant_of
from hotshard.core.panes.placing import partition_of_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.panes.folding import Folded
    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import HeavyList

#: Names told of a partition.
MAX_TOP: Final = 5
#: Keys that are placed where partitions are computed, of each partition on the average; no fewer than 1,000.
_PLACED: Final = 4 * MAX_TOP

#: Names with an estimate of their load, the heaviest first.
Top = list[tuple[bytes, int]]


class Filling(NamedTuple):
    """The heaviest of one partition; a shard counts for its base key."""

    keys: Top
    tenants: Top


def who_fills(
    closed: ClosedWindow, keys: Folded, spec: TopicSpec, partitions: int, aliases: Mapping[bytes, bytes]
) -> Mapping[int, Filling]:
    """The heaviest of every partition of which something is known; ``keys`` is the sum of the window's lists.

    Where the source has production's partitions its lists say it. Where they are computed the heaviest
    keys are placed, and a tenant is given what its keys among them have.
    """
    place = partition_of_names(spec, partitions)
    if place is None:
        return _by_list(closed, aliases)
    loads: defaultdict[int, dict[bytes, int]] = defaultdict(dict)
    heaviest = nlargest(max(1000, _PLACED * partitions), keys.by_name.items(), key=lambda item: item[1].estimate)
    for name, named in heaviest:
        if named.estimate and (partition := place(name)) is not None:
            loads[partition][name] = named.estimate
    return {
        partition: Filling(_top(_by_base(there, aliases)), _top(_by_tenant(there, spec)))
        for partition, there in loads.items()
    }


def _by_list(closed: ClosedWindow, aliases: Mapping[bytes, bytes]) -> Mapping[int, Filling]:
    lists: defaultdict[int, list[tuple[HeavyList, HeavyList]]] = defaultdict(list)
    for part in closed.lists:
        lists[part.partition].append((part.keys, part.tenants))
    return {
        partition: Filling(
            _top(_by_base(_estimates(keys for keys, _ in there), aliases)),
            _top(_estimates(tenants for _, tenants in there)),
        )
        for partition, there in lists.items()
    }


def _estimates(lists: Iterable[HeavyList]) -> dict[bytes, int]:
    loads: dict[bytes, int] = {}
    for heavy in lists:
        for row in heavy.rows:
            loads[row.key] = loads.get(row.key, 0) + row.upper
    return loads


def _by_base(loads: dict[bytes, int], aliases: Mapping[bytes, bytes]) -> dict[bytes, int]:
    for wire in aliases.keys() & loads.keys():
        base = aliases[wire]
        if base != wire:
            loads[base] = loads.get(base, 0) + loads.pop(wire)
    return loads


def _by_tenant(loads: Mapping[bytes, int], spec: TopicSpec) -> dict[bytes, int]:
    tenants: dict[bytes, int] = {}
    for name, load in loads.items():
        tenant = tenant_of(name, spec.layout)
        if tenant is not None:
            tenants[tenant] = tenants.get(tenant, 0) + load
    return tenants


def _top(loads: Mapping[bytes, int]) -> Top:
    heaviest = nlargest(MAX_TOP, loads.items(), key=lambda item: (item[1], item[0]))
    return [(name, load) for name, load in heaviest if load]
