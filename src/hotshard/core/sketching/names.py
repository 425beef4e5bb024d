"""Loads by key as on the wire, turned into loads by the names that are counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from hotshard.core.wire.pane import WHOLE_KEY_BYTES, travelling_key

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEPARATOR: Final = b"\x1f"


def fold(loads: dict[bytes, int], aliases: Mapping[bytes, bytes]) -> None:
    """Move the load of every key that has a base key to it."""
    for key in aliases.keys() & loads.keys():
        base = aliases[key]
        if base != key:
            loads[base] = loads.get(base, 0) + loads.pop(key)


def shorten(loads: dict[bytes, int]) -> None:
    """Give long keys the form in which they travel."""
    if max(map(len, loads), default=0) > WHOLE_KEY_BYTES:
        for key in tuple(loads):
            if len(key) > WHOLE_KEY_BYTES:
                short = travelling_key(key)
                loads[short] = loads.get(short, 0) + loads.pop(key)


def by_tenant(loads: dict[bytes, int], *, alone: bool) -> dict[bytes, int]:
    """The load by tenant: ``core.keys.tenant_of`` of every key, written out as it is called for each of them.

    ``alone``: a key without a separator is a tenant, else it has none.
    """
    tenants: dict[bytes, int] = {}
    get = tenants.get
    if sum(loads.values()) == len(loads):
        # Each has a load of 1: tenants can be counted without a loop. What is its own head has no separator.
        tenants = Counter([key.partition(_SEPARATOR)[0] for key in loads])
        tenants.pop(b"", None)
        for name in () if alone else tenants.keys() & loads.keys():
            tenants[name] -= 1
        return tenants if all(tenants.values()) else +tenants
    for key, load in loads.items():
        tenant, separator, _ = key.partition(_SEPARATOR)
        if tenant and (separator or alone):
            tenants[tenant] = get(tenant, 0) + load
    return tenants
