"""What a topic's decider has to say: one value, written in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.event import Event
    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.route import Route, TopicState
    from hotshard.core.wire.state import TopicHead


@dataclass(frozen=True, slots=True)
class Said:
    """All of it, or none, becomes state. ``registry`` is what Redis holds once this is written."""

    head: TopicHead
    #: Changed routes by base key; None for one that is forgotten.
    routes: Mapping[bytes, Route | None]
    reports: tuple[WindowReport, ...]
    events: tuple[Event, ...]
    registry: TopicState
