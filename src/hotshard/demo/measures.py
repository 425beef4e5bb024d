"""From what was seen to the figures of the summary; what was not seen is None. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotshard.core.skew import describe_skew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.demo.seen import Flood, Seen


@dataclass(frozen=True, slots=True)
class Half:
    """How one flood went, over its settled part: its last seconds. None where nothing was sent in them."""

    #: Load of the fullest partition over the mean.
    imbalance: float | None = None
    #: 99 of 100 records of the small tenant sent in that time waited at most this long.
    small_p99_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The summary."""

    records: int
    detected_key: str | None = None
    #: From the first record of the flood to the registry entry.
    detect_s: float | None = None
    #: From there to the first suffixed record.
    apply_s: float | None = None
    before: Half | None = None
    after: Half | None = None

    def as_json(self) -> dict[str, int | float | str | None]:
        """The object that ``--json`` prints."""
        before, after = self.before or Half(), self.after or Half()
        return {
            "records": self.records,
            "detected_key": self.detected_key,
            "detect_s": _rounded(self.detect_s, 3),
            "apply_s": _rounded(self.apply_s, 3),
            "imbalance_before": _rounded(before.imbalance, 2),
            "imbalance_after": _rounded(after.imbalance, 2),
            "small_tenant_p99_ms_before": _rounded(before.small_p99_ms, 1),
            "small_tenant_p99_ms_after": _rounded(after.small_p99_ms, 1),
        }

    def missing(self) -> list[str]:
        """What should have happened and did not, a sentence each."""
        return [sentence for value, sentence in self._expected() if value is None]

    def _expected(self) -> list[tuple[object, str]]:
        return [
            (self.detected_key, "the flooding key was never entered in the registry"),
            (self.apply_s, "no record was ever sent with a suffix"),
            ((self.before or Half()).small_p99_ms, "nothing of the small tenant was seen in the first flood"),
            ((self.after or Half()).small_p99_ms, "nothing of the small tenant was seen in the second flood"),
        ]


def half(seen: Seen, flood: Flood, settled_ms: int, now_ms: int) -> Half | None:
    """Measure the last ``settled_ms`` of a flood; None when it has not ended."""
    if flood.ended_ms is None:
        return None
    from_ms, to_ms = flood.ended_ms - settled_ms, flood.ended_ms
    loads = [load.all for load in seen.loads(from_ms, to_ms)]
    waits = seen.small_waits(from_ms, to_ms, now_ms)
    return Half(describe_skew(loads).imbalance if any(loads) else None, percentile(waits, 0.99))


def percentile(values: Sequence[float], part: float) -> float | None:
    """The least of ``values`` that at least ``part`` of them do not exceed (nearest rank); None without values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def seconds_between(from_ms: int | None, to_ms: int | None) -> float | None:
    """Seconds from one moment to a later one, to the millisecond of their clocks; None where one is missing."""
    return None if from_ms is None or to_ms is None else max(0, to_ms - from_ms) / 1000


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
