"""The settings of a topic; their defaults are those of the types they become."""

from __future__ import annotations

import math
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.core.partitioners import ALIASES, PARTITIONERS
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import KeyLayout, Load, Mode, Ordering, PartitionsFrom
from hotshard.settings.kinds import SOURCES, Choice, Kind, Number, Switch
from hotshard.settings.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

_DAY_S: Final = 86_400
_YEAR_S: Final = 366 * _DAY_S


def _words(enum: type[StrEnum]) -> Choice:
    return Choice(tuple(word.value for word in enum))


_SHARE: Final = Number(0, 1, whole=False)
_TIME: Final = Number(0, 86_400, whole=False)
_MANY: Final = Number(0, math.inf, whole=False)
_POLICY: Final = Policy()


def _threshold(key: str, kind: Kind, text: str, unit: str = "") -> Setting:
    return Setting("defaults", key, kind, getattr(_POLICY, key), text, unit)


TOPIC_ROWS: Final = (
    Setting(
        "defaults", "sources", SOURCES, ("{topic}",), 'The topics of the mirror that carry it, such as "dc1.{topic}".'
    ),
    Setting(
        "defaults",
        "layout",
        _words(KeyLayout),
        "tenant_entity",
        "What a key is made of: tenant and entity with U+001F between, or one of them alone.",
    ),
    Setting(
        "defaults",
        "partitioner",
        Choice((*PARTITIONERS, *ALIASES)),
        "murmur2",
        "That of the producers: murmur2 (Java and others), crc32 (librdkafka's own default), fnv1a (Sarama).",
    ),
    Setting(
        "defaults",
        "partitions",
        Number(1, 100_000, auto=True),
        None,
        "Partition count in production; auto: asked from there.",
    ),
    Setting(
        "defaults",
        "partitions_from",
        _words(PartitionsFrom),
        "source",
        "source: the mirror has production's partitions; computed: from key and partitioner.",
    ),
    Setting(
        "defaults",
        "mode",
        _words(Mode),
        "shadow",
        "observe: tell; shadow: plan too; approve: a person confirms; active: producers obey.",
    ),
    Setting(
        "defaults",
        "ordering",
        _words(Ordering),
        "per_key",
        "What must stay in order: a key's records, those of one discriminator of it, or nothing.",
    ),
    Setting("defaults", "load", _words(Load), "records", "What is counted as load."),
    Setting("defaults", "compacted", Switch(), default=False, help="The topic is compacted: its keys are never split."),
    Setting(
        "defaults",
        "copartitioned",
        Switch(),
        default=False,
        help="Joined by partition: its keys are never split.",
    ),
    Setting(
        "defaults",
        "readable_s",
        Number(0, 10 * _YEAR_S, whole=False),
        7.0 * _DAY_S,
        "How long its records stay readable in production: its retention.",
        "s",
    ),
    _threshold("eps", Number(0.01, 10, whole=False), "Tolerated imbalance: a partition may carry (1 + eps) means."),
    _threshold(
        "on_share",
        Number(0, 1, whole=False, auto=True),
        "A key is hot from this share of the load on; auto: eps / (partitions - 1), where a split pays.",
    ),
    _threshold("off_ratio", _SHARE, "It has cooled below this part of the share that made it hot."),
    _threshold(
        "fast_ratio", Number(1, 100, whole=False), "In the short view it is hot from this multiple of the share on."
    ),
    _threshold("fast_view_s", Number(0.5, 60, whole=False), "Length of the short view.", "s"),
    _threshold("slow_view_s", Number(1, 600, whole=False), "Length of the long view.", "s"),
    _threshold("floor_name_per_s", _MANY, "A key with less load a second is never named.", "load/s"),
    _threshold("floor_act_per_s", _MANY, "For a key with less load a second nothing is done.", "load/s"),
    _threshold("floor_fast", Number(0, math.inf), "The short view must hold so much of a key to call it hot.", "load"),
    _threshold("hold_s", _TIME, "A key stays hot at least this long.", "s"),
    _threshold("off_s", _TIME, "It must have been below for so long to be cool.", "s"),
    _threshold("tenant_on_share", _SHARE, "A tenant is hot from this share of the load on."),
    _threshold("max_shards", Number(2, 10_000), "A key is split over at most so many partitions."),
    _threshold("resize_s", _TIME, "Least time between two changes of a plan.", "s"),
)

#: The settings of a topic by key; a topic's own section takes the same.
OF_A_TOPIC: Final[Mapping[str, Setting]] = MappingProxyType({setting.key: setting for setting in TOPIC_ROWS})
POLICY_KEYS: Final = frozenset(field.name for field in fields(Policy))
