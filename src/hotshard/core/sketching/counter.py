"""Counting the records of one pane: totals exactly, keys and tenants by tallies, routed keys exactly besides."""

from __future__ import annotations

from collections import Counter
from operator import length_hint
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.sketching.beside import SubUnits, TenantColumn, add_sizes
from hotshard.core.sketching.names import by_tenant, fold, shorten
from hotshard.core.sketching.tally import EXACT_NAMES, Tally
from hotshard.core.topic import KeyLayout, Load, Place
from hotshard.core.wire.pane import HeavyList, travelling_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.sketching.distinct import WindowDistinct
    from hotshard.core.sketching.history import History
    from hotshard.core.slab import Slab
    from hotshard.core.topic import TopicSpec

#: Bytes of pending keys after which they are settled, lest long ones pile up.
_PENDING_BYTES: Final = 4_000_000
#: Settling costs by the key: more than EXACT_NAMES of them wait while each brings so many records, and never more than
#: this. So what all partitions hold back together is bounded by what a worker can count in the time of a pane.
_PENDING_KEYS: Final = 4 * EXACT_NAMES
_RECORDS_EACH: Final = 4


class PutAside(NamedTuple):
    """Records on which our own code failed."""

    #: Where the record is, or None: somewhere in the pane.
    offset: int | None
    #: In the form in which keys travel; None where it is no key, or not the key's fault.
    key: bytes | None
    records: int
    reason: str


