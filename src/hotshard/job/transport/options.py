"""What a transport is told when it is made."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hotshard.doors.clock import SystemClock
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.job.says import Says

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.fields import FieldReader

log = logging.getLogger("hotshard.transport")

IsolationLevel = Literal["read_committed", "read_uncommitted"]


def warn_of_stock(reason: str) -> None:
    """What is done about reading the stock way when nobody asked to be told."""
    log.warning("reading without slabs, which is slower: %s", reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``topics`` are read as slabs, all others as records."""

    topics: frozenset[str]
    #: What is read of headers and values, by topic, where anything of them is wanted.
    fields: Mapping[str, FieldReader] = field(default_factory=dict)
    fetch_min_bytes: int = 1_048_576
    fetch_max_wait_ms: int = 100
    isolation_level: IsolationLevel = "read_uncommitted"
    slabs: bool = True
    connection: KafkaConnection = field(default_factory=KafkaConnection)
    on_stock: Callable[[str], None] = warn_of_stock
    says: Says = field(default_factory=lambda: Says(SystemClock()))
    #: How long a broker may take over one request.
    request_timeout_s: float = 10.0

    @property
    def reads_committed(self) -> bool:
        return self.isolation_level == "read_committed"
