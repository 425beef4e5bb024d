"""Stretches of a real topic, by requests of our own: no consumer of aiokafka's, and so no group anywhere near.

What is private of aiokafka here is what the real admin rests on, too.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import NoError, OffsetOutOfRangeError
from aiokafka.protocol.fetch import FetchRequest

from hotshard.doors.kafka.real_admin import EARLIEST, LATEST, answer, by_leader, offsets_at
from hotshard.doors.kafka.real_errors import FOREIGN, translate
from hotshard.doors.kafka.real_link import Link, TopicLook, require
from hotshard.doors.kafka.slabs.parser import SLAB_RECORDS
from hotshard.doors.kafka.stretch import Stretch
from hotshard.doors.kafka.stretch_bytes import Part, Span, Wish, nothing, parts_of, unpacked
from hotshard.errors import HotshardError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hotshard.core.fields import FieldReader
    from hotshard.core.slab import Slab

#: What is held of all partitions together, as it comes from the broker, and of one.
_HELD_BYTES: Final = 16 << 20
_LEAST_BYTES: Final = 64 << 10
_MOST_BYTES: Final = 4 << 20
#: What is held unpacked, of all partitions together.
_HELD_RECORDS: Final = 400_000
_LEAST_RECORDS: Final = 1_000
_WAIT_MS: Final = 100
_AGAIN_S: Final = 0.2


class AioStretchReader:
    """See :class:`~hotshard.doors.kafka.stretch.StretchReader`.

    With ``committed``, records of aborted transactions are left out, and a stretch ends before an open one.
    A cluster that does not bring it further for the link's time is given up.
    """

    def __init__(self, link: Link, *, committed: bool = False, fields: FieldReader | None = None) -> None:
        self._link = link
        self._wish = Wish(committed=committed, fields=fields)
        self._client: AIOKafkaClient | None = None
        self._look = TopicLook({})
        self._bytes = _MOST_BYTES

    async def find(self, topic: str, since_ms: int | None) -> Stretch:
        async with self._link.connecting(f"reading topic {topic!r}"):
            client = await self._connected()
            starts = await answer(client, partial(self._ask, topic, EARLIEST if since_ms is None else since_ms))
            ends = await answer(client, partial(self._ask, topic, LATEST))
        found = {number: min(start, ends[number]) if start >= 0 else ends[number] for number, start in starts.items()}
        self._share(sum(ends[number] > start for number, start in found.items()))
        return Stretch(topic, found, {number: ends[number] for number in found})

    async def _connected(self) -> AIOKafkaClient:
        if self._client is None:
            self._client = AIOKafkaClient(**self._link.kwargs())
            await self._client.bootstrap()
        return self._client

    async def _ask(self, topic: str, which: int, client: AIOKafkaClient) -> dict[int, int]:
        self._look = await require(client, topic, self._link.connection)
        return await offsets_at(client, self._look, topic, which, committed=self._wish.committed)

    def _share(self, partitions: int) -> None:
        """Divide what may be held among the partitions that are read."""
        self._bytes = max(_LEAST_BYTES, min(_MOST_BYTES, _HELD_BYTES // max(partitions, 1)))
        limit = max(_LEAST_RECORDS, min(SLAB_RECORDS, _HELD_RECORDS // max(partitions, 1)))
        self._wish = self._wish._replace(limit=limit)

    async def fetch(self, topic: str, wanted: Mapping[int, tuple[int, int]]) -> Mapping[int, Iterator[Slab]]:
        doing = f"reading topic {topic!r}"
        spans = {number: Span(topic, number, *offsets) for number, offsets in wanted.items()}
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._link.timeout_s
        trouble: HotshardError = UnavailableError(f"{doing}: the cluster gives no records; check that all brokers run")
        while loop.time() < deadline:
            try:
                async with asyncio.timeout_at(deadline):
                    if found := await self._round(spans):
                        return found
                    await asyncio.sleep(_AGAIN_S)
                    self._look = await require(await self._connected(), topic, self._link.connection)
            except FOREIGN as error:
                trouble = translate(error, self._link.connection, doing)
                if not isinstance(trouble, UnavailableError):
                    raise trouble from error
                await self.stop()
                await asyncio.sleep(_AGAIN_S)
        raise trouble

    async def _round(self, spans: Mapping[int, Span]) -> dict[int, Iterator[Slab]]:
        """Ask each leader once; what moves on. Raises what aiokafka raises."""
        client = await self._connected()
        leaders = by_leader(self._look, spans)
        answers = await asyncio.gather(
            *(client.send(node, self._request([spans[number] for number in part])) for node, part in leaders.items())
        )
        found = {}
        for part in (part for response in answers for part in parts_of(response)):
            span = spans[part.partition]
            got = await self._read(client, span, part)
            if got is not None:
                found[part.partition] = got
        return found

    def _request(self, spans: list[Span]) -> FetchRequest:
        wanted = [(span.partition, span.start, self._bytes) for span in spans]
        return FetchRequest(_WAIT_MS, 1, _HELD_BYTES, int(self._wish.committed), [(spans[0].topic, wanted)])

    async def _read(self, client: AIOKafkaClient, span: Span, part: Part) -> Iterator[Slab] | None:
        if part.error is NoError:
            return unpacked(span, part, self._wish)
        if part.error is OffsetOutOfRangeError:
            first = (await offsets_at(client, self._look, span.topic, EARLIEST))[span.partition]
            # deleted before it was read; or the log has become shorter, as when its topic was made again
            return iter((nothing(span, min(first, span.end) if first > span.start else span.end),))
        raise part.error(f"partition {part.partition}")

    async def stop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
