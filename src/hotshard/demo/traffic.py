"""The producers: the crowd and the small tenant on one, the tenant that floods on another, both through ``shard``."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from hotshard.demo.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from hotshard.demo.cast import Cast
    from hotshard.doors.clock import Clock

#: Sending is looked after this often.
TICK_S: Final = 0.01
_VALUE: Final = b'{"kind":"message","text":"%s"}' % (b"." * 80)
_SEED: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Records a second. The flood is 35 % of everything while it lasts."""

    crowd: float = 1970.0
    small: float = 30.0
    flood: float = 1080.0

    @property
    def flooded(self) -> float:
        """All of it during a flood."""
        return self.crowd + self.small + self.flood


class Sender(Protocol):
    """What is used of a producer."""

    async def send(self, topic: str, value: bytes, *, key: bytes) -> Awaitable[object]: ...


class Traffic:
    """Sends at steady rates until cancelled; the flood is turned on and off."""

    def __init__(self, cast: Cast, rates: Rates, topic: str, clock: Clock) -> None:
        self._cast = cast
        self._rates = rates
        self._topic = topic
        self._clock = clock
        self._flooding = asyncio.Event()
        #: Records handed to a producer, and those that it could not deliver.
        self.sent = 0
        self.failed = 0

    async def run(self, crowd: Sender, flood: Sender) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_up(crowd, self._cast.crowd_keys(_SEED), self._rates.crowd))
            group.create_task(self._keep_up(crowd, itertools.repeat(self._cast.small_key), self._rates.small))
            group.create_task(self._flood(flood))

    def start_flood(self) -> None:
        self._flooding.set()

    def stop_flood(self) -> None:
        self._flooding.clear()

    async def _flood(self, sender: Sender) -> None:
        keys = itertools.repeat(self._cast.flood_key)
        while True:
            await self._flooding.wait()
            await self._keep_up(sender, keys, self._rates.flood, while_set=self._flooding)

    async def _keep_up(
        self, sender: Sender, keys: Iterator[bytes], per_s: float, while_set: asyncio.Event | None = None
    ) -> None:
        pace = Pace(per_s, self._clock.monotonic_s())
        while while_set is None or while_set.is_set():
            for key in itertools.islice(keys, pace.due(self._clock.monotonic_s())):
                await self._send(sender, key)
            await asyncio.sleep(TICK_S)

    async def _send(self, sender: Sender, key: bytes) -> None:
        delivery = asyncio.ensure_future(await sender.send(self._topic, _VALUE, key=key))
        delivery.add_done_callback(self._delivered)
        self.sent += 1

    def _delivered(self, delivery: asyncio.Future[object]) -> None:
        if not delivery.cancelled() and delivery.exception() is not None:
            self.failed += 1
