"""The course of the demo: a flood while the worker looks on, the same flood while it acts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from hotshard.core.topic import Mode
from hotshard.demo.cast import SMALL_TENANT
from hotshard.demo.measures import Half, Outcome, half, seconds_between
from hotshard.demo.scene import Act, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.demo.cast import Cast
    from hotshard.demo.paced import PacedConsumer
    from hotshard.demo.script import Script
    from hotshard.demo.seen import Flood, Seen
    from hotshard.demo.show import Show
    from hotshard.demo.traffic import Traffic
    from hotshard.demo.watch import RegistryWatch
    from hotshard.doors.clock import Clock

_LOOK_S: Final = 0.05
_DRAW_S: Final = 0.25
#: The load shown is that of one second, up to so long ago, as the newest records are still on their way.
_SHOWN_MS: Final = 1000
_AGO_MS: Final = 300


class Worker(Protocol):
    """The worker under show."""

    async def start(self, mode: Mode) -> None:
        """Start it and wait until it is at work; UnavailableError when it does not come up."""
        ...

    async def stop(self) -> None:
        """Ask it to end, and wait for that."""
        ...


class Stage:
    """Plays once. What is handed in runs beside it."""

    def __init__(  # noqa: PLR0913 - all by name
        self,
        *,
        cast: Cast,
        script: Script,
        traffic: Traffic,
        consumer: PacedConsumer,
        seen: Seen,
        watch: RegistryWatch,
        worker: Worker,
        clock: Clock,
    ) -> None:
        self._cast = cast
        self._script = script
        self._traffic = traffic
        self._consumer = consumer
        self._seen = seen
        self._watch = watch
        self._worker = worker
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._act = Act.WORKER
        self._mode = Mode.SHADOW
        self._before: Half | None = None
        self._after: Half | None = None

    async def play(self) -> Outcome:
        """From the first start of the worker to the last record that matters."""
        await self._worker.start(self._mode)
        self._act = Act.CALM
        await asyncio.sleep(self._script.calm_s)
        first = await self._flood(Act.FIRST_FLOOD)
        self._act = Act.COOLING
        await self._until(lambda: self._cast.flood_key not in self._watch.hot, self._script.cool_within_s)
        await self._switch()
        await self._until(lambda: not self._backlog(), self._script.drain_within_s)
        self._before = self._measure(first)
        second = await self._flood(Act.SECOND_FLOOD)
        self._act = Act.LAST
        await self._until(lambda: self._handled(second), self._script.drain_within_s)
        self._after = self._measure(second)
        return self._outcome(second)

    async def show_forever(self, show: Show) -> None:
        """Draw until cancelled."""
        while True:
            show.draw(self.scene())
            await asyncio.sleep(_DRAW_S)

    def scene(self) -> Scene:
        """Return this moment."""
        to_ms = self._clock.now_ms() - _AGO_MS
        flood = self._seen.floods[-1] if self._seen.floods else None
        return Scene(
            act=self._act,
            mode=self._mode,
            elapsed_s=self._clock.monotonic_s() - self._began_s,
            loads=tuple(self._seen.loads(to_ms - _SHOWN_MS, to_ms)),
            waiting=tuple(self._consumer.waiting),
            flooded=self._cast.flooded,
            small_tenant=SMALL_TENANT,
            small_wait_ms=self._seen.small_wait_ms,
            flood_key=self._cast.flood_key,
            hot=self._watch.hot.get(self._cast.flood_key),
            detect_s=None if flood is None else self._detect_s(flood),
            route=self._watch.routes.get(self._cast.flood_key),
            apply_s=None if flood is None else self._apply_s(flood),
            before=self._before,
            after=self._after,
        )

    async def _flood(self, act: Act) -> Flood:
        self._act = act
        flood = self._seen.begin_flood(self._clock.now_ms())
        self._traffic.start_flood()
        await asyncio.sleep(self._script.flood_s)
        self._traffic.stop_flood()
        flood.ended_ms = self._clock.now_ms()
        return flood

    async def _switch(self) -> None:
        self._act = Act.SWITCHING
        await self._worker.stop()
        self._mode = Mode.ACTIVE
        await self._worker.start(self._mode)
        await asyncio.sleep(self._script.calm_s)

    async def _until(self, condition: Callable[[], bool], within_s: float) -> None:
        """Wait for a condition, but go on without it after a while: the summary says what then was not seen."""
        until_s = self._clock.monotonic_s() + within_s
        while not condition() and self._clock.monotonic_s() < until_s:  # noqa: ASYNC110 - of pure state, no events
            await asyncio.sleep(_LOOK_S)

    def _backlog(self) -> bool:
        """Whether the flooded partition still has a backlog: more than its desk handles in a tenth of a second."""
        return self._consumer.waiting[self._cast.flooded] > self._script.handled_per_s / 10

    def _handled(self, flood: Flood) -> bool:
        """Whether everything sent before the flood's end was handled on the flooded partition."""
        next_ms = self._consumer.next_ms(self._cast.flooded)
        return flood.ended_ms is None or next_ms is None or next_ms >= flood.ended_ms

    def _measure(self, flood: Flood) -> Half | None:
        return half(self._seen, flood, round(self._script.settled_s * 1000), self._clock.now_ms())

    def _entered_ms(self, flood: Flood) -> int | None:
        return self._watch.entered_ms(self._cast.flood_key, flood.asked_ms)

    def _detect_s(self, flood: Flood) -> float | None:
        return seconds_between(flood.first_ms, self._entered_ms(flood))

    def _apply_s(self, flood: Flood) -> float | None:
        return seconds_between(self._entered_ms(flood), flood.suffixed_ms)

    def _outcome(self, flood: Flood) -> Outcome:
        detect_s = self._detect_s(flood)
        return Outcome(
            records=self._seen.records,
            detected_key=None if detect_s is None else self._cast.flood_key.decode(),
            detect_s=detect_s,
            apply_s=self._apply_s(flood),
            before=self._before,
            after=self._after,
        )
