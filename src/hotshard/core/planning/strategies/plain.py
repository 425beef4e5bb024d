"""The plain hash: a key, or a tenant, has one partition for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.partitioners import partition_of

if TYPE_CHECKING:
    from hotshard.core.planning.strategies.contract import Ground, Stretch


class HashByKey:
    """Every record where the topic's partitioner sends its key."""

    def __init__(self, _ground: Ground) -> None: ...

    def place(self, stretch: Stretch) -> list[int | None]:
        return list(stretch.homes)


class HashByTenant:
    """Every record where the topic's partitioner would send its tenant, were that the key."""

    def __init__(self, ground: Ground) -> None:
        self._place = partition_of(ground.terms.partitioner.name, ground.partitions)

    def place(self, stretch: Stretch) -> list[int | None]:
        places = {tenant: None if tenant is None else self._place(tenant) for tenant in set(stretch.tenants)}
        return [places[tenant] for tenant in stretch.tenants]
