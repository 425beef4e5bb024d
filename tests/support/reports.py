"""Closed windows of counted panes, their reports, and the names in them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from hotshard.core.panes.ledger import Confirmed
from hotshard.core.panes.reporting import window_report
from hotshard.core.panes.window import OpenWindow
from tests.support.counting import NOW_MS, WINDOW_MS, topic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.wire.pane import Pane
    from hotshard.core.wire.report import HeavyReport, Name, WindowReport


def closed_window(panes: Iterable[Pane], *, revision: int = 0, completeness: float = 1.0) -> ClosedWindow:
    """A window of these panes, of which none was lost before them."""
    window = OpenWindow(NOW_MS, revision, 0)
    for at, pane in enumerate(panes):
        window.add(Confirmed(pane, at, at))
    return window.closed(WINDOW_MS, completeness)


def report_of(closed: ClosedWindow, **changes: Any) -> WindowReport:  # noqa: ANN401  # any argument
    given: dict[str, Any] = {
        "spec": topic(), "partitions": 4, "aliases": {}, "hot_keys": frozenset(), "hot_tenants": frozenset(),
    }  # fmt: skip
    return window_report(closed, **given | changes)


def name_of(told: HeavyReport | Name) -> bytes:
    """The name as it travels."""
    if told.key_b64 is not None:
        return base64.b64decode(told.key_b64)
    assert told.key is not None
    return told.key.encode()
