"""Several workers of one group on one machine, one process each, under one supervisor.

A process that ends, or cannot be started, is started again after a while; a signal to stop (SIGTERM, SIGINT, SIGHUP) is
passed on to all as SIGTERM. Their logs go where the
supervisor's go, each line with the number of its process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger("hotshard.supervisor")

#: How a process knows that it is one of several: its number, and who started it.
NUMBER: Final = "HOTSHARD_PROCESS"
PARENT: Final = "HOTSHARD_SUPERVISOR"
#: A worker ends within 10 s of being asked to.
STOP_S: Final = 15.0
#: What a process ends with when its settings are wrong: the others have the same.
WRONG_USE: Final = 2
_STOPPED: Final = 0
_NOT_STARTED: Final = (
    "process %d could not be started (%s); it needs free memory, a process (ulimit -u), open files (ulimit -n) and %s;"
    " it is tried again in %.0f s"
)


class BackOff:
    """How long to wait before a process is started again: longer each time, at once after it ran for a while."""

    #: Who ran so long did well.
    WELL_S: Final = 60.0

    def __init__(self, first_s: float = 1.0, most_s: float = 30.0) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._next_s = first_s

    def wait_s(self, ran_s: float) -> float:
        """The seconds to wait after it ran for ``ran_s``."""
        if ran_s >= self.WELL_S:
            self._next_s = self._first_s
        wait_s, self._next_s = self._next_s, min(2 * self._next_s, self._most_s)
        return wait_s


def is_orphan() -> bool:
    """Whether this process was started by a supervisor that is gone."""
    parent = os.environ.get(PARENT, "")
    return parent.isdecimal() and os.getppid() != int(parent)


def run_processes(commands: Sequence[Sequence[str]]) -> int:
    """Run every command until a signal to stop (0 then), or until one says that its settings are wrong (2)."""
    logging.basicConfig(
        level="INFO", stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    return asyncio.run(_Supervisor(commands).run())


class _Supervisor:
    def __init__(self, commands: Sequence[Sequence[str]]) -> None:
        self._commands = commands
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._ending = asyncio.Event()
        self._code = _STOPPED

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup SIGHUP is ignored, and stays so.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, self._ending.set)
        kept = [asyncio.create_task(self._keep(number)) for number in range(1, len(self._commands) + 1)]
        await self._ending.wait()
        self._tell_all(signal.SIGTERM)
        _, late = await asyncio.wait(kept, timeout=STOP_S)
        if late:
            log.warning("%d processes did not end within %.0f s and are killed", len(late), STOP_S)
            self._tell_all(signal.SIGKILL)
            await asyncio.wait(late)
        return self._code

    async def _keep(self, number: int) -> None:
        """Run one process again and again, until everything ends."""
        back_off = BackOff()
        loop = asyncio.get_running_loop()
        while not self._ending.is_set():
            began_s = loop.time()
            try:
                code = await self._run_one(number)
            except OSError as error:
                wait_s = back_off.wait_s(loop.time() - began_s)
                log.warning(_NOT_STARTED, number, error, self._commands[number - 1][0], wait_s)
                await self._rest(wait_s)
                continue
            if self._ending.is_set():
                return
            if code == WRONG_USE:
                self._code = code
                self._ending.set()
                return
            wait_s = back_off.wait_s(loop.time() - began_s)
            log.warning("process %d ended with %d; it is started again in %.0f s", number, code, wait_s)
            await self._rest(wait_s)

    async def _run_one(self, number: int) -> int:
        environment = {**os.environ, NUMBER: str(number), PARENT: str(os.getpid())}
        # A group of its own: a Ctrl-C in the terminal is for us, and is passed on once.
        process = await asyncio.create_subprocess_exec(
            *self._commands[number - 1], env=environment, start_new_session=True, stdin=asyncio.subprocess.DEVNULL
        )
        self._running[number] = process
        if self._ending.is_set():
            self._tell(process, signal.SIGTERM)
        try:
            return await process.wait()
        finally:
            del self._running[number]

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._ending.wait()
        except TimeoutError:
            pass

    def _tell_all(self, number: signal.Signals) -> None:
        for process in self._running.values():
            self._tell(process, number)

    def _tell(self, process: asyncio.subprocess.Process, number: signal.Signals) -> None:
        if process.returncode is None:
            process.send_signal(number)
