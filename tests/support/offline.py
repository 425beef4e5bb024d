"""An aiokafka producer with its own ``send``, that keeps what it would write and is never connected."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.protocol.metadata import MetadataResponse_v1


class Written(NamedTuple):
    partition: int
    key: bytes | None
    headers: Any


class OfflineProducer(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka has no types
    """Knows ``partitions`` of ``topic``. To be made in a running loop."""

    def __init__(self, topic: str, partitions: int, **settings: Any) -> None:  # noqa: ANN401 - aiokafka's own
        super().__init__(**settings)
        self.written: list[Written] = []
        self._message_accumulator.add_message = self._keep
        self.learn(topic, partitions)

    def learn(self, topic: str, partitions: int) -> None:
        """Take in metadata, as from a broker."""
        listed = [(0, number, 0, [0], [0]) for number in range(partitions)]
        self.client.cluster.update_metadata(
            MetadataResponse_v1([(0, "nowhere", 9092, None)], 0, [(0, topic, False, listed)])
        )

    async def _keep(self, place: Any, key: bytes | None, *_: Any, headers: Any, **__: Any) -> asyncio.Future[str]:  # noqa: ANN401
        self.written.append(Written(place.partition, key, headers))
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        done.set_result("metadata")
        return done

    def __del__(self) -> None:
        """The real one warns that it was never stopped; here nothing was started."""
