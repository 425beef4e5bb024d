"""Which keys and tenants of an open pane are worth telling before the pane is over."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

from hotshard.core.panes.pulse import Pulse, add_up, floods, worth_noting
from hotshard.core.policy.evidence import Part
from hotshard.core.wire.pane import is_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hotshard.core.panes.pulse import Where
    from hotshard.core.policy.evidence import Totals
    from hotshard.core.sketching.counter import PaneCounter
    from hotshard.core.wire.pane import Pane

#: A key with at least one in so many of its pane's load has its last windows told.
_PART: Final = 10
#: A key is news again when it has grown by this factor since it was last told.
_GROWTH: Final = 2
#: Tenants have to be summed up before they can be looked at: no more often than this while a partition is calm.
CALM_MS: Final = 600
#: An open pane with so much more load than the one before had in the same time is not calm.
_SURGE: Final = 1.25
#: Tenants with less than one in so many of an open pane's load are not looked at.
_TENANT_PART: Final = 64


def candidate_load(pane_load: int, floor: int) -> int:
    """The load from which on a key of a pane has its last windows told: 10 % of the pane's, and the floor."""
    return max(floor, -(-pane_load // _PART), 1)


class Candidates:
    """What the policy would turn hot of one partition, on what this worker counts, and what was told of it.

    Only the rules of the short view are asked: what turns the long one on can wait for the end of a pane. A
    pane's own counts are lower bounds, and nobody else's are needed, but for tenants, who are hot by the sum of
    their keys over all partitions: each partition tells its part once, when all parts together decide it.
    """

    def __init__(
        self, pulse: Pulse, where: Where, partition_of: Callable[[bytes], int | None] | None, now_ms: int
    ) -> None:
        """``partition_of`` gives the production partition of a key, where that is not the source's."""
        self._pulse = pulse
        self._where = where
        self._partition_of = partition_of
        #: Of the panes sealed within the short view: when, their load, and their heaviest keys.
        self._sealed: deque[tuple[int, int, Mapping[bytes, int]]] = deque()
        #: The same added up.
        self._load = 0
        self._sums: dict[bytes, int] = {}
        #: Load a millisecond of the pane before, or as the open one had when tenants were looked at, if that is more.
        self._per_ms = 0.0
        #: When the pane before was cut.
        self._cut_ms = now_ms
        #: Load in the short view of every key that is hot in it, when it was last told.
        self._told: dict[bytes, int] = {}
        #: The same of tenants, over all partitions, for those of which this partition told its part.
        self._told_tenants: dict[bytes, int] = {}
        #: Keys of the pane sealed last, and the tenants beside them, until it is known which of them are hot.
        self._final: tuple[Mapping[bytes, int], Mapping[bytes, bytes]] = ({}, {})
        #: When tenants were looked at, in the open pane or at the end of the one before.
        self._looked_ms: int | None = None
        self._turns = 0

    # -- what is new -----------------------------------------------------------------------------

    def any_new(self, counter: PaneCounter, without: Mapping[bytes, bytes], now_ms: int) -> bool:
        """Whether a version of the open pane would tell something new, which then counts as told.

        A key is new when it is hot and has twice what was told of it, keys in ``without`` left out; a tenant,
        when it is hot and nothing was told of it while it has been so.
        """
        self._expire(now_ms)
        if self._final[0]:
            self._note_final(now_ms)
        new_tenant = self._pulse.has_tenants and self._any_new_tenant(counter, now_ms)
        hot = self._hot_keys(counter, without, now_ms)
        if not new_tenant and all(load < _GROWTH * self._told.get(key, 0) for key, load in hot.items()):
            return False
        self._told.update(hot)
        self._pulse.tell(self._where, counter.load_so_far)
        return True

    def seal(self, pane: Pane) -> None:
        """The pane is over, and its final version tells all of it."""
        now_ms, load = pane.cut_ms, sum(pane.loads.values())
        self._pulse.seal(self._where, pane)
        self._expire(now_ms)
        noted, sums = worth_noting(pane.keys.rows, load), self._sums
        self._sealed.append((now_ms, load, noted))
        self._load += load
        add_up(sums, noted, 1)
        self._per_ms, self._cut_ms = load / max(1, now_ms - pane.opened_ms), now_ms
        # What is hot now and then is no news each time.
        self._told = {key: told for key, told in self._told.items() if _GROWTH * sums.get(key, 0) >= told}
        self._final = (noted, pane.tenant_of or {})
        self._looked_ms = now_ms
        self._note_tenants(worth_noting(pane.tenants.rows, load), now_ms)

    def _note_final(self, now_ms: int) -> None:
        """What the last final version told of hot keys is no news; judged once others have sealed what was due."""
        noted, tenants = self._final
        self._final = ({}, {})
        sums, view = self._sums, self._pulse.view(self._where, 0, now_ms)
        least = self._least(view, self._load)
        for key in noted:
            load = sums.get(key, 0)
            if load >= least and self._is_hot(key, load, view, tenants.get(key), self._own_load(key)):
                self._told[key] = load

    def _any_new_tenant(self, counter: PaneCounter, now_ms: int) -> bool:
        open_load = counter.load_so_far
        recently = self._looked_ms is not None and 0 <= now_ms - self._looked_ms < CALM_MS
        # Load comes in lumps: the largest slab may as well have come a moment later.
        even_load = open_load - counter.largest_load
        if recently and self._turns == self._pulse.turns and not self._surges(even_load, now_ms):
            return False
        if not self._pulse.may_have_hot_tenants(open_load, now_ms):
            return False
        self._looked_ms, self._turns = now_ms, self._pulse.turns
        self._per_ms = max(self._per_ms, even_load / max(1, now_ms - self._cut_ms))
        counter.settle()
        tenants = counter.tenants_from(max(1, open_load // _TENANT_PART))
        self._pulse.look(self._where, open_load + counter.unkeyed_load, tenants)
        return self._note_tenants(tenants, now_ms)

    def _surges(self, load: int, now_ms: int) -> bool:
        """Whether the open pane has clearly more load than was to be expected; what is new often is more, too."""
        return load - 3 * math.sqrt(max(0, load)) > _SURGE * self._per_ms * (now_ms - self._cut_ms)

    def _note_tenants(self, tenants: Iterable[bytes], now_ms: int) -> bool:
        """Note which of the tenants are hot; whether there is one of which nothing was told."""
        load = self._pulse.tenant_load
        self._told_tenants = {each: told for each, told in self._told_tenants.items() if _GROWTH * load(each) >= told}
        hot = self._pulse.hot_tenants(tenants, now_ms)
        new = hot.keys() - self._told_tenants.keys()
        self._told_tenants.update({tenant: hot[tenant] for tenant in new})
        self._pulse.turns += bool(new)
        return bool(new)

    # -- keys ------------------------------------------------------------------------------------

    def _hot_keys(self, counter: PaneCounter, without: Mapping[bytes, bytes], now_ms: int) -> dict[bytes, int]:
        """The load in the short view of all keys of the open pane that are surely hot in it."""
        if self._pulse.wants_settled:
            counter.settle()
        loads = self._loads(counter, without, self._pulse.least_by_sealed(now_ms))
        if not loads:
            return {}
        open_load = counter.load_so_far
        view = self._pulse.view(self._where, open_load, now_ms)
        least = self._least(view, self._load + open_load)
        return {key: load for key, load in loads.items() if load >= least and self._floods(key, load, view, counter)}

    def _loads(self, counter: PaneCounter, without: Mapping[bytes, bytes], least: float) -> dict[bytes, int]:
        """Load in the short view of the keys of the open pane that may have ``least`` there, and of others."""
        # A sum of two reaches the least load only if one of them reaches half of it.
        half, sealed = max(1, round(least / 2)), self._sums
        lowers = counter.lower_bounds(half, without=without) if counter.load_so_far >= half else {}
        if self._load >= half:
            for key in [key for key, load in sealed.items() if load >= half]:
                if key not in lowers and key not in without and (lower := counter.lower(key)):
                    lowers[key] = lower
        return {key: lower + sealed.get(key, 0) for key, lower in lowers.items()}

    def _least(self, view: Totals, load: float) -> float:
        """No key with less turns hot; ``load`` is what the source partition has in the short view."""
        return self._pulse.least(view, 0.0 if self._partition_of else load)

    def _floods(self, key: bytes, load: int, view: Totals, counter: PaneCounter) -> bool:
        tenant = counter.tenant_beside(key) if self._pulse.has_tenant_policies else None
        return self._is_hot(key, load, view, tenant, self._own_load(key, counter))

    def _own_load(self, key: bytes, counter: PaneCounter | None = None) -> int:
        """The load in the short view of the production partition of a key, as far as it is counted here."""
        if not self._pulse.wants_parts:
            return 0
        if self._partition_of is None:
            return self._load + (counter.load_so_far if counter else 0)
        partition = None if is_cut(key) else self._partition_of(key)
        if partition is None:
            return 0
        return self._pulse.load_of(partition) + (counter.loads.get(partition, 0) if counter else 0)

    def _is_hot(self, key: bytes, load: int, view: Totals, tenant: bytes | None, own_load: int) -> bool:
        to = self._pulse.limits_of(tenant or self._pulse.tenant_in(key))
        part = Part(load / own_load, 1.0) if own_load > 0 else None
        return floods(key, load, part, view, to)

    def _expire(self, now_ms: int) -> None:
        while self._sealed and not 0 <= now_ms - self._sealed[0][0] < self._pulse.span_ms:
            _, load, noted = self._sealed.popleft()
            self._load -= load
            add_up(self._sums, noted, -1)
