"""Moments and stretches of time as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ms: int) -> str:
    """Milliseconds since the Unix epoch as ``2026-01-31 12:00:05`` in UTC; as they are where no calendar has them."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=ms):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError):
        return f"{ms} ms"


def stretch(seconds: float) -> str:
    """Seconds in the unit that suits them: ``0.5 s``, ``4 min 10 s``, ``2 h 5 min``, ``373 days``."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    for most, unit, large, name, small in ((7200, 60, "min", 1, "s"), (172_800, 3600, "h", 60, "min")):
        if whole < most:
            rest = whole % unit // name
            return f"{whole // unit} {large}" + (f" {rest} {small}" if rest else "")
    return f"{whole / 86_400:,.0f} days"
