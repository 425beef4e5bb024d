"""Awaiting a condition instead of sleeping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
#: A test waits so long for anything: far beyond what a slow and busy machine needs, as passing early costs nothing.
PATIENCE_S: Final = 120.0
_LOOK_EVERY_S: Final = 0.02


@overload
async def eventually(condition: Callable[[], Awaitable[_T | None]], *, what: str = ...) -> _T: ...
@overload
async def eventually(condition: Callable[[], _T], *, what: str = ...) -> _T: ...
async def eventually(condition: Callable[[], Any], *, what: str = "") -> Any:
    """Return the first true value of ``condition``, asked again and again; fail the test after ``PATIENCE_S``."""
    until = time.monotonic() + PATIENCE_S
    while True:
        answer = condition()
        value = await answer if isinstance(answer, Awaitable) else answer
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE_S:.0f} s: {what or condition}; last seen: {value!r}")
        await asyncio.sleep(_LOOK_EVERY_S)


def eventually_blocking(condition: Callable[[], _T], *, what: str = "") -> _T:
    """Do the same without a loop."""
    until = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE_S:.0f} s: {what or condition}; last seen: {value!r}")
        time.sleep(_LOOK_EVERY_S)
    return value
