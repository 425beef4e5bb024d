"""Which policy a name of a topic has: that of its tenant, where that has one of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.policy.thresholds import Policy


class Policies:
    """The policy of a topic, and those of single tenants in it; ``tenant_of`` gives the tenant of a name.

    Views are shared, so tenants have the lengths of the topic's, whatever their policy says.
    """

    __slots__ = ("_by_tenant", "_tenant_of", "default")

    def __init__(
        self,
        default: Policy,
        by_tenant: Mapping[str, Policy] | None = None,
        tenant_of: Callable[[bytes], bytes | None] | None = None,
    ) -> None:
        self.default = default
        self._by_tenant = {tenant.encode(): policy for tenant, policy in (by_tenant or {}).items()}
        self._tenant_of = tenant_of

    @property
    def all(self) -> tuple[Policy, ...]:
        """Every policy that some name has."""
        return (self.default, *self._by_tenant.values())

    def of(self, name: bytes) -> Policy:
        """The policy of a name."""
        return self.of_tenant(self._tenant_of(name) if self._by_tenant and self._tenant_of is not None else None)

    def of_tenant(self, tenant: bytes | None) -> Policy:
        return self.default if tenant is None else self._by_tenant.get(tenant, self.default)
