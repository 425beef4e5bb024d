"""view: sliding sums of panes. Taken over by H12, being rewritten."""

from __future__ import annotations

from typing import NamedTuple

from hotshard.core.panes.listsum import key_rows


class Bounds(NamedTuple):
    lower: int
    upper: int


class _Side:
    def __init__(self, view, tenants):
        self._view, self._tenants = view, tenants

    def _sums(self):
        sums = {}
        for pane in self._view.panes.values():
            rows = ((r.key, r.lower, r.upper) for r in pane.tenants.rows) if self._tenants else key_rows(pane)
            for key, lower, upper in rows:
                base = key if self._tenants else self._view.aliases.get(key, key)
                low, up = sums.get(base, (0, 0))
                sums[base] = (low + lower, up + upper)
        return sums

    @property
    def error(self):
        return sum((p.tenants if self._tenants else p.keys).error for p in self._view.panes.values())

    def bounds(self, key):
        low, up = self._sums().get(key, (0, 0))
        return Bounds(low, up + self.error)

    def candidates(self, least):
        return [(k, lo, up) for k, (lo, up) in self._sums().items() if lo >= least]


class View:
    def __init__(self, span_ms):
        self._span_ms = span_ms
        self.panes = {}
        self.aliases = {}
        self.keys, self.tenants = _Side(self, False), _Side(self, True)

    def put(self, pane):
        self.panes[pane.source, pane.partition, pane.start] = pane

    def expire(self, now_ms):
        self.panes = {k: p for k, p in self.panes.items() if p.cut_ms > now_ms - self._span_ms}

    @property
    def load(self):
        return sum(sum(p.loads.values()) for p in self.panes.values())

    @property
    def loads(self):
        loads = {}
        for p in self.panes.values():
            for part, load in p.loads.items():
                loads[part] = loads.get(part, 0) + load
        return loads

    def span_s(self, now_ms):
        return (now_ms - min((p.opened_ms for p in self.panes.values()), default=now_ms)) / 1000

    def by_partition(self, key):
        loads = {}
        for p in self.panes.values():
            for wire, lower, _ in key_rows(p):
                if self.aliases.get(wire, wire) == key:
                    loads[p.partition] = loads.get(p.partition, 0) + lower
        return loads
