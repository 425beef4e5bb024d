"""What a heat machine is shown, and what it answers."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class Bounded(Protocol):
    """A load between bounds; both are exact where the load was counted exactly."""

    @property
    def lower(self) -> int: ...

    @property
    def upper(self) -> int: ...


class Totals(NamedTuple):
    """A view as a whole."""

    #: Load of all keyed records in the view.
    load: int
    #: Seconds the view covers, as measured; shorter than configured while data has only begun.
    span_s: float
    #: Share of the live partitions that are in the view.
    completeness: float = 1.0

    def share(self, load: float) -> float:
        """The part of the topic's load that ``load`` is. What is missing is taken to carry as much as what is there."""
        return load * self.completeness / self.load if self.load else 0.0

    def per_s(self, load: float) -> float:
        return load / self.span_s if self.span_s > 0 else 0.0


class ViewTotals(NamedTuple):
    """The short view and the long one."""

    fast: Totals
    slow: Totals


class Heat(NamedTuple):
    """The load of one key, or one tenant, in both views; ``fast`` is None where the short view does not know it."""

    name: bytes
    fast: Bounded | None
    slow: Bounded


class HeatReason(StrEnum):
    """The rule by which something turned hot or cold."""

    FAST_SHARE = "fast_share"
    SLOW_SHARE = "slow_share"
    SHARE_BELOW = "share_below"
    LOAD_BELOW = "load_below"

    @property
    def heats(self) -> bool:
        return self in {HeatReason.FAST_SHARE, HeatReason.SLOW_SHARE}


class Turned(NamedTuple):
    """A key or tenant that turned hot (``hot`` true) or cold, and the evidence of the view that decided it.

    ``share`` and ``load_per_s`` are of the lower bound when it turned hot, of the upper when it turned cold.
    """

    name: bytes
    hot: bool
    reason: HeatReason
    since_ms: int
    view_s: float
    total: int
    lower: int
    upper: int
    share: float
    load_per_s: float
    completeness: float
