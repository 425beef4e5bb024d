"""The same sketches, updated per event by an agent as Faust's manual writes one.

Faust's defaults but for two settings that were found to help: smaller fetches, and fewer records a poll, as it lets go
of records before it makes the next ones. Tried beside them, 5 s each, and no faster: a longer stream buffer, no waiting
for it to be empty, larger fetches, rarer commits, no checksums, no acknowledging of events. ``take`` gives batches, so
it is another program.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import faust
from datasketches import count_min_sketch, frequent_items_sketch

from tests.bench.peer import Job, asked

if TYPE_CHECKING:
    from collections.abc import Callable


class Sketches:
    """Of one partition, with the sizes and the integer hash of :mod:`hotshard.core.sketching.binding`."""

    def __init__(self) -> None:
        self._keys = frequent_items_sketch(11)
        self._tenants = frequent_items_sketch(11)
        self._counts = count_min_sketch(4, 1024)

    def update(self, key: bytes) -> None:
        self._keys.update(key, 1)
        self._tenants.update(key.partition(b"\x1f")[0], 1)
        self._counts.update(hash(key), 1.0)


def make_app(job: Job, count: Callable[[], None]) -> Any:  # noqa: ANN401 - Faust's types are generic to no end
    app = faust.App(
        job.group,
        broker=f"kafka://{job.bootstrap}",
        store="memory://",
        datadir=job.result.with_suffix(".faust"),  # beside the result, and gone with it
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=128 * 1024,
        broker_max_poll_records=500,
        topic_disable_leader=True,
        topic_allow_declare=False,
    )
    topic = app.topic(job.topic, key_serializer="raw", value_serializer="raw")
    partitions: defaultdict[int, Sketches] = defaultdict(Sketches)

    @app.agent(topic)
    async def observe(stream: Any) -> None:  # noqa: ANN401
        async for event in stream.events():
            partitions[event.message.partition].update(event.key)
            count()

    return app


class Counting:
    """Counts for so long, beginning with the assignment."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._until_s: float | None = None
        self.records = 0
        self.done = asyncio.Event()

    def begin(self, *_: object, **__: object) -> None:
        self._until_s = time.monotonic() + self._job.for_s

    def one(self) -> None:
        if self.done.is_set():
            return
        self.records += 1
        if self._until_s is not None and time.monotonic() >= self._until_s:
            self._job.tell(self.records)
            self.done.set()


async def read(job: Job) -> None:
    counting = Counting(job)
    app = make_app(job, counting.one)
    app.on_partitions_assigned.connect(counting.begin, weak=False)
    await app.start()
    await counting.done.wait()
    await app.stop()


if __name__ == "__main__":
    asyncio.run(read(asked()))
