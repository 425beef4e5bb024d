"""Made-up records run through the real code: as scan reads them, or as a worker counts them and decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hotshard.core.deciding.book import counted_exactly
from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.scanning.scanner import Scanner
from hotshard.core.slab import Slab
from hotshard.core.topic import Field, KeyLayout, Mode, Ordering, PartitionsFrom, Place, TopicSpec
from hotshard.core.wire.pane import Mark
from hotshard.core.wire.route import HotKind
from tests.support.deciding import NOW_MS, SOURCE, TOPIC, Hearing, Told, progress, setup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.scan import ScanReport

#: A moment at which windows of a minute begin.
T0_MS: Final = NOW_MS - NOW_MS % 60_000


class Record(NamedTuple):
    key: bytes | None
    #: When, milliseconds after T0; None: nobody knows.
    at_ms: int | None = None
    tenant: bytes | None = None
    size: int = 100


#: How many records each key has.
Keys = Mapping[bytes, int] | Mapping[None, int] | Mapping[bytes | None, int]


def spread(records: Sequence[Record], seconds: float) -> list[Record]:
    """The records mixed evenly over so many seconds: each key's records lie evenly in the whole."""
    count, turns = len(records), defaultdict[bytes | None, list[int]](list)
    for place, record in enumerate(records):
        turns[record.key].append(place)
    order = {place: (turn + 0.5) / len(places) for places in turns.values() for turn, place in enumerate(places)}
    mixed = sorted(range(count), key=lambda place: (order[place], place))
    return [records[place]._replace(at_ms=int(at * seconds * 1000 / count)) for at, place in enumerate(mixed)]


def of(keys: Keys, **more: Any) -> list[Record]:  # noqa: ANN401 - any field of a record
    return [Record(key, **more) for key, count in keys.items() for _ in range(count)]


def slab_of(records: Sequence[Record], *, partition: int = 0, start: int = 0, watermark: int | None = None) -> Slab:
    end = start + len(records)
    has_tenants = any(record.tenant is not None for record in records)
    return Slab(
        topic=SOURCE,
        partition=partition,
        start=start,
        end=end,
        generation=1,
        high_watermark=end if watermark is None else watermark,
        keys=[record.key for record in records],
        sizes=[record.size for record in records],
        timestamps=[-1 if record.at_ms is None else T0_MS + record.at_ms for record in records],
        tenants=[record.tenant for record in records] if has_tenants else None,
    )


def scan(records: Sequence[Record], partitions: int, *, window_s: float = 60.0, **spec: Any) -> ScanReport:  # noqa: ANN401
    """As ``hotshard scan`` reads a file: the key opaque, the tenant beside it, partitions computed."""
    given: dict[str, Any] = {"ordering": Ordering.NONE, "partitioner": "murmur2"} | spec
    made = TopicSpec(
        name=TOPIC,
        sources=(SOURCE,),
        layout=KeyLayout.ENTITY,
        tenant=Field(Place.HEADER, "tenant"),
        partitions_from=PartitionsFrom.COMPUTED,
        **given,
    )
    scanner = Scanner(made, partitions, window_ms=round(window_s * 1000))
    for begin in range(0, len(records), 20_000):
        scanner.add(slab_of(records[begin : begin + 20_000], start=begin))
    return scanner.finish()


#: Records by the partition they lie on.
Placed = dict[int, list[Record]]


@dataclass
class Lived:
    """What a worker and its decider made of some seconds."""

    told: Told
    partitions: int

    @property
    def reports(self) -> list[WindowReport]:
        return [report for report in self.told.reports if not report.revision]

    def verdicts(self) -> list[tuple[str, str]]:
        return [(report.cause, report.reason) for report in self.reports]


class Worker:
    """One worker that holds all partitions of a topic whose mirror has production's partitions."""

    def __init__(self, partitions: int, *, window_s: float = 10.0, grace_s: float = 3.0, **spec: Any) -> None:  # noqa: ANN401
        given: dict[str, Any] = {"layout": KeyLayout.ENTITY, "ordering": Ordering.NONE, "mode": Mode.SHADOW} | spec
        self.spec = TopicSpec(name=TOPIC, sources=(SOURCE,), **given)
        window_ms = round(window_s * 1000)
        made = setup(self.spec, partitions=partitions, window_ms=window_ms, grace_ms=round(grace_s * 1000))
        self.now_ms = T0_MS
        self.hearing = Hearing(made, now_ms=T0_MS)
        self.panes = {
            number: PartitionPanes(
                spec=self.spec, source=SOURCE, partition=number, worker="w1", start=0, generation=1, now_ms=T0_MS,
                window_ms=window_ms,
            )
            for number in range(partitions)
        }  # fmt: skip

    def second(self, placed: Mapping[int, Sequence[Record]], *, behind: int = 0) -> None:
        """Count the records of one second, tell them, and let the decider decide; ``behind`` records are still to come.

        Records without a time are of this second.
        """
        self.now_ms += 1000
        for partition, records in placed.items():
            panes = self.panes[partition]
            timed = [self._timed(record, at, len(records)) for at, record in enumerate(records)]
            start = panes.position
            panes.add(
                slab_of(timed, partition=partition, start=start, watermark=start + len(timed) + behind),
                self.now_ms,
                self._aliases(),
            )
            self._tell(partition)
        self._progress()
        self.hearing.tick(self.now_ms)

    def idle(self, seconds: int) -> None:
        for _ in range(seconds):
            self.second({})

    def _aliases(self) -> Mapping[bytes, bytes]:
        """What a worker that follows the state topic counts exactly."""
        told = self.hearing.told
        hot = () if told.head is None else told.head.hot
        names = (entry.name for entry in hot if entry.kind is HotKind.KEY)
        return counted_exactly(told.routes.values(), names, self.now_ms)

    def _timed(self, record: Record, at: int, count: int) -> Record:
        if record.at_ms is not None:
            return record
        return record._replace(at_ms=self.now_ms - T0_MS - 1000 + at * 1000 // count)

    def _tell(self, partition: int) -> None:
        panes = self.panes[partition]
        panes.seal(self.now_ms)
        while pane := panes.publishable():
            panes.committed(pane.end)
            self.hearing.hear(pane, self.now_ms)

    def _progress(self) -> None:
        positions = {number: panes.position for number, panes in self.panes.items()}
        marks = [Mark(number, at, at, at, 1) for number, at in positions.items()]
        self.hearing.hear(progress(marks, now_ms=self.now_ms, partitions=len(marks)), self.now_ms)


def live(seconds: Iterable[Mapping[int, Sequence[Record]]], partitions: int, **more: Any) -> Lived:  # noqa: ANN401
    """What is told of these seconds, and of the quiet after them in which the last window closes."""
    worker = Worker(partitions, **more)
    for placed in seconds:
        worker.second(placed)
    worker.idle(20)
    return Lived(worker.hearing.told, partitions)


def dealt(keys: Keys, partition: int, seconds: int) -> list[Placed]:
    """So many records of each key in all, evenly over the seconds, on one partition."""
    records = spread(of(keys), seconds)
    made: list[Placed] = [{} for _ in range(seconds)]
    for record in records:
        made[(record.at_ms or 0) // 1000].setdefault(partition, []).append(record._replace(at_ms=None))
    return made


def together(*streams: Sequence[Placed]) -> list[Placed]:
    """Streams side by side."""
    seconds: list[Placed] = []
    for each in zip(*streams, strict=True):
        there: Placed = {}
        for placed in each:
            for partition, records in placed.items():
                there.setdefault(partition, []).extend(records)
        seconds.append(there)
    return seconds
