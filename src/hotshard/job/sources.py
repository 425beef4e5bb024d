"""What is read, and what it stands for: asked from the clusters before a worker starts, and looked at again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hotshard.core.partitioners import partition_of
from hotshard.core.topic import PartitionsFrom, TopicSpec
from hotshard.errors import MissingTopicError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hotshard.doors.kafka.contract import Admin
    from hotshard.job.says import Says

_AGAIN_S: Final = 1.0


@dataclass(slots=True)
class Source:
    """A source topic, the production topic it stands for, and how many partitions it has."""

    spec: TopicSpec
    partitions: int
    #: Production partition of a key, where it is computed.
    partition_of: Callable[[bytes], int] | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """All sources by name, and the partition count in production by topic."""

    sources: Mapping[str, Source]
    partitions: Mapping[str, int]


async def look_up(specs: Iterable[TopicSpec], mirror: Admin, production: Admin, says: Says) -> Watched:
    """Ask for every partition count; a source that does not exist yet is waited for.

    Raises:
        RefusedError: the cluster does not let us look.

    """
    sources: dict[str, Source] = {}
    partitions: dict[str, int] = {}
    for spec in specs:
        counts = {name: await _waited_for(name, mirror, says) for name in spec.sources}
        of_production = spec.partitions or await _asked(spec.name, production, says) or max(counts.values())
        partitions[spec.name] = of_production
        computed = spec.partitions_from is PartitionsFrom.COMPUTED
        place = partition_of(spec.partitioner, of_production) if computed else None
        sources |= {name: Source(spec, count, place) for name, count in counts.items()}
    return Watched(sources, partitions)


async def _waited_for(name: str, mirror: Admin, says: Says) -> int:
    subject = f"source {name}"
    while True:
        count = await _asked(name, mirror, says)
        if count is not None:
            says.well(subject)
            return count
        says.waiting(subject, MissingTopicError(f"topic {name!r} does not exist; create it or correct its name"))
        await asyncio.sleep(_AGAIN_S)


async def _asked(name: str, admin: Admin, says: Says) -> int | None:
    while True:
        try:
            count = await admin.partitions(name)
        except UnavailableError as error:
            says.waiting("Kafka", error)
            await asyncio.sleep(_AGAIN_S)
        else:
            says.well("Kafka")
            return count
