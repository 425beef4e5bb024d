"""Made-up traffic as it stands on the panes topic, and deciders that hear it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hotshard.core.deciding.decider import Setup, TopicDecider
from hotshard.core.keys import partition_key, tenant_of
from hotshard.core.panes.ledger import Expected
from hotshard.core.panes.windows import WindowsMemory
from hotshard.core.partitioners import partition_of
from hotshard.core.policy.memory import HeatMemory, HotMemory
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import Load, Mode, Ordering, TopicSpec
from hotshard.core.wire import state as wire
from hotshard.core.wire.pane import HeavyList, Mark, Pane, PaneMessage, Progress, Row
from hotshard.core.wire.state import TopicHead

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.deciding.said import Said
    from hotshard.core.wire.event import Event
    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.route import Route

TOPIC: Final = "orders"
SOURCE: Final = "mirror.orders"
PARTITIONS: Final = 6
#: Where a key lies in production.
PLACE: Final = partition_of("murmur2", PARTITIONS)
NOW_MS: Final = 1_700_000_000_000
#: Short, so that a test of some seconds sees a flood come and go.
QUICK: Final = Policy(
    floor_name_per_s=5, floor_act_per_s=20, floor_fast=20, slow_view_s=4, hold_s=2, off_s=1, resize_s=1
)

#: A head with something in it.
HEAD: Final = TopicHead(
    topic="orders",
    registry_epoch=5,
    state_version=3,
    at_ms=7,
    replay_from=10,
    done=20,
    expected=(Expected("mirror.orders", 0, 100, 1),),
    windows=WindowsMemory(),
    keys=HeatMemory((HotMemory(b"\xff", 1, 2),)),
    tenants=HeatMemory(),
    told_at=19,
)


def key(number: int, tenant: str = "acme") -> bytes:
    return partition_key(tenant, f"e{number}").encode()


def spec(**changes: Any) -> TopicSpec:  # noqa: ANN401 - any field of the spec
    given: dict[str, Any] = {"mode": Mode.ACTIVE, "ordering": Ordering.NONE, "policy": QUICK, "sources": (SOURCE,)}
    return TopicSpec(name=TOPIC, **(given | changes))


def setup(of: TopicSpec | None = None, *, partitions: int = PARTITIONS, **changes: Any) -> Setup:  # noqa: ANN401
    of = of or spec()
    given: dict[str, Any] = {"window_ms": 2000, "grace_ms": 3000, "sources": dict.fromkeys(of.sources, partitions)}
    return Setup(spec=of, partitions=partitions, namespace="test", **(given | changes))


def pane(
    partition: int,
    start: int,
    loads: Mapping[bytes, int],
    *,
    now_ms: int = NOW_MS,
    error: int = 0,
    **changes: Any,  # noqa: ANN401 - any field of a pane
) -> Pane:
    """A version of a pane of the last second that holds these keys, each record being of 10 bytes."""
    load = sum(loads.values())
    tenants: Counter[bytes] = Counter()
    for name, count in loads.items():
        tenant = tenant_of(name, spec().layout)
        if tenant is not None:
            tenants[tenant] += count
    given: dict[str, Any] = {
        "topic": TOPIC,
        "source": SOURCE,
        "end": start + load,
        "generation": 1,
        "high_watermark": start + load,
        "worker": "w1",
        "records": load,
        "size_bytes": 10 * load,
        "loads": {partition: load} if load else {},
        "keys": _heavy(loads, error),
        "tenants": _heavy(tenants, error),
        "time_ms": now_ms,
        "span_ms": 1000,
        "opened_ms": now_ms - 1000,
        "cut_ms": now_ms,
    }
    return Pane(partition=partition, start=start, **(given | changes))


def _heavy(loads: Mapping[bytes, int], error: int) -> HeavyList:
    rows = (Row(name, count, count + error) for name, count in loads.items())
    return HeavyList(tuple(sorted(rows, key=lambda row: (-row.upper, row.key))), error)


def progress(marks: Iterable[Mark], *, now_ms: int = NOW_MS, **changes: Any) -> Progress:  # noqa: ANN401
    """A worker's word."""
    given: dict[str, Any] = {"topic": TOPIC, "source": SOURCE, "worker": "w1", "partitions": PARTITIONS}
    return Progress(sent_ms=now_ms, marks=tuple(marks), **(given | changes))


