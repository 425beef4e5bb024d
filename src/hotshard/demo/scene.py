"""One moment of the demo, as it is shown; and the sentences for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from hotshard.core.wire.route import RouteState
from hotshard.report.names import key_name
from hotshard.report.numbers import duration, percent

if TYPE_CHECKING:
    from hotshard.core.topic import Mode
    from hotshard.core.wire.route import HotEntry, Route
    from hotshard.demo.measures import Half
    from hotshard.demo.seen import Load


class Act(Enum):
    """What goes on; the value is how it is announced."""

    WORKER = "the worker starts"
    CALM = "two hundred tenants, nobody hot"
    FIRST_FLOOD = "first flood: the worker looks on"
    COOLING = "over, the backlog drains"
    SWITCHING = "the worker starts again, to act"
    SECOND_FLOOD = "second flood: the worker acts"
    LAST = "the last records are handled"


FLOODS: Final = frozenset({Act.FIRST_FLOOD, Act.SECOND_FLOOD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that is shown, as measured by now."""

    act: Act
    mode: Mode
    elapsed_s: float
    #: Per partition: records a second over the last second, and how many records wait.
    loads: tuple[Load, ...]
    waiting: tuple[int, ...]
    #: The partition of the flooding key, while it is whole, and of the small tenant.
    flooded: int
    small_tenant: str
    small_wait_ms: int
    flood_key: bytes
    hot: HotEntry | None = None
    detect_s: float | None = None
    route: Route | None = None
    apply_s: float | None = None
    before: Half | None = None
    after: Half | None = None


def detected(scene: Scene) -> str:
    """What is detected, and how soon it was."""
    if scene.hot is None:
        return "nothing"
    soon = "" if scene.detect_s is None else f", found after {duration(scene.detect_s * 1000)}"
    return f"{key_name(scene.hot.name)}, {percent(scene.hot.share)} of the load{soon}"


def plan(scene: Scene) -> str:
    """What is planned or done about it."""
    route = scene.route
    if route is None or not route.partitions:
        return "none"
    text = f"split over {len(route.partitions)} of {route.partition_count} partitions"
    if route.state is RouteState.PROPOSED:
        return f"{text}, proposed only"
    return text + ("" if scene.apply_s is None else f", first obeyed after {duration(scene.apply_s * 1000)}")


def small(scene: Scene) -> str:
    """How the small tenant fares."""
    return f"{scene.small_tenant} on partition {scene.flooded} waits {duration(scene.small_wait_ms)}"


def measured(half: Half | None) -> str:
    """One flood in figures."""
    if half is None:
        return "not measured yet"
    spread = "not seen" if half.imbalance is None else f"{half.imbalance:.2f}"
    wait = "not seen" if half.small_p99_ms is None else duration(half.small_p99_ms)
    return f"imbalance {spread}, small tenant waits {wait} (p99)"


def facts(scene: Scene) -> list[tuple[str, str]]:
    """The lines under the bars."""
    return [
        ("detected", detected(scene)),
        ("plan", plan(scene)),
        ("waiting", small(scene)),
        ("before", measured(scene.before)),
        ("after", measured(scene.after)),
    ]
