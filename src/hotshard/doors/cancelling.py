"""Being cancelled, where a client library swallows it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def cancelled_all_the_same() -> Iterator[None]:
    """Raise CancelledError at the end of the block when the task was cancelled within it and the block ended otherwise.

    Until Python 3.12 ``asyncio.wait_for`` returns what it waited for, not CancelledError, when both come at one
    moment (CPython issue 86296), and redis-py waits so for every command that it writes. A block that takes a
    cancellation on purpose, as ``asyncio.timeout`` does, says so to the task and is left alone.
    """
    task = asyncio.current_task()
    if task is None:  # pragma: no cover - nothing is awaited outside a task
        yield
        return
    before = task.cancelling()
    try:
        yield
    finally:
        if task.cancelling() > before:
            raise asyncio.CancelledError
