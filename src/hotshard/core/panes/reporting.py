"""A closed window as it is told: a report with bounds, and with the threshold that its lists keep."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.panes.filling import MAX_TOP, Filling, who_fills
from hotshard.core.panes.folding import Folded
from hotshard.core.panes.tenancy import Tenancy, has_tenants
from hotshard.core.sketching.merging import threshold
from hotshard.core.skew import describe_skew
from hotshard.core.wire.names import key_text
from hotshard.core.wire.pane import WHOLE_KEY_BYTES, is_cut
from hotshard.core.wire.report import HeavyReport, Name, PartitionReport, SkewReport, WindowReport, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hotshard.core.panes.filling import Top
    from hotshard.core.panes.folding import Heavy
    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.topic import TopicSpec

#: A report is no longer than this: Kafka takes messages of up to a million bytes by default.
MAX_REPORT_BYTES: Final = 900_000
#: So many of the heaviest are listed, however light they are.
LEAST_ROWS: Final = 20


class Room(NamedTuple):
    """How much a report may say."""

    #: Keys, and tenants, listed; what is hot is listed beyond that.
    rows: int
    #: The same, of each partition.
    top: int


#: Tried in this order; the last one is taken however long the report is.
ROOMS: Final = (Room(256, MAX_TOP), Room(256, 1), Room(100, 0), Room(LEAST_ROWS, 0))
_NOTHING: Final = Filling([], [])


class _Ranked(NamedTuple):
    """The heaviest keys, or tenants, of a window: more than there is room for, and all that are hot."""

    rows: Sequence[Heavy]
    #: The merged error, and the largest upper bound of what is not among them.
    error: int
    unlisted: int
    hot: AbstractSet[bytes]

    @classmethod
    def of(cls, folded: Folded, aliases: Mapping[bytes, bytes], hot: AbstractSet[bytes]) -> _Ranked:
        rows, unlisted = folded.heaviest(ROOMS[0].rows, aliases, hot)
        return cls(rows, folded.error, unlisted, hot)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A window as far as it does not depend on the room there is."""

    closed: ClosedWindow
    spec: TopicSpec
    keys: _Ranked
    tenants: _Ranked
    #: By production partition, the idle ones included.
    loads: Mapping[int, int]
    filling: Mapping[int, Filling]
    tenancy: Tenancy

    def report(self, room: Room) -> WindowReport:
        closed, totals, load = self.closed, self.closed.totals, sum(self.loads.values())
        keys, least_key = _listed(self.keys, load, room)
        tenants, least_tenant = _listed(self.tenants, load, room)
        return WindowReport(
            topic=self.spec.name,
            start_ms=closed.start_ms,
            end_ms=closed.end_ms,
            revision=closed.revision,
            records=totals.records,
            size_bytes=totals.size_bytes,
            unkeyed=totals.unkeyed,
            skipped=totals.skipped,
            failed=totals.failed,
            lost=totals.lost,
            load=str(self.spec.load),
            threshold=least_key,
            threshold_tenants=least_tenant,
            guaranteed=not totals.failed and not totals.lost and closed.completeness >= 1,
            completeness=closed.completeness,
            partitions=_partitions(self.loads, self.filling, room),
            skew=_skew(self.loads),
            keys=tuple(_heavy(row, load, self.keys.hot, self.tenancy.of(row.name)) for row in keys),
            tenants=tuple(_heavy(row, load + totals.unkeyed_load, self.tenants.hot, row.name) for row in tenants),
            hot_keys=_texts(self.keys.hot),
            hot_tenants=_texts(self.tenants.hot),
            ranges=closed.ranges,
            distinct_keys=totals.distinct_keys,
            distinct_tenants=totals.distinct_tenants if has_tenants(self.spec) else None,
            all_tenants=totals.all_tenants,
            untenanted=totals.untenanted,
            damaged=totals.damaged,
        )


