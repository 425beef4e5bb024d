"""Numbers as a person reads them."""

from __future__ import annotations


def count(value: float) -> str:
    """Return a whole number with commas: ``12,345``."""
    return f"{round(value):,}"


def several(value: float, thing: str) -> str:
    """Return how many there are of a thing: ``1 key``, ``12,345 keys``."""
    return f"{count(value)} {thing}{'s' * (round(value) != 1)}"


def figure(value: float) -> str:
    """Return any number with as many digits as tell something: ``12,345``, ``3.61``, ``0.0417``."""
    return count(value) if value == round(value) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share of 0 to 1 in percent: ``0.4 %``, ``35 %``."""
    return f"{share * 100:.1f} %" if share < 0.0995 else f"{share * 100:.0f} %"


def duration(ms: float) -> str:
    """Return a time given in milliseconds in the unit that suits it: ``8 ms``, ``3.4 s``, ``2 min 5 s``."""
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 99_950:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds} s"
