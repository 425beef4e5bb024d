"""What must hold between settings. Each check raises SettingsError with the names of those that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hotshard.core.planning.allowed import forbidden
from hotshard.core.topic import Ordering
from hotshard.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.planning.verdict import Refusal
    from hotshard.core.policy.thresholds import Policy
    from hotshard.core.topic import Pin, TopicSpec
    from hotshard.doors.kafka.connection import KafkaConnection
    from hotshard.settings.kinds import Value
    from hotshard.settings.model import OwnTopics, RedisConnection, Settings
    from hotshard.settings.setting import Setting


def check(settings: Settings) -> None:
    if settings.worker.pane_ms > settings.worker.window_ms:
        raise SettingsError("worker.pane_ms is longer than worker.window_s; a pane is a part of a window")
    check_redis(settings.redis)
    check_own_topics(settings.own_topics)
    check_sources(settings)
    for topic in settings.topics:
        check_topic(topic)


def check_login(section: str, connection: KafkaConnection) -> None:
    by_password = connection.sasl_mechanism == "PLAIN" or connection.sasl_mechanism.startswith("SCRAM")
    if connection.security_protocol.startswith("SASL") and by_password:
        for key in ("sasl_username", "sasl_password"):
            if not getattr(connection, key):
                raise SettingsError(f"{section}.{key} is needed with {section}.security_protocol = SASL")
    if not connection.security_protocol.startswith("SASL") and connection.sasl_username:
        raise SettingsError(
            f"{section}.sasl_username is set, but {section}.security_protocol is {connection.security_protocol};"
            " set it to SASL_SSL or SASL_PLAINTEXT"
        )


def check_unused(section: str, given: Iterable[tuple[Setting, Value, str]]) -> None:
    """A connection without addresses is the mirror's, so nothing else of it may be set."""
    for setting, value, origin in given:
        if setting.section == section and value != setting.default:
            raise SettingsError(
                f"{setting.name} ({origin}) has no use without {section}.bootstrap_servers; set that too"
            )


def check_redis(redis: RedisConnection) -> None:
    files = {"ca_file": redis.ca_file, "cert_file": redis.cert_file, "key_file": redis.key_file}
    for key, value in files.items():
        if value is not None and urlsplit(redis.url).scheme != "rediss":
            raise SettingsError(f"redis.{key} has no use without TLS; begin redis.url with rediss://")


def check_own_topics(own: OwnTopics) -> None:
    if len(set(own.names)) < len(own.names):
        raise SettingsError(f"own_topics: four different names are needed, not {', '.join(own.names)}")


def check_sources(settings: Settings) -> None:
    """Each source stands for one topic, and none is what hotshard itself writes."""
    owner: dict[str, str] = {}
    for topic in settings.topics:
        for source in topic.sources:
            if owner.setdefault(source, topic.name) != topic.name or topic.sources.count(source) > 1:
                raise SettingsError(f"source {source} is named twice (topics {owner[source]} and {topic.name})")
            if source in settings.own_topics.names and settings.output == settings.mirror:
                raise SettingsError(f"source {source} of topic {topic.name} is a topic of hotshard's own")


def check_topic(topic: TopicSpec) -> None:
    check_policy(f"topic {topic.name}", topic.policy)
    for tenant, policy in topic.tenant_policies.items():
        check_policy(f"topic {topic.name}, tenant {tenant}", policy)
    for key, pin in topic.pins.items():
        check_pin(f"topic {topic.name}: the pin of {key!r}", topic, pin, forbidden(key.encode(), topic))
    for tenant, pin in topic.tenant_pins.items():
        check_pin(f"topic {topic.name}: the pin of tenant {tenant}", topic, pin, None)


def check_policy(of: str, policy: Policy) -> None:
    """``of`` is what the policy is of, as the message begins."""
    if policy.fast_view_s >= policy.slow_view_s:
        raise SettingsError(f"{of}: fast_view_s must be less than slow_view_s")
    if policy.floor_name_per_s > policy.floor_act_per_s:
        raise SettingsError(f"{of}: floor_name_per_s must not be more than floor_act_per_s")
    if policy.off_ratio > policy.keep_ratio:
        raise SettingsError(f"{of}: off_ratio must not be more than keep_ratio; {policy.keep_ratio} or less")
    if policy.min_shards > policy.max_shards:
        raise SettingsError(f"{of}: min_shards must not be more than max_shards; {policy.max_shards} or less")


def check_pin(of: str, topic: TopicSpec, pin: Pin, refusal: Refusal | None) -> None:
    """A pin that asks for a split must be one that can be: for the key, and for the partitions there are."""
    if pin.shards is None:
        return
    if topic.ordering is Ordering.PER_KEY:
        raise SettingsError(f'{of} asks for a split, which ordering = "per_key" forbids; change one of them')
    if refusal is not None:
        raise SettingsError(f'{of} asks for a split, which cannot be: {refusal.detail}; take it away, or say "never"')
    if topic.partitions is not None and pin.shards > topic.partitions:
        raise SettingsError(f"{of} asks for {pin.shards} shards, and the topic has {topic.partitions} partitions")
