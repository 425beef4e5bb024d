"""`hotshard worker`: runs a worker until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from hotshard.errors import SettingsError
from hotshard.job.quiet import limit_loggers
from hotshard.job.supervisor import NUMBER, is_orphan
from hotshard.job.watchdog import Watchdog
from hotshard.job.worker import Worker

if TYPE_CHECKING:
    from hotshard.settings.model import Settings

log = logging.getLogger("hotshard.worker")

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
#: So often a process of several looks whether its supervisor is still there.
_ORPHAN_S: Final = 1.0


def run_worker(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; 0 then.

    Raises:
        SettingsError, RefusedError, TopicMismatchError: what was said at start cannot work.

    """
    if not settings.topic_specs():
        raise SettingsError("no topic is watched; add a section [topics.NAME] or --topic NAME")
    _log_to_stderr(settings.worker.log_level)
    return asyncio.run(_run(settings))


async def _run(settings: Settings) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    worker = Worker(settings)
    watchdog = Watchdog()
    watchdog.watch(loop)
    try:
        return await _until(worker, stopping)
    finally:
        await worker.stop()
        watchdog.end()


async def _asked(stopping: asyncio.Event) -> None:
    """Wait until this process is to stop: it was told so, or whoever started it is gone."""
    while not (stopping.is_set() or is_orphan()):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ORPHAN_S):
                await stopping.wait()


async def _until(worker: Worker, stopping: asyncio.Event) -> int:
    """Run until asked to stop (0), or until a Faust app has ended by itself (1: whoever supervises starts anew)."""
    asked = asyncio.create_task(_asked(stopping))
    begun = asyncio.create_task(worker.start())
    failed = asyncio.create_task(worker.failed())
    try:
        await asyncio.wait({begun, asked}, return_when=asyncio.FIRST_COMPLETED)
        if begun.done():
            await begun
        await asyncio.wait({asked, failed}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return 0
        reason = failed.result()
        log.error("the worker ends by a fault of its own (%s: %s); start it again", type(reason).__name__, reason)
        return 1
    finally:
        for task in (asked, begun, failed):
            task.cancel()
        await asyncio.gather(asked, begun, failed, return_exceptions=True)


def _log_to_stderr(level: str) -> None:
    number = os.environ.get(NUMBER, "")
    which = f"[{number}] " if number.isdecimal() else ""
    form = f"%(asctime)s {which}%(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=level.upper(), stream=sys.stderr, format=form, force=True)
    limit_loggers(outages=level == "debug")
