"""What stands beside the keys of a slab: tenants and discriminators in columns of their own."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING, Final, TypeVar

from hotshard.core.sketching.merging import least_listed
from hotshard.core.sketching.owners import Owners
from hotshard.core.sketching.tally import EXACT_NAMES, Tally
from hotshard.core.topic import Load
from hotshard.core.wire.pane import WHOLE_KEY_BYTES, sub_name, travelling_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from hotshard.core.sketching.owners import Pair
    from hotshard.core.slab import Slab
    from hotshard.core.wire.pane import HeavyList

_Name = TypeVar("_Name")

#: Different pairs of a key and a tenant after which they are looked through.
_PENDING_PAIRS: Final = 256
#: Keys whose tenants are remembered where keys are many; beyond, just those with so many times what lists ask for.
_MOST_HEAVY: Final = 300
_STANDS_OUT: Final = 4
#: Different tenants, and bytes of tenants, after which they are settled, lest they pile up.
_PENDING_TENANTS: Final = 512
_PENDING_BYTES: Final = 1_000_000


class TenantColumn:
    """The tenants of one pane. Records are gathered (pending), and settled into a tally by name.

    A record counts for its tenant whether it has a key or not; one without a tenant, or with an empty one, counts
    for none. Which tenant a key has is known of keys as they travel, shards under their base key; once keys are too
    many for an exact tally, only of those that were heavy then.
    """

    __slots__ = (
        "_aliases", "_bytes", "_heavy", "_load", "_owners", "_pairs", "_pending", "unkeyed_load", "untenanted",
    )  # fmt: skip

    def __init__(self, load: Load, aliases: Mapping[bytes, bytes]) -> None:
        #: Load of records without a key that have a tenant.
        self.unkeyed_load = 0
        #: Records without a tenant.
        self.untenanted = 0
        self._load = load
        self._aliases = aliases
        self._bytes = 0
        self._pending: Counter[bytes | None] = Counter()
        self._pairs: set[tuple[bytes | None, bytes | None]] = set()
        self._owners = Owners()
        self._heavy: AbstractSet[bytes] | None = None

    @property
    def full(self) -> bool:
        """Whether so much is pending that it should be settled."""
        return len(self._pending) > _PENDING_TENANTS or self._bytes > _PENDING_BYTES

    def add(self, slab: Slab, tenants: list[bytes | None], *, some_unkeyed: bool) -> None:
        """Gather a slab. What it raises over entries that are no bytes leaves it in part counted."""
        if self._load is Load.RECORDS:
            self._pending.update(tenants)
        else:
            add_sizes(self._pending, tenants, slab.sizes)
        if None in self._pending or b"" in self._pending:
            self._pending.pop(None, 0)
            self._pending.pop(b"", 0)
            self.untenanted += tenants.count(None) + tenants.count(b"")
        self._bytes += sum(map(len, filter(None, tenants)))
        if some_unkeyed:
            sizes = [1] * len(tenants) if self._load is Load.RECORDS else slab.sizes
            each = zip(slab.keys, tenants, sizes, strict=True)
            self.unkeyed_load += sum(size for key, tenant, size in each if key is None and tenant)
        self._pairs.update(zip(slab.keys, tenants, strict=True))
        if len(self._pairs) > _PENDING_PAIRS:
            self._note()

    def settle(self, tally: Tally, keys: Tally, load: int) -> int:
        """Put what is pending into ``tally``; returns the load of what is no tenant, or no load.

        ``keys`` holds the same records by key, and ``load`` is all its load.
        """
        pending, self._bytes = self._pending, 0
        self._pending = Counter()
        loads: dict[bytes, int] = {}
        damaged = 0
        for tenant, weight in pending.items():
            if type(tenant) is not bytes or weight < 0:
                damaged += abs(weight)
            elif weight:
                name = travelling_key(tenant)
                loads[name] = loads.get(name, 0) + weight
        if loads:
            tally.add(loads)
        if keys.exact is None:
            self._heavy = _heavy(keys, max(1, least_listed(load)))
        self._note()
        return damaged

    def _note(self) -> None:
        pairs, self._pairs = self._pairs, set()
        self._owners.note(_travelling(pairs, self._aliases), self._heavy)

    def of(self, names: Iterable[bytes]) -> dict[bytes, bytes]:
        """The tenants, as they travel, of those of ``names`` that surely had just one."""
        return {name: travelling_key(tenant) for name, tenant in self._owners.of(names).items()}


def _heavy(keys: Tally, least: int) -> set[bytes]:
    """Keys heavy enough to be listed, some hundreds at the most: where more may be, those that surely stand out."""
    names = keys.at_least(least)
    if len(names) > _MOST_HEAVY:
        names = keys.at_least(_STANDS_OUT * least)
    return set(names) if len(names) <= _MOST_HEAVY else set()


class SubUnits:
    """The sub-units, told apart by discriminators, of routed keys in one pane."""

    __slots__ = ("_by_record", "_pending", "_tally", "load")

    def __init__(self, load: Load) -> None:
        #: Settled load of records that have a discriminator.
        self.load = 0
        self._by_record = load is Load.RECORDS
        self._pending: Counter[tuple[bytes | None, bytes | None]] = Counter()
        self._tally = Tally()

    def add(self, slab: Slab, discriminators: list[bytes | None], aliases: Mapping[bytes, bytes]) -> None:
        """Gather the records of routed keys; ``aliases`` gives the base key of each."""
        wanted = [*map(aliases.__contains__, slab.keys)]
        if not any(wanted):
            return
        pairs = [*compress(zip(slab.keys, discriminators, strict=True), wanted)]
        if self._by_record:
            self._pending.update(pairs)
        else:
            add_sizes(self._pending, pairs, compress(slab.sizes, wanted))

    def settle(self, aliases: Mapping[bytes, bytes]) -> None:
        loads: dict[bytes, int] = {}
        for (key, discriminator), load in self._pending.items():
            if key is not None and discriminator and load > 0:
                name = sub_name(travelling_key(aliases[key]), travelling_key(discriminator))
                loads[name] = loads.get(name, 0) + load
        self._pending = Counter()
        self.load += sum(loads.values())
        if loads:
            self._tally.add(loads)

    @property
    def full(self) -> bool:
        return len(self._pending) > EXACT_NAMES

    def heavy(self) -> HeavyList:
        return self._tally.heavy(self.load)


def _travelling(pairs: set[tuple[bytes | None, bytes | None]], aliases: Mapping[bytes, bytes]) -> Collection[Pair]:
    """The pairs that have a key, the key as it travels, shards under their base key."""
    keys = {key for key, _ in pairs}
    plain = set(map(type, keys)) <= {bytes} and aliases.keys().isdisjoint(keys)
    if plain and max(map(len, keys), default=0) <= WHOLE_KEY_BYTES:  # type: ignore[arg-type]  # bytes all of them
        return pairs  # type: ignore[return-value]
    return {(travelling_key(aliases.get(key, key)), tenant) for key, tenant in pairs if type(key) is bytes}


def add_sizes(pending: dict[_Name, int], names: Iterable[_Name], sizes: Iterable[int]) -> None:
    """Add the size of each record to its name's."""
    get = pending.get
    for name, size in zip(names, sizes, strict=False):
        pending[name] = get(name, 0) + size
