"""Cutting one source partition into panes: half-open ranges of offsets that tile it, each counted once."""

from __future__ import annotations

from collections import deque
from itertools import takewhile
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.panes.borders import borders
from hotshard.core.panes.candidates import Candidates, candidate_load
from hotshard.core.panes.clock import PaneClock
from hotshard.core.panes.pulse import Pulse
from hotshard.core.sketching.counter import PaneCounter, PutAside
from hotshard.core.sketching.distinct import WindowDistinct
from hotshard.core.sketching.history import History, Recent
from hotshard.core.wire.pane import HeavyList, Pane, travelling_key
from hotshard.errors import PaneGapError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hotshard.core.slab import Slab
    from hotshard.core.topic import TopicSpec

#: A pane is cut when nothing has come for this long.
IDLE_MS: Final = 300
#: No pane is cut by event time sooner than this, unless its records are of one window: so that stray timestamps
#: cannot make a flood of panes.
_LEAST_AGE_MS: Final = 100
#: A pane this far behind the worker's clock, with records still to come, goes to windows only.
_BEHIND_MS: Final = 10_000
#: Of what was put aside, so much is kept until it is taken.
_ASIDE_KEPT: Final = 16


def start_offset(committed: int | None, earliest: int, watermark: int | None) -> int:
    """Where to read on: the committed offset, or the earliest record where that offset is no longer there.

    ``watermark`` is given where records told it; an end offset asked for is not trusted, as the
    embedded broker answers one that is too low.
    """
    if committed is None or committed < earliest or (watermark is not None and committed > watermark):
        return earliest
    return committed


class _Open:
    """The pane that is being counted."""

    __slots__ = ("clock", "counter", "opened_ms", "start", "unchecked")

    def __init__(self, start: int, opened_ms: int, clock: PaneClock, counter: PaneCounter) -> None:
        self.start = start
        self.opened_ms = opened_ms
        self.clock = clock
        self.counter = counter
        #: Whether something came since candidates were last looked for.
        self.unchecked = False


