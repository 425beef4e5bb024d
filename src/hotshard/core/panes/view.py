"""A view: what the panes of the last seconds say, kept as running sums."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from hotshard.core.panes.lists import Lists
from hotshard.core.panes.sliding import SlidingSums

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hotshard.core.panes.sliding import Listed
    from hotshard.core.wire.pane import Pane

#: So long what was counted may be on its way: a pane's second, and its publishing.
_UNSEEN_MS: Final = 1_500


class _Held:
    """One version of a pane in the view."""

    __slots__ = (
        "cut_ms", "end", "exact", "generation", "is_in", "keyed", "keys", "loads", "opened_ms", "place", "start",
        "subs", "tenant_of", "tenants", "unkeyed_load",
    )  # fmt: skip

    def __init__(self, pane: Pane, keys: Listed, tenants: Listed, subs: Listed | None) -> None:
        self.place = (pane.source, pane.partition)
        self.start = pane.start
        self.end = pane.end
        self.generation = pane.generation
        self.opened_ms = pane.opened_ms
        self.cut_ms = pane.cut_ms
        self.loads = pane.loads
        self.keys = keys
        self.tenants = tenants
        self.subs = subs
        self.tenant_of = pane.tenant_of
        self.unkeyed_load = pane.unkeyed_load
        #: What is looked at where keys have sub-units.
        self.exact: Mapping[bytes, int] = {}
        self.keyed = 0
        self.is_in = True

    def clashes(self, pane: Pane) -> bool:
        """Whether another pane of the same partition is a version of this one, or counts some of its records."""
        return pane.start == self.start or (pane.start < self.end and self.start < pane.end)


class View:
    """The newest versions of the panes cut within the last ``span_ms``, added up. Every record is in it once.

    Putting a pane in and its leaving cost as much as it has rows, whatever else is in the view.

    ``partition_of`` gives the production partition of a key as it travels, where that is not the
    source's (None: not known). ``has_subs``: whether records have discriminators, see :meth:`counted_exactly`.
    """

    def __init__(
        self, span_ms: int, partition_of: Callable[[bytes], int | None] | None = None, *, has_subs: bool = False
    ) -> None:
        self.keys = SlidingSums()
        self.tenants = SlidingSums()
        #: Sub-units of the keys that are counted exactly, by the names they travel under.
        self.subs = SlidingSums()
        #: Load of all keyed records, and of those without a key that have a tenant beside it.
        self.load = 0
        self.unkeyed_load = 0
        #: Records that have a key, where there are sub-units; else 0.
        self.keyed = 0
        self._has_subs = has_subs
        self._exact: dict[bytes, int] = {}
        self._span_ms = span_ms
        self._partition_of = partition_of
        self._loads: dict[int, int] = {}
        #: The panes of each source partition by their start.
        self._held: dict[tuple[str, int], dict[int, _Held]] = {}
        #: When the first of these was opened, and the last one cut.
        self._spans: dict[tuple[str, int], tuple[int, int]] = {}
        #: Panes put in since the last look at the clock.
        self._fresh: list[_Held] = []
        #: When panes leave; those that were replaced are still in it.
        self._leaving: list[tuple[int, int, _Held]] = []
        self._put = 0
        self._now_ms: int | None = None
        #: Since when this is watched, and the newest cut.
        self._since_ms: int | None = None
        self._newest_ms: int | None = None

    @property
    def aliases(self) -> Mapping[bytes, bytes]:
        """The base key of every routed key on the wire; a changed one is another object."""
        return self.keys.aliases

    @aliases.setter
    def aliases(self, aliases: Mapping[bytes, bytes]) -> None:
        if aliases is not self.keys.aliases:
            self.keys.aliases = aliases

    @property
    def loads(self) -> Mapping[int, int]:
        """Load of all keyed records by production partition; those without any are left out."""
        return self._loads

    def put(self, pane: Pane, lists: Lists | None = None) -> None:
        """Put in a version of a pane, in place of those that count some of the same records; ``lists`` are its own.

        Where one of those is of a higher generation the new one is let go: it comes from a worker that
        has lost the partition.
        """
        held = self._held.setdefault((pane.source, pane.partition), {})
        clashing = [each for each in held.values() if each.clashes(pane)]
        if any(each.generation > pane.generation for each in clashing):
            return
        keys, tenants, subs = lists or Lists.of(pane)
        new = _Held(pane, self.keys.add(keys), self.tenants.add(tenants), None if subs is None else self.subs.add(subs))
        for each in clashing:
            self._take_out(each)
        there = self._held.setdefault(new.place, {})
        there[pane.start] = new
        self._spans[new.place] = _span(there.values())
        self._fresh.append(new)
        self.unkeyed_load += pane.unkeyed_load
        if self._has_subs:
            new.exact, new.keyed = pane.exact, pane.records - pane.unkeyed
            self._count_exact(new, 1)
        for partition, load in pane.loads.items():
            self._add_load(partition, load)

    def expire(self, now_ms: int) -> None:
        """Bring the view to this moment.

        A pane from a worker whose clock is ahead counts as cut when it is first seen here. A clock that
        was set back makes no pane stay longer than the span.
        """
        if self._now_ms is not None and now_ms < self._now_ms:
            self._set_back(now_ms)
        self._now_ms = now_ms
        if self._since_ms is None:
            self._since_ms = now_ms
        for held in self._fresh:
            self._date(held, now_ms)
        self._fresh.clear()
        while self._leaving and self._leaving[0][0] <= now_ms:
            held = heappop(self._leaving)[2]
            if held.is_in:
                self._take_out(held)

    def span_s(self, now_ms: int) -> float:
        """The seconds of the span that have been watched: all of them, but for a view that has only begun.

        Silence is watched, too: a quiet topic has no load in so many seconds. What was counted in the
        last moments may not have come yet, so these are no part of it.
        """
        if self._since_ms is None:
            return 0.0
        until_ms = max(now_ms - _UNSEEN_MS, self._since_ms if self._newest_ms is None else self._newest_ms)
        return min(max(0, until_ms - self._since_ms), self._span_ms) / 1000

    def evening(self, now_ms: int) -> Mapping[int, float]:
        """Factors that make loads of partitions comparable, by production partition; empty where those are computed.

        Panes enter and leave whole, and each partition at moments of its own, so one has up to two panes'
        time more in the view than another. A load times its factor is what the whole span would hold.
        Silence is part of a partition's time: before its first pane here, and after its last.
        """
        if self._partition_of is not None:
            return {}
        return {
            partition: self._span_ms / max(1, until_ms - since_ms)
            for partition, (since_ms, until_ms) in self._times(now_ms).items()
        }

    def _times(self, now_ms: int) -> Mapping[int, tuple[int, int]]:
        """From when until when each production partition is in the view."""
        begin_ms = now_ms - self._span_ms
        times: dict[int, tuple[int, int]] = {}
        for (_, partition), (opened_ms, cut_ms) in self._spans.items():
            since_ms, until_ms = times.get(partition, (begin_ms, 0))
            times[partition] = (
                min(since_ms, opened_ms),
                min(now_ms, max(until_ms, cut_ms)),
            )
        return {
            partition: (since_ms, until_ms if now_ms - until_ms < _UNSEEN_MS else now_ms)
            for partition, (since_ms, until_ms) in times.items()
        }

    def by_partition(self, key: bytes) -> dict[int, int]:
        """The lower bound of a key, under all its names, by production partition.

        For few keys: the first time a key is asked for all lists are looked through.
        """
        loads: dict[int, int] = {}
        for name in self.keys.names_of(key):
            for partition, load in self._places(name).items():
                if load:
                    loads[partition] = loads.get(partition, 0) + load
        return loads

    def counted_exactly(self, key: bytes) -> int:
        """The load of a key, under all its names, in the panes that counted it exactly, and its sub-units with it.

        0 where records have no discriminators.
        """
        return sum(self._exact.get(name, 0) for name in self.keys.names_of(key))

    def owner(self, key: bytes) -> bytes | None:
        """The one tenant that stands beside a base key in all panes that list it; None where there is none.

        For few keys: all panes are looked through.
        """
        owner: bytes | None = None
        for held in [each for panes in self._held.values() for each in panes.values()]:
            if held.tenant_of is None:
                continue
            found = held.tenant_of.get(key)
            if found is None and self.keys.is_in(key, held.keys):
                return None
            if found is not None and owner not in (None, found):
                return None
            owner = found or owner
        return owner

    def _places(self, name: bytes) -> Mapping[int, int]:
        if self._partition_of is None:
            lists = (each.keys for held in self._held.values() for each in held.values())
            return self.keys.by_partition(name, lists)
        load = self.keys.lower(name)
        partition = self._partition_of(name) if load else None
        return {} if partition is None else {partition: load}

    def _date(self, held: _Held, now_ms: int) -> None:
        cut_ms = min(held.cut_ms, now_ms)
        self._since_ms = min(held.opened_ms, now_ms if self._since_ms is None else self._since_ms)
        self._newest_ms = cut_ms if self._newest_ms is None else max(cut_ms, self._newest_ms)
        self._put += 1
        heappush(self._leaving, (cut_ms + self._span_ms, self._put, held))

    def _set_back(self, now_ms: int) -> None:
        last_ms = now_ms + self._span_ms
        self._leaving = [(min(leave_ms, last_ms), order, held) for leave_ms, order, held in self._leaving]
        heapify(self._leaving)
        self._since_ms = None if self._since_ms is None else min(self._since_ms, now_ms)
        self._newest_ms = None if self._newest_ms is None else min(self._newest_ms, now_ms)

    def _take_out(self, held: _Held) -> None:
        held.is_in = False
        there = self._held[held.place]
        del there[held.start]
        if there:
            self._spans[held.place] = _span(there.values())
        else:
            del self._held[held.place], self._spans[held.place]
        self.keys.remove(held.keys)
        self.tenants.remove(held.tenants)
        if held.subs is not None:
            self.subs.remove(held.subs)
        self.unkeyed_load -= held.unkeyed_load
        self._count_exact(held, -1)
        for partition, load in held.loads.items():
            self._add_load(partition, -load)

    def _count_exact(self, held: _Held, sign: int) -> None:
        self.keyed += sign * held.keyed
        for name, load in held.exact.items():
            self._exact[name] = self._exact.get(name, 0) + sign * load
            if not self._exact[name]:
                del self._exact[name]

    def _add_load(self, partition: int, load: int) -> None:
        self.load += load
        self._loads[partition] = self._loads.get(partition, 0) + load
        if not self._loads[partition]:
            del self._loads[partition]


def _span(panes: Collection[_Held]) -> tuple[int, int]:
    """When the first was opened, and the last one cut."""
    return min([held.opened_ms for held in panes]), max([held.cut_ms for held in panes])
