"""Batches as bytes, for what no producer would send."""

from __future__ import annotations

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import NoError, for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.structs import TopicPartition


async def produce_raw(bootstrap: str, topic: str, data: bytes) -> None:
    """Send a batch to partition 0 as it is; the broker checks its frame and gives it offsets."""
    client = AIOKafkaClient(bootstrap_servers=bootstrap)
    await client.bootstrap()
    try:
        client.set_topics([topic])
        await client.force_metadata_update()
        leader = client.cluster.leader_for_partition(TopicPartition(topic, 0))
        response = await client.send(leader, ProduceRequest(None, -1, 5000, [(topic, [(0, data)])]))
        code = response.topics[0][1][0][1]
        assert for_code(code) is NoError, for_code(code)
    finally:
        await client.close()
