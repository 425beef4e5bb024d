"""A Faust app that collects slabs from a running broker, as the worker makes it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from faust.types import TP

from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.job.transport import AsIs, QuietApp, SlabConsumer, quiet_app, slab_transport
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping

    from hotshard.core.fields import FieldReader
    from hotshard.core.slab import Slab


@dataclass
class Mirror:
    """What a running app has collected; slabs that are no longer current were dropped, as an agent drops them."""

    app: QuietApp
    taken: dict[TP, list[Slab]] = field(default_factory=lambda: defaultdict(list))
    messages: list[Any] = field(default_factory=list)
    stale: int = 0
    stock: list[str] = field(default_factory=list)
    #: Clear it to make the agent wait, as one does that cannot publish.
    flowing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def consumer(self) -> SlabConsumer:
        consumer = self.app.consumer
        assert isinstance(consumer, SlabConsumer)
        return consumer

    def take(self, event: Any) -> None:  # noqa: ANN401 - a Faust event
        if not self.consumer.is_current(event.message):
            self.stale += 1
            return
        self.messages.append(event.message)
        self.taken[TP(event.message.topic, event.message.partition)].append(event.value)

    def keys(self, topic: str) -> list[bytes | None]:
        return [key for tp in sorted(self.taken) if tp.topic == topic for slab in self.taken[tp] for key in slab.keys]

    def ends(self) -> dict[TP, int]:
        return {tp: slabs[-1].end for tp, slabs in self.taken.items()}

    def skipped(self) -> int:
        return sum(slab.skipped for slabs in self.taken.values() for slab in slabs)

    def assert_tiled(self) -> None:
        for tp, slabs in self.taken.items():
            edges = [(slab.start, slab.end) for slab in slabs]
            assert [start for start, _ in edges[1:]] == [end for _, end in edges[:-1]], (tp, edges)

    async def until(self, ends: Mapping[TP, int]) -> None:
        """Wait until these partitions were handed out up to these offsets."""
        wanted = {tp: end for tp, end in ends.items() if end > 0}
        await eventually(
            lambda: all(self.ends().get(tp, -1) >= end for tp, end in wanted.items()),
            what=f"slabs up to {wanted}",
        )

    async def until_assigned(self) -> None:
        await eventually(lambda: bool(self.consumer.assignment()) and not self.app.rebalancing)


def make_mirror(
    bootstrap: str,
    topics: Collection[str],
    *,
    group: str,
    slabs: bool = True,
    committed: bool = False,
    connection: KafkaConnection | None = None,
    fetch_min_bytes: int = 1,
    request_timeout_s: float = 10.0,
    fields: Mapping[str, FieldReader] | None = None,
    **settings: Any,  # noqa: ANN401 - of the app
) -> Mirror:
    """Make one that is not started."""
    at = connection or KafkaConnection(bootstrap_servers=(bootstrap,))
    app = quiet_app(group, at, **settings)
    mirror = Mirror(app)
    mirror.flowing.set()
    app.transport = slab_transport(
        app,
        topics=frozenset(topics),
        fields=fields,
        connection=at,
        isolation_level="read_committed" if committed else "read_uncommitted",
        slabs=slabs,
        fetch_min_bytes=fetch_min_bytes,
        request_timeout_s=request_timeout_s,
        on_stock=mirror.stock.append,
    )

    async def observe(stream: Any) -> None:  # noqa: ANN401 - Faust's stream
        async for event in stream.events():
            await mirror.flowing.wait()
            mirror.take(event)

    app.agent(app.topic(*topics, schema=AsIs(), acks=False))(observe)
    return mirror


@asynccontextmanager
async def running(*mirrors: Mirror) -> AsyncIterator[None]:
    """Start them, and stop them after."""
    await asyncio.gather(*(mirror.app.start() for mirror in mirrors))
    try:
        yield
    finally:
        await asyncio.gather(*(mirror.app.stop() for mirror in mirrors))


@asynccontextmanager
async def mirroring(bootstrap: str, *topics: str, **settings: Any) -> AsyncIterator[Mirror]:  # noqa: ANN401
    """Give a started one; stopped after."""
    mirror = make_mirror(bootstrap, topics, **settings)
    async with running(mirror):
        yield mirror


async def ends_of(bootstrap: str, *topics: str, committed: bool = False, first: bool = False) -> dict[TP, int]:
    """Ask where the partitions of these topics end, or begin."""
    level = "read_committed" if committed else "read_uncommitted"
    consumer = AIOKafkaConsumer(*topics, bootstrap_servers=bootstrap, isolation_level=level)
    await consumer.start()
    try:
        tps = [TopicPartition(t, number) for t in topics for number in consumer.partitions_for_topic(t) or ()]
        found = await (consumer.beginning_offsets(tps) if first else consumer.end_offsets(tps))
        return {TP(*tp): offset for tp, offset in found.items()}
    finally:
        await consumer.stop()
