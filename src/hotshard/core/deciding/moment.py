"""What one step of deciding is given: the moment, and every hot key as measured at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hotshard.core.wire.route import Epoch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.policy.acting import Acting
    from hotshard.core.policy.thresholds import Policy


class Measured(NamedTuple):
    """A hot key as measured now: its load in the view, where that lies, its share of the topic and bounds."""

    load: float
    current: Mapping[int, float]
    share: float
    lower: int
    upper: int
    #: Whether something is to be done about it, where nothing is done yet.
    worth_acting: bool
    #: Whether what is done may be fitted to what is measured: nothing is missing, and the key still worth a split.
    worth_fitting: bool = True
    #: The policy of its tenant; None: the topic's.
    policy: Policy | None = None
    #: Why something is, or is not, to be done, with the numbers that say so.
    acting: Acting | None = None
    #: The seconds that its load, and the loads of all partitions, stand for; None: not known.
    loads_s: float | None = None
    #: The part of its load, 0 to 1, that its largest sub-unit surely has; None: not known.
    largest_sub: float | None = None
    #: The one tenant of the key; None: it has none, or that is not known.
    tenant: bytes | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """When: the registry's epoch, the offset in the panes topic heard last, the worker's clock."""

    registry_epoch: int
    at: int
    now_ms: int

    @property
    def epoch(self) -> Epoch:
        return Epoch(self.registry_epoch, self.at)
