"""Hot or not, over time: what turned hot stays so for its hold, and until it has been cold for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hotshard.core.policy.evidence import HeatReason, Turned
from hotshard.core.policy.rules import cold_reason, hot_reason, limits
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.policy.evidence import Bounded, Heat, Totals, ViewTotals
    from hotshard.core.policy.thresholds import Policy


class HotMemory(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of one hot key or tenant."""

    name: bytes
    since_ms: int
    #: Since when it has been cold without a break; None while it is not.
    cold_ms: int | None = None


class HeatMemory(msgspec.Struct, frozen=True, array_like=True):
    """All that a machine remembers, by rising name."""

    hot: tuple[HotMemory, ...] = ()


class HeatMachine:
    """Says when keys (or tenants) of one topic turn hot and when they turn cold.

    A machine made with the memory of another goes on as that one would have. Only what is hot is
    remembered, so a step costs as much as the heats it is given and what is hot.
    """

    def __init__(
        self,
        policy: Policy,
        partitions: int,
        *,
        kind: HotKind = HotKind.KEY,
        memory: HeatMemory | None = None,
    ) -> None:
        self.limits = limits(policy, partitions, kind)
        self._hold_ms = round(policy.hold_s * 1000)
        self._off_ms = round(policy.off_s * 1000)
        self._hot = {each.name: each for each in (memory or HeatMemory()).hot}

    @property
    def hot(self) -> frozenset[bytes]:
        """What is hot now. Every step must be given the heat of each of these."""
        return frozenset(self._hot)

    def since_ms(self, name: bytes) -> int | None:
        """Since when it is hot, or None."""
        memory = self._hot.get(name)
        return None if memory is None else memory.since_ms

    def memory(self) -> HeatMemory:
        return HeatMemory(hot=tuple(self._hot[name] for name in sorted(self._hot)))

    def least_load(self, view: Totals) -> float:
        """Whatever has a lower bound below this in a view cannot turn hot by it, and need not be shown."""
        share = (
            min(self.limits.on_share, self.limits.fast_share) * view.load / view.completeness
            if view.completeness > 0
            else 0.0
        )
        return max(share, self.limits.name_per_s * view.span_s)

    def step(self, now_ms: int, views: ViewTotals, heats: Iterable[Heat]) -> tuple[Turned, ...]:
        """What turned hot, then what turned cold, at this moment.

        A hot name without a heat is taken as unknown, and stays hot. A name given twice counts as
        given last. ``now_ms`` may jump: back, and the hold starts anew.
        """
        given = {heat.name: heat for heat in heats}
        warm = [heat for heat in given.values() if heat.name not in self._hot]
        cooled = [turned for name in self.hot if (turned := self._cool(now_ms, views, name, given.get(name)))]
        heated = [turned for heat in warm if (turned := self._heat(now_ms, views, heat))]
        return (*heated, *sorted(cooled))

    def _heat(self, now_ms: int, views: ViewTotals, heat: Heat) -> Turned | None:
        reason = hot_reason(heat, views, self.limits)
        if reason is None:
            return None
        self._hot[heat.name] = HotMemory(name=heat.name, since_ms=now_ms)
        if reason is HeatReason.FAST_SHARE and heat.fast is not None:
            return _turned(heat.name, heat.fast, views.fast, reason, now_ms)
        return _turned(heat.name, heat.slow, views.slow, reason, now_ms)

    def _cool(self, now_ms: int, views: ViewTotals, name: bytes, heat: Heat | None) -> Turned | None:
        memory = self._hot[name]
        reason = None if heat is None else cold_reason(heat, views, self.limits)
        since_ms = min(memory.since_ms, now_ms)
        if heat is None or reason is None:
            self._hot[name] = HotMemory(name=name, since_ms=since_ms)
            return None
        cold_ms = now_ms if memory.cold_ms is None else min(memory.cold_ms, now_ms)
        if now_ms - cold_ms < self._off_ms or now_ms - since_ms < self._hold_ms:
            self._hot[name] = HotMemory(name=name, since_ms=since_ms, cold_ms=cold_ms)
            return None
        del self._hot[name]
        return _turned(name, heat.slow, views.slow, reason, since_ms)


def _turned(name: bytes, bounds: Bounded, view: Totals, reason: HeatReason, since_ms: int) -> Turned:
    load = bounds.lower if reason.heats else bounds.upper
    return Turned(
        name=name,
        hot=reason.heats,
        reason=reason,
        since_ms=since_ms,
        view_s=view.span_s,
        total=view.load,
        lower=bounds.lower,
        upper=bounds.upper,
        share=view.share(load),
        load_per_s=view.per_s(load),
        completeness=view.completeness,
    )
