"""One topic, decided: messages of the panes topic go in, and out comes what is to be said.

A decider is a state machine without I/O. Made from a :class:`TopicHead` it hears messages from
``replay_from`` on, in silence until ``done``, and then goes on as if nothing had happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hotshard.core.deciding import events
from hotshard.core.deciding.book import RouteBook
from hotshard.core.deciding.heat import Heats, make_heats
from hotshard.core.deciding.routing import Router, Turn
from hotshard.core.deciding.said import Said
from hotshard.core.panes.ledger import Confirmed, Ledger
from hotshard.core.panes.view import View
from hotshard.core.panes.windows import PartitionStand, Windows, WindowsMemory
from hotshard.core.panes.reporting import window_report
from hotshard.core.topic import TopicSpec
from hotshard.core.wire.event import Event
from hotshard.core.wire.pane import Pane, PaneMessage
from hotshard.core.wire.report import WindowReport
from hotshard.core.wire.route import Epoch, Route, TopicState
from hotshard.core.wire.state import TopicHead

#: A worker's word on a partition is believed this long.
STAND_MS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a decider is made with, beside the state."""

    spec: TopicSpec
    #: Partition count in production.
    partitions: int
    namespace: str
    window_ms: int
    grace_ms: int
    #: How long data of a retired route stays readable in production.
    readable_ms: int


class TopicDecider:
    """Decides for one topic. ``at`` is always an offset in the panes topic, ``now_ms`` the worker's clock."""
