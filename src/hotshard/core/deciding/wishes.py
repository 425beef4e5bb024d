"""What people want of one topic: pins of the settings, and the orders that they gave by commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from hotshard.core.panes.tenancy import tenant_in_key
from hotshard.core.topic import Pin
from hotshard.core.wire.orders import MAX_DONE, MAX_STANDING, Approval, Given, Orders, Pause, PinOrder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.orders import Done

#: The key under which a pause of the whole topic is kept.
_ALL: Final = b""

#: Who pauses a key whose plan did not help.
DETECTOR: Final = "hotshard"

#: The tenant of a base key, or None.
Owner = Callable[[bytes], bytes | None]
_Order = TypeVar("_Order", Approval, Pause, PinOrder)


class Shards(Protocol):
    """A plan, a route, or what is known of one."""

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    @property
    def partitions(self) -> tuple[int, ...]: ...


def differ_at_the_tail(one: Shards, other: Shards) -> bool:
    """Whether one plan is the other with shards added at its end, or none: whoever approved one approved both."""
    shared = min(len(one.partitions), len(other.partitions))
    return shared > 0 and all(
        getattr(one, name)[:shared] == getattr(other, name)[:shared] for name in ("suffixes", "partitions")
    )


class Wishes:
    """The wishes for one topic. A command's pin goes before those of the settings, a key's before its tenant's.

    ``owner`` says whose a key is, where that does not stand in it.
    """

    def __init__(self, spec: TopicSpec, orders: Orders | None = None, owner: Owner | None = None) -> None:
        orders = orders or Orders()
        self._owner = owner or partial(tenant_in_key, spec=spec)
        self._set_keys = {key.encode(): pin for key, pin in spec.pins.items()}
        self._set_tenants = {tenant.encode(): pin for tenant, pin in spec.tenant_pins.items()}
        self.frozen: Given | None = orders.frozen
        self.pins: dict[bytes, PinOrder] = {each.base_key: each for each in orders.pins}
        self._approvals: dict[bytes, Approval] = {each.base_key: each for each in orders.approvals}
        self._pauses: dict[bytes, Pause] = {each.base_key: each for each in orders.pauses}
        self._done: deque[Done] = deque(orders.done, MAX_DONE)

    def orders(self) -> Orders:
        """All orders that stand, to be remembered and shown."""
        return Orders(
            frozen=self.frozen,
            pins=tuple(self.pins.values()),
            approvals=tuple(self._approvals.values()),
            pauses=tuple(self._pauses.values()),
            done=tuple(self._done),
        )

    # -- what is wanted --------------------------------------------------------------------------

    def pin(self, key: bytes) -> Pin | None:
        ordered = self.pins.get(key)
        if ordered is not None:
            return Pin(ordered.shards)
        if key in self._set_keys or not self._set_tenants:
            return self._set_keys.get(key)
        tenant = self._owner(key)
        return None if tenant is None else self._set_tenants.get(tenant)

    def never(self, key: bytes) -> bool:
        """Whether a person wants the key left alone."""
        pin = self.pin(key)
        return pin is not None and pin.shards is None

    def split(self, key: bytes) -> int | None:
        """Over how many shards a person wants the key split (0: as the plan finds), or None where nobody does."""
        pin = self.pin(key)
        return None if pin is None else pin.shards

    def kept(self) -> frozenset[bytes]:
        """The keys that are split for as long as they are pinned, hot or not: those that are pinned by name."""
        named = {*self._set_keys, *self.pins}
        return frozenset(key for key in named if self.split(key) is not None)

    def to_split(self, hot: Iterable[bytes]) -> frozenset[bytes]:
        """The keys to be split whatever is measured: those pinned by name, and what is hot of a pinned tenant."""
        return self.kept() | {key for key in hot if self.split(key) is not None}

    def paused(self, key: bytes, now_ms: int) -> bool:
        """Whether the key has and gets no plan now."""
        if not self._pauses:
            return False
        found = (self._pauses.get(each) for each in (_ALL, key))
        return any(pause is not None and now_ms < pause.until_ms for pause in found)

    def why_paused(self, key: bytes, now_ms: int) -> str:
        """The reason code with which a plan ends whose key is paused."""
        pause = self._pauses.get(key)
        by_detector = pause is not None and now_ms < pause.until_ms and pause.given.by == DETECTOR
        return "ineffective" if by_detector else "retired_by_person"

    def consents(self, key: bytes, plan: Shards) -> bool:
        """Whether a person wants this plan given to producers: it was approved, or its key is pinned to be split."""
        approval = self._approvals.get(key)
        if approval is not None and differ_at_the_tail(approval, plan):
            return True
        return self.split(key) is not None

    # -- what changes them -----------------------------------------------------------------------

    def done(self, done: Done) -> None:
        self._done.append(done)

    def approve(self, approval: Approval) -> bool:
        """False where there are too many."""
        return _put(self._approvals, approval.base_key, approval)

    def put_pin(self, pin: PinOrder) -> bool:
        """False where there are too many. A pin to split ends a pause of its key."""
        if not _put(self.pins, pin.base_key, pin):
            return False
        self._pauses.pop(pin.base_key, None)
        return True

    def pause(self, pause: Pause) -> bool:
        """False where there are too many. Whatever was approved of what is paused is approved no more."""
        key = pause.base_key
        if key == _ALL:
            self._pauses = {key: pause}
            self._approvals.clear()
            return True
        self._approvals.pop(key, None)
        return _put(self._pauses, key, pause)

    def go_on(self) -> bool:
        """End the freeze and all pauses; whether there was any."""
        stopped = self.frozen is not None or bool(self._pauses)
        self.frozen = None
        self._pauses.clear()
        return stopped

    def given(self, key: bytes, plan: Shards) -> None:
        """The plan of a key is in force: what was approved of it goes on from there."""
        approval = self._approvals.get(key)
        if approval is not None:
            self._approvals[key] = Approval(
                key=approval.key,
                key_b64=approval.key_b64,
                suffixes=plan.suffixes,
                partitions=plan.partitions,
                given=approval.given,
            )

    def ended(self, key: bytes) -> None:
        """The plan of a key is no more: the next one is approved anew."""
        self._approvals.pop(key, None)

    def forget_past(self, now_ms: int) -> None:
        """Let go of pauses that are over."""
        for key in _over(self._pauses.items(), now_ms):
            del self._pauses[key]


def _put(orders: dict[bytes, _Order], key: bytes, order: _Order) -> bool:
    if key not in orders and len(orders) >= MAX_STANDING:
        return False
    orders[key] = order
    return True


def _over(pauses: Iterable[tuple[bytes, Pause]], now_ms: int) -> list[bytes]:
    return [key for key, pause in pauses if pause.until_ms <= now_ms]
