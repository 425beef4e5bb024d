"""Fetching, in the consumer's thread: slabs through the hook, or the stock way; damage is stepped over.

Nothing here lets an error out: it is said, at most every 10 s, and the next fetch tries again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError, RecordTooLargeError, UnsupportedCodecError
from faust.types import TP

from hotshard.core.slab import Slab
from hotshard.doors.kafka.slabs.hook import SlabBuffer
from hotshard.doors.kafka.slabs.parser import SLAB_RECORDS, DamageError
from hotshard.doors.kafka.slabs.selfcheck import self_check
from hotshard.doors.kafka.slabs.sound import keep_bytes, keep_none
from hotshard.doors.kafka.slabs.stock import join
from hotshard.job.quiet import Teller
from hotshard.job.transport.options import log
from hotshard.job.transport.repair import Repair

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping, MutableMapping, Sequence

    from hotshard.job.transport.group import Group
    from hotshard.job.transport.options import Options

_T = TypeVar("_T")

#: Slabs handed out in one fetch: 16 of 20,000 records are about 45 MB.
_SLABS_AT_ONCE = 16
_LOOK_S = 0.02
_AFTER_ERROR_S = 1.0
#: One topic may be refused while others flow: that is not well.
_WELL_AFTER_S = 10.0
#: After an unreadable batch somewhere: so many fetches that ask each partition by itself, for one record at a time.
_CAREFUL_FETCHES = 100
_CAREFUL_RECORDS = 1_000


class Fetched(list[Any]):
    """What one fetch gave of one partition; wanted as long as ``seeks`` is what ``Feed.seeks`` says."""

    def __init__(self, items: Iterable[Any], seeks: int) -> None:
        super().__init__(items)
        self.seeks = seeks


class Feed:
    """The fetcher of one ``AIOKafkaConsumer``, which must be started and not yet assigned anything."""

    def __init__(
        self,
        consumer: Any,  # noqa: ANN401 - aiokafka has no types
        group: Group,
        options: Options,
        seeks: MutableMapping[TP, int],
    ) -> None:
        self._fetcher = consumer._fetcher  # noqa: SLF001 - see doors.kafka.slabs.hook
        self._group = group
        self._options = options
        self._repair = Repair(consumer, group, options.fields)
        self._alone = asyncio.Lock()
        self._hooked = False
        self._careful = 0
        self._erred_at_s = 0.0
        #: Up to where each partition was handed out.
        self._ends: dict[TP, int] = {}
        self._damaged: dict[TP, DamageError] = {}
        self._tell = Teller(log)
        #: Counts up whenever a partition's position is set. Read by the main thread, too.
        self.seeks = seeks
        if options.topics:
            self._install()

    # -- the hook --------------------------------------------------------------------------------

    def _install(self) -> None:
        if not self._options.slabs:
            self._options.on_stock("switched off in the settings")
            return
        try:
            keep_bytes()
            self_check()
            if self._fetcher._records:  # noqa: SLF001
                raise RuntimeError("the fetcher has begun already")  # noqa: TRY301 - one way out for all reasons
            self._fetcher._records = SlabBuffer(  # noqa: SLF001
                self._options.topics, self._stamp, self._note, self._unhook, fields=self._options.fields
            )
        except Exception as reason:  # noqa: BLE001 - whatever it is, the stock way is open
            keep_none()
            self._options.on_stock(f"the self-check failed ({type(reason).__name__}: {reason})")
        else:
            self._hooked = True

    def _unhook(self, reason: Exception) -> None:
        if self._hooked:
            self._hooked = False
            self._options.on_stock(f"a fetch could not be made to yield slabs ({type(reason).__name__}: {reason})")

    def _stamp(self, slab: Slab) -> None:
        assignment = self._group.assignment
        state = None if assignment is None else assignment.state_value(TopicPartition(slab.topic, slab.partition))
        slab.generation = self._group.generation if state is not None else -1
        slab.high_watermark = max(slab.end, -1 if state is None else self._group.readable_end(state))

    def _note(self, tp: TopicPartition, damage: DamageError) -> None:
        self._damaged[TP(*tp)] = damage

    # -- positions -------------------------------------------------------------------------------

    def seek(self, tp: TP, position: int) -> None:
        """Set the position; what was fetched before is not wanted any more. The partition must be assigned."""
        self.seeks[tp] = self.seeks.get(tp, 0) + 1
        self._move(tp, position)

    def _move(self, tp: TP, position: int) -> None:
        self._ends[tp] = position
        self._damaged.pop(tp, None)
        self._fetcher.seek_to(TopicPartition(*tp), position)

    def _positions(self) -> dict[TP, int]:
        assignment = self._group.assignment
        states = {} if assignment is None else {tp: assignment.state_value(tp) for tp in assignment.tps}
        return {TP(*tp): state.position for tp, state in states.items() if state.has_valid_position}

    # -- fetching --------------------------------------------------------------------------------

    async def fetch(self, active: Iterable[TP], timeout_s: float) -> Mapping[TP, Fetched]:
        """Return what there is of these partitions, after about ``timeout_s`` at the latest (1 s more on an error)."""
        async with self._alone:
            if self._group.assignment is None:
                await asyncio.sleep(_LOOK_S)
                return {}
            found = await self._guarded(self._fetch(frozenset(TopicPartition(*tp) for tp in active), timeout_s)) or {}
            for tp, damage in [*self._damaged.items()]:
                await self._guarded(self._mend(tp, damage, found))
        if found and asyncio.get_running_loop().time() - self._erred_at_s > _WELL_AFTER_S:
            self._options.says.well("the source")
        return {tp: items for tp, items in found.items() if items}

    async def _guarded(self, step: Coroutine[Any, Any, _T]) -> _T | None:
        try:
            return await step
        except (OSError, KafkaError) as error:
            self._say(error)
            await asyncio.sleep(_AFTER_ERROR_S)
            return None

    def _say(self, error: Exception) -> None:
        self._erred_at_s = asyncio.get_running_loop().time()
        self._options.says.waiting("the source", f"{type(error).__name__}: {error}")

    async def _fetch(self, active: frozenset[TopicPartition], timeout_s: float) -> dict[TP, Fetched]:
        before = self._positions()
        try:
            if self._careful:
                return await self._one_by_one(active, before)
            if self._hooked or not self._options.topics:
                most = _SLABS_AT_ONCE if self._hooked else SLAB_RECORDS
                drained = await self._fetcher.fetched_records(active, timeout=timeout_s, max_records=most)
                return self._sorted(drained, self._ends)
            return await self._stock(active, timeout_s)
        except RecordTooLargeError as error:
            return self._too_large(error)
        except Exception as error:
            if not _unreadable(error):
                raise
            # some partition's batch cannot be read, and what was taken of the others before it is lost with it
            self._careful = _CAREFUL_FETCHES
            self._take_back()
            return {}

    async def _stock(self, active: frozenset[TopicPartition], timeout_s: float) -> dict[TP, Fetched]:
        """Look again and again instead of waiting inside: only so is it known where a stretch of records began."""
        until = asyncio.get_running_loop().time() + timeout_s
        while True:
            before = self._positions()
            drained = await self._fetcher.fetched_records(active, timeout=0, max_records=SLAB_RECORDS)
            found = self._sorted({**self._moved(before), **drained}, before)
            if found or asyncio.get_running_loop().time() >= until:
                return found
            await asyncio.sleep(_LOOK_S)

    async def _one_by_one(self, active: frozenset[TopicPartition], before: Mapping[TP, int]) -> dict[TP, Fetched]:
        """Come to a stop exactly before what cannot be read, partition by partition."""
        self._careful -= 1
        drained: dict[TopicPartition, list[Any]] = {}
        for tp in active:
            try:
                while len(got := drained.setdefault(tp, [])) < _CAREFUL_RECORDS:
                    more = await self._fetcher.fetched_records([tp], timeout=0, max_records=1)
                    if not more:
                        break
                    got.extend(more[tp])
            except Exception as error:  # noqa: BLE001 - whatever a parser raises over damaged bytes
                if _unreadable(error):
                    self._note(tp, DamageError(self._positions()[TP(*tp)], error))
                else:
                    self._say(error)
        if not any(drained.values()):
            await asyncio.sleep(_LOOK_S)
        return self._sorted({**self._moved(before), **{tp: got for tp, got in drained.items() if got}}, before)

    def _moved(self, before: Mapping[TP, int]) -> dict[TopicPartition, list[Any]]:
        """Partitions whose position went on since; for those without records in between."""
        return {TopicPartition(*tp): [] for tp, now in self._positions().items() if before.get(tp, now) < now}

    def _take_back(self) -> None:
        """Set every position to the end of what was handed out."""
        for tp, now in self._positions().items():
            if self._ends.get(tp, now) != now:
                self._move(tp, self._ends[tp])

    # -- what was fetched ------------------------------------------------------------------------

    def _sorted(self, drained: Mapping[Any, Sequence[Any]], starts: Mapping[TP, int]) -> dict[TP, Fetched]:
        """Bring everything into its final form, and stamp it, before anything else can run."""
        now = self._positions()
        found = {}
        for topic_partition, items in drained.items():
            tp = TP(*topic_partition)
            if tp.topic in self._options.topics:
                items = self._as_slabs(tp, items, starts, now)  # noqa: PLW2901
            elif items and tp in now:
                self._ends[tp] = now[tp]
            found[tp] = Fetched(items, self.seeks.get(tp, 0))
        return found

    def _as_slabs(
        self, tp: TP, items: Sequence[Any], starts: Mapping[TP, int], now: Mapping[TP, int]
    ) -> Sequence[Slab]:
        made = [item for item in items if type(item) is Slab and item.end > item.start]
        records = [item for item in items if type(item) is not Slab]
        if (records or not items) and tp in now:
            start = starts.get(tp, records[0].offset if records else now[tp])
            made = list(join(tp, start, now[tp], records, fields=self._options.fields.get(tp.topic)))
            for slab in made:
                self._stamp(slab)
        if made:
            self._ends[tp] = made[-1].end
        return made

    def _too_large(self, error: RecordTooLargeError) -> dict[TP, Fetched]:
        """Only brokers before 0.10.1 do this; aiokafka has moved the position past the record."""
        log.warning("a record is larger than a fetch and is skipped: %s", error)
        tp, offset = TP(*error.args[1]), int(error.args[2])
        if tp.topic not in self._options.topics:
            return {}
        slab = Slab(*tp, offset, offset + 1, generation=-1, high_watermark=-1, skipped=1)
        self._stamp(slab)
        self._ends[tp] = slab.end
        return {tp: Fetched([slab], self.seeks.get(tp, 0))}

    async def _mend(self, tp: TP, damage: DamageError, found: dict[TP, Fetched]) -> None:
        """Read past a damaged batch, and let fetching go on behind it."""
        seeks, ours = self.seeks.get(tp, 0), tp.topic in self._options.topics
        read = await self._repair.read(tp, damage.position, one_batch=not ours)
        if self.seeks.get(tp, 0) != seeks or self._positions().get(tp) != damage.position:
            self._damaged.pop(tp, None)
            return
        if read.slabs and (ours or read.damaged):
            self._careful = 0
            self._move(tp, read.slabs[-1].end)
            self._tell_damage(tp, damage, sum(slab.skipped for slab in read.slabs) if ours else None)
        if ours:
            for slab in read.slabs:
                self._stamp(slab)
            found.setdefault(tp, Fetched([], seeks)).extend(read.slabs)

    def _tell_damage(self, tp: TP, damage: DamageError, skipped: int | None) -> None:
        what = "skipped" if skipped is None else f"{skipped} records skipped" if skipped else "read the slow way"
        self._tell(tp, f"{tp.topic}[{tp.partition}]: a damaged batch at offset {damage.position} ({damage}): {what}")


def _unreadable(error: Exception) -> bool:
    """Whether it was a parser that raised this, over bytes: not the cluster, nor a right that is missing."""
    return isinstance(error, CorruptRecordException | UnsupportedCodecError) or not isinstance(
        error, KafkaError | OSError
    )
