"""Whose the keys of a window are, of what a hot tenant is made, and how large a key's largest sub-unit is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from hotshard.core.keys import tenant_of
from hotshard.core.policy.chance import beyond_chance
from hotshard.core.topic import KeyLayout, Load, Place
from hotshard.core.wire.pane import sub_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.panes.view import View
    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import HeavyList

#: Of a tenant, or a key, in a view, keys, or sub-units, with one in so many of its load are looked at.
_WORTH_A_LOOK: Final = 100


def stands_beside(spec: TopicSpec) -> bool:
    """Whether tenants stand in a header or in the value, beside the key."""
    return spec.tenant.place in (Place.HEADER, Place.JSON)


def has_tenants(spec: TopicSpec) -> bool:
    """Whether the topic has tenants anywhere."""
    return stands_beside(spec) or (spec.tenant.place is Place.KEY and spec.layout is not KeyLayout.ENTITY)


def has_subs(spec: TopicSpec) -> bool:
    """Whether the detector can see discriminators in the topic's records."""
    return spec.discriminator.place in (Place.HEADER, Place.JSON)


def tenant_in_key(key: bytes, spec: TopicSpec) -> bytes | None:
    """The tenant that stands in a key; None where it has none, and where tenants stand elsewhere."""
    return tenant_of(key, spec.layout) if spec.tenant.place is Place.KEY else None


class Owned(Protocol):
    """Says whose a key is."""

    def of(self, key: bytes) -> bytes | None: ...


class Tenancy:
    """Whose each key is: as the key says, or as was seen beside it in all its records."""

    __slots__ = ("_layout", "_owners")

    def __init__(self, spec: TopicSpec, owners: Iterable[Mapping[bytes, bytes | None]] = ()) -> None:
        """``owners`` are those of stretches of the topic; a key whose owners differ has none."""
        inside = spec.tenant.place is Place.KEY
        self._layout = spec.layout if inside else KeyLayout.ENTITY
        self._owners: dict[bytes, bytes | None] = {}
        for each in () if inside and spec.layout is not KeyLayout.ENTITY else owners:
            for key, owner in each.items():
                self._owners[key] = owner if self._owners.get(key, owner) == owner else None

    @classmethod
    def of_window(cls, closed: ClosedWindow, spec: TopicSpec) -> Tenancy:
        return cls(spec, (part.owners for part in closed.lists))

    def of(self, key: bytes) -> bytes | None:
        """The tenant of a base key as it travels; None: it has none, or several, or that is not known."""
        return tenant_of(key, self._layout) or self._owners.get(key)


class ViewOwners:
    """Whose the keys in a view are, as they say or as was seen beside them; looked up at most once a second."""

    __slots__ = ("_known", "_second", "_spec", "_view")

    def __init__(self, spec: TopicSpec, view: View) -> None:
        self._spec = spec
        self._view = view
        self._known: dict[bytes, bytes | None] = {}
        self._second = 0

    def settle(self, now_ms: int) -> None:
        """Ask the view anew from this moment on, if the second is another one."""
        if self._second != now_ms // 1000:
            self._known, self._second = {}, now_ms // 1000

    def of(self, key: bytes) -> bytes | None:
        """The one tenant of a base key; None: it has none, or that is not known."""
        if not stands_beside(self._spec):
            return tenant_in_key(key, self._spec)
        if key not in self._known:
            self._known[key] = self._view.owner(key)
        return self._known[key]


class TenantParts(NamedTuple):
    """Of what a tenant's load is made."""

    #: The part that its heaviest key surely has, 0 to 1.
    largest_key: float
    #: It has at least about so many keys.
    keys: int


class SubParts(NamedTuple):
    """The sub-units of a key."""

    #: The part of the key's load that its largest sub-unit surely has, 0 to 1.
    largest_sub: float
    #: How many were listed.
    subs: int


def window_tenant(
    tenant: bytes, closed: ClosedWindow, tenancy: Owned, aliases: Mapping[bytes, bytes]
) -> TenantParts | None:
    """Of what a tenant's load in a closed window is made; a key has all its load on one partition, or is routed."""
    upper = keys = 0
    lowers: dict[bytes, int] = {}
    for part in closed.lists:
        low, high = _bounds(part.tenants, tenant)
        upper += high
        own = [row for row in part.keys.rows if tenancy.of(aliases.get(row.key, row.key)) == tenant]
        for row in own:
            base = aliases.get(row.key, row.key)
            lowers[base] = lowers.get(base, 0) + row.lower
        rest = max(0, low - sum(row.upper for row in own))
        keys += -(-rest // part.keys.error) if part.keys.error else 0
    if not upper:
        return None
    return TenantParts(min(1.0, max(lowers.values(), default=0) / upper), len(lowers) + keys)


def window_subs(key: bytes, upper: int, closed: ClosedWindow) -> SubParts | None:
    """The sub-units of a base key whose load in a closed window is at most ``upper``; None where none was seen."""
    lowers: dict[bytes, int] = {}
    for part in closed.lists:
        for row in part.subs.rows:
            base, sub = sub_parts(row.key)
            if base == key:
                lowers[sub] = lowers.get(sub, 0) + row.lower
    return SubParts(min(1.0, max(lowers.values()) / upper), len(lowers)) if lowers and upper > 0 else None


def view_subs(key: bytes, view: View, load: Load) -> SubParts | None:
    """The sub-units of a base key in a view, as far as they were counted; None where none was seen.

    What was counted may be a moment's, so the part of the largest allows for chance.
    """
    counted = view.counted_exactly(key)
    names = view.subs.candidates(max(1, counted // _WORTH_A_LOOK)) if counted else []
    lowers = [lower for name, lower, _ in names if sub_parts(name)[0] == key]
    if not lowers:
        return None
    mean = 1.0 if load is Load.RECORDS else view.load / max(1, view.keyed)
    return SubParts(min(1.0, beyond_chance(max(lowers), mean) / counted), len(lowers))


def view_tenant(tenant: bytes, view: View, tenancy: Owned) -> TenantParts | None:
    """Of what a tenant's load in a view is made."""
    bounds = view.tenants.bounds(tenant)
    if bounds.upper <= 0:
        return None
    keys = view.keys.candidates(max(1, bounds.lower // _WORTH_A_LOOK))
    own = [(low, high) for key, low, high in keys if tenancy.of(key) == tenant]
    rest = max(0, bounds.lower - sum(high for _, high in own))
    # A key that is not among these has at most so much.
    most = max(1, bounds.lower // _WORTH_A_LOOK + view.keys.error)
    return TenantParts(min(1.0, max((low for low, _ in own), default=0) / bounds.upper), len(own) + -(-rest // most))


def _bounds(heavy: HeavyList, name: bytes) -> tuple[int, int]:
    for row in heavy.rows:
        if row.key == name:
            return row.lower, row.upper
    return 0, heavy.error
