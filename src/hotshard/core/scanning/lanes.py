"""Counting a stretch of input as a worker does: panes of each source partition, sealed together at its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.sketching.merging import merge
from hotshard.core.topic import KeyLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hotshard.core.scanning.clock import Times
    from hotshard.core.slab import Slab
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import HeavyList, Pane

_NO_ALIASES: Final[Mapping[bytes, bytes]] = MappingProxyType({})


class Counted(NamedTuple):
    """One source partition in one stretch."""

    partition: int
    keys: HeavyList
    tenants: HeavyList


@dataclass(slots=True, kw_only=True)
class Stretch:
    """A stretch of input that is over: scan's window."""

    records: int = 0
    size_bytes: int = 0
    unkeyed: int = 0
    #: The same by source partition.
    unkeyed_by: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    #: Distinct keys and tenants, exactly while few.
    distinct_keys: int = 0
    distinct_tenants: int = 0
    #: The largest load of one record.
    largest_record: int = 1
    #: Load by production partition, those without any left out.
    loads: dict[int, int] = field(default_factory=dict)
    parts: list[Counted] = field(default_factory=list)
    #: None: no record has a time.
    times: Times | None = None
    #: Whether it says anything about heat: it holds the naming floor and is of one time.
    decides: bool = False

    @property
    def span_s(self) -> float:
        """How long it lasted; 0 without time."""
        return 0.0 if self.times is None else (self.times.end_ms - self.times.start_ms) / 1000

    @property
    def keys(self) -> HeavyList:
        return _together([part.keys for part in self.parts])

    @property
    def tenants(self) -> HeavyList:
        return _together([part.tenants for part in self.parts])

    def take_keys(self, pane: Pane) -> None:
        self.records += pane.records
        self.size_bytes += pane.size_bytes
        self.unkeyed += pane.unkeyed
        self.unkeyed_by[pane.partition] = self.unkeyed_by.get(pane.partition, 0) + pane.unkeyed
        self.failed += pane.failed
        self.distinct_keys += pane.distinct_keys

    def take_loads(self, pane: Pane) -> None:
        for partition, load in pane.loads.items():
            self.loads[partition] = self.loads.get(partition, 0) + load


class Lane:
    """The panes of one source partition.

    A pane is a stretch, so the clock that it goes by, and its event time, count stretches: one takes
    ``window_ms``, whatever the records say.

    Where tenants stand beside the keys they are counted as keys are, by panes of their own: a record
    counts for its tenant whether it has a key or not. ``by_tenant``: it is they that lie on partitions.
    """

    def __init__(  # all by name
        self,
        spec: TopicSpec,
        first: Slab,
        *,
        window_ms: int,
        place: Callable[[bytes], int | None] | None,
        by_tenant: bool,
    ) -> None:
        self._by_tenant = by_tenant
        self._partition = first.partition
        self._window_ms = window_ms
        self._keys = self._panes(spec, first, None if by_tenant else place)
        self._tenants: PartitionPanes | None = None
        if first.tenants is not None:
            beside = replace(spec, layout=KeyLayout.ENTITY)
            self._tenants = self._panes(beside, first, place if by_tenant else None)

    def add(self, slab: Slab, now_ms: int) -> None:
        """Take in records of the stretch that is open; ``now_ms`` is its moment, and the time of all its records."""
        timestamps = [now_ms]
        if self._tenants is not None:
            tenants = [tenant or None for tenant in slab.tenants or ()]
            self._tenants.add(replace(slab, keys=tenants, timestamps=timestamps, tenants=None), now_ms, _NO_ALIASES)
        self._keys.add(replace(slab, timestamps=timestamps, tenants=None), now_ms, _NO_ALIASES)

    def seal(self, stretch: Stretch, now_ms: int) -> None:
        """End the stretch here, and give it what was counted since the last end."""
        pane = _sealed(self._keys, now_ms)
        if pane is None:
            return
        stretch.take_keys(pane)
        tenants = None if self._tenants is None else _sealed(self._tenants, now_ms)
        if tenants is None:
            stretch.distinct_tenants += pane.distinct_tenants
        else:
            stretch.failed += max(0, tenants.failed - pane.failed)
            stretch.distinct_tenants += tenants.distinct_keys
        stretch.take_loads(pane if tenants is None or not self._by_tenant else tenants)
        stretch.parts.append(Counted(self._partition, pane.keys, pane.tenants if tenants is None else tenants.keys))

    def _panes(self, spec: TopicSpec, first: Slab, place: Callable[[bytes], int | None] | None) -> PartitionPanes:
        return PartitionPanes(
            spec=spec,
            source=first.topic,
            partition=first.partition,
            worker="scan",
            start=first.start,
            generation=first.generation,
            now_ms=0,
            window_ms=self._window_ms,
            partition_of=place,
        )


def _sealed(panes: PartitionPanes, now_ms: int) -> Pane | None:
    panes.seal(now_ms)
    pane = panes.publishable()
    if pane is not None:
        panes.committed(pane.end)
    return pane


def _together(lists: Sequence[HeavyList]) -> HeavyList:
    return lists[0] if len(lists) == 1 else merge(lists)
