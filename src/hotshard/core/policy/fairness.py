"""How much of a topic a tenant may have."""

from __future__ import annotations


def bearable_load(own: float, total: float, *, share: float, tenants: int | None = None) -> float | None:
    """What a tenant with the load ``own`` may have of ``total``; None where all of it is bearable, or none.

    The most of two: with which its share would be ``share``, all others being as they are (x = s / (1 - s) times
    the others' load), and the fair one: an equal part of the topic for each of its ``tenants``, where their number
    is known.
    """
    cool = share / (1 - share) * max(0.0, total - own) if share < 1 else own
    fair = total / tenants if tenants else 0.0
    most = max(cool, fair)
    return most if 0 < most < own else None
