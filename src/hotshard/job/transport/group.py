"""What is asked of the consumer group, each once: no loop that goes on with another generation.

All of it runs in the loop of the consumer's thread. Names of aiokafka 0.14 used here that are not public:
``AIOKafkaConsumer._coordinator``, ``_subscription``, ``_fetcher``; ``GroupCoordinator.generation``,
``coordinator_id``, ``need_rejoin``, ``_do_commit_offsets``; and those of :mod:`hotshard.doors.kafka.real_offsets`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiokafka.structs import OffsetAndMetadata, TopicPartition
from faust.types import TP

from hotshard.doors.kafka.real_errors import FOREIGN, translate
from hotshard.doors.kafka.real_offsets import committed_offsets

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hotshard.job.transport.options import Options


class Group:
    """The membership of one ``AIOKafkaConsumer``."""

    def __init__(self, consumer: Any, options: Options) -> None:  # noqa: ANN401 - aiokafka has no types
        self._subscriptions = consumer._subscription  # noqa: SLF001 - see the module
        self._coordinator = consumer._coordinator  # noqa: SLF001
        self._fetcher = consumer._fetcher  # noqa: SLF001
        self._options = options

    @property
    def generation(self) -> int:
        """The group generation this member is in, -1 when in none."""
        return int(self._coordinator.generation)

    @property
    def reads_committed(self) -> bool:
        return self._options.reads_committed

    @property
    def assignment(self) -> Any | None:  # noqa: ANN401
        """The assignment in force; None while there is none, or a new one is under way."""
        subscription = self._subscriptions.subscription
        if subscription is None or not subscription.active or subscription._reassignment_in_progress:  # noqa: SLF001
            return None
        assignment = subscription.assignment
        return assignment if assignment is not None and assignment.active else None

    async def commit_once(self, offsets: Mapping[TP, int], generation: int) -> bool:
        """Commit in one attempt, and only as a member of that generation who holds all the partitions.

        The request is built, with the generation in it, before anything else can run; the broker refuses it when the
        generation is over. False means that the outcome is not known to be good.
        """
        assignment = self.assignment
        # The embedded broker numbers a group's first generation 0, Apache Kafka 1.
        if assignment is None or generation < 0 or self.generation != generation:
            return False
        if self._coordinator.need_rejoin(self._subscriptions.subscription):
            return False
        wanted = {TopicPartition(*tp): OffsetAndMetadata(offset, "") for tp, offset in offsets.items()}
        if not wanted.keys() <= assignment.tps:
            return False
        try:
            async with asyncio.timeout(self._options.request_timeout_s):
                await self._coordinator._do_commit_offsets(assignment, wanted)  # noqa: SLF001
        except Exception:  # noqa: BLE001 - aiokafka has logged it; whatever it was, it is not known to be good
            return False
        return True

    async def committed(self, tps: Collection[TP]) -> dict[TP, int]:
        """Return the group's offsets; a partition without one is left out. Raises UnavailableError, RefusedError."""
        if not tps:
            return {}
        try:
            async with asyncio.timeout(self._options.request_timeout_s):
                found = await committed_offsets(self._coordinator, [TopicPartition(*tp) for tp in tps])
        except FOREIGN as error:
            raise translate(error, self._options.connection, "reading the group's offsets") from error
        return {TP(*tp): offset for tp, offset in found.items()}

    async def edge(self, tps: Collection[TP], *, last: bool = False) -> dict[TP, int]:
        """Return where each partition begins, or ends: under read_committed before the first open transaction.

        Raises UnavailableError, RefusedError and MissingTopicError.
        """
        if not tps:
            return {}
        ask = self._fetcher.end_offsets if last else self._fetcher.beginning_offsets
        try:
            found = await ask([TopicPartition(*tp) for tp in tps], round(self._options.request_timeout_s * 1000))
        except FOREIGN as error:
            raise translate(error, self._options.connection, "asking where a source begins and ends") from error
        return {TP(*tp): offset for tp, offset in found.items()}

    def marks(self) -> dict[TP, tuple[int, int, int]]:
        """Position, end of what can be read, and generation of every partition where both are known."""
        assignment, found = self.assignment, {}
        for tp in assignment.tps if assignment is not None else ():
            state = assignment.state_value(tp)  # type: ignore[union-attr]  # there are no partitions without one
            end = self.readable_end(state)
            if state.has_valid_position and end >= 0:
                found[TP(*tp)] = (int(state.position), end, self.generation)
        return found

    def readable_end(self, state: Any) -> int:  # noqa: ANN401
        """Return the high watermark, or the last stable offset when reading committed; -1 when not told yet."""
        if self._options.reads_committed and state.lso is not None and state.lso >= 0:
            return int(state.lso)
        return -1 if state.highwater is None else int(state.highwater)
