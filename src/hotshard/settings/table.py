"""Every setting: its name, what it takes, its default, its unit, and what it is for.

To add one: add its line here (or in ``topic_rows`` or ``policy_rows``), then run
``hotshard config --reference toml > deploy/settings.toml``. What reads it is in :mod:`hotshard.settings.model`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.settings.kinds import (
    ADDRESSES,
    TOPIC,
    Choice,
    Number,
    RedisUrl,
    Switch,
    Text,
    Words,
)
from hotshard.settings.setting import Setting
from hotshard.settings.topic_rows import TOPIC_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY_S: Final = 86_400
_YEAR_S: Final = 366 * _DAY_S


#: The sections with what they are for, in the order of the reference.
SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "worker": "The worker itself.",
        "mirror": "The Kafka cluster that is read. Read rights on the sources and on the worker's groups are enough.",
        "production": (
            "The Kafka cluster whose partition counts matter. Without addresses it is the mirror's, login and all."
        ),
        "output": (
            "The Kafka cluster that holds hotshard's own topics. Without addresses it is the mirror's, login and all."
        ),
        "own_topics": "hotshard's own topics, made when they are missing.",
        "redis": "The registry that producers read.",
        "defaults": "What a topic is when its own section does not say otherwise.",
    }
)


_NAME: Final = r"[A-Za-z0-9._-]{1,64}"
_A_NAME: Final = "up to 64 letters, digits, . _ -"

_WORKER: Final = (
    Setting(
        "worker",
        "group",
        Text(pattern=_NAME, what=_A_NAME),
        "hotshard",
        "The consumer groups are named after it; workers of one group share the work.",
    ),
    Setting(
        "worker",
        "namespace",
        Text(pattern=_NAME, what=_A_NAME),
        "default",
        "Keeps the registries of several detectors in one Redis apart.",
    ),
    Setting(
        "worker",
        "name",
        Text(optional=True),
        None,
        "This worker's name in panes and logs; if none, host and process number.",
    ),
    Setting(
        "worker",
        "instance_id",
        Text(optional=True),
        None,
        "Static group membership: unique for each worker, and the same after its restart.",
    ),
    Setting(
        "worker",
        "processes",
        Number(1, 256),
        1,
        "So many processes on this machine, members of one group: a process uses one core at most.",
    ),
    Setting(
        "worker",
        "session_timeout_s",
        Number(1, 1800, whole=False),
        10.0,
        "A worker not heard of for so long has its partitions given to others; brokers take 6 to 1800 s.",
        "s",
    ),
    Setting(
        "worker", "log_level", Choice(("debug", "info", "warning", "error")), "info", "What is logged: this and worse."
    ),
    Setting("worker", "window_s", Number(1, 3600, whole=False), 10.0, "Length of a reported window.", "s"),
    Setting(
        "worker",
        "grace_s",
        Number(0, 3600, whole=False),
        10.0,
        "How long a window waits for partitions that are late; six times that at most for those that catch up.",
        "s",
    ),
    Setting(
        "worker", "pane_ms", Number(100, 60_000), 1000, "Length of a pane, the smallest stretch that is counted.", "ms"
    ),
    Setting(
        "worker",
        "slabs",
        Switch(),
        default=True,
        help="Read whole record batches; false is several times slower, and uses no private names of libraries.",
    ),
    Setting(
        "worker",
        "transactions",
        Switch(),
        default=True,
        help="Write reports, events and state exactly once; false for brokers without transactions.",
    ),
    Setting(
        "worker",
        "fetch_min_bytes",
        Number(1, 1 << 30),
        1 << 20,
        "A fetch from the mirror waits until there is so much,",
        "bytes",
    ),
    Setting("worker", "fetch_max_wait_ms", Number(1, 10_000), 100, "but not longer than this.", "ms"),
    Setting(
        "worker",
        "isolation_level",
        Choice(("read_uncommitted", "read_committed")),
        "read_uncommitted",
        "read_committed leaves out records of aborted transactions, and waits for open ones.",
    ),
)


def _kafka(section: str, addresses: tuple[str, ...]) -> tuple[Setting, ...]:
    protocols = Choice(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"))
    mechanisms = Choice(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"))
    text, limit = Text(optional=True), Number(0, 3_600_000)
    return (
        Setting(section, "bootstrap_servers", ADDRESSES, addresses, "Where the cluster is reached first."),
        Setting(section, "security_protocol", protocols, "PLAINTEXT", "SSL is TLS, SASL is a login."),
        Setting(section, "sasl_mechanism", mechanisms, "PLAIN", "The way to log in."),
        Setting(section, "sasl_username", text, None, "The user to log in as."),
        Setting(section, "sasl_password", text, None, "The user's password.", secret=True),
        Setting(section, "ca_file", text, None, "PEM file of the authorities to trust; the system's if none."),
        Setting(section, "cert_file", text, None, "PEM file of the client certificate."),
        Setting(section, "key_file", text, None, "PEM file of its key."),
        Setting(section, "key_password", text, None, "The key's password.", secret=True),
        Setting(section, "kerberos_service_name", text, None, "For GSSAPI; kafka if none."),
        Setting(section, "kerberos_domain_name", text, None, "For GSSAPI; the broker's host if none."),
        Setting(section, "request_timeout_ms", limit, 0, "Time for one request; 0: as each use needs.", "ms"),
        Setting(section, "retry_backoff_ms", limit, 0, "Time between two tries; 0: aiokafka's own.", "ms"),
        Setting(
            section, "metadata_max_age_ms", limit, 0, "Time between two looks at the cluster; 0: aiokafka's own.", "ms"
        ),
        Setting(
            section,
            "connections_max_idle_ms",
            limit,
            0,
            "Time until an idle connection is closed; 0: aiokafka's own.",
            "ms",
        ),
    )


_RETENTION: Final = Number(60, 10 * _YEAR_S)

_OWN_TOPICS: Final = (
    Setting("own_topics", "panes", TOPIC, "hotshard-panes", "What was counted. It is read again after a crash."),
    Setting("own_topics", "state", TOPIC, "hotshard-state", "What was decided; compacted. Redis is filled from it."),
    Setting("own_topics", "windows", TOPIC, "hotshard-windows", "A report for each window."),
    Setting("own_topics", "events", TOPIC, "hotshard-events", "What was found and done, as CloudEvents."),
    Setting(
        "own_topics",
        "partitions",
        Number(1, 1000),
        8,
        "Of each of them, fixed for good: topics are decided on so many workers at most.",
    ),
    Setting("own_topics", "replication", Number(-1, 100), -1, "Replicas of each; -1: as the broker is set."),
    Setting(
        "own_topics",
        "panes_retention_s",
        _RETENTION,
        _DAY_S,
        "How long panes are kept; longer than the longest outage.",
        "s",
    ),
    Setting("own_topics", "windows_retention_s", _RETENTION, 7 * _DAY_S, "How long reports are kept.", "s"),
    Setting("own_topics", "events_retention_s", _RETENTION, 7 * _DAY_S, "How long events are kept.", "s"),
)

_REDIS: Final = (
    Setting("redis", "url", RedisUrl(), "redis://localhost:6379/0", "Where it is; rediss:// with TLS."),
    Setting("redis", "username", Text(optional=True), None, "The user, if the address names none."),
    Setting("redis", "password", Text(optional=True), None, "The password, if the address names none.", secret=True),
    Setting("redis", "ca_file", Text(optional=True), None, "PEM file of the authorities to trust, with rediss://."),
    Setting("redis", "cert_file", Text(optional=True), None, "PEM file of the client certificate, with rediss://."),
    Setting("redis", "key_file", Text(optional=True), None, "PEM file of its key, with rediss://."),
)

TABLE: Final[tuple[Setting, ...]] = (
    *_WORKER,
    *_kafka("mirror", ("localhost:9092",)),
    *_kafka("production", ()),
    *_kafka("output", ()),
    *_OWN_TOPICS,
    *_REDIS,
    *TOPIC_ROWS,
)
#: The connections that are the mirror's where they are not given.
LIKE_MIRROR: Final = ("production", "output")
BY_NAME: Final[Mapping[str, Setting]] = MappingProxyType({setting.name: setting for setting in TABLE})

#: Beside the table: which topics there are, when the file names none or not all.
TOPICS_VARIABLE: Final = "HOTSHARD_TOPICS"
FILE_VARIABLE: Final = "HOTSHARD_SETTINGS"
TOPIC_WORDS: Final = Words(
    r"[A-Za-z0-9._-]{1,249}(=[A-Za-z0-9._-]{1,249}(\+[A-Za-z0-9._-]{1,249})*)?",
    "topics, each NAME or NAME=SOURCE+SOURCE",
)