def window_report(  # noqa: PLR0913  # all by name
    closed: ClosedWindow,
    spec: TopicSpec,
    *,
    partitions: int,
    aliases: Mapping[bytes, bytes],
    hot_keys: AbstractSet[bytes],
    hot_tenants: AbstractSet[bytes],
) -> WindowReport:
    """The report of a window of a topic with so many production partitions.

    ``aliases`` gives the base key of every routed key on the wire: the load of shards is told of their
    base key. Listed is whatever may have more than T load, T being at least the merged error and 0.1 %
    of the load; at least the 20 heaviest, and what is hot. Where that is more than there is room
    for, T is the largest upper bound of what is left out, so that what is said of T holds.
    """
    keys = Folded([part.keys for part in closed.lists])
    tenants = Folded([part.tenants for part in closed.lists])
    tenancy = Tenancy.of_window(closed, spec)
    measured = _Measured(
        closed,
        spec,
        _Ranked.of(keys, aliases, hot_keys),
        _Ranked.of(tenants, {}, hot_tenants),
        dict.fromkeys(range(partitions), 0) | dict(closed.loads),
        who_fills(closed, keys, spec, partitions, aliases, tenancy),
        tenancy,
    )
    fitting = (report for room in ROOMS[:-1] if len(encode(report := measured.report(room))) <= MAX_REPORT_BYTES)
    return next(fitting, None) or measured.report(ROOMS[-1])


def _listed(ranked: _Ranked, load: int, room: Room) -> tuple[list[Heavy], int]:
    """What is listed, by falling estimate, and T."""
    least = threshold(ranked.error, load)
    rows = [row for row in ranked.rows if row.upper > least or row.estimate]
    wanted = sum(row.upper > least for row in rows)
    count = min(max(wanted, LEAST_ROWS), room.rows)
    left = rows[count:]
    listed = rows[:count] + [row for row in left if row.name in ranked.hot]
    largest_left = max([row.upper for row in left[:1]] + [ranked.unlisted])
    return sorted(listed, key=lambda row: (-row.estimate, row.name)), max(least, largest_left)


def _heavy(row: Heavy, load: int, hot: AbstractSet[bytes], tenant: bytes | None) -> HeavyReport:
    key, key_b64 = shown(row.name)
    return HeavyReport(
        key=key,
        key_b64=key_b64,
        tenant=None if tenant is None else (shown(tenant)[0] or tenant.decode(errors="replace")),
        estimate=row.estimate,
        lower=row.lower,
        upper=row.upper,
        share=_share(row.estimate, load),
        hot=row.name in hot,
        recent=row.recent,
    )


def _partitions(loads: Mapping[int, int], filling: Mapping[int, Filling], room: Room) -> tuple[PartitionReport, ...]:
    total = sum(loads.values())
    return tuple(
        PartitionReport(
            partition=partition,
            load=load,
            share=_share(load, total),
            top_keys=_names(filling.get(partition, _NOTHING).keys, load, room),
            top_tenants=_names(filling.get(partition, _NOTHING).tenants, load, room),
        )
        for partition, load in sorted(loads.items())
    )


def _names(top: Top, load: int, room: Room) -> tuple[Name, ...]:
    shares = ((shown(name), _share(estimate, load)) for name, estimate in top[: room.top])
    return tuple(Name(key=key, key_b64=key_b64, share=share) for (key, key_b64), share in shares)


def _skew(loads: Mapping[int, int]) -> SkewReport:
    skew = describe_skew(loads)
    return SkewReport(
        total=sum(loads.values()),
        max=max(loads.values(), default=0),
        median=skew.median,
        ratio=skew.skew_ratio,
        imbalance=skew.imbalance,
        idle=skew.idle_partitions,
        hottest=skew.hottest_partition,
    )


def shown(name: bytes) -> tuple[str | None, str | None]:
    """``key`` and ``key_b64`` of a name: as :func:`key_text` gives them, but of a cut key its first part is shown, too.

    A cut key of text thus has both, and ``key_b64`` tells it from others that begin alike.
    """
    if not is_cut(name):
        return key_text(name)
    begin, key_b64 = name[:WHOLE_KEY_BYTES], base64.b64encode(name).decode("ascii")
    try:
        return begin.decode(), key_b64
    except UnicodeDecodeError as error:
        # A character that the cut went through is left out.
        cut_through = error.reason == "unexpected end of data"
        return (begin[: error.start].decode() if cut_through else None), key_b64


def _texts(names: Iterable[bytes]) -> tuple[str | None, ...]:
    return tuple(shown(name)[0] for name in sorted(names))


def _share(part: int, whole: int) -> float:
    """To six places; an estimate may be above the whole."""
    return min(1.0, round(part / whole, 6)) if whole else 0.0
