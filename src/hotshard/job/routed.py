"""What this worker knows of the routes: it follows the state topic, so counting needs no Redis."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from hotshard.core.deciding.book import counted_exactly
from hotshard.core.wire import state
from hotshard.core.wire.route import HotKind, Route
from hotshard.errors import HotshardError, WireError
from hotshard.job.quiet import Teller

if TYPE_CHECKING:
    from hotshard.doors.kafka.contract import Log, Reader
    from hotshard.job.says import Says

log = logging.getLogger("hotshard.routed")

Aliases = Mapping[bytes, bytes]
_NONE: Aliases = MappingProxyType({})


class Routed:
    """Per topic: every wire key that is counted exactly, and the base key it belongs to."""

    def __init__(self) -> None:
        self._routes: dict[str, dict[bytes, Route]] = defaultdict(dict)
        self._hot: dict[str, tuple[bytes, ...]] = {}
        self._told_ms: dict[str, int] = {}
        self._aliases: dict[str, Aliases] = {}
        self._tell = Teller(log)

    def aliases(self, topic: str) -> Aliases:
        """An immutable mapping; a new one stands here after a change."""
        return self._aliases.get(topic, _NONE)

    def hear(self, records: Iterable[Log]) -> None:
        """Take in records of the state topic; damaged ones are left alone."""
        touched: set[str] = set()
        for record in records:
            try:
                touched.add(self._hear_one(record))
            except WireError as error:
                self._tell("damaged", f"state topic, partition {record.partition}, offset {record.offset}: {error}")
        for topic in touched:
            made = self._make(topic)
            if made != self._aliases.get(topic):
                self._aliases[topic] = made

    def _hear_one(self, record: Log) -> str:
        topic, base, value = state.read(record.key, record.value)
        if isinstance(value, Route):
            self._routes[topic][value.base_key] = value
        elif base is not None:
            self._routes[topic].pop(base, None)
        else:
            hot = value.hot if value is not None else ()
            self._told_ms[topic] = 0 if value is None else value.at_ms
            self._hot[topic] = tuple(entry.name for entry in hot if entry.kind is HotKind.KEY)
        return topic

    def _make(self, topic: str) -> Aliases:
        routes, hot = self._routes[topic].values(), self._hot.get(topic, ())
        return MappingProxyType(counted_exactly(routes, hot, self._told_ms.get(topic, 0)))


async def follow_state(reader: Reader, topic: str, routed: Routed, says: Says) -> None:
    """Keep ``routed`` up to date until cancelled; an outage is waited for."""
    while True:
        try:
            async for records in reader.follow(topic):
                says.well("the state topic")
                routed.hear(records)
        except HotshardError as error:
            says.waiting("the state topic", error)
        await asyncio.sleep(1.0)
