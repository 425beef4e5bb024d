"""Load or lag by partition described, and what to be alarmed about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from hotshard.core.planning.score import imbalance

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """How load or lag lies on the partitions of a topic."""

    total: float
    max: float
    median: float
    #: max / max(median, 1).
    skew_ratio: float
    #: How many partitions have none.
    idle_partitions: int
    #: The partition with the most, the lowest number of equals; None where all are idle.
    hottest_partition: int | None
    #: max / mean; 1 where all are idle.
    imbalance: float


class AlertLevel(StrEnum):
    """Who is to act: somebody now, or somebody in working hours."""

    PAGE = "page"
    TICKET = "ticket"


class AlertReason(StrEnum):
    """Why there is an alert."""

    PARTITION_LAG_HIGH = "partition_lag_high"
    PARTITION_KEY_SKEW = "partition_key_skew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One thing to act upon; ``value`` is the number that passed its limit."""

    level: AlertLevel
    reason: AlertReason
    partition: int
    value: float


def describe_skew(lag_or_load_by_partition: Mapping[int, float] | Sequence[float]) -> Skew:
    """Describe lag or load given by partition, as a mapping or as a sequence whose places are the partitions.

    A partition that a mapping does not hold is not there; one that is idle must be given as 0.
    Without any partition everything is 0, the imbalance 1, and no partition is hottest.

    Raises:
        ValueError: a number is negative, infinite or no number; the message names the partition.

    """
    given = lag_or_load_by_partition
    by_partition = dict(given) if isinstance(given, Mapping) else dict(enumerate(given))
    for partition, value in by_partition.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"partition {partition} has {value}; lag and load are finite and not negative")
    values = list(by_partition.values())
    most = max(values, default=0)
    middle = float(median(values)) if values else 0.0
    return Skew(
        total=sum(values),
        max=most,
        median=middle,
        skew_ratio=most / max(middle, 1.0),
        idle_partitions=values.count(0),
        hottest_partition=_hottest(by_partition, most),
        imbalance=imbalance(values),
    )


def skew_alerts(skew: Skew, max_lag: float = 5000, max_ratio: float = 5) -> list[Alert]:
    """What to be alarmed about at this moment, the more urgent first; how long it must last is the caller's matter.

    ``partition_lag_high`` (page): the maximum is above ``max_lag``. ``partition_key_skew`` (ticket):
    the ratio is above ``max_ratio`` while partitions are idle, so it is the keys and not the consumers.
    """
    hottest = skew.hottest_partition
    if hottest is None:
        return []
    alerts = []
    if skew.max > max_lag:
        page, high = AlertLevel.PAGE, AlertReason.PARTITION_LAG_HIGH
        alerts.append(Alert(level=page, reason=high, partition=hottest, value=skew.max))
    if skew.skew_ratio > max_ratio and skew.idle_partitions:
        ticket, uneven = AlertLevel.TICKET, AlertReason.PARTITION_KEY_SKEW
        alerts.append(Alert(level=ticket, reason=uneven, partition=hottest, value=skew.skew_ratio))
    return alerts


def _hottest(by_partition: Mapping[int, float], most: float) -> int | None:
    return min(partition for partition, value in by_partition.items() if value == most) if most else None
