"""Panes of made-up partitions, and what an exact count says of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hotshard.core.keys import tenant_of
from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.slab import Slab
from hotshard.core.topic import KeyLayout, Load, TopicSpec
from hotshard.core.wire.pane import travelling_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hotshard.core.wire.pane import HeavyList, Pane

NOW_MS = 1_700_000_000_000
WINDOW_MS = 10_000


def topic(**changes: Any) -> TopicSpec:  # noqa: ANN401  # any field of the spec
    return TopicSpec(name="orders", sources=("mirror.orders",), **changes)


def partition_panes(
    spec: TopicSpec | None = None,
    *,
    start: int = 0,
    now_ms: int = NOW_MS,
    **more: Any,  # noqa: ANN401  # any argument
) -> PartitionPanes:
    given: dict[str, Any] = {"source": "mirror.orders", "partition": 3, "worker": "w1", "generation": 1}
    given |= {"window_ms": WINDOW_MS} | more
    return PartitionPanes(spec=spec or topic(), start=start, now_ms=now_ms, **given)


def slab(
    start: int,
    keys: Sequence[bytes | None],
    *,
    at_ms: int | Sequence[int] = NOW_MS,
    sizes: Sequence[int] | None = None,
    hole: int = 0,
    **more: Any,  # noqa: ANN401  # any field of a slab
) -> Slab:
    """Records with these keys from offset ``start`` on, ``hole`` offsets at the end standing for no record."""
    end = start + len(keys) + hole
    given: dict[str, Any] = {"topic": "mirror.orders", "partition": 3, "generation": 1, "high_watermark": end} | more
    times = [at_ms] * len(keys) if isinstance(at_ms, int) else list(at_ms)
    return Slab(start=start, end=end, keys=list(keys), sizes=list(sizes or [20] * len(keys)), timestamps=times, **given)


def take(panes: PartitionPanes, now_ms: int = NOW_MS) -> list[Pane]:
    """Seal what is open and commit all there is, in order."""
    panes.seal(now_ms)
    taken = []
    while pane := panes.publishable():
        taken.append(pane)
        panes.committed(pane.end)
    return taken


class Exact:
    """An exact count of slabs, by another way than the one under test."""

    def __init__(self, spec: TopicSpec, aliases: Mapping[bytes, bytes] | None = None) -> None:
        self.keys: Counter[bytes] = Counter()
        self.tenants: Counter[bytes] = Counter()
        self.wire: Counter[bytes] = Counter()
        self.records = self.unkeyed = self.size_bytes = 0
        self._spec = spec
        self._aliases = aliases or {}

    def add(self, part: Slab) -> None:
        for key, size in zip(part.keys, part.sizes, strict=True):
            self.records += 1
            self.size_bytes += size
            if key is None:
                self.unkeyed += 1
                continue
            load = 1 if self._spec.load is Load.RECORDS else size
            base = self._aliases.get(key, key)
            self.wire[key] += load
            self.keys[travelling_key(base)] += load
            tenant = tenant_of(base, self._spec.layout)
            if tenant is not None and self._spec.layout is not KeyLayout.ENTITY:
                self.tenants[travelling_key(tenant)] += load

    @property
    def load(self) -> int:
        return self.wire.total()


def counted(spec: TopicSpec, slabs: Iterable[Slab], aliases: Mapping[bytes, bytes] | None = None) -> Exact:
    exact = Exact(spec, aliases)
    for part in slabs:
        exact.add(part)
    return exact


def assert_bounds_hold(heavy: HeavyList, exact: Mapping[bytes, int]) -> None:
    listed = {row.key: row for row in heavy.rows}
    assert len(listed) == len(heavy.rows)
    for row in heavy.rows:
        assert row.lower <= exact.get(row.key, 0) <= row.upper
    assert max((load for name, load in exact.items() if name not in listed), default=0) <= heavy.error
