"""The heat of one topic: two sliding views, and the machines that say what is hot in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.deciding import events
from hotshard.core.deciding.drafting import advised
from hotshard.core.deciding.moment import Measured
from hotshard.core.panes.lists import Lists
from hotshard.core.panes.placing import partition_of_names
from hotshard.core.panes.tenancy import ViewOwners, has_subs, view_subs, view_tenant
from hotshard.core.panes.view import View
from hotshard.core.planning.allowed import forbidden
from hotshard.core.policy.acting import worth_acting
from hotshard.core.policy.choosing import Policies
from hotshard.core.policy.evidence import Heat, Part, Totals, Turned, ViewTotals, own_part
from hotshard.core.policy.machine import HeatMachine
from hotshard.core.sketching.merging import threshold
from hotshard.core.wire.names import key_text
from hotshard.core.wire.route import HotEntry, HotKind, Treatment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hotshard.core.deciding.moment import Moment
    from hotshard.core.panes.tenancy import TenantParts
    from hotshard.core.policy.memory import HeatMemory
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.event import EventType, Finding
    from hotshard.core.wire.pane import Pane
    from hotshard.core.wire.state import TopicHead

#: So long after a key turned hot its sub-units are counted: workers have heard of it, and closed a pane or two.
_SUBS_S: Final = 3.0
#: The short view must show a key so much hotter than the long one for plans to be made on it.
_CLEARLY: Final = 1.25


class Found(NamedTuple):
    """What turned, as it is told."""

    kind: EventType
    finding: Finding


class TopicHeat:
    """What is hot in a topic, measured on the short view and the long one."""

    def __init__(self, spec: TopicSpec, partitions: int, head: TopicHead | None, now_ms: int) -> None:
        policy = spec.policy
        self._spec = spec
        self._partitions = partitions
        self._now_ms = now_ms
        place = partition_of_names(spec, partitions)
        self._has_subs = has_subs(spec)
        self._fast = View(round(policy.fast_view_s * 1000), place, has_subs=self._has_subs)
        self._slow = View(round(policy.slow_view_s * 1000), place, has_subs=self._has_subs)
        # What is heard again covers the views as they were then, their silences included.
        begun_ms, until_ms = (now_ms, now_ms) if head is None else (head.registry_epoch, head.at_ms)
        self._fast.expire(max(begun_ms, until_ms - round(policy.fast_view_s * 1000)))
        self._slow.expire(max(begun_ms, until_ms - round(policy.slow_view_s * 1000)))
        #: See :meth:`View.evening`, worked out at most once a moment.
        self._factors: dict[View, Mapping[int, float]] = {}
        #: See :attr:`loads`, likewise.
        self._loads: dict[View, list[float]] = {}
        #: The view plans are made on, worked out at most once a moment: it asks for every hot key.
        self._chosen: View | None = None
        self._totals = ViewTotals(Totals(0, 0.0, 0.0), Totals(0, 0.0, 0.0))
        self._tenant_totals = self._totals
        self.owners = ViewOwners(spec, self._slow)
        #: The policy of each key.
        self.policies = Policies(policy, spec.tenant_policies, self.owners.of)
        self._keys = HeatMachine(self.policies, partitions, memory=None if head is None else head.keys)
        self._tenants = HeatMachine(
            Policies(policy, spec.tenant_policies, lambda tenant: tenant),
            partitions,
            kind=HotKind.TENANT,
            memory=None if head is None else head.tenants,
        )

    # -- what is measured ------------------------------------------------------------------------

    def put(self, pane: Pane) -> None:
        """Show a version of a pane to both views."""
        lists = Lists.of(pane)
        self._fast.put(pane, lists)
        self._slow.put(pane, lists)

    def settle(self, now_ms: int, aliases: Mapping[bytes, bytes], completeness: float) -> None:
        """Bring the views to this moment."""
        self._now_ms = now_ms
        self._factors.clear()
        self._loads.clear()
        self._chosen = None
        for view in (self._fast, self._slow):
            view.aliases = aliases
            view.expire(now_ms)
        self.owners.settle(now_ms)
        self._totals = ViewTotals(
            *(Totals(view.load, view.span_s(now_ms), completeness) for view in (self._fast, self._slow))
        )
        # Records without a key count for the tenant beside them.
        self._tenant_totals = ViewTotals(
            *(
                totals._replace(load=totals.load + view.unkeyed_load)
                for view, totals in zip((self._fast, self._slow), self._totals, strict=True)
            )
        )

    @property
    def loads(self) -> Sequence[float]:
        """Load of every production partition, as if the view that plans are made on held its whole span of each."""
        view = self._measuring
        if view not in self._loads:
            loads = self._loads[view] = [0.0] * self._partitions
            for partition, load in self._evened(view, view.loads).items():
                loads[partition] = load
        return self._loads[view]

    def _evened(self, view: View, loads: Mapping[int, int]) -> dict[int, float]:
        """By partition, in that order: a decider made anew adds up in the same order, and so to the same last digit."""
        if view not in self._factors:
            self._factors[view] = view.evening(self._now_ms)
        factors = self._factors[view]
        return {
            partition: load * factors.get(partition, 1.0)
            for partition, load in sorted(loads.items())
            if load and 0 <= partition < self._partitions
        }

    @property
    def _measuring(self) -> View:
        """The view plans are made on: the long one, or the short one while a key is clearly hotter in it.

        A flood that has begun is thin in the long view; later the short one would only bring unrest.
        """
        if self._chosen is None:
            shares = [
                max((totals.share(view.keys.bounds(key).lower) for key in self._keys.hot), default=0.0)
                for view, totals in zip((self._fast, self._slow), self._totals, strict=True)
            ]
            self._chosen = self._fast if shares[0] > _CLEARLY * shares[1] else self._slow
        return self._chosen

    def hot_loads(self) -> dict[bytes, Measured]:
        """Every hot key as measured now."""
        return self.measured(self._keys.hot)

    def measured(self, keys: Iterable[bytes]) -> dict[bytes, Measured]:
        """These keys as measured now, whether they are hot or not seen at all."""
        keys = sorted(frozenset(keys))  # an order of its own, as in _evened
        if not keys:
            return {}
        view = self._measuring
        totals = self._totals.fast if view is self._fast else self._totals.slow
        loads = self.loads
        return {key: self._hot_load(key, view, totals, loads) for key in keys}

    def _hot_load(self, key: bytes, view: View, totals: Totals, loads: Sequence[float]) -> Measured:
        bounds = view.keys.bounds(key)
        current = self._evened(view, view.by_partition(key))
        most = max(current, key=lambda partition: loads[partition], default=None)
        policy = self.policies.of(key)
        loads_s = self._loads_s(view, totals)
        acting = None if most is None else worth_acting(policy, bounds.lower, totals, loads, most, loads_s=loads_s)
        subs = view_subs(key, view, self._spec.load) if self._has_subs else None
        return Measured(
            load=sum(current.values()),
            current=current,
            share=totals.share(bounds.lower),
            lower=bounds.lower,
            upper=bounds.upper,
            worth_acting=acting is not None and acting.acts and not self._awaits_subs(key),
            worth_fitting=acting is not None and acting.fits,
            policy=policy,
            acting=acting,
            loads_s=loads_s,
            tenant=self.owners.of(key),
            largest_sub=None if subs is None else subs.largest_sub,
        )

    def _awaits_subs(self, key: bytes) -> bool:
        """Whether the sub-units of a key that has just turned hot are still to be counted: no plan before that."""
        since_ms = self._keys.since_ms(key) if self._has_subs else None
        return since_ms is not None and 0 <= self._now_ms - since_ms < _SUBS_S * 1000

    def _loads_s(self, view: View, totals: Totals) -> float:
        """The seconds that :attr:`loads` stand for: the view's whole span, where they were evened to that."""
        if not self._factors.get(view):
            return totals.span_s
        return self._spec.policy.fast_view_s if view is self._fast else self._spec.policy.slow_view_s

    # -- what is said of it ----------------------------------------------------------------------

    @property
    def hot_keys(self) -> frozenset[bytes]:
        return self._keys.hot

    @property
    def hot_tenants(self) -> frozenset[bytes]:
        return self._tenants.hot

    @property
    def key_memory(self) -> HeatMemory:
        return self._keys.memory()

    @property
    def tenant_memory(self) -> HeatMemory:
        return self._tenants.memory()

    def step(self, moment: Moment) -> tuple[Found, ...]:
        """Let the machines judge; returns what turned hot or cold."""
        turned = [(HotKind.KEY, each) for each in self._judge(self._keys, moment, tenants=False)]
        self._chosen = None  # what is hot may be another now
        turned += [(HotKind.TENANT, each) for each in self._judge(self._tenants, moment, tenants=True)]
        return tuple(self._found(kind, each) for kind, each in turned)

    def _judge(self, machine: HeatMachine, moment: Moment, *, tenants: bool) -> tuple[Turned, ...]:
        fast, slow = (view.tenants if tenants else view.keys for view in (self._fast, self._slow))
        all_totals = self._tenant_totals if tenants else self._totals
        seen = set(machine.hot)
        for view, side, totals in ((self._fast, fast, all_totals.fast), (self._slow, slow, all_totals.slow)):
            lightest = min((load for load in view.loads.values() if load > 0), default=0)
            least = machine.least_load(totals, lightest)
            seen |= side.at_least(round(least))
        heats = [
            Heat(name, fast.bounds(name), slow.bounds(name), *(self._parts(name) if machine.wants_parts else ()))
            for name in sorted(seen)
        ]
        return machine.step(moment.now_ms, all_totals, heats)

    def _parts(self, key: bytes) -> tuple[Part | None, Part | None]:
        """The part of its own partition's load that a key is, in the short view and in the long one."""
        fast, slow = (
            own_part(view.keys.bounds(key), view.by_partition(key), view.loads) for view in (self._fast, self._slow)
        )
        return fast, slow

    def _found(self, kind: HotKind, turned: Turned) -> Found:
        view = self._fast if turned.fast else self._slow
        side = view.keys if kind is HotKind.KEY else view.tenants
        event, finding = events.turned(
            self._spec.name,
            kind,
            turned,
            tenant=self._tenant(kind, turned.name),
            least=threshold(side.error, turned.total),
            treatment=self._advice(kind, turned.name) if turned.hot else Treatment.NONE,
            partitions=self._partitions_of(kind, turned.name),
        )
        return Found(event, finding)

    def _partitions_of(self, kind: HotKind, name: bytes) -> tuple[int, ...]:
        if kind is HotKind.TENANT:
            return ()
        places = self._slow.by_partition(name)
        return tuple(sorted((p for p, load in places.items() if load), key=lambda p: (-places[p], p)))

    def _advice(self, kind: HotKind, name: bytes) -> Treatment:
        """What fits before a plan is made: a hot key is split where it can be, a hot tenant is isolated."""
        if kind is HotKind.TENANT:
            return Treatment.ISOLATE
        refusal = forbidden(name, self._spec)
        return Treatment.SPLIT if refusal is None else advised(refusal)

    def hot_entries(self) -> tuple[HotEntry, ...]:
        """What is hot now, for the registry: keys and tenants, the heaviest first."""
        entries = [*self._entries(HotKind.KEY, self._keys), *self._entries(HotKind.TENANT, self._tenants)]
        return tuple(sorted(entries, key=lambda entry: (-entry.lower, entry.key or "")))

    def _entries(self, kind: HotKind, machine: HeatMachine) -> Iterable[HotEntry]:
        side = self._slow.keys if kind is HotKind.KEY else self._slow.tenants
        totals = self._totals.slow if kind is HotKind.KEY else self._tenant_totals.slow
        for name in machine.hot:
            bounds = side.bounds(name)
            text, b64 = key_text(name)
            yield HotEntry(
                topic=self._spec.name,
                kind=kind,
                key=text,
                key_b64=b64,
                tenant=self._tenant(kind, name),
                since_ms=machine.since_ms(name) or 0,
                share=totals.share(bounds.lower),
                lower=bounds.lower,
                upper=bounds.upper,
                load_per_s=totals.per_s(bounds.lower),
            )

    def _tenant(self, kind: HotKind, name: bytes) -> str | None:
        tenant = name if kind is HotKind.TENANT else self.owners.of(name)
        return None if tenant is None else tenant.decode(errors="replace")

    def tenant_parts(self, tenant: bytes) -> TenantParts | None:
        """Of what a tenant's load is made, in the long view."""
        return view_tenant(tenant, self._slow, self.owners)
