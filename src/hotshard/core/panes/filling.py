"""Who fills the production partitions in a window: the heaviest keys and tenants of each."""

from __future__ import annotations

from collections import defaultdict
from heapq import nlargest
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.panes.placing import partition_of_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.panes.folding import Folded
    from hotshard.core.panes.tenancy import Tenancy
    from hotshard.core.panes.window import ClosedWindow, PartitionLists
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


def who_fills(  # noqa: PLR0913, PLR0917
    closed: ClosedWindow,
    keys: Folded,
    spec: TopicSpec,
    partitions: int,
    aliases: Mapping[bytes, bytes],
    tenancy: Tenancy,
) -> Mapping[int, Filling]:
    """The heaviest of every partition of which something is known; ``keys`` is the sum of the window's lists.

    Where the source has production's partitions its lists say it. Where they are computed the heaviest
    keys are placed, and a tenant is given what its keys among them have.
    """
    place = partition_of_names(spec, partitions)
    if place is None:
        return _by_list(closed, aliases)
    loads: defaultdict[int, dict[bytes, int]] = defaultdict(dict)
    for row in keys.by_wire(max(1000, _PLACED * partitions)):
        partition = place(row.name)
        if partition is not None:
            loads[partition][row.name] = row.estimate
    return {
        partition: Filling(_top(_by_base(there, aliases)), _top(_by_tenant(there, tenancy, aliases)))
        for partition, there in loads.items()
    }


def _by_list(closed: ClosedWindow, aliases: Mapping[bytes, bytes]) -> Mapping[int, Filling]:
    parts: defaultdict[int, list[PartitionLists]] = defaultdict(list)
    for part in closed.lists:
        parts[part.partition].append(part)
    return {
        partition: Filling(
            _top(_by_base(_heads([part.keys for part in there], aliases), aliases)),
            _top(_heads([part.tenants for part in there], {})),
        )
        for partition, there in parts.items()
    }


def _heads(lists: Sequence[HeavyList], aliases: Mapping[bytes, bytes]) -> dict[bytes, int]:
    """The loads of all names that may be among the heaviest, and of all routed ones.

    Rows stand by falling upper bound, so in a list that is alone these are the first ones.
    """
    loads: dict[bytes, int] = {}
    for heavy in lists:
        singles = (row for row in heavy.rows if row.key not in aliases)
        routed = (row for row in heavy.rows if row.key in aliases) if aliases else ()
        for row in chain(islice(singles, MAX_TOP) if len(lists) == 1 else singles, routed):
            loads[row.key] = loads.get(row.key, 0) + row.upper
    return loads


def _by_base(loads: dict[bytes, int], aliases: Mapping[bytes, bytes]) -> dict[bytes, int]:
    for wire in aliases.keys() & loads.keys():
        base = aliases[wire]
        if base != wire:
            loads[base] = loads.get(base, 0) + loads.pop(wire)
    return loads


def _by_tenant(loads: Mapping[bytes, int], tenancy: Tenancy, aliases: Mapping[bytes, bytes]) -> dict[bytes, int]:
    tenants: dict[bytes, int] = {}
    for name, load in loads.items():
        tenant = tenancy.of(aliases.get(name, name))
        if tenant is not None:
            tenants[tenant] = tenants.get(tenant, 0) + load
    return tenants


def _top(loads: Mapping[bytes, int]) -> Top:
    heaviest = nlargest(MAX_TOP, loads.items(), key=lambda item: (item[1], item[0]))
    return [(name, load) for name, load in heaviest if load]