@dataclass
class Told:
    """All that was said of a topic, as it stands on hotshard's own topics."""

    head: TopicHead | None = None
    routes: dict[bytes, Route] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    reports: list[WindowReport] = field(default_factory=list)

    def write(self, said: Said) -> None:
        """As Kafka does it: through bytes."""
        self.head = wire.decode_head(wire.encode(said.head))
        for base, route in said.routes.items():
            if route is None:
                self.routes.pop(base, None)
            else:
                self.routes[base] = wire.decode_route(wire.encode(route))
        self.events += said.events
        self.reports += said.reports


class Hearing:
    """A decider on a panes topic, and what it has told. Messages stand at rising offsets with holes between."""

    def __init__(self, of: Setup | None = None, *, now_ms: int = NOW_MS, every: int = 1) -> None:
        self.setup = of or setup()
        self.told = Told()
        self.log: list[tuple[int, PaneMessage]] = []
        self._every = every
        self._begun_ms = now_ms
        self.decider = self._made(now_ms)
        self.decider.passed(0)

    def _made(self, now_ms: int) -> TopicDecider:
        if self.told.head is None:
            now_ms = self._begun_ms  # the registry's epoch is made then; let it be the same whoever begins
        return TopicDecider(self.setup, self.told.head, tuple(self.told.routes.values()), now_ms=now_ms)

    @property
    def position(self) -> int:
        return self.log[-1][0] + 1 if self.log else 0

    def hear(self, message: PaneMessage, now_ms: int) -> None:
        at = self.position + self._every - 1
        self.log.append((at, message))
        self.decider.hear(message, at, now_ms)
        self.decider.passed(at + 1)

    def tick(self, now_ms: int, *, written: bool = True) -> Said | None:
        """Let it decide; what is not ``written`` is lost with the decider, see :meth:`restart`."""
        said = self.decider.decide(now_ms)
        if said is not None and written:
            self.told.write(said)
        return said

    def restart(self, now_ms: int, of: Setup | None = None) -> None:
        """Make it anew from what it told, and let it hear again what it needs."""
        self.setup = of or self.setup
        self.decider = self._made(now_ms)
        start = 0 if self.told.head is None else self.told.head.replay_from
        self.decider.passed(start)
        for at, message in self.log:
            if at >= start:
                self.decider.hear(message, at, now_ms)
                self.decider.passed(at + 1)


class Traffic:
    """Partitions whose records are counted pane by pane, second by second, and what they come to.

    All messages of a second are handed to ``say`` with the moment they are heard at.
    """

    def __init__(self, *, now_ms: int = NOW_MS, partitions: int = PARTITIONS) -> None:
        self.now_ms = now_ms
        self.offsets = dict.fromkeys(range(partitions), 0)
        self.generations = dict.fromkeys(range(partitions), 1)
        self.counted: Counter[int] = Counter()
        self.load = Load.RECORDS

    def cut(self, partition: int, loads: Mapping[bytes, int], **changes: Any) -> Pane:  # noqa: ANN401
        """The final version of the partition's open pane, which is committed."""
        made = self.version(partition, loads, **changes)
        self.offsets[partition] = made.end
        self.counted[made.partition] += made.records
        return made

    def version(self, partition: int, loads: Mapping[bytes, int], **changes: Any) -> Pane:  # noqa: ANN401
        """A version of the partition's open pane."""
        given = {"now_ms": self.now_ms, "generation": self.generations[partition]} | changes
        return pane(partition, self.offsets[partition], loads, **given)

    def taken_over(self, partition: int) -> None:
        """Another worker goes on from what was committed."""
        self.generations[partition] += 1

    def progress(self, *partitions: int, **changes: Any) -> Progress:  # noqa: ANN401
        marks = (
            Mark(each, self.offsets[each], self.offsets[each], self.offsets[each], self.generations[each])
            for each in partitions or self.offsets
        )
        return progress(marks, **({"now_ms": self.now_ms} | changes))
