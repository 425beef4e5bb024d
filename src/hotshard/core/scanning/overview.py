"""Evidence of all of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.causes.evidence import Evidence, HotName
from hotshard.core.panes.tenancy import tenant_in_key
from hotshard.core.policy.fairness import bearable_load
from hotshard.core.policy.rules import limits
from hotshard.core.scanning.gathering import (
    TOPS,
    Setting,
    heaviest_of,
    hottest,
    places,
    refusal_of,
    terms_for,
    where_unkeyed,
)
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hotshard.core.scanning.filling import Filling
    from hotshard.core.scanning.findings import Findings, Spell
    from hotshard.core.scanning.overall import Overall
    from hotshard.core.scanning.owning import Owning
    from hotshard.core.sketching.whole import Whole, WholeCount, WholeSum

#: Names of which it is looked whether they lie on several partitions.
_LOOKED_AT: Final = 50
#: Names that are placed, and of each partition on the average.
_PLACED: Final = 1000
_PLACED_OF_EACH: Final = 20
#: Names that are shown.
_LISTED: Final = 20


class Overview(NamedTuple):
    """All that is known at the end."""

    setting: Setting
    overall: Overall
    findings: Findings
    owning: Owning
    #: The tenants that stand beside the keys.
    beside: Owning
    filling: Filling
    start_ms: int | None
    end_ms: int | None

    @property
    def keys(self) -> WholeCount:
        return self.overall.keys

    @property
    def tenants(self) -> WholeCount:
        return self.overall.tenants

    @property
    def loads(self) -> Sequence[int]:
        return self.overall.loads

    @property
    def span_s(self) -> float:
        return 0.0 if self.start_ms is None or self.end_ms is None else (self.end_ms - self.start_ms) / 1000

    def keys_of(self) -> Mapping[int, Mapping[bytes, int]]:
        """About the loads of the heaviest keys by partition."""
        if self.setting.place is not None and self.setting.by_tenant:
            return self.filling.by_partition()
        return self._lying(self.keys, self.overall.keys_of)

    def tenants_of(self) -> Mapping[int, Mapping[bytes, int]]:
        if self.setting.place is None or self.setting.by_tenant:
            return self._lying(self.tenants, self.overall.tenants_of)
        beside = self.filling.by_partition()
        return beside or {partition: self._by_tenant(keys) for partition, keys in self.keys_of().items()}

    def _by_tenant(self, keys: Mapping[bytes, int]) -> Mapping[bytes, int]:
        """What the tenants of some keys have, where these stand in the keys."""
        tenants: dict[bytes, int] = {}
        for key, load in keys.items():
            tenant = tenant_in_key(key, self.setting.spec)
            if tenant is not None:
                tenants[tenant] = tenants.get(tenant, 0) + load
        return tenants

    def _lying(self, names: WholeCount, read: Mapping[int, WholeSum]) -> Mapping[int, Mapping[bytes, int]]:
        place = self.setting.place
        if place is None:
            return {partition: dict(_estimates(each)) for partition, each in read.items()}
        found: dict[int, dict[bytes, int]] = {}
        for name, estimate in _estimates(names)[: max(_PLACED, _PLACED_OF_EACH * len(self.loads))]:
            partition = place(name)
            if partition is not None:
                found.setdefault(partition, {})[name] = estimate
        return found

    def owner(self, key: bytes) -> bytes | None:
        """The one tenant of a key."""
        return tenant_in_key(key, self.setting.spec) or self.owning.of(key)

    def whole(self, name: bytes) -> bytes:
        """A key or tenant as it stood on the records, where that is remembered."""
        return self.beside.whole(self.owning.whole(name))

    def share(self, load: float) -> float:
        return min(1.0, load / self.overall.load) if self.overall.load else 0.0


def evidence_of(view: Overview) -> Evidence:
    overall, setting, findings = view.overall, view.setting, view.findings
    lists = view.tenants if setting.by_tenant else view.keys
    of_partition = view.tenants_of() if setting.by_tenant else view.keys_of()
    top = hottest(view.loads)
    return Evidence(
        partitions=len(view.loads),
        partitioner=setting.spec.partitioner,
        eps=setting.spec.policy.eps,
        loads=tuple(view.loads),
        records=overall.records,
        unkeyed=overall.unkeyed,
        unkeyed_loads=where_unkeyed(overall, len(view.loads), setting),
        distinct_keys=view.beside.distinct_keys if setting.by_tenant else view.owning.distinct_keys,
        top_of_hottest=() if top is None else heaviest_of(of_partition.get(top, {}).items(), TOPS),
        hot_keys=hot_keys(view),
        hot_tenants=hot_tenants(view),
        recent_tops=tuple(recent.top for recent in findings.recent if recent.top is not None),
        windows=findings.decided,
        windows_hot=findings.decided_hot,
        scattered=_scattered(view),
        listed=tuple(row.name for row in lists.heaviest()[:_LISTED]),
        capacity_per_s=setting.spec.policy.partition_capacity_per_s,
        span_s=view.span_s or None,
        start_ms=view.start_ms,
        end_ms=view.end_ms,
    )


def hot_keys(view: Overview) -> tuple[HotName, ...]:
    """What was hot in some window, by its load over all of the input, the heaviest first."""
    return _heaviest_first(
        HotName(
            name=name,
            lower=row.lower,
            upper=row.upper,
            share=view.share(row.lower),
            tenant=(tenant := view.owner(name)),
            partitions=() if view.setting.by_tenant else _places_of_key(view, name),
            refusal=refusal_of(name, view.setting),
            recent_hot=_recent_hot(view, name),
            terms=terms_for(view.setting, tenant, view.span_s),
        )
        for name, row in _known(view.keys, view.findings.keys)
    )


def hot_tenants(view: Overview) -> tuple[HotName, ...]:
    return _heaviest_first(_hot_tenant(view, name, row) for name, row in _known(view.tenants, view.findings.tenants))


def _hot_tenant(view: Overview, name: bytes, row: Whole) -> HotName:
    there = tenant_places(view, name)
    own = [key.lower for key in view.keys.heaviest() if view.owner(key.name) == name]
    return HotName(
        name=name,
        lower=row.lower,
        upper=row.upper,
        share=view.share(row.lower),
        partitions=tuple(partition for partition, _ in there),
        by_partition=there,
        largest_key=max(own) / row.upper if own and row.upper else None,
        bearable=_bearable(view, row),
        recent_hot=_recent_hot(view, name),
    )


def _bearable(view: Overview, tenant: Whole) -> float | None:
    """What it may have of all. How many tenants there are is taken as fair only where all are known."""
    policy = view.setting.policies.of_tenant(tenant.name)
    all_known = not view.tenants.threshold(0)
    return bearable_load(
        tenant.lower,
        view.overall.load,
        share=limits(policy, len(view.loads), HotKind.TENANT).keep_share,
        tenants=len(view.tenants.heaviest()) if all_known else None,
    )


def tenant_places(view: Overview, name: bytes) -> tuple[tuple[int, int], ...]:
    """About how much of a tenant lies on each partition, the most first."""
    if view.setting.by_tenant:
        row = view.tenants.get(name)
        return tuple((partition, row.estimate) for partition in places(name, view.setting)) if row else ()
    loads = ((partition, there.get(name, 0)) for partition, there in view.tenants_of().items())
    return tuple(sorted(((p, load) for p, load in loads if load), key=lambda item: (-item[1], item[0])))


def _places_of_key(view: Overview, name: bytes) -> tuple[int, ...]:
    if view.setting.place is not None:
        return places(name, view.setting)
    there = [(-whole.estimate, p) for p, keys in view.overall.keys_of.items() if (whole := keys.get(name)) is not None]
    return tuple(partition for _, partition in sorted(there))


def _scattered(view: Overview) -> tuple[tuple[bytes, tuple[tuple[int, int], ...]], ...]:
    """Heavy keys that were read from several partitions."""
    if view.setting.place is not None:
        return ()
    found = []
    for row in view.keys.heaviest()[:_LOOKED_AT]:
        each = ((partition, keys.get(row.name)) for partition, keys in view.overall.keys_of.items())
        there = tuple((partition, whole.lower) for partition, whole in each if whole is not None and whole.lower)
        if len(there) > 1:
            found.append((row.name, there))
    return tuple(found)


def _estimates(names: WholeCount | WholeSum) -> list[tuple[bytes, int]]:
    return [(row.name, row.estimate) for row in names.heaviest()]


def _known(names: WholeCount, spells: Mapping[bytes, Spell]) -> list[tuple[bytes, Whole]]:
    return [(name, row) for name in spells if (row := names.get(name)) is not None]


def _heaviest_first(names: Iterable[HotName]) -> tuple[HotName, ...]:
    return tuple(sorted(names, key=lambda name: (-name.lower, name.name)))


def _recent_hot(view: Overview, name: bytes) -> tuple[bool, ...]:
    return tuple(name in recent.hot for recent in view.findings.recent)
