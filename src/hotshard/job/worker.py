"""A worker: two Faust apps in one process, observe on the mirror and decide on hotshard's own topics."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hotshard.core.deciding.decider import Setup, TopicDecider
from hotshard.doors.clock import Clock, SystemClock
from hotshard.doors.kafka.groups import Begun, RealGroups
from hotshard.doors.kafka.real import AioKafka
from hotshard.doors.redis.real import RedisRegistry
from hotshard.errors import HotshardError, UnavailableError
from hotshard.job.apps import decide_app, observe_app, observe_group
from hotshard.job.commands import CommandReader
from hotshard.job.decide import Deciding, Seating
from hotshard.job.lagging import LagReader
from hotshard.job.observe import Observer, Observing
from hotshard.job.registry import RegistryKeeper
from hotshard.job.routed import Routed, follow_state
from hotshard.job.says import Says
from hotshard.job.seat import OwnTopics, Seat, SeatDoors
from hotshard.job.sources import Recount, Watched, look_up

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Coroutine

    import faust

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.route import Route
    from hotshard.core.wire.state import TopicHead
    from hotshard.doors.kafka.contract import Kafka, Speaker
    from hotshard.settings.model import Settings

log = logging.getLogger("hotshard.worker")

_Answer = TypeVar("_Answer")

_AGAIN_S: Final = 1.0
#: SIGTERM ends a worker within 10 s: what is open is cut in the first part, the rest is for leaving the groups.
FINISH_S: Final = 3.0
STOP_S: Final = 5.0


class Worker:
    """Everything one process runs. ``start`` waits for what is missing; ``stop`` ends within 10 s."""

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._says = Says(self._clock)
        self._name = settings.worker.worker_name
        self._mirror = AioKafka(settings.mirror)
        self._production = AioKafka(settings.production)
        self._output: Kafka = AioKafka(settings.output)
        own = settings.own_topics
        self._topics = OwnTopics(panes=own.panes, state=own.state, windows=own.windows, events=own.events)
        self._publisher = self._output.publisher()
        self._reader = self._output.reader()
        self._admin = self._output.admin()
        self._routed = Routed()
        self._keeper = RegistryKeeper(self._make_registry(), self._says)
        self._tasks: set[asyncio.Task[None]] = set()
        self._apps: list[faust.App] = []

    async def start(self) -> None:
        """Look everything up, and begin to observe and to decide."""
        await self._ensure_topics()
        watched = await self._look_up()
        self.observer = self._make_observer(watched, await self._begin_groups(watched))
        self.deciding = self._make_deciding(watched)
        self._spawn("state", lambda: follow_state(self._reader, self._topics.state, self._routed, self._says))
        self._spawn("registry", self._keeper.run)
        self._spawn("decide", self.deciding.decide_forever)
        self._spawn("partitions", partial(self._recount, watched))
        # A connection of its own: what goes wrong with one of them does not close the other's.
        self.commands = CommandReader(self._make_registry(), self.deciding, clock=self._clock, says=self._says)
        self._spawn("commands", self.commands.run)
        self.lag = LagReader(self._production.admin(), self.deciding, clock=self._clock, says=self._says)
        self._spawn("lag", self.lag.run)
        # Side by side, for joining a group takes a while, and one of the clusters may be away.
        await asyncio.gather(
            self._start_app(decide_app(self._settings, self.deciding, self._says)),
            self._start_app(observe_app(self._settings, tuple(watched.sources), self.observer, self._says)),
        )
        self._spawn("cut", self.observer.cut_forever)
        self._spawn("progress", self.observer.tell_progress_forever)
        for name, source in sorted(watched.sources.items()):
            spec = source.spec
            log.info("worker %s watches %s (mode %s, ordering %s)", self._name, name, spec.mode, spec.ordering)

    async def failed(self) -> BaseException:
        """Wait until a Faust app has ended by a fault of its own; nothing of it goes on then."""
        while True:
            for app in self._apps:
                if app.crashed:
                    return app.crash_reason or RuntimeError("a Faust app has ended")
            await asyncio.sleep(_AGAIN_S)

    async def stop(self) -> None:
        """Cut what is open, leave the groups, close every connection."""
        for task in self._tasks:
            if task.get_name() in {"cut", "progress"}:
                task.cancel()
        if hasattr(self, "observer"):
            await _within(FINISH_S, self.observer.finish())
        await _within(STOP_S, *(app.stop() for app in self._apps))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "deciding"):
            await _within(1.0, self.deciding.revoked(), self.commands.close(), self.lag.close())
        await _within(1.0, self._publisher.stop(), self._reader.stop(), self._admin.stop(), self._keeper.close())

    # -- before anything runs --------------------------------------------------------------------

    async def _ensure_topics(self) -> None:
        own = self._settings.own_topics
        for wanted in own.wanted():
            exact = wanted.name in {own.panes, own.state}
            await self._waited(partial(self._admin.ensure, wanted, exact=exact))

    async def _look_up(self) -> Watched:
        mirror, production = self._mirror.admin(), self._production.admin()
        try:
            return await look_up(self._settings.topic_specs(), mirror, production, self._says)
        finally:
            await mirror.stop()
            await production.stop()

    async def _begin_groups(self, watched: Watched) -> frozenset[str]:
        """A new group begins at the end of its topics, and has committed that before its first member joins.

        Returns the sources that are new to a group with members, whose beginning the observer commits.
        """
        groups, group = RealGroups(self._mirror.link), observe_group(self._settings)
        begun = {name: await self._waited(partial(groups.begin_at_end, group, name)) for name in watched.sources}
        for name in (name for name, how in begun.items() if how is not Begun.BEFORE):
            log.info("%s is new to group %s, which begins at its end", name, group)
        return frozenset(name for name, how in begun.items() if how is Begun.BY_MEMBERS)

    async def _waited(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Call until Kafka answers."""
        while True:
            try:
                answer = await call()
            except UnavailableError as error:
                self._says.waiting("Kafka", error)
                await asyncio.sleep(_AGAIN_S)
            else:
                self._says.well("Kafka")
                return answer

    def _make_registry(self) -> RedisRegistry:
        redis = self._settings.redis
        return RedisRegistry(redis.url, namespace=self._settings.worker.namespace, options=redis.options())

    # -- the two halves --------------------------------------------------------------------------

    def _make_observer(self, watched: Watched, new: frozenset[str]) -> Observer:
        worker = self._settings.worker
        what = Observing(
            sources=watched.sources,
            worker=self._name,
            panes_topic=self._topics.panes,
            window_ms=worker.window_ms,
            pane_ms=worker.pane_ms,
            new=new,
        )
        return Observer(what, publisher=self._publisher, routed=self._routed, clock=self._clock, says=self._says)

    def _make_deciding(self, watched: Watched) -> Deciding:
        specs = {spec.name: spec for spec in self._settings.topic_specs()}

        def make_decider(topic: str, head: TopicHead | None, routes: Collection[Route]) -> TopicDecider:
            setup = self._setup(specs[topic], watched)
            return TopicDecider(setup, head, routes, now_ms=self._clock.now_ms())

        def make_seat(partition: int) -> Seat:
            return Seat(
                partition,
                topics=self._topics,
                doors=SeatDoors(self._make_speaker(partition), self._reader, self._admin),
                make=make_decider,
            )

        seating = Seating(
            panes_topic=self._topics.panes,
            partitions=self._settings.own_topics.partitions,
            topics=tuple(specs),
            make_seat=make_seat,
        )
        return Deciding(seating, keeper=self._keeper, clock=self._clock, says=self._says)

    def _setup(self, spec: TopicSpec, watched: Watched) -> Setup:
        """What a decider is made with, by what is known of the clusters now."""
        return Setup(
            spec=spec,
            partitions=watched.partitions[spec.name],
            sources={name: watched.sources[name].partitions for name in spec.sources},
            namespace=self._settings.worker.namespace,
            window_ms=self._settings.worker.window_ms,
            grace_ms=self._settings.worker.grace_ms,
        )

    async def _recount(self, watched: Watched) -> None:
        """Look again and again how many partitions production has; a topic that has others is decided on anew."""
        mirror, production = self._mirror.admin(), self._production.admin()
        try:
            await Recount(watched, mirror, production, self._says, self.deciding.renew).run()
        finally:
            await mirror.stop()
            await production.stop()

    def _make_speaker(self, partition: int) -> Speaker:
        """The holder of a seat's transactional id: the same for every worker, so that a new owner fences the old."""
        worker = self._settings.worker
        return self._output.speaker(
            f"hotshard-{worker.namespace}-{worker.group}-{partition}", transactional=worker.transactions
        )

    async def _start_app(self, app: faust.App) -> None:
        self._apps.insert(0, app)
        await app.start()

    def _spawn(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.add(asyncio.create_task(self._kept_up(name, work), name=name))

    async def _kept_up(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a loop that never ends; where a fault of ours ends it, say so and begin it again."""
        while True:
            try:
                await work()
            except Exception as fault:  # noqa: BLE001 - whatever it is
                self._says.failed(f"the worker's loop {name} has failed and begins again", fault)
            await asyncio.sleep(_AGAIN_S)


async def _within(seconds: float, *steps: Coroutine[Any, Any, Any]) -> None:
    """Let each step have its time; one that fails or takes longer is left."""
    try:
        async with asyncio.timeout(seconds):
            for result in await asyncio.gather(*steps, return_exceptions=True):
                if isinstance(result, HotshardError):
                    log.info("while stopping: %s", result)
                elif isinstance(result, Exception):
                    log.warning("while stopping: %s: %s", type(result).__name__, result)
    except TimeoutError:
        log.info("while stopping: left what was not done after %.0f s", seconds)
