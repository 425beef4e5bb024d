"""What a heat machine remembers, as it stands in the state: what is hot, and what was hot not long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.policy.thresholds import Policy

#: Of what has cooled, so many names are remembered, the latest: their cool-down and flaps.
PAST_KEPT: Final = 512


class HotMemory(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of one hot key or tenant."""

    name: bytes
    since_ms: int
    #: Since when it has been cold without a break; None while it is not.
    cold_ms: int | None = None
    #: When it turned hot before within the flap window, and this time; the oldest first.
    turned_ms: tuple[int, ...] = ()


class PastMemory(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of one key or tenant that has cooled."""

    name: bytes
    cooled_ms: int
    #: When it turned hot within the flap window, the oldest first.
    turned_ms: tuple[int, ...] = ()


class HeatMemory(msgspec.Struct, frozen=True, array_like=True):
    """All that a machine remembers, by rising name."""

    hot: tuple[HotMemory, ...] = ()
    past: tuple[PastMemory, ...] = ()


def within(times_ms: Iterable[int], now_ms: int, window_s: float) -> tuple[int, ...]:
    """Those of the times that are less than a window ago. A clock set back makes the later ones now."""
    return tuple(min(each, now_ms) for each in times_ms if now_ms - each < window_s * 1000)


def cools_down(past: PastMemory, now_ms: int, policy: Policy) -> bool:
    """Whether it cooled less than its cool-down ago."""
    return now_ms - past.cooled_ms < policy.cool_down_s * 1000


def kept(past: PastMemory, now_ms: int, policy: Policy) -> PastMemory | None:
    """What is still to be remembered of something that has cooled, or None: its cool-down and flaps are past."""
    now = PastMemory(past.name, min(past.cooled_ms, now_ms), within(past.turned_ms, now_ms, policy.flap_window_s))
    return now if now.turned_ms or cools_down(now, now_ms, policy) else None


def latest(past: Iterable[PastMemory]) -> tuple[PastMemory, ...]:
    """By rising name; of more than are kept, those that cooled last."""
    newest = sorted(past, key=lambda each: (-each.cooled_ms, each.name))[:PAST_KEPT]
    return tuple(sorted(newest, key=lambda each: each.name))
