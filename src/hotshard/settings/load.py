"""From the sources to :class:`~hotshard.settings.model.Settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.settings import checks
from hotshard.settings.kinds import toml_key
from hotshard.settings.masking import masked
from hotshard.settings.model import InForce, OwnTopics, RedisConnection, Settings, WorkerSettings
from hotshard.settings.policy_rows import OF_A_TENANT
from hotshard.settings.sources import AS_MIRROR, Given, Sheet, defaults, lay_environment, lay_file, lay_flags
from hotshard.settings.table import LIKE_MIRROR, TABLE
from hotshard.settings.topic_rows import OF_A_TOPIC
from hotshard.settings.topics import of_topic, tenants_of, topic_spec

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
        topics=tuple(topic_spec(sheet, name) for name in sheet.topics),
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


def _in_force(sheet: Sheet) -> Iterator[InForce]:
    for setting in TABLE:
        yield _shown(setting.name, setting, _of_connection(sheet, setting))
    for topic in sheet.topics:
        for key, given in of_topic(sheet, topic).items():
            yield _shown(f"topics.{toml_key(topic)}.{key}", OF_A_TOPIC[key], given)
        for tenant, section in tenants_of(sheet, topic).items():
            for key, given in section.items():
                name = f"topics.{toml_key(topic)}.tenants.{toml_key(tenant)}.{key}"
                yield _shown(name, OF_A_TENANT[key], given)


def _of_connection(sheet: Sheet, setting: Setting) -> Given:
    """The value itself, or the mirror's for a connection that is not given."""
    if setting.section not in LIKE_MIRROR or sheet.values[f"{setting.section}.bootstrap_servers"].value:
        return sheet.values[setting.name]
    return Given(sheet.values[f"mirror.{setting.key}"].value, AS_MIRROR)


def _shown(name: str, setting: Setting, given: Given) -> InForce:
    return InForce(name, setting, masked(setting, given.value), given.origin)
