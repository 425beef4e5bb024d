"""Hot or not, over time: what turned hot stays so for its hold, and until it has been cold for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.policy.choosing import Policies
from hotshard.core.policy.evidence import NO_NUMBERS, HeatReason, Turned
from hotshard.core.policy.memory import (
    HeatMemory,
    HotMemory,
    PastMemory,
    cools_down,
    kept,
    latest,
    within,
)
from hotshard.core.policy.rules import cold_reason, hot_reason, limits
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.policy.evidence import Bounded, Heat, Totals, ViewTotals
    from hotshard.core.policy.rules import Limits
    from hotshard.core.policy.thresholds import Policy


class HeatMachine:
    """Says when keys (or tenants) of one topic turn hot and when they turn cold.

    Each name has its own policy, as ``policy`` says. Whatever is measured, nothing cools before its hold is
    over, and nothing turns hot more than ``max_flaps`` times within its flap window: the last time it stays
    hot until the first is past. What has cooled lately turns hot again only by more. Of what has cooled the
    latest 512 are remembered; flaps of others are forgotten.

    A machine made with the memory of another goes on as that one would have. A step costs as much as the
    heats it is given and what is remembered.
    """

    def __init__(
        self,
        policy: Policy | Policies,
        partitions: int,
        *,
        kind: HotKind = HotKind.KEY,
        memory: HeatMemory | None = None,
    ) -> None:
        memory = memory or HeatMemory()
        self._policies = policy if isinstance(policy, Policies) else Policies(policy)
        self._limits = {id(each): limits(each, partitions, kind) for each in self._policies.all}
        self._hot = {each.name: each for each in memory.hot}
        self._past = {each.name: each for each in memory.past}
        #: The limits of all names whose tenant has no policy of its own.
        self.limits = self._limits[id(self._policies.default)]

    @property
    def hot(self) -> frozenset[bytes]:
        """What is hot now. Every step must be given the heat of each of these."""
        return frozenset(self._hot)

    @property
    def wants_parts(self) -> bool:
        """Whether the part of its own partition makes anything hot, so that heats must have it."""
        return any(each.on_partition_share is not None for each in self._limits.values())

    def since_ms(self, name: bytes) -> int | None:
        """Since when it is hot, or None."""
        memory = self._hot.get(name)
        return None if memory is None else memory.since_ms

    def memory(self) -> HeatMemory:
        return HeatMemory(
            hot=tuple(self._hot[name] for name in sorted(self._hot)),
            past=tuple(self._past[name] for name in sorted(self._past)),
        )

    def least_load(self, view: Totals, least_partition: float = 0.0) -> float:
        """Whatever has a lower bound below this in a view cannot turn hot by it, and need not be shown.

        ``least_partition`` is the load of the least loaded partition that has any; it matters where
        :attr:`wants_parts`.
        """
        return min(_least_load(each, view, least_partition) for each in self._limits.values())

    def step(self, now_ms: int, views: ViewTotals, heats: Iterable[Heat]) -> tuple[Turned, ...]:
        """What turned hot, then what turned cold, at this moment.

        A hot name without a heat is taken as unknown, and stays hot. A name given twice counts as
        given last. ``now_ms`` may jump: back, and the hold starts anew.
        """
        given = {heat.name: heat for heat in heats}
        self._forget_past(now_ms)
        warm = [heat for heat in given.values() if heat.name not in self._hot]
        cooled = [turned for name in self.hot if (turned := self._cool(now_ms, views, name, given.get(name)))]
        heated = [turned for heat in warm if (turned := self._heat(now_ms, views, heat))]
        if cooled:
            self._past = {each.name: each for each in latest(self._past.values())}
        return (*heated, *sorted(cooled, key=lambda each: each.name))

    def _forget_past(self, now_ms: int) -> None:
        if self._past:
            still = (kept(each, now_ms, self._policies.of(each.name)) for each in self._past.values())
            self._past = {each.name: each for each in still if each is not None}

    def _heat(self, now_ms: int, views: ViewTotals, heat: Heat) -> Turned | None:
        policy = self._policies.of(heat.name)
        to = self._limits[id(policy)]
        past = self._past.get(heat.name)
        if past is not None and cools_down(past, now_ms, policy):
            to = to.raised(policy.cool_down_ratio)
        reason = hot_reason(heat, views, to)
        if reason is None:
            return None
        self._past.pop(heat.name, None)
        earlier = () if past is None else within(past.turned_ms, now_ms, policy.flap_window_s)
        turned_ms = (*earlier, now_ms)[-policy.max_flaps :]
        self._hot[heat.name] = HotMemory(name=heat.name, since_ms=now_ms, turned_ms=turned_ms)
        numbers = {**to.numbers(), "flaps": float(len(turned_ms))}
        if flaps_too_often(turned_ms, policy):
            numbers["held_s"] = policy.flap_window_s - (now_ms - turned_ms[0]) / 1000
        bounds, view = (heat.fast, views.fast) if reason.is_fast and heat.fast is not None else (heat.slow, views.slow)
        turned = _turned(heat.name, bounds, view, reason, now_ms, numbers)
        return turned._replace(reason=HeatReason.FLAPPING) if flaps_too_often(turned_ms, policy) else turned

    def _cool(self, now_ms: int, views: ViewTotals, name: bytes, heat: Heat | None) -> Turned | None:
        memory, policy = self._hot[name], self._policies.of(name)
        to = self._limits[id(policy)]
        reason = None if heat is None else cold_reason(heat, views, to)
        since_ms = min(memory.since_ms, now_ms)
        turned_ms = within(memory.turned_ms, now_ms, policy.flap_window_s)
        cold_ms = None
        if reason is not None:
            cold_ms = now_ms if memory.cold_ms is None else min(memory.cold_ms, now_ms)
        self._hot[name] = HotMemory(name=name, since_ms=since_ms, cold_ms=cold_ms, turned_ms=turned_ms)
        if heat is None or reason is None or cold_ms is None:
            return None
        if now_ms - since_ms < round(policy.hold_s * 1000) or flaps_too_often(turned_ms, policy):
            return None
        if now_ms - cold_ms < cold_for_ms(reason, policy):
            return None
        del self._hot[name]
        past = kept(PastMemory(name, now_ms, turned_ms), now_ms, policy)
        if past is not None:
            self._past[name] = past
        numbers = {"keep_share": to.keep_share, "off_share": to.off_share, "flaps": float(len(turned_ms))}
        return _turned(name, heat.slow, views.slow, reason, since_ms, numbers)


def flaps_too_often(turned_ms: tuple[int, ...], policy: Policy) -> bool:
    """Within its flap window it has turned hot as often as it may: it is held until the first time is past."""
    return len(turned_ms) >= policy.max_flaps


def cold_for_ms(reason: HeatReason, policy: Policy) -> int:
    """So long it must have been cold: the off time; where it is gone the short view's time is enough.

    Not less: after a start, and when traffic stops, panes of one partition come and go before those of another.
    """
    off_s = min(policy.off_s, policy.fast_view_s) if reason is HeatReason.GONE else policy.off_s
    return round(off_s * 1000)


def _least_load(to: Limits, view: Totals, least_partition: float) -> float:
    loads = [to.on_share * view.load / view.completeness if view.completeness > 0 else 0.0]
    if to.on_per_s is not None:
        loads.append(to.on_per_s * view.span_s)
    if to.on_partition_share is not None:
        loads.append(to.on_partition_share * least_partition)
    return max(min(loads), to.name_per_s * view.span_s)


def _turned(  # noqa: PLR0913, PLR0917  # what is told, each part by itself
    name: bytes,
    bounds: Bounded,
    view: Totals,
    reason: HeatReason,
    since_ms: int,
    numbers: Mapping[str, float] = NO_NUMBERS,
) -> Turned:
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
        fast=reason.is_fast,
        numbers=numbers,
    )
