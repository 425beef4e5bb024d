"""What is read, and what it stands for: asked from the clusters before a worker starts, and looked at again."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hotshard.core.partitioners import partition_of
from hotshard.core.topic import PartitionsFrom, TopicSpec
from hotshard.errors import MissingTopicError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from hotshard.doors.kafka.contract import Admin
    from hotshard.job.says import Says

log = logging.getLogger("hotshard.worker")

_AGAIN_S: Final = 1.0
#: Production is asked for its partition counts this often, as producers ask for theirs or more often.
RECOUNT_S: Final = 30.0


class Placing:
    """The production partition of a key, by a count that may change: then ``by`` is another function."""

    __slots__ = ("by",)

    def __init__(self, by: Callable[[bytes], int]) -> None:
        self.by = by

    def __call__(self, key: bytes) -> int:
        return self.by(key)


@dataclass(slots=True)
class Source:
    """A source topic, the production topic it stands for, and how many partitions it has."""

    spec: TopicSpec
    partitions: int
    #: Production partition of a key, where it is computed.
    partition_of: Placing | None = None
    #: Partition count in production; None: as the source has.
    production: int | None = None


@dataclass(frozen=True, slots=True)
class Watched:
    """All sources by name, and the partition count in production by topic, as it was found last."""

    sources: Mapping[str, Source]
    partitions: dict[str, int]
    #: Topics that production was seen to have; of all others the sources' count is taken.
    of_production: set[str] = field(default_factory=set)

    def recount(self, topic: str, partitions: int) -> None:
        """The topic has this many partitions in production now."""
        self.partitions[topic] = partitions
        for source in self.sources.values():
            if source.spec.name != topic:
                continue
            source.production = partitions
            if source.partition_of is not None:
                source.partition_of.by = partition_of(source.spec.partitioner, partitions)


async def look_up(specs: Iterable[TopicSpec], mirror: Admin, production: Admin, says: Says) -> Watched:
    """Ask for every partition count; a source that does not exist yet is waited for.

    Raises:
        RefusedError: the cluster does not let us look.

    """
    sources: dict[str, Source] = {}
    partitions: dict[str, int] = {}
    seen: set[str] = set()
    for spec in specs:
        counts = {name: await _waited_for(name, mirror, says) for name in spec.sources}
        asked = spec.partitions or await _asked(spec.name, production, says)
        of_production = asked or max(counts.values())
        partitions[spec.name] = of_production
        seen |= {spec.name} if asked else set()
        computed = spec.partitions_from is PartitionsFrom.COMPUTED
        place = Placing(partition_of(spec.partitioner, of_production)) if computed else None
        sources |= {name: Source(spec, count, place, of_production) for name, count in counts.items()}
    return Watched(sources, partitions, seen)


class Recount:
    """Looks again how many partitions the topics have in production, where the settings do not say it.

    ``changed`` is told of topics that have another number now, once ``watched`` knows it.
    """

    def __init__(
        self, watched: Watched, mirror: Admin, production: Admin, says: Says, changed: Callable[[Collection[str]], None]
    ) -> None:
        self._watched = watched
        self._mirror = mirror
        self._production = production
        self._says = says
        self._changed = changed

    async def run(self) -> None:
        """Look again every 30 s until cancelled."""
        while True:
            await asyncio.sleep(RECOUNT_S)
            await self.look()

    async def look(self) -> None:
        """Look once; waits while a cluster is away."""
        sources: dict[str, list[str]] = {}
        for name, source in self._watched.sources.items():
            if source.spec.partitions is None:
                sources.setdefault(source.spec.name, []).append(name)
        counts = {topic: await self._count(topic, names) for topic, names in sources.items()}
        changed = {
            topic: count for topic, count in counts.items() if count and count != self._watched.partitions[topic]
        }
        for topic, count in changed.items():
            before = self._watched.partitions[topic]
            log.info("topic %s has %d partitions now, %d before: its plans are made anew", topic, count, before)
            self._watched.recount(topic, count)
        if changed:
            self._changed(changed)

    async def _count(self, topic: str, sources: Iterable[str]) -> int:
        """As :func:`look_up` finds it; 0 where it is not known: what is gone may be on its way to be made again."""
        of_production = await _asked(topic, self._production, self._says)
        if of_production is not None:
            self._watched.of_production.add(topic)
            return of_production
        if topic in self._watched.of_production:
            return 0
        counts = [await _asked(name, self._mirror, self._says) for name in sources]
        return max((count for count in counts if count is not None), default=0)


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
