"""Removing what the demo made in a Kafka and a Redis that were given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import redis.asyncio
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from hotshard.demo.ground import Ground

_WITHIN_S: Final = 10.0


async def sweep(ground: Ground) -> list[str]:
    """Remove topics and keys with the run's name; groups go with their topics. Returns what could not be removed."""
    left = []
    if ground.given_kafka and not await _tried(_topics(ground)):
        left.append(f"topics {ground.run}* on Kafka at {ground.bootstrap}")
    if ground.given_redis and not await _tried(_keys(ground)):
        left.append(f"keys hotshard:{{{ground.run}}}:* in Redis")
    return left


async def _tried(work: object) -> bool:
    try:
        async with asyncio.timeout(_WITHIN_S):
            await work  # type: ignore[misc]
    except (KafkaError, RedisError, OSError, TimeoutError):
        return False
    return True


async def _topics(ground: Ground) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=ground.bootstrap)
    await admin.start()
    try:
        ours = [topic for topic in await admin.list_topics() if topic.startswith(ground.run)]
        if ours:
            await admin.delete_topics(ours)
    finally:
        await admin.close()


async def _keys(ground: Ground) -> None:
    client = redis.asyncio.Redis.from_url(ground.redis_url, protocol=2)
    try:
        async for key in client.scan_iter(match=f"hotshard:{{{ground.run}}}:*", count=1000):
            await client.unlink(key)
    finally:
        await client.aclose()
