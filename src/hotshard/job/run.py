"""`hotshard worker`: runs a worker until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING, Final

from hotshard.errors import SettingsError
from hotshard.job.quiet import limit_loggers
from hotshard.job.watchdog import Watchdog
from hotshard.job.worker import Worker

if TYPE_CHECKING:
    from hotshard.settings.model import Settings

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


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
        begun = asyncio.create_task(worker.start())
        asked = asyncio.create_task(stopping.wait())
        await asyncio.wait({begun, asked}, return_when=asyncio.FIRST_COMPLETED)
        if begun.done():
            await begun
        else:
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
        await asked
        return 0
    finally:
        await worker.stop()
        watchdog.end()


def _log_to_stderr(level: str) -> None:
    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    limit_loggers(outages=level == "debug")
