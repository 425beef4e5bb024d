"""The frozen policy: from which load on a key is named, acted upon, and let go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Thresholds of one topic, or of one tenant in it. Shares are parts of a load (0 to 1), times are seconds.

    All loads are in the unit of the topic's load: records, or bytes.

    What reaches any of the thresholds that are set turns hot: a share of the topic's load, a rate, a share of
    the load of the key's own partition. What is below all of them cools: see ``keep_ratio`` and ``off_ratio``.
    """

    #: Tolerated imbalance: a partition may carry (1 + eps) times the mean.
    eps: float = 0.25
    #: None: the least share worth splitting, eps / (n - 1).
    on_share: float | None = None
    #: A key is hot from so much a second on, whatever share that is; None: no rate makes it hot.
    on_load_per_s: float | None = None
    #: A key is hot from this share of its own partition's load on; None: no such share makes it hot.
    on_partition_share: float | None = None
    #: The same for a tenant, the sum of its keys: a share of the topic's load, and a rate.
    tenant_on_share: float = 0.2
    tenant_on_load_per_s: float | None = None
    #: A hot key keeps hot while it has this part of what turns it on; below for ``off_s`` it cools.
    keep_ratio: float = 0.5
    #: Below this part of what turns it on it is gone, and cools after ``fast_view_s`` already.
    off_ratio: float = 0.1
    #: The short view turns on at this multiple of what turns the long one on.
    fast_ratio: float = 2.0
    fast_view_s: float = 2.0
    slow_view_s: float = 10.0
    #: Load a second of a key below which it is never named.
    floor_name_per_s: float = 20.0
    #: The same, below which nothing is done about it.
    floor_act_per_s: float = 100.0
    #: Load of a key that the short view must hold before it may turn on.
    floor_fast: int = 200
    #: What a partition takes a second. While a key's partition carries less, nothing is done about the key; None:
    #: not known, and no reason to wait.
    partition_capacity_per_s: float | None = None
    #: A key stays hot at least this long, whatever is measured.
    hold_s: float = 20.0
    #: It must have been below what keeps it hot for this long to be called cool.
    off_s: float = 5.0
    #: So long after it cooled it turns hot again only by ``cool_down_ratio`` times what else turns it on.
    cool_down_s: float = 30.0
    cool_down_ratio: float = 2.0
    #: What has turned hot so many times within the flap window stays hot until the first of them is past.
    max_flaps: int = 4
    flap_window_s: float = 600.0
    #: Bounds on the number of shards of a plan.
    min_shards: int = 1
    max_shards: int = 64
    #: Least time between two changes of one plan.
    resize_s: float = 5.0
    #: A plan that did not do what it promised is retired, and none is made for its key within the flap window.
    retire_ineffective: bool = False


#: What is the same for all tenants of a topic, as they are measured by the same views.
OF_THE_VIEWS = frozenset({"fast_view_s", "slow_view_s"})
