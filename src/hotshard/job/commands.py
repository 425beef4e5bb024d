"""Hearing what people command: the registry's commands stream is read all the while, for the topics decided on here."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from hotshard.errors import HotshardError, UnavailableError
from hotshard.job.quiet import Teller

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.wire.command import Page, StreamId
    from hotshard.doors.clock import Clock
    from hotshard.doors.redis.contract import RegistryDoor
    from hotshard.job.decide import Deciding
    from hotshard.job.says import Says

log = logging.getLogger("hotshard.commands")

#: The stream is looked at this often. An incident is no time to wait.
LOOK_S: Final = 0.5
#: After a failure.
RETRY_S: Final = 1.0
#: Entries read at a time, and how often in turn before others get to work.
_AT_ONCE: Final = 100
_TURNS: Final = 20
_SUBJECT: Final = "the commands in Redis"


class CommandReader:
    """Hands commands to the deciders that may speak. Where each of them stands, it knows itself, from the state.

    No outage of Redis and nothing that stands in the stream stops it.
    """

    def __init__(self, door: RegistryDoor, deciding: Deciding, *, clock: Clock, says: Says) -> None:
        self._door = door
        self._deciding = deciding
        self._clock = clock
        self._says = says
        self._tell = Teller(log)
        #: Entries that were no commands.
        self.damaged = 0

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            error = await self.read_safely()
            if error is None:
                self._says.well(_SUBJECT)
            elif not isinstance(error, UnavailableError):  # that Redis is away is said by whoever keeps it
                self._says.waiting(_SUBJECT, error)
            await asyncio.sleep(LOOK_S if error is None else RETRY_S)

    async def read_safely(self) -> HotshardError | None:
        """Read; after a failure, which is returned, the stream is read again from its start, for it may be another."""
        try:
            await self.read_once()
        except HotshardError as error:
            for decider in self._deciding.speaking():
                decider.read_commands_again()
            return error
        return None

    async def read_once(self) -> None:
        """Read to the end of the stream as of now; a long one is gone on with the next time."""
        for _ in range(_TURNS):
            if not await self._read_on():
                return

    async def close(self) -> None:
        await self._door.close()

    async def _read_on(self) -> bool:
        """Read one page for every place that deciders stand at; whether there is more to be read."""
        more = False
        for place in self._places():
            page = await self._door.commands(place, _AT_ONCE)
            self._note(page)
            # While Redis was asked, seats may have come and gone: only those that stand here follow on from it.
            standing = [each for each in self._deciding.speaking() if each.commands_after == place]
            for decider in standing:
                decider.command(page, self._clock.now_ms())
            if standing and page.entries:
                self._deciding.look()
            more = more or any(page.newest != each.commands_after for each in standing)
        return more

    def _places(self) -> Iterable[StreamId]:
        return sorted({place for each in self._deciding.speaking() if (place := each.commands_after) is not None})

    def _note(self, page: Page) -> None:
        for heard in page.entries:
            if heard.command is None:
                self.damaged += 1
                self._tell("damaged", f"command {heard.id} is left alone: {heard.fault}")
