"""A producer that runs all the while, and knows what the broker has taken."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from aiokafka import AIOKafkaProducer

from hotshard import partition_key, shard

if TYPE_CHECKING:
    from hotshard import AsyncRegistry

HOT = partition_key("noisy", "stream")
_EVERY_S = 0.01
#: It gives up nothing in an outage of this length.
_OUTAGE_MS = 180_000
_TENANTS, _ENTITIES = 100, 20


class Traffic:
    """Many small tenants, and one key with ``flood`` of the load; change ``flood`` and ``per_s`` at any time."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        per_s: float = 800,
        flood: float = 0.0,
        registry: AsyncRegistry | None = None,
        seed: int = 7,
        idempotent: bool = True,
    ) -> None:
        self._topic = topic
        self._rng = random.Random(seed)  # noqa: S311 - nothing is secret here
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            linger_ms=5,
            acks="all",
            enable_idempotence=idempotent,
            request_timeout_ms=_OUTAGE_MS,
            retry_backoff_ms=500,
        )
        self._producer: Any = producer if registry is None else shard(producer, registry)
        self.per_s = per_s
        self.flood = flood
        #: Handed to the producer, acknowledged, and given up by it.
        self.sent = self.acked = self.failed = 0
        #: Acknowledged records of the hot key by partition, since ``places`` was last emptied.
        self.places: Counter[int] = Counter()
        #: Where each partition ends at least, by the acknowledgements.
        self.ends: dict[int, int] = {}
        self._ending = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._producer.start()
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> int:
        """Send no more, and wait for every acknowledgement; how many records the broker has taken."""
        task, self._task = self._task, None
        if task is not None:
            self._ending.set()
            await task
            await self._producer.flush()
            await self._producer.stop()
        return self.acked

    async def _run(self) -> None:
        owed, before_s = 0.0, time.monotonic()
        while not self._ending.is_set():
            now_s = time.monotonic()
            owed, before_s = min(owed + self.per_s * (now_s - before_s), self.per_s), now_s
            while owed >= 1:
                owed -= 1
                await self._send(HOT if self._rng.random() < self.flood else self._small())
            await asyncio.sleep(_EVERY_S)

    def _small(self) -> str:
        return partition_key(f"t{self._rng.randrange(_TENANTS)}", f"e{self._rng.randrange(_ENTITIES)}")

    async def _send(self, key: str) -> None:
        future = await self._producer.send(self._topic, key=key.encode(), value=b"x" * 20)
        self.sent += 1
        future.add_done_callback(partial(self._acked, hot=key == HOT))

    def _acked(self, future: asyncio.Future[Any], *, hot: bool = False) -> None:
        if future.cancelled() or future.exception() is not None:
            self.failed += 1
            return
        self.acked += 1
        written = future.result()
        self.ends[written.partition] = max(self.ends.get(written.partition, 0), written.offset + 1)
        if hot:
            self.places[written.partition] += 1
