"""What is remembered of the windows just told: part of the head, so a takeover judges as if nothing had happened."""

from __future__ import annotations

from typing import Final

import msgspec

from hotshard.core.deciding.effect import EffectMemory

#: Windows that are remembered: two minutes with the default window.
RECENT: Final = 12


class WindowMemory(msgspec.Struct, frozen=True, array_like=True):
    """One window: from when to when, whether anything was hot in it, and which keys and tenants were."""

    start_ms: int
    end_ms: int
    hot: bool
    names: tuple[bytes, ...] = ()
    #: The top key of the hottest partition, where load was uneven.
    top: bytes | None = None


class JudgingMemory(msgspec.Struct, frozen=True, array_like=True):
    """The windows told last, the newest last; since when a topic is skewed; how its plans do."""

    windows: tuple[WindowMemory, ...] = ()
    skewed_ms: int | None = None
    skew_told: bool = False
    effects: tuple[EffectMemory, ...] = ()
    #: Of the window told last: distinct keys, where few make load uneven; partitions of which more than half has no
    #: key, that part of them and the whole; partitions that a group does not read on; keys that lie elsewhere.
    distinct_keys: int | None = None
    unkeyed: tuple[tuple[int, int, int], ...] = ()
    stuck: tuple[int, ...] = ()
    elsewhere: tuple[bytes, ...] = ()
