"""The settings of a topic; their defaults are those of the types they become."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.core.partitioners import ALIASES, PARTITIONERS
from hotshard.core.topic import Carry, KeyLayout, Load, Mode, Ordering, PartitionsFrom, Place
from hotshard.settings.kinds import SOURCES, Choice, FieldOf, Number, Switch
from hotshard.settings.pinning import Names, Pins
from hotshard.settings.policy_rows import POLICY_ROWS
from hotshard.settings.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

_DAY_S: Final = 86_400
_YEAR_S: Final = 366 * _DAY_S


def _words(enum: type[StrEnum]) -> Choice:
    return Choice(tuple(word.value for word in enum))


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
        Number(1, 100_000, unset="auto"),
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
    Setting(
        "defaults",
        "tenant",
        FieldOf((Place.KEY, Place.HEADER, Place.JSON)),
        "key",
        "Where a record's tenant stands: in the key, as its layout says, in a header, or in its value.",
    ),
    Setting(
        "defaults",
        "discriminator",
        FieldOf((Place.NOWHERE, Place.HEADER, Place.JSON)),
        "none",
        "Where it says which independent part of its entity it is of, so that hot parts are seen.",
    ),
    Setting(
        "defaults",
        "also_partitioner",
        Choice((*PARTITIONERS, *ALIASES), optional=True),
        None,
        "That of other producers of the same topic; plans then suit both.",
    ),
    Setting(
        "defaults",
        "carry",
        _words(Carry),
        "suffix",
        "How a shard is reached: by a suffix to the key, or by giving the partition.",
    ),
    Setting(
        "defaults", "pins", Pins("keys (tenant\\u001fentity)"), {}, "What is done about keys, whatever is measured."
    ),
    Setting("defaults", "tenant_pins", Pins("tenants"), {}, "The same for all keys of a tenant."),
    Setting("defaults", "deny", Names("keys (tenant\\u001fentity)"), (), "Keys never touched, as if pinned never."),
    Setting(
        "defaults",
        "groups",
        Names("consumer groups"),
        (),
        "The groups that read it in production; their lag is looked at, more often while something is wrong.",
    ),
    *POLICY_ROWS,
)

#: The settings of a topic by key; a topic's own section takes the same.
OF_A_TOPIC: Final[Mapping[str, Setting]] = MappingProxyType({setting.key: setting for setting in TOPIC_ROWS})
