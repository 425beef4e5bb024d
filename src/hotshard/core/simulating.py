"""A stream placed by several strategies side by side, and what the partitions then carry."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from hotshard.core.keys import tenant_of
from hotshard.core.partitioners import partition_of
from hotshard.core.planning.strategies.catalogue import STRATEGIES
from hotshard.core.planning.strategies.contract import Stretch
from hotshard.core.skew import describe_skew
from hotshard.core.topic import KeyLayout
from hotshard.core.wire.names import key_text
from hotshard.core.wire.simulation import PolicyReport, SimulationReport

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hotshard.core.planning.strategies.contract import Ground, Strategy
    from hotshard.core.slab import Slab

#: Records of the first stretch, after which what adapts may act; each further one is as long as all before it,
FIRST: Final = 256
#: but no longer than this.
LONGEST: Final = 16_384
#: A tenant with fewer records is not taken as the small one unless it is named.
ENOUGH: Final = 10
#: Where the small tenant is not named it is one of the first so many that come.
FOLLOWED: Final = 1_000

_NOT_FOLLOWED: Final = -1


def stretch_end(start: int) -> int:
    """Where the stretch ends that begins at the record number ``start``."""
    return max(FIRST, min(2 * start, start + LONGEST))


class Simulation:
    """Places slabs by each of ``policies``, in bounded memory.

    ``small`` names the tenant that is asked about; None: the smallest with at least 10 records, of the
    first 1,000 tenants that come, or the largest of them where none has as many. A tenant that stands
    in no column of the slabs is taken from the key by ``layout``; of an opaque key it is what precedes U+001F.
    """

    def __init__(
        self, policies: Iterable[str], ground: Ground, *, small: bytes | None = None, layout: KeyLayout
    ) -> None:
        self._partitions = ground.partitions
        self._home = partition_of(ground.terms.partitioner.name, ground.partitions)
        self._layout = KeyLayout.TENANT_ENTITY if layout is KeyLayout.ENTITY else layout
        self._boards = [_Board(name, STRATEGIES[name](ground), ground.partitions) for name in policies]
        self._tenants = _Followed(small)
        self._waiting: tuple[list[bytes | None], list[bytes | None]] = ([], [])
        self._placed = 0
        self.records = self.unkeyed = self.skipped = 0

    @property
    def has_tenants(self) -> bool:
        """Whether any record so far had the tenant that is asked about, or a tenant at all."""
        return bool(self._tenants.records)

    def add(self, slab: Slab) -> None:
        keys, tenants = self._waiting
        keys += slab.keys
        tenants += self._tenants_of(slab.keys) if slab.tenants is None else slab.tenants
        self.records += len(slab.keys)
        self.unkeyed += slab.keys.count(None)
        self.skipped += slab.skipped
        while len(keys) >= (length := stretch_end(self._placed) - self._placed):
            self._place(keys[:length], tenants[:length])
            del keys[:length], tenants[:length]

    def finish(self) -> SimulationReport:
        """What it came to. To be called once."""
        self._place(*self._waiting)
        small = self._tenants.small()
        text, b64 = (None, None) if small is None else key_text(small)
        return SimulationReport(
            policies=tuple(board.report(self._tenants.number(small)) for board in self._boards),
            partitions=self._partitions,
            records=self.records,
            unkeyed=self.unkeyed,
            skipped=self.skipped,
            small=text,
            small_b64=b64,
            small_records=0 if small is None else self._tenants.records[self._tenants.number(small)],
        )

    def _place(self, keys: Sequence[bytes | None], tenants: Sequence[bytes | None]) -> None:
        homes: dict[bytes | None, int | None] = {key: self._home(key) for key in set(keys) if key is not None}
        homes[None] = None
        stretch = Stretch(keys, tenants, [homes[key] for key in keys])
        numbers = self._tenants.count(tenants)
        for board in self._boards:
            board.place(stretch, numbers)
        self._placed += len(keys)

    def _tenants_of(self, keys: Sequence[bytes | None]) -> list[bytes | None]:
        known = {key: None if key is None else tenant_of(key, self._layout) for key in set(keys)}
        return [known[key] for key in keys]


class _Followed:
    """Numbers of the tenants of which is known where their records are, and how many each has."""

    def __init__(self, small: bytes | None) -> None:
        self._named = small is not None
        self._numbers = {} if small is None else {small: 0}
        self.records: Counter[int] = Counter()

    def count(self, tenants: Sequence[bytes | None]) -> list[int]:
        """The number of each record's tenant; -1 where it is not followed."""
        if not self._named:
            for tenant in dict.fromkeys(tenants):
                if tenant is not None and len(self._numbers) < FOLLOWED:
                    self._numbers.setdefault(tenant, len(self._numbers))
        get = self._numbers.get
        numbers = [_NOT_FOLLOWED if tenant is None else get(tenant, _NOT_FOLLOWED) for tenant in tenants]
        self.records.update(numbers)
        del self.records[_NOT_FOLLOWED]
        return numbers

    def number(self, tenant: bytes | None) -> int:
        return _NOT_FOLLOWED if tenant is None else self._numbers[tenant]

    def small(self) -> bytes | None:
        """The one that is asked about; None where no record has a tenant."""
        sizes = {name: self.records[number] for name, number in self._numbers.items() if self.records[number]}
        enough = [name for name, size in sizes.items() if size >= ENOUGH]
        if enough:
            return min(enough, key=lambda name: (sizes[name], name))
        return max(sizes, key=lambda name: (sizes[name], name), default=None)


class _Board:
    """A strategy, and where the records are that it placed."""

    def __init__(self, policy: str, strategy: Strategy, partitions: int) -> None:
        self._policy = policy
        self._strategy = strategy
        self._loads = dict.fromkeys(range(partitions), 0)
        #: Records of each followed tenant on each partition.
        self._of_tenants: Counter[tuple[int, int | None]] = Counter()

    def place(self, stretch: Stretch, tenants: Sequence[int]) -> None:
        places = self._strategy.place(stretch)
        for place, load in Counter(places).items():
            if place is not None:
                self._loads[place] += load
        self._of_tenants.update(zip(tenants, places, strict=True))

    def report(self, small: int) -> PolicyReport:
        skew = describe_skew(self._loads)
        own = {place: load for (tenant, place), load in self._of_tenants.items() if tenant == small}
        behind = [self._loads[place] - load for place, load in own.items() if place is not None]
        return PolicyReport(
            policy=self._policy,
            max=round(skew.max),
            median=skew.median,
            ratio=skew.skew_ratio,
            imbalance=skew.imbalance,
            small_waits_behind=max(behind) if behind and small != _NOT_FOLLOWED else None,
        )