class PaneCounter:
    """Counts one pane of one partition.

    Records are gathered by the key on them (pending), and settled into the tallies when keys are many
    or when somebody looks; from then on they count for their base key.

    ``aliases`` gives the base key of every routed key as it is on records, base keys (their own) and
    shards. Just these keys are folded into their base key and counted exactly, each by itself: so the
    row of a base key is the sum of what is exact. A key routed later stays by itself in this pane.

    ``partition_of`` gives the production partition of a key on a record (None: it has no place of its
    own) and is called once per distinct key and settling; without it all is load of ``partition``.

    Records on which our own code fails are told to ``put_aside``: they are in ``records`` and in
    ``failed``, and in no load and no list (but where only a size is damaged, that alone is left out).
    Where load is bytes, a key on which it fails counts as one record.
    """

    __slots__ = (
        "_aliases", "_beside", "_by_record", "_keys", "_partition", "_partition_of", "_pending",
        "_pending_bytes", "_pending_records", "_put_aside", "_spec", "_subs", "_tenants", "damaged", "exact", "failed",
        "largest_load", "load", "loads", "records", "size_bytes", "skipped", "unkeyed",
    )  # fmt: skip

    def __init__(
        self,
        spec: TopicSpec,
        partition: int,
        partition_of: Callable[[bytes], int | None] | None,
        put_aside: Callable[[PutAside], None],
        aliases: Mapping[bytes, bytes],
    ) -> None:
        self.records = self.size_bytes = self.unkeyed = self.skipped = self.failed = self.damaged = 0
        #: About the load of the slab that had most.
        self.largest_load = 0
        #: Settled load of keyed records, in all and by production partition.
        self.load = 0
        self.loads: dict[int, int] = {}
        #: Settled load of the keys that are counted exactly, as they are on the records.
        self.exact = dict.fromkeys(aliases, 0)
        self._aliases = aliases
        self._spec = spec
        self._by_record = spec.load is Load.RECORDS
        self._partition = partition
        self._partition_of = partition_of
        self._put_aside = put_aside
        self._keys = Tally(counting=True)
        self._tenants = Tally()
        self._pending: Counter[bytes | None] = Counter()
        #: Of what is pending, or of all records of it: never less than its keys have.
        self._pending_bytes = 0
        self._pending_records = 0
        # Made when a slab has such a column.
        self._beside: TenantColumn | None = None
        self._subs: SubUnits | None = None

    def add(self, slab: Slab) -> None:
        self.records += len(slab.keys)
        self.skipped += slab.skipped
        size_bytes = self._size_bytes(slab)
        self.size_bytes += size_bytes
        self._pending_bytes += size_bytes
        self.largest_load = max(self.largest_load, len(slab.keys) if self._by_record else size_bytes)
        self._gather(slab)
        some_unkeyed = None in self._pending
        if some_unkeyed:
            self._forget_unkeyed(slab)
        if slab.tenants is not None or slab.discriminators is not None:
            self._add_columns(slab, some_unkeyed=some_unkeyed)
        self._pending_records += len(slab.keys)
        if self._has_many_pending() or self._has_long_pending():
            self.settle()

    def _has_many_pending(self) -> bool:
        return len(self._pending) > max(EXACT_NAMES, min(_PENDING_KEYS, self._pending_records // _RECORDS_EACH))

    def _has_long_pending(self) -> bool:
        if self._pending_bytes > _PENDING_BYTES:
            # Values, and keys that came again, are in it: a bound that is looked through when it is reached.
            try:
                self._pending_bytes = sum(map(len, self._pending))  # type: ignore[arg-type]  # None has been taken out
            except TypeError:
                return True  # what is no key is found when they are settled
        return self._pending_bytes > _PENDING_BYTES

    def settle(self) -> None:
        """Put what is pending into totals and tallies."""
        if self._pending:
            self._settle_keys()
        if self._beside is not None:
            self._settle_tenants(self._beside)
        if self._subs is not None:
            self._subs.settle(self._aliases)

    def _settle_keys(self) -> None:
        loads = self._valid(self._pending)
        self._pending, self._pending_bytes, self._pending_records = Counter(), 0, 0
        self._place(loads)
        for key in self.exact.keys() & loads.keys():
            self.exact[key] += loads[key]
        fold(loads, self._aliases)
        shorten(loads)
        if self._spec.layout is not KeyLayout.ENTITY and self._spec.tenant.place is Place.KEY and self._beside is None:
            self._tenants.add(by_tenant(loads, alone=self._spec.layout is KeyLayout.TENANT))
        self._keys.add(loads)

    def _add_columns(self, slab: Slab, *, some_unkeyed: bool) -> None:
        self.damaged += slab.damaged
        try:
            if slab.tenants is not None:
                self._beside = self._beside or TenantColumn(self._spec.load, self._aliases)
                self._beside.add(slab, slab.tenants, some_unkeyed=some_unkeyed)
            if slab.discriminators is not None and self._aliases:
                self._subs = self._subs or SubUnits(self._spec.load)
                self._subs.add(slab, slab.discriminators, self._aliases)
        except Exception as error:  # noqa: BLE001  # no record may end the worker
            self._fail(None, None, len(slab.keys), error)
        if self._beside is not None and self._beside.full:
            self._settle_tenants(self._beside)
        if self._subs is not None and self._subs.full:
            self._subs.settle(self._aliases)

    def _settle_tenants(self, beside: TenantColumn) -> None:
        damaged = beside.settle(self._tenants, self._keys, self.load)
        if damaged:
            self._fail(None, None, self._records_in(damaged), TypeError("not a tenant, or not a size"))

    @property
    def load_so_far(self) -> int:
        """About the load of keyed records, what is pending included."""
        return self.records - self.unkeyed if self._spec.load is Load.RECORDS else self.size_bytes

    def heavy_keys(self) -> HeavyList:
        return self._keys.heavy(self.load)

    def heavy_tenants(self) -> HeavyList:
        return self._tenants.heavy(self.load + self.unkeyed_load)

    def heavy_subs(self) -> HeavyList:
        """The heaviest sub-units of the keys that are counted exactly, where slabs have discriminators."""
        return self._subs.heavy() if self._subs is not None else HeavyList()

    def tenant_of(self, keys: HeavyList) -> dict[bytes, bytes] | None:
        """The tenants of listed keys, and of those counted exactly, that surely had just one; None without a column."""
        if self._beside is None:
            return None
        return self._beside.of({*(row.key for row in keys.rows), *map(travelling_key, self._aliases.values())})

    @property
    def unkeyed_load(self) -> int:
        return self._beside.unkeyed_load if self._beside is not None else 0

    @property
    def untenanted(self) -> int:
        return self._beside.untenanted if self._beside is not None else 0

    @property
    def distinct_keys(self) -> int:
        return self._keys.distinct

    @property
    def distinct_tenants(self) -> int:
        return self._tenants.distinct

    def count_distinct(self, keys: WindowDistinct, tenants: WindowDistinct, window: int) -> None:
        """Let the settled names count in a window."""
        self._keys.count_distinct(keys, window)
        self._tenants.count_distinct(tenants, window)

    def lower_bounds(self, load: int, without: Mapping[bytes, bytes]) -> dict[bytes, int]:
        """Keys whose true load is at least ``load`` (above 0), with a lower bound; what is pending is not settled.

        Keys in ``without`` are left out.
        """
        half = -(-load // 2)  # a sum of two reaches load only if one of them reaches half of it
        pending = {travelling_key(key): n for key, n in self._pending.items() if n >= half and key is not None}
        names = pending.keys() | self._keys.at_least(half)
        lowers = {
            name: self._keys.lower(name) + (pending.get(name) or self._pending[name])
            for name in names
            if name not in without
        }
        return {name: lower for name, lower in lowers.items() if lower >= load}

    def lower(self, key: bytes) -> int:
        """A lower bound of the load of a key as it travels, what is pending included."""
        return self._keys.lower(key) + self._pending[key]

    def tenants_from(self, load: int) -> dict[bytes, int]:
        """The settled lower bounds of the tenants that have at least ``load``, which is above 0."""
        tenants = self._tenants
        return {tenant: lower for tenant in tenants.at_least(load) if (lower := tenants.lower(tenant)) >= load}

    def tenant_beside(self, key: bytes) -> bytes | None:
        """The tenant that stands beside a key as it travels, where that surely had just one."""
        return None if self._beside is None else self._beside.of([key]).get(key)

    def remember(self, history: History, window: int) -> None:
        """Give the settled load of every key to ``history``, after which this counter is spent."""
        if self._keys.counts is not None:
            history.merge(window, self._keys.counts)
        elif exact := self._keys.exact:
            history.add(window, exact)

    def _size_bytes(self, slab: Slab) -> int:
        try:
            return sum(slab.sizes)
        except Exception as error:  # noqa: BLE001  # no record may end the worker
            sizes = [size for size in slab.sizes if type(size) is int]
            if self._spec.load is Load.RECORDS:  # else the gathering meets them too
                self._fail(None, None, len(slab.sizes) - len(sizes), error)
            return sum(sizes)

    def _gather(self, slab: Slab) -> None:
        keys = iter(slab.keys)
        sizes = iter(slab.sizes)
        while True:
            try:
                if self._spec.load is Load.RECORDS:
                    self._pending.update(keys)
                else:
                    add_sizes(self._pending, keys, sizes)
                return  # noqa: TRY300  # an else would have to leave the loop all the same
            except Exception as error:  # noqa: BLE001  # no record may end the worker
                # The record at fault has left the iterators; counting goes on behind it.
                index = len(slab.keys) - length_hint(keys) - 1
                offset = slab.start + index if slab.end - slab.start == len(slab.keys) else None
                self._fail(offset, slab.keys[index], 1, error)

    def _forget_unkeyed(self, slab: Slab) -> None:
        load = self._pending.pop(None)
        self.unkeyed += load if self._spec.load is Load.RECORDS else slab.keys.count(None)

    def _valid(self, pending: Counter[bytes | None]) -> dict[bytes, int]:
        """What is pending, as bytes with a load above 0, which the sketches rely on."""
        loads: dict[bytes, int] = pending  # type: ignore[assignment]  # None has been taken out
        if set(map(type, loads)) <= {bytes} and (self._by_record or min(loads.values()) > 0):
            return loads
        for key, load in tuple(loads.items()):
            if type(key) is not bytes or load < 0:
                self._fail(None, key, self._records_in(load), TypeError("not a key, or not a size"))
                del loads[key]
            elif not load:
                del loads[key]
        return loads

    def _place(self, loads: dict[bytes, int]) -> None:
        """Add the load of each key to its production partition; keys on which that fails leave ``loads``."""
        if self._partition_of is not None:
            self._place_each(loads, self._partition_of)
        load = sum(loads.values())
        self.load += load
        if self._partition_of is None:
            self.loads[self._partition] = self.loads.get(self._partition, 0) + load

    def _place_each(self, loads: dict[bytes, int], partition_of: Callable[[bytes], int | None]) -> None:
        try:
            partitions = [*map(partition_of, loads)]
        except Exception:  # noqa: BLE001  # which key it was is found one by one
            partitions = self._partitions_one_by_one(loads, partition_of)
        placed = self.loads
        for partition, load in zip(partitions, loads.values(), strict=True):
            if partition is not None:
                placed[partition] = placed.get(partition, 0) + load

    def _partitions_one_by_one(
        self, loads: dict[bytes, int], partition_of: Callable[[bytes], int | None]
    ) -> list[int | None]:
        partitions: list[int | None] = []
        for key, load in tuple(loads.items()):
            try:
                partitions.append(partition_of(key))
            except Exception as error:  # noqa: BLE001  # no record may end the worker
                self._fail(None, key, self._records_in(load), error)
                del loads[key]
        return partitions

    def _records_in(self, load: int) -> int:
        return load if self._spec.load is Load.RECORDS else 1

    def _fail(self, offset: int | None, key: object, records: int, error: Exception) -> None:
        self.failed += records
        name = travelling_key(key) if isinstance(key, bytes) else None
        # Not the error itself: it would hold on to the frames, and they to the slab.
        self._put_aside(PutAside(offset, name, records, f"{type(error).__name__}: {error}"))
