"""From the sources to :class:`~hotshard.settings.model.Settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import KeyLayout, Load, Mode, Ordering, PartitionsFrom, TopicSpec
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.settings import checks
from hotshard.settings.masking import masked
from hotshard.settings.model import InForce, OwnTopics, RedisConnection, Settings, WorkerSettings
from hotshard.settings.sources import AS_MIRROR, Given, Sheet, defaults, lay_environment, lay_file, lay_flags
from hotshard.settings.table import LIKE_MIRROR, TABLE
from hotshard.settings.topic_rows import OF_A_TOPIC, POLICY_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from hotshard.settings.setting import Setting


#: Settings of a connection under the names that aiokafka has for them.
_EXTRA: Final = {
    "kerberos_service_name": "sasl_kerberos_service_name",
    "kerberos_domain_name": "sasl_kerberos_domain_name",
    "request_timeout_ms": "request_timeout_ms",
    "retry_backoff_ms": "retry_backoff_ms",
    "metadata_max_age_ms": "metadata_max_age_ms",
    "connections_max_idle_ms": "connections_max_idle_ms",
}
_ENUMS: Final = {
    "layout": KeyLayout,
    "partitions_from": PartitionsFrom,
    "mode": Mode,
    "ordering": Ordering,
    "load": Load,
}


def load(
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    topics: Sequence[str] = (),
) -> Settings:
    """Read the settings: ``flags`` over ``environ`` over the file over the defaults.

    ``flags`` are texts by full name (``worker.window_s``); ``topics`` are ``NAME`` or ``NAME=SOURCE+SOURCE``.

    Raises:
        SettingsError: a source says something that cannot be; the message says what, where, and what could.

    """
    sheet = defaults()
    if path is not None:
        lay_file(sheet, path)
    lay_environment(sheet, environ or {})
    lay_flags(sheet, flags or {}, topics)
    return _built(sheet)


def _built(sheet: Sheet) -> Settings:
    mirror = _kafka(sheet, "mirror")
    settings = Settings(
        worker=WorkerSettings(**_section(sheet, "worker")),
        mirror=mirror,
        production=_other_kafka(sheet, "production", mirror),
        output=_other_kafka(sheet, "output", mirror),
        own_topics=OwnTopics(**_section(sheet, "own_topics")),
        redis=RedisConnection(**_section(sheet, "redis")),
        topics=tuple(_topic(name, _of_topic(sheet, name)) for name in sheet.topics),
        in_force=tuple(_in_force(sheet)),
    )
    checks.check(settings)
    return settings


def _section(sheet: Sheet, section: str) -> dict[str, Any]:
    return {setting.key: sheet.values[setting.name].value for setting in TABLE if setting.section == section}


def _kafka(sheet: Sheet, section: str) -> KafkaConnection:
    values = _section(sheet, section)
    extra = {name: value for key, name in _EXTRA.items() if (value := values.pop(key))}
    connection = KafkaConnection(**values, extra=extra)
    checks.check_login(section, connection)
    return connection


def _other_kafka(sheet: Sheet, section: str, mirror: KafkaConnection) -> KafkaConnection:
    if sheet.values[f"{section}.bootstrap_servers"].value:
        return _kafka(sheet, section)
    checks.check_unused(section, ((setting, *sheet.values[setting.name]) for setting in TABLE))
    return mirror


def _of_topic(sheet: Sheet, topic: str) -> dict[str, Given]:
    own = sheet.topics[topic]
    return {key: own.get(key, sheet.values[setting.name]) for key, setting in OF_A_TOPIC.items()}


def _topic(name: str, given: Mapping[str, Given]) -> TopicSpec:
    values: dict[str, Any] = {key: each.value for key, each in given.items()}
    policy = Policy(**{key: values.pop(key) for key in POLICY_KEYS})
    sources = tuple(source.replace("{topic}", name) for source in values.pop("sources"))
    values |= {key: enum(values[key]) for key, enum in _ENUMS.items()}
    return TopicSpec(name=name, sources=sources, policy=policy, **values)


def _in_force(sheet: Sheet) -> Iterator[InForce]:
    for setting in TABLE:
        yield _shown(setting.name, setting, _of_connection(sheet, setting))
    for topic in sheet.topics:
        for key, given in _of_topic(sheet, topic).items():
            yield _shown(f"topics.{topic}.{key}", OF_A_TOPIC[key], given)


def _of_connection(sheet: Sheet, setting: Setting) -> Given:
    """The value itself, or the mirror's for a connection that is not given."""
    if setting.section not in LIKE_MIRROR or sheet.values[f"{setting.section}.bootstrap_servers"].value:
        return sheet.values[setting.name]
    return Given(sheet.values[f"mirror.{setting.key}"].value, AS_MIRROR)


def _shown(name: str, setting: Setting, given: Given) -> InForce:
    return InForce(name, setting, masked(setting, given.value), given.origin)
