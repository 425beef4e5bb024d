"""A loop that stands still is told of."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from hotshard.job.watchdog import Watchdog

if TYPE_CHECKING:
    import pytest


async def test_a_loop_that_stands_still_is_told_once_and_where(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(still_s=0.3, turn_s=0.02)
    watchdog.watch(asyncio.get_running_loop())
    await asyncio.sleep(0.1)
    time.sleep(0.9)  # noqa: ASYNC251 - that is the fault
    await asyncio.sleep(0.1)
    assert [record.getMessage().split(" for ")[0] for record in caplog.records] == ["the worker's loop has stood still"]
    assert "time.sleep(0.9)" in caplog.text
    time.sleep(0.9)  # noqa: ASYNC251
    watchdog.end()
    assert len(caplog.records) == 2


async def test_a_loop_that_turns_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(still_s=5.0, turn_s=0.01)
    watchdog.watch(asyncio.get_running_loop())
    await asyncio.sleep(0.1)
    watchdog.end()
    assert caplog.records == []
