"""A group's committed offsets, asked in a way that no error passes for their absence.

aiokafka overlooks an error that stands for the whole answer, which a coordinator gives that has just
come up and has not read its log yet (seen on Kafka 4.1 after a restart): it takes it for a group
without offsets. Names of aiokafka 0.14 used here that are not public: ``GroupCoordinator.coordinator_dead``,
``coordinator_id``, ``ensure_coordinator_known``, ``group_id``, ``_send_req``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    KafkaError,
    NoError,
    NotCoordinatorForGroupError,
    for_code,
)
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.structs import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Collection

_AGAIN_S: Final = 0.1
_ELSEWHERE: Final = (GroupCoordinatorNotAvailableError, NotCoordinatorForGroupError)


async def committed_offsets(coordinator: Any, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: ANN401 -- aiokafka has no types
    """Return the offsets of the coordinator's group; a partition that has none is left out.

    Asks again while the coordinator is not ready; the caller limits the time. Raises aiokafka's errors.
    """
    while True:
        try:
            await coordinator.ensure_coordinator_known()
            return await _asked(coordinator, places)
        except KafkaError as error:
            if not error.retriable:
                raise
            if isinstance(error, _ELSEWHERE) and coordinator.coordinator_id is not None:
                coordinator.coordinator_dead()
        await asyncio.sleep(_AGAIN_S)


async def _asked(coordinator: Any, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:  # noqa: ANN401 -- see above
    topics: dict[str, list[int]] = defaultdict(list)
    for place in places:
        topics[place.topic].append(place.partition)
    response = await coordinator._send_req(OffsetFetchRequest(coordinator.group_id, list(topics.items())))  # noqa: SLF001 -- see the module
    _check(getattr(response, "error_code", 0))
    found: dict[TopicPartition, int] = {}
    for topic, parts in response.topics:
        for partition, offset, _, code in parts:
            _check(code)
            found[TopicPartition(topic, partition)] = offset
    missing = set(places) - found.keys()
    if missing:
        raise KafkaError(f"the answer leaves out the offsets of {sorted(missing)}")
    return {place: offset for place, offset in found.items() if offset >= 0}


def _check(code: int) -> None:
    error = for_code(code)
    if error is not NoError:
        raise error
