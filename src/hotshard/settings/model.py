"""The settings as the program uses them: frozen, checked, with secrets kept out of their ``repr``."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hotshard.doors.kafka.contract import TopicWanted
from hotshard.settings.masking import masked_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.doors.kafka.connection import KafkaConnection
    from hotshard.settings.kinds import Value
    from hotshard.settings.setting import Setting

_SEGMENT_BYTES: Final = 16 * 1024 * 1024
_SEGMENT_MS: Final = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Section ``worker``."""

    group: str
    namespace: str
    name: str | None
    instance_id: str | None
    processes: int
    session_timeout_s: float
    log_level: str
    window_s: float
    grace_s: float
    pane_ms: int
    slabs: bool
    transactions: bool
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    isolation_level: str

    @property
    def window_ms(self) -> int:
        return round(self.window_s * 1000)

    @property
    def grace_ms(self) -> int:
        return round(self.grace_s * 1000)

    @property
    def worker_name(self) -> str:
        """The name this process goes by in panes and logs."""
        return self.name or self.instance_id or f"{socket.gethostname()}-{os.getpid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTopics:
    """Section ``own_topics``: the names, and how the topics are made."""

    panes: str
    state: str
    windows: str
    events: str
    partitions: int
    replication: int
    panes_retention_s: int
    windows_retention_s: int
    events_retention_s: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.panes, self.state, self.windows, self.events)

    def wanted(self) -> tuple[TopicWanted, ...]:
        """How each is to be when it is made. Panes and state must stand with exactly this partition count."""
        return (
            self._kept(self.panes, self.panes_retention_s),
            self._compacted(self.state),
            self._kept(self.windows, self.windows_retention_s),
            self._kept(self.events, self.events_retention_s),
        )

    def _kept(self, name: str, retention_s: int) -> TopicWanted:
        return self._wanted(name, {"cleanup.policy": "delete", "retention.ms": str(retention_s * 1000)})

    def _compacted(self, name: str) -> TopicWanted:
        """Small segments, compacted soon: a worker that takes over reads all of it."""
        segments = {"segment.bytes": str(_SEGMENT_BYTES), "segment.ms": str(_SEGMENT_MS)}
        return self._wanted(name, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", **segments})

    def _wanted(self, name: str, config: Mapping[str, str]) -> TopicWanted:
        return TopicWanted(name=name, partitions=self.partitions, replication=self.replication, config=config)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisConnection:
    """Section ``redis``."""

    url: str = field(repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    @property
    def address(self) -> str:
        """The address as a message shows it."""
        return masked_url(self.url)

    def options(self) -> dict[str, Any]:
        """What redis-py takes beside the address."""
        named = {
            "username": self.username,
            "password": self.password,
            "ssl_ca_certs": self.ca_file,
            "ssl_certfile": self.cert_file,
            "ssl_keyfile": self.key_file,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class InForce:
    """One setting as ``hotshard config`` shows it: secrets masked, and where the value came from."""

    name: str
    setting: Setting
    value: Value
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a worker is told."""

    worker: WorkerSettings
    mirror: KafkaConnection
    production: KafkaConnection
    output: KafkaConnection
    own_topics: OwnTopics
    redis: RedisConnection
    topics: tuple[TopicSpec, ...]
    in_force: tuple[InForce, ...]

    def topic_specs(self) -> tuple[TopicSpec, ...]:
        """The production topics that are watched; none when the settings name none."""
        return self.topics