class PartitionPanes:
    """The panes of one partition of a source, from the offset ``start``, for as long as a worker holds it.

    A pane is counted while it is open, then sealed, and published and committed in order: only the
    oldest sealed one may be published, until :meth:`committed` is said of it. After any doubt the whole
    object is dropped and made anew from the committed offset; what it counted is then forgotten.

    ``partition_of`` gives the production partition of a key on a record, where partitions are computed
    (None: the key has no place of its own). It is called once per distinct key and some thousand
    records, so it should remember; one memory may serve all partitions of a topic. ``pulse`` is shared by all
    partitions of a topic that a worker has; without one this partition is taken for all of it.
    All times are milliseconds of the worker's clock unless they are said to be event time.
    """

    def __init__(  # noqa: PLR0913  # all by name
        self,
        *,
        spec: TopicSpec,
        source: str,
        partition: int,
        worker: str,
        start: int,
        generation: int,
        now_ms: int,
        window_ms: int,
        pane_ms: int = 1000,
        partition_of: Callable[[bytes], int | None] | None = None,
        pulse: Pulse | None = None,
    ) -> None:
        #: End of what is counted, where the next slab must start.
        self.position = start
        self._spec = spec
        self._source = source
        self._partition = partition
        self._worker = worker
        self._generation = generation
        self._window_ms = window_ms
        self._pane_ms = pane_ms
        self._partition_of = partition_of
        self._high_watermark = start
        self._last_ms = now_ms
        #: Begin and end of the window of the last record.
        self._window = (0, 0)
        self._aliases: Mapping[bytes, bytes] = {}
        self._history = History()
        self._distinct_keys, self._distinct_tenants = WindowDistinct(), WindowDistinct()
        self._aside: deque[PutAside] = deque(maxlen=_ASIDE_KEPT)
        self._sealed: deque[Pane] = deque()
        self._open = self._opened(now_ms)
        pulse = pulse or Pulse(spec, spec.partitions or 1)
        pulse.join((source, partition), lambda: self._open.counter.load_so_far, now_ms)
        self._candidates = Candidates(pulse, (source, partition), partition_of, now_ms)

    @property
    def waiting(self) -> int:
        """Sealed panes that are not committed yet."""
        return len(self._sealed)

    @property
    def committed_start(self) -> int:
        """Start of the oldest pane that is not committed."""
        return self._sealed[0].start if self._sealed else self._open.start

    @property
    def high_watermark(self) -> int:
        """The end of what can be read, as the newest slab says."""
        return self._high_watermark

    def add(self, slab: Slab, now_ms: int, aliases: Mapping[bytes, bytes]) -> None:
        """Count a slab, in a new pane when it belongs to a later window than the open one.

        A slab that spans windows is cut where they begin (see :func:`borders`), as one of a backlog does; but not one
        with holes, which can be cut nowhere for sure. So one slab may seal many panes.

        ``aliases`` gives the base key of every routed key as it is on records, base keys (their own)
        and shards; a changed one is another object. They are counted for their base key, and exactly
        each by itself. What a pane's first slab brings holds for the whole pane: keys routed later are
        rows of their own in it.

        Raises:
            PaneGapError: the slab does not start at ``position``, or is of another generation.

        """
        if slab.start != self.position or slab.generation != self._generation:
            raise PaneGapError(
                f"{self._source}-{self._partition}: a slab from {slab.start} in generation {slab.generation} "
                f"does not continue {self.position} in generation {self._generation}"
            )
        self._aliases = aliases
        begin_ms, end_ms = self._window
        try:
            goes_on = begin_ms <= slab.timestamps[0] and slab.timestamps[-1] < end_ms
        except (IndexError, TypeError):  # there is none, or it is no number at all
            goes_on = False
        if goes_on:  # as nearly all slabs of live traffic
            self._count(slab, now_ms)
            return
        begin = 0
        for end in (*self._cuts(slab, now_ms), len(slab)):
            self._count(slab.part(begin, end), now_ms, crosses=True)
            begin = end

    def _cuts(self, slab: Slab, now_ms: int) -> Sequence[int]:
        stamps, window_ms = slab.timestamps, self._window_ms
        if stamps and type(stamps[-1]) is int:
            begin_ms = stamps[-1] // window_ms * window_ms
            self._window = (begin_ms, begin_ms + window_ms)
        return () if slab.has_holes else borders(stamps, window_ms, now_ms)

    def _count(self, slab: Slab, now_ms: int, *, crosses: bool = False) -> None:
        """Count a slab of one window; where it ``crosses`` a border, or its ends may, that may be a later one."""
        clock, is_old = self._open.clock, now_ms - self._open.opened_ms >= _LEAST_AGE_MS
        if (is_old or crosses) and clock.is_later(slab.timestamps, now_ms) and (is_old or clock.is_of_one_window()):
            self.seal(now_ms)
        if self.position == self._open.start:
            self._open = self._opened(now_ms)
        pane = self._open
        pane.counter.add(slab)
        pane.clock.add(slab.timestamps, now_ms)
        pane.unchecked = True
        self.position = slab.end
        self._high_watermark = slab.high_watermark
        self._last_ms = now_ms

    def due(self, now_ms: int) -> bool:
        """Whether the open pane holds anything and is to be sealed: its time is over, or nothing came for a while."""
        if self.position == self._open.start:
            return False
        # A worker's clock that was set back makes a pane due as well.
        return not (0 <= now_ms - self._open.opened_ms < self._pane_ms and now_ms - self._last_ms < IDLE_MS)

    def seal(self, now_ms: int) -> None:
        """Close the open pane and open the next at its end; nothing when there is nothing in it."""
        if self.position == self._open.start:
            return
        pane = self._version(now_ms, final=True)
        self._open.counter.remember(self._history, pane.time_ms // self._window_ms)
        self._candidates.seal(pane)
        self._sealed.append(pane)
        self._open = self._opened(now_ms)

    def early(self, now_ms: int) -> Pane | None:
        """A version of the open pane, when its counts show something hot that nobody was told of; else None.

        What is hot and what is news :class:`Candidates` says; a key that is routed is none. Nothing is said early
        while a sealed pane waits or when the pane is no longer live. Cheap enough to be asked ten times a second.
        """
        pane = self._open
        if self._sealed or not pane.unchecked or not self._is_live(pane.clock.about_ms(), now_ms):
            return None
        pane.unchecked = False
        return self._version(now_ms) if self._candidates.any_new(pane.counter, self._aliases, now_ms) else None

    def publishable(self) -> Pane | None:
        """The oldest sealed pane: the one that may be published and committed, the same until it is."""
        return self._sealed[0] if self._sealed else None

    def committed(self, end: int) -> None:
        """The pane that ends at ``end`` is published and committed; the next one may be.

        Raises:
            ValueError: no pane that ends there is the oldest sealed one.

        """
        if not self._sealed or self._sealed[0].end != end:
            raise ValueError(f"no pane that ends at {end} waits to be committed")
        self._sealed.popleft()

    def recent(self, key: bytes, now_ms: int) -> Recent:
        """Estimates of any base key's load in the windows before that of the open pane, listed or not."""
        time_ms = self._open.clock.time(self._open.opened_ms, now_ms).time_ms
        return self._history.before(time_ms // self._window_ms, travelling_key(key))

    def take_put_aside(self) -> tuple[PutAside, ...]:
        """The latest records, at most 16, on which our own code failed, each told once."""
        aside = tuple(self._aside)
        self._aside.clear()
        return aside

    def _opened(self, now_ms: int) -> _Open:
        counter = PaneCounter(self._spec, self._partition, self._partition_of, self._aside.append, self._aliases)
        return _Open(self.position, now_ms, PaneClock(self._window_ms), counter)

    def _is_live(self, time_ms: int | None, now_ms: int) -> bool:
        return self.position >= self._high_watermark or time_ms is None or now_ms - time_ms <= _BEHIND_MS

    def _version(self, now_ms: int, *, final: bool = False) -> Pane:
        """The open pane as it is now; ``final``: it takes no more, so that its names may count in its window."""
        pane, counter = self._open, self._open.counter
        counter.settle()
        time_ms, span_ms = pane.clock.time(pane.opened_ms, now_ms)
        window, keys = time_ms // self._window_ms, counter.heavy_keys()
        if final:
            counter.count_distinct(self._distinct_keys, self._distinct_tenants, window)
        return Pane(
            topic=self._spec.name,
            source=self._source,
            partition=self._partition,
            start=pane.start,
            end=self.position,
            generation=self._generation,
            high_watermark=self._high_watermark,
            worker=self._worker,
            records=counter.records,
            size_bytes=counter.size_bytes,
            unkeyed=counter.unkeyed,
            skipped=counter.skipped,
            failed=counter.failed,
            loads=dict(counter.loads),
            keys=self._with_recent(keys, counter.load, time_ms),
            tenants=counter.heavy_tenants(),
            exact={travelling_key(key): load for key, load in counter.exact.items()},
            distinct_keys=max(counter.distinct_keys, self._distinct_keys.count(window)),
            distinct_tenants=max(counter.distinct_tenants, self._distinct_tenants.count(window)),
            subs=counter.heavy_subs(),
            tenant_of=counter.tenant_of(keys),
            unkeyed_load=counter.unkeyed_load,
            untenanted=counter.untenanted,
            damaged=counter.damaged,
            time_ms=time_ms,
            span_ms=span_ms,
            opened_ms=pane.opened_ms,
            cut_ms=now_ms,
            live=self._is_live(time_ms, now_ms),
        )

    def _with_recent(self, keys: HeavyList, load: int, time_ms: int) -> HeavyList:
        """The list with the loads of the last windows in the rows of candidates, also of those already told."""
        floor = round(self._spec.policy.floor_name_per_s * self._pane_ms / 1000)
        least = candidate_load(load, floor)
        window = time_ms // self._window_ms
        # Rows stand by falling upper bound, and no lower bound is above it.
        worth = tuple(takewhile(lambda row: row.upper >= least, keys.rows))
        told = tuple(
            msgspec.structs.replace(row, recent=self._history.before(window, row.key).estimates)
            if row.lower >= least
            else row
            for row in worth
        )
        return HeavyList(told + keys.rows[len(worth) :], keys.error)
