"""The thread in which aiokafka's consumer lives: started, tended and stopped so that no outage ends the worker."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import aiokafka
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from faust.transport.consumer import ensure_TPset
from faust.transport.drivers import aiokafka as driver
from mode import Service

from hotshard.errors import UnavailableError
from hotshard.job.transport.allocator import keep_freed_memory
from hotshard.job.transport.feed import Feed
from hotshard.job.transport.group import Group

if TYPE_CHECKING:
    import concurrent.futures
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from faust.types import TP

    from hotshard.job.transport.feed import Fetched
    from hotshard.job.transport.options import Options

_T = TypeVar("_T")

_TRY_AGAIN_S = 1.0
_TEND_EVERY_S = 0.5
_MISSED = 6
_STOP_WITHIN_S = 3.0
_CLOSE_WITHIN_S = 1.0


class SlabThread(driver.AIOKafkaConsumerThread):
    """Owns the ``AIOKafkaConsumer``. What the main thread asks of it goes through :meth:`inside`."""

    options: Options

    def __post_init__(self) -> None:
        super().__post_init__()
        self.options = self.transport.options  # type: ignore[attr-defined]  # ours is a SlabTransport
        self.seeks: dict[TP, int] = {}
        #: Counts up whenever partitions are taken away or given.
        self.round = 0
        self.feed: Feed | None = None
        self.group: Group | None = None
        self._topics: set[str] = set()
        #: So many looks in a row found no coordinator of the group.
        self._missed = 0
        self._pending: set[concurrent.futures.Future[Any]] = set()

    @property
    def _kafka(self) -> str:
        return f"Kafka at {self.options.connection.address}"

    # -- start and stop --------------------------------------------------------------------------

    async def on_start(self) -> None:
        self.time_started = monotonic()
        await self._connect()

    async def _connect(self) -> None:
        """Start a consumer; while that does not succeed, wait and say so. Returns without one when stopped."""
        while not self.should_stop:
            consumer = self._create_consumer(self.thread_loop)
            try:
                await self._unless_stopped(consumer.start())
                self.group = Group(consumer, self.options)
                self.feed = Feed(consumer, self.group, self.options, self.seeks)
                if self._topics:
                    consumer.subscribe(topics=self._topics, listener=self._rebalance_listener)
            except Exception as error:  # noqa: BLE001 - nothing of this may end the worker
                self.feed = self.group = None
                await self._end(consumer)
                if not self.should_stop:
                    self.options.says.waiting(self._kafka, f"{type(error).__name__}: {error}")
                    await self.sleep(_TRY_AGAIN_S)
            else:
                self.options.says.well(self._kafka)
                self._consumer = consumer
                return

    async def _unless_stopped(self, step: Coroutine[Any, Any, None]) -> None:
        """Await ``step``, but not beyond the moment at which this thread is told to stop."""
        doing, stopped = asyncio.ensure_future(step), asyncio.ensure_future(self._stopped.wait())
        await asyncio.wait({doing, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not doing.done():
            doing.cancel()
            raise UnavailableError("reading is being stopped")
        await doing

    async def subscribe(self, topics: Iterable[str]) -> None:
        self._topics = set(topics)
        await super().subscribe(self._topics)

    async def on_thread_stop(self) -> None:
        consumer, self._consumer, self.feed, self.group = self._consumer, None, None, None
        if consumer is not None:
            await self._end(consumer)
        await super().on_thread_stop()

    async def _end(self, consumer: Any) -> None:  # noqa: ANN401 - aiokafka has no types
        """Leave the group and close; within 4 s, whatever the cluster does."""
        await _bounded(consumer.stop(), _STOP_WITHIN_S)
        # stopping may have failed, or been cut off, before it came to the connections
        await _bounded(consumer._client.close(), _CLOSE_WITHIN_S)  # noqa: SLF001

    def _start_thread(self) -> None:
        keep_freed_memory()
        try:
            super()._start_thread()
        finally:
            for future in [*self._pending]:
                future.cancel()

    def close(self) -> None:
        """Nothing is closed from outside the thread: stopping does it."""

    # -- being asked by the main thread ----------------------------------------------------------

    async def inside(self, step: Coroutine[Any, Any, _T]) -> _T:
        """Run ``step`` in the thread's loop. Raises UnavailableError when the thread has ended."""
        try:
            future = asyncio.run_coroutine_threadsafe(step, self.thread_loop)
        except RuntimeError:
            step.close()
            raise UnavailableError("reading has been stopped") from None
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise UnavailableError("reading has been stopped") from None

    async def ask(self, question: Callable[[Group], Coroutine[Any, Any, _T]]) -> _T:
        """Put a question to the consumer group, in the thread's loop."""

        async def put() -> _T:
            if self.group is None:
                raise UnavailableError("Kafka has not answered yet")
            return await question(self.group)

        return await self.inside(put())

    async def fetch(self, active: frozenset[TP], timeout_s: float) -> Mapping[TP, Fetched]:
        async def fetch() -> Mapping[TP, Fetched]:
            if self.feed is None:
                await asyncio.sleep(timeout_s)
                return {}
            return await self.feed.fetch(active, timeout_s)

        return await self.inside(fetch())

    async def place(self, positions: Mapping[TP, int], round_: int) -> bool:
        """Set positions and begin to fetch there; False, and nothing done, when the round is over."""

        async def place() -> bool:
            if round_ != self.round or self.feed is None or self.group is None or self.group.assignment is None:
                return False
            for tp, position in positions.items():
                self.feed.seek(tp, position)
                self._ensure_consumer().resume(aiokafka.TopicPartition(*tp))
            return True

        return await self.inside(place())

    async def seek_back(self, positions: Mapping[TP, int]) -> None:
        """Set positions of those that are assigned; where fetching has not begun yet, it still does not."""

        async def seek() -> None:
            assignment = None if self.group is None else self.group.assignment
            for tp, position in positions.items():
                if self.feed is not None and assignment is not None and tp in assignment.tps:
                    self.feed.seek(tp, position)

        await self.inside(seek())

    # -- the group -------------------------------------------------------------------------------

    def taken(self) -> None:
        """Partitions are being taken away."""
        self.round += 1

    def given(self, assigned: Iterable[Any]) -> None:
        """Partitions were given: nothing of them is fetched before :meth:`place` says where to begin."""
        self.round += 1
        if self._consumer is not None:
            self._consumer.pause(*assigned)

    def highwater(self, tp: TP) -> int:
        """Faust's display only: never raises, 0 when not known."""
        if self.group is None:
            return 0
        return self.group.marks().get(tp, (0, 0, 0))[1]

    @Service.task
    async def _tend(self) -> None:
        """Notice what aiokafka only tells those who ask, and what it does not survive."""
        while not self.should_stop:
            await self.sleep(_TEND_EVERY_S)
            consumer = self._consumer
            if consumer is None or self.should_stop:
                continue
            try:
                if _dead(consumer):
                    await self._replace(consumer)
                else:
                    consumer._coordinator.check_errors()  # noqa: SLF001 - until asked, the coordinator waits
                    self._say_whether_there(consumer)
            except Exception as error:  # noqa: BLE001 - nothing of this may end the worker
                self.options.says.waiting("the consumer group", f"{type(error).__name__}: {error}")
                await self.sleep(_TRY_AGAIN_S)
                consumer._coordinator.request_rejoin()  # noqa: SLF001

    def _say_whether_there(self, consumer: Any) -> None:  # noqa: ANN401
        """Losing the group's coordinator is the first that is noticed of an outage; aiokafka only logs it.

        For a moment it is lost at every start, and when the group moves to another broker.
        """
        if consumer._coordinator.coordinator_id is not None:  # noqa: SLF001
            self._missed = 0
            self.options.says.well(self._kafka)
            return
        self._missed += 1
        if self._missed >= _MISSED:
            self.options.says.waiting(self._kafka, "it does not answer; reading goes on when it does")

    async def _replace(self, old: Any) -> None:  # noqa: ANN401
        """Put a new consumer in the place of one whose tasks have died."""
        self.options.says.waiting("the consumer", "it has failed and is replaced")
        assigned = ensure_TPset(old.assignment())
        self.taken()
        self.app.on_rebalance_start()
        await self.on_partitions_revoked(assigned)
        self.feed = self.group = None
        await self._end(old)
        await self._connect()
        self.options.says.well("the consumer")

    # -- making one ------------------------------------------------------------------------------

    def _create_worker_consumer(self, transport: Any) -> Any:  # noqa: ANN401, ARG002 - Faust's signature
        conf, options = self.app.conf, self.options
        self._assignor = RoundRobinPartitionAssignor
        return aiokafka.AIOKafkaConsumer(
            client_id=conf.broker_client_id,
            group_id=conf.id,
            group_instance_id=conf.consumer_group_instance_id,
            partition_assignment_strategy=[self._assignor],
            enable_auto_commit=False,
            # where a position is no longer there, records were deleted, or the topic was made again
            auto_offset_reset="earliest",
            max_poll_interval_ms=int((conf.broker_max_poll_interval or 0) * 1000),
            max_partition_fetch_bytes=conf.consumer_max_fetch_size,
            fetch_min_bytes=options.fetch_min_bytes,
            fetch_max_wait_ms=options.fetch_max_wait_ms,
            check_crcs=conf.broker_check_crcs,
            session_timeout_ms=int(conf.broker_session_timeout * 1000),
            rebalance_timeout_ms=int(conf.broker_rebalance_timeout * 1000),
            heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
            isolation_level=options.isolation_level,
            **{
                "request_timeout_ms": int(conf.broker_request_timeout * 1000),
                "metadata_max_age_ms": conf.consumer_metadata_max_age_ms,
                "connections_max_idle_ms": conf.consumer_connections_max_idle_ms,
                **options.connection.client_kwargs(),
            },
        )


async def _bounded(step: Coroutine[Any, Any, None], within_s: float) -> None:
    """Run ``step`` so long at most, whatever it raises, CancelledError included."""
    task = asyncio.ensure_future(step)
    await asyncio.wait({task}, timeout=within_s)
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=within_s)
    if task.done() and not task.cancelled():
        task.exception()


def _dead(consumer: Any) -> bool:  # noqa: ANN401
    """Whether a task has ended that aiokafka cannot do without."""
    tasks = (consumer._fetcher._fetch_task, consumer._coordinator._coordination_task, consumer._client._sync_task)  # noqa: SLF001
    return not consumer._closed and any(task is not None and task.done() for task in tasks)  # noqa: SLF001
