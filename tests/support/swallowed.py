"""A pytest plugin: an exception that nobody saw fails the test in which it came to light.

Unraisable exceptions and those of threads are warnings of pytest's own, and warnings are errors here. What asyncio
only logs (a task's exception that was never retrieved, an exception in a callback) is caught here.
"""

from __future__ import annotations

import gc
import inspect
import logging
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Seen(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        reason = record.exc_info[1] if record.exc_info else None
        self.lines.append(f"{record.getMessage()} [{reason!r}]")

    def take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


_SEEN = _Seen()


def pytest_configure() -> None:
    logging.getLogger("asyncio").addHandler(_SEEN)


def pytest_unconfigure() -> None:
    logging.getLogger("asyncio").removeHandler(_SEEN)


@pytest.fixture(autouse=True)
def no_swallowed_exception(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test when asyncio logged an error while it ran; a test that provokes one calls ``swallowed()``."""
    _SEEN.take()
    yield
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        gc.collect(1)  # a task speaks when it is collected
    lines = _SEEN.take()
    if lines:
        pytest.fail("swallowed: " + "; ".join(lines), pytrace=False)


def swallowed() -> list[str]:
    """Return what asyncio logged in this test so far, and take it as seen."""
    gc.collect(1)
    return _SEEN.take()
