"""How far each partition is, as a worker says it: so an idle partition is told from a missing one."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from hotshard.core.wire.pane import Mark, Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from faust.types import TP

    from hotshard.job.held import Held
    from hotshard.job.sources import Source


def progress_of(
    held: Held, ends: Mapping[TP, int], sources: Mapping[str, Source], *, worker: str, now_ms: int
) -> Iterable[Progress]:
    """A message for every source; ``ends`` are the ends of what can be read, as far as they are known."""
    marks: defaultdict[str, list[Mark]] = defaultdict(list)
    for place, panes in held.panes.items():
        readable = max(ends.get(place, 0), panes.position)
        mark = Mark(place.partition, panes.committed_start, panes.position, readable, held.generation)
        marks[place.topic].append(mark)
    for name, each in marks.items():
        source = sources[name]
        yield Progress(
            topic=source.spec.name,
            source=name,
            worker=worker,
            sent_ms=now_ms,
            partitions=source.partitions,
            marks=tuple(each),
        )
