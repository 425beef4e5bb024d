"""The settings of a policy: of a topic, or of one tenant in it. Their defaults are those of the type they become."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from hotshard.core.policy.thresholds import OF_THE_VIEWS, Policy
from hotshard.settings.kinds import Kind, Number, Switch
from hotshard.settings.pinning import PinWord
from hotshard.settings.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHARE: Final = Number(0, 1, whole=False)
_TIME: Final = Number(0, 86_400, whole=False)
_LOAD: Final = Number(0, math.inf, whole=False)
_LOAD_OR_NONE: Final = Number(0, math.inf, whole=False, unset="none")
_TIMES: Final = Number(1, 100, whole=False)
_POLICY: Final = Policy()


def _row(key: str, kind: Kind, text: str, unit: str = "") -> Setting:
    return Setting("defaults", key, kind, getattr(_POLICY, key), text, unit)


POLICY_ROWS: Final = (
    _row("eps", Number(0.01, 10, whole=False), "Tolerated imbalance: a partition may carry (1 + eps) means."),
    _row(
        "on_share",
        Number(0, 1, whole=False, unset="auto"),
        "A key is hot from this share of the load on; auto: eps / (partitions - 1), where a split pays.",
    ),
    _row("on_load_per_s", _LOAD_OR_NONE, "It is also hot from so much load a second on, whatever share.", "load/s"),
    _row(
        "on_partition_share",
        Number(0, 1, whole=False, unset="none"),
        "It is also hot from this share of its own partition's load on.",
    ),
    _row("tenant_on_share", _SHARE, "A tenant, all its keys together, is hot from this share of the load on."),
    _row("tenant_on_load_per_s", _LOAD_OR_NONE, "It is also hot from so much load a second on.", "load/s"),
    _row("keep_ratio", _SHARE, "What is hot cools below this part of all that made it hot, after off_s,"),
    _row("off_ratio", _SHARE, "and below this part, where it is as good as gone, after fast_view_s."),
    _row("fast_ratio", _TIMES, "The short view makes hot at so many times the share, or the rate."),
    _row("fast_view_s", Number(0.5, 60, whole=False), "Length of the short view.", "s"),
    _row("slow_view_s", Number(1, 600, whole=False), "Length of the long view.", "s"),
    _row("floor_name_per_s", _LOAD, "A key with less load a second is never named.", "load/s"),
    _row("floor_act_per_s", _LOAD, "For a key with less load a second nothing is done.", "load/s"),
    _row("floor_fast", Number(0, math.inf), "The short view must hold so much of a key to call it hot.", "load"),
    _row(
        "partition_capacity_per_s",
        _LOAD_OR_NONE,
        "What a partition takes; nothing is done about a key while its partition carries less.",
        "load/s",
    ),
    _row("hold_s", _TIME, "A key stays hot at least this long.", "s"),
    _row("off_s", _TIME, "It must have been below for so long to be cool.", "s"),
    _row("cool_down_s", _TIME, "So long after it cooled it turns hot again only by more load,", "s"),
    _row("cool_down_ratio", _TIMES, "by so many times the load that makes it hot otherwise."),
    _row("max_flaps", Number(2, 100), "What turned hot so many times within flap_window_s stays hot,"),
    _row("flap_window_s", _TIME, "until the first of those times is so long ago; 0: flaps do not matter.", "s"),
    _row("min_shards", Number(1, 10_000), "A key is split over at least so many partitions,"),
    _row("max_shards", Number(2, 10_000), "and over at most so many."),
    _row("resize_s", _TIME, "Least time between two changes of a plan.", "s"),
    _row(
        "retire_ineffective",
        Switch(),
        "A plan that does not do what it promised is retired, and none is made for its key within flap_window_s.",
    ),
)

POLICY_KEYS: Final = frozenset(field.name for field in fields(Policy))
#: What the section of one tenant takes.
OF_A_TENANT: Final[Mapping[str, Setting]] = {
    **{setting.key: setting for setting in POLICY_ROWS if setting.key not in OF_THE_VIEWS},
    "pin": Setting("defaults", "pin", PinWord(), None, "What is done about all its keys, whatever is measured."),
}
