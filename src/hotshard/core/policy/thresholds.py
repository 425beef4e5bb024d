"""The frozen policy: from which load on a key is named, acted upon, and let go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Thresholds of one topic. Shares are parts of the topic's load (0 to 1), times are seconds.

    ``on_share`` of ``None`` stands for the least share worth splitting, eps / (n - 1).
    """

    #: Tolerated imbalance: a partition may carry (1 + eps) times the mean.
    eps: float = 0.25
    on_share: float | None = None
    #: A hot key has cooled when its share stays below ``off_ratio`` times the share that turns it on.
    off_ratio: float = 0.5
    #: The short view turns on at this multiple of the share.
    fast_ratio: float = 2.0
    fast_view_s: float = 2.0
    slow_view_s: float = 10.0
    #: Records (or bytes) a second of a key below which it is never named.
    floor_name_per_s: float = 20.0
    #: The same, below which nothing is done about it.
    floor_act_per_s: float = 100.0
    #: Records (or bytes) of a key that the short view must hold before it may turn on.
    floor_fast: int = 200
    #: A key stays hot at least this long.
    hold_s: float = 20.0
    #: It must have been below the off threshold this long to be called cool.
    off_s: float = 5.0
    #: A tenant is hot from this share of the topic's load on.
    tenant_on_share: float = 0.2
    #: Bounds on the number of shards of a plan.
    max_shards: int = 64
    #: Least time between two changes of one plan.
    resize_s: float = 5.0
