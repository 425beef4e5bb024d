"""A look at a consumer group from outside: what it has committed, who its members are, and what each of them has.

One group a request: aiokafka 0.14 reads the answer to ``DescribeGroups`` 3 as if it were of version 2, which
goes well for the first group only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiokafka.coordinator.protocol import ConsumerProtocol
from aiokafka.errors import NoError, for_code
from aiokafka.protocol.admin import DescribeGroupsRequest
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest

from hotshard.doors.kafka.contract import GroupLook

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiokafka.client import AIOKafkaClient

_GROUP: Final = 0
#: The state of a group that does not exist, or that is of the newer kind, of which this request tells nothing.
_DEAD: Final = "Dead"


async def look_at_group(client: AIOKafkaClient, group: str, topic: str, partitions: Iterable[int]) -> GroupLook:
    """What ``group`` is to these partitions of ``topic``. Raises aiokafka's errors."""
    node = await _coordinator(client, group)
    committed = await _committed(client, node, group, topic, list(partitions))
    response = await client.send(node, DescribeGroupsRequest([group]))
    code, _, state, kind, _, members, *_ = response.groups[0]
    _check(code)
    if state == _DEAD and committed:
        return GroupLook(committed=committed, members=None)
    owners = _owners(members, topic) if kind == ConsumerProtocol.PROTOCOL_TYPE else {}
    return GroupLook(committed=committed, members=len(members), owners=owners)


async def _coordinator(client: AIOKafkaClient, group: str) -> int:
    response = await client.send(client.get_random_node(), FindCoordinatorRequest(group, _GROUP))
    _check(response.error_code)
    # A broker that is not known yet is learned by metadata.
    if client.cluster.broker_metadata(response.coordinator_id) is None:
        await client.force_metadata_update()
    found: int = response.coordinator_id
    return found


async def _committed(
    client: AIOKafkaClient, node: int, group: str, topic: str, partitions: list[int]
) -> dict[int, int]:
    response = await client.send(node, OffsetFetchRequest(group, [(topic, partitions)]))
    _check(getattr(response, "error_code", 0))
    found: dict[int, int] = {}
    for _, parts in response.topics:
        for partition, offset, _, code in parts:
            _check(code)
            if offset >= 0:
                found[partition] = offset
    return found


def _owners(members: Iterable[tuple[Any, ...]], topic: str) -> dict[int, str]:
    """The id of the member that has each partition; nothing while the group is being rebalanced."""
    owners: dict[int, str] = {}
    for member_id, _, _, _, assignment in members:
        if not assignment:
            continue
        for name, numbers in ConsumerProtocol.ASSIGNMENT.decode(assignment).assignment:
            if name == topic:
                owners |= dict.fromkeys(numbers, member_id)
    return owners


def _check(code: int) -> None:
    error = for_code(code)
    if error is not NoError:
        raise error
