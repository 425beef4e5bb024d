"""The consumer that Faust drives in the main thread, and that the job asks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from faust.transport.drivers import aiokafka as driver
from faust.transport.utils import DefaultSchedulingStrategy
from faust.types import TP, ConsumerMessage

from hotshard.core.slab import Slab
from hotshard.errors import UnavailableError
from hotshard.job.transport.options import log
from hotshard.job.transport.thread import SlabThread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping

    from hotshard.job.transport.feed import Fetched
    from hotshard.job.transport.group import Group
    from hotshard.job.transport.options import Options

    #: Told the partitions just assigned; returns where to begin. What it leaves out begins at the committed offset.
    StartPositions = Callable[[frozenset[TP]], Awaitable[Mapping[TP, int]]]

_WAIT_S = 0.2
_IDLE_S = 0.05
_TRY_AGAIN_S = 1.0


class Listener(driver.ConsumerRebalanceListener):
    """Tells the thread before it tells Faust, and nobody when they are being stopped."""

    _thread: SlabThread

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> Any:  # noqa: ANN401 - aiokafka's signature
        self._thread.taken()
        return None if self._thread.should_stop else super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._thread.given(assigned)
        if not self._thread.should_stop:
            await super().on_partitions_assigned(assigned)


class NoReadOffsets(dict[TP, Any]):
    """Faust's memory of what it read last, kept empty.

    It drops what lies below, and is written after the fact, so that a seek in between would lose records. What is
    no longer wanted after a seek is dropped by :meth:`SlabConsumer.getmany`.
    """

    def __getitem__(self, _: TP) -> None:
        return None

    def __setitem__(self, _: TP, __: Any) -> None:  # noqa: ANN401
        """Forget it."""


class SlabConsumer(driver.Consumer):
    """``event.value`` is a Slab for the transport's topics, and the record's value for others.

    Faust's own commits are off. Positions are set once per assignment, to what :attr:`start_positions` returns, or
    to the committed offset, or to where ``consumer_auto_offset_reset`` of the app says; until then nothing is read.
    """

    RebalanceListener = Listener
    _thread: SlabThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Faust's signature
        super().__init__(*args, **kwargs)
        self.options: Options = self.transport.options  # type: ignore[attr-defined]  # ours is a SlabTransport
        self.start_positions: StartPositions | None = None
        self.scheduler = DefaultSchedulingStrategy()  # type: ignore[abstract]  # it has an __init__: object's
        self._read_offset = NoReadOffsets()
        self._placing: asyncio.Future[None] | None = None

    def _new_consumer_thread(self) -> SlabThread:
        return SlabThread(self, loop=self.loop, beacon=self.beacon)

    # -- what the job asks -----------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """The group generation of the assignment that was last told, 0 before the first."""
        return int(self.app.consumer_generation_id or 0)

    async def commit_once(self, offsets: Mapping[TP, int], generation: int) -> bool:
        """Commit in one attempt; False when the outcome is not known to be good. Never raises for the cluster.

        Sent only while this member is in that generation and holds all the partitions.
        """
        try:
            return await self._thread.ask(lambda group: group.commit_once(offsets, generation))
        except UnavailableError:
            return False

    async def committed(self, tps: Collection[TP]) -> Mapping[TP, int]:
        """Return the group's offsets; a partition without one is left out. Raises UnavailableError, RefusedError."""
        return await self._thread.ask(lambda group: group.committed(tps))

    async def earliest(self, tps: Collection[TP]) -> Mapping[TP, int]:
        """Return where each partition begins. Raises UnavailableError, RefusedError, MissingTopicError."""
        return await self._thread.ask(lambda group: group.edge(tps))

    async def latest(self, tps: Collection[TP]) -> Mapping[TP, int]:
        """Return where each partition ends; under read_committed, before the first open transaction."""
        return await self._thread.ask(lambda group: group.edge(tps, last=True))

    async def marks(self) -> Mapping[TP, tuple[int, int, int]]:
        """Return (position, end, generation) of each assigned partition where both are known.

        The position is the next offset that will be handed out, the end that of what can be read. Empty while there
        is no assignment in force.
        """
        try:
            return await self._thread.ask(_marks)
        except UnavailableError:
            return {}

    async def seek_back(self, offsets: Mapping[TP, int]) -> None:
        """Read on from these offsets; those of partitions that are not assigned are passed over.

        What was fetched before is dropped where it lies, except what an agent's queue holds already:
        :meth:`is_current` tells. Raises UnavailableError when reading has been stopped.
        """
        await self._thread.seek_back(offsets)

    def is_current(self, message: Any) -> bool:  # noqa: ANN401 - a Faust message
        """Whether what an agent was given is still wanted: no rebalance and no seek came after it was fetched."""
        return (
            self.flow_active
            and not self.app.rebalancing
            and message.generation_id == self.app.consumer_generation_id
            and message.checksum == self._thread.seeks.get(message.tp, 0)
        )

    # -- being given partitions ------------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        self._stop_placing()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        self._stop_placing()
        await super().on_partitions_assigned(assigned, generation_id)
        # not awaited: until the listener returns, the member sends no heartbeats
        self._placing = self.add_future(self._place(frozenset(assigned), self._thread.round))

    def _stop_placing(self) -> None:
        if self._placing is not None:
            self._placing.cancel()

    async def _place(self, assigned: frozenset[TP], round_: int) -> None:
        """Say where to begin, partition by partition, until all are placed or the round is over."""
        chosen: Mapping[TP, int] | None = None if self.start_positions else {}
        waiting = set(assigned)
        while waiting and round_ == self._thread.round:
            try:
                if chosen is None and self.start_positions is not None:
                    chosen = await self.start_positions(assigned)
                for ask in (self._known, self._edges):
                    found = await ask(waiting, chosen or {})
                    if not await self._thread.place(found, round_):
                        return
                    waiting -= found.keys()
            except Exception as error:  # noqa: BLE001 - the job's code and the cluster; until it works nothing is read
                self.options.says.waiting("where to begin reading", f"{type(error).__name__}: {error}")
                await asyncio.sleep(_TRY_AGAIN_S)
        self.options.says.well("where to begin reading")

    async def _known(self, tps: Collection[TP], chosen: Mapping[TP, int]) -> Mapping[TP, int]:
        rest = [tp for tp in tps if tp not in chosen]
        return {**await self.committed(rest), **{tp: chosen[tp] for tp in tps if tp in chosen}}

    async def _edges(self, tps: Collection[TP], _: Mapping[TP, int]) -> Mapping[TP, int]:
        return await (self.latest if self.app.conf.consumer_auto_offset_reset == "latest" else self.earliest)(tps)

    async def perform_seek(self) -> None:
        """Positions are set by :meth:`_place`."""

    # -- handing out -----------------------------------------------------------------------------

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, ConsumerMessage]]:  # noqa: ASYNC109 - Faust's
        """Yield what was fetched and is still wanted.

        Unlike Faust's, it loses nothing when a partition is paused in between, nor when the cluster is away.
        """
        if not self.flow_active:
            await self.wait(self.can_resume_flow)  # type: ignore[arg-type]  # any event will do
        active = frozenset(self._get_active_partitions())
        if not active or self.should_stop:
            await asyncio.sleep(_IDLE_S)  # Faust's own sleep returns at once when it has crashed
            return
        found = await self._fetched(active, min(timeout, _WAIT_S))
        for tp, item in self.scheduler.iterate(found):
            if not self.flow_active or self.should_stop:
                return
            if found[tp].seeks == self._thread.seeks.get(tp, 0):
                yield tp, self._message(tp, item, found[tp].seeks)

    async def _fetched(self, active: frozenset[TP], wait_s: float) -> Mapping[TP, Fetched]:
        try:
            return await self._thread.fetch(active, wait_s)
        except Exception as error:  # noqa: BLE001 - nothing of this may end the worker
            if not self.should_stop:
                self.options.says.waiting("the source", f"{type(error).__name__}: {error}")
                log.debug("a fetch failed", exc_info=True)
            await asyncio.sleep(_TRY_AGAIN_S)
            return {}

    def _message(self, tp: TP, item: Any, seeks: int) -> ConsumerMessage:  # noqa: ANN401 - Slab or ConsumerRecord
        if type(item) is not Slab:
            message = self._to_message(tp, item)
            message.checksum = seeks  # type: ignore[assignment]  # see is_current
            return message
        return ConsumerMessage(
            tp.topic,
            tp.partition,
            item.end - 1,
            0.0,
            0,
            None,
            None,
            item,  # type: ignore[arg-type]  # the schema lets it through
            seeks,  # type: ignore[arg-type]
            0,
            0,
            tp,
            generation_id=item.generation,
        )

    # -- what Faust would do by itself -----------------------------------------------------------

    def assignment(self) -> set[TP]:
        return set() if self._thread.group is None else super().assignment()

    async def commit(self, *_: Any, **__: Any) -> bool:  # noqa: ANN401 - Faust's signature
        """Commit nothing: the job commits, once, what it has published."""
        return False

    async def wait_empty(self) -> None:
        """There is nothing to wait for: what is not committed is read again."""

    async def verify_all_partitions_active(self) -> None:
        """Faust's look for stopped partitions compares two different clocks."""

    def on_buffer_full(self, tp: TP) -> None:
        """A full queue holds up the one who fills it; partitions are not taken out and put back for it."""

    def on_buffer_drop(self, tp: TP) -> None:
        """See :meth:`on_buffer_full`."""


async def _marks(group: Group) -> Mapping[TP, tuple[int, int, int]]:
    return group.marks()
