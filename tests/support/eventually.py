"""Awaiting a condition instead of sleeping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")
_LOOK_EVERY_S = 0.02


@overload
async def eventually(
    condition: Callable[[], Awaitable[_T | None]], *, within_s: float = ..., what: str = ...
) -> _T: ...
@overload
async def eventually(condition: Callable[[], _T], *, within_s: float = ..., what: str = ...) -> _T: ...
async def eventually(condition: Callable[[], Any], *, within_s: float = 10.0, what: str = "") -> Any:
    """Return the first true value of ``condition``, asked again and again; fail the test after ``within_s``."""
    until = time.monotonic() + within_s
    while True:
        answer = condition()
        value = await answer if isinstance(answer, Awaitable) else answer
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s} s: {what or condition}; last seen: {value!r}")
        await asyncio.sleep(_LOOK_EVERY_S)


def eventually_blocking(condition: Callable[[], _T], *, within_s: float = 10.0, what: str = "") -> _T:
    """Do the same without a loop."""
    until = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s} s: {what or condition}; last seen: {value!r}")
        time.sleep(_LOOK_EVERY_S)
    return value
