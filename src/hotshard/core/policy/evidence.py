"""What a heat machine is shown, and what it answers."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_NUMBERS: Final[Mapping[str, float]] = MappingProxyType({})


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


class Part(NamedTuple):
    """Bounds of the part of its own partition's load that a key is: see :func:`own_part`."""

    lower: float
    upper: float


class Heat(NamedTuple):
    """The load of one key, or one tenant, in both views; ``fast`` is None where the short view does not know it.

    The parts are of a key's own partition, in either view; None: not known, or not asked for.
    """

    name: bytes
    fast: Bounded | None
    slow: Bounded
    fast_part: Part | None = None
    slow_part: Part | None = None


def own_part(bounds: Bounded, current: Mapping[int, float], loads: Mapping[int, float]) -> Part | None:
    """The part of its own partition's load that a key is; ``current`` is its load by partition, ``loads`` all load.

    Its own partition is where it has most. A key that is spread counts as if all of it lay there: a plan that
    works does not make a key look smaller. None where it lies nowhere.
    """
    if not current:
        return None
    home = max(sorted(current), key=lambda partition: current[partition])
    others = max(0.0, loads.get(home, 0) - current[home])
    return Part(*(load / (load + others) if load else 0.0 for load in (bounds.lower, bounds.upper)))


class HeatReason(StrEnum):
    """The rule by which something turned hot or cold."""

    FAST_SHARE = "fast_share"
    FAST_RATE = "fast_rate"
    FAST_PARTITION_SHARE = "fast_partition_share"
    SLOW_SHARE = "slow_share"
    SLOW_RATE = "slow_rate"
    SLOW_PARTITION_SHARE = "slow_partition_share"
    #: It turned hot for the last time that its flaps allow, and stays so until the first of them is past.
    FLAPPING = "flapping"
    GONE = "gone"
    SHARE_BELOW = "share_below"
    LOAD_BELOW = "load_below"

    @property
    def heats(self) -> bool:
        return self not in {HeatReason.GONE, HeatReason.SHARE_BELOW, HeatReason.LOAD_BELOW}

    @property
    def is_fast(self) -> bool:
        """Whether the short view decided it."""
        return self in {HeatReason.FAST_SHARE, HeatReason.FAST_RATE, HeatReason.FAST_PARTITION_SHARE}


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
    #: Whether the short view decided it.
    fast: bool = False
    #: What it was held against: the thresholds that are set, and its flaps.
    numbers: Mapping[str, float] = NO_NUMBERS
