"""What ``hotshard simulate --json`` prints. JSON; finite numbers only."""

from __future__ import annotations

import msgspec


class PolicyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the partitions carry, in records, when one policy places them."""

    policy: str
    max: int
    median: float
    #: max / max(median, 1), and max / mean.
    ratio: float
    imbalance: float
    #: The most records of others on a partition on which the small tenant has any: behind so many it waits when
    #: everything is produced before anything is consumed, which is the worst that can happen to it. Null where
    #: it has none.
    small_waits_behind: int | None


class SimulationReport(msgspec.Struct, frozen=True, kw_only=True):
    """One stream, placed by several policies."""

    policies: tuple[PolicyReport, ...]
    partitions: int
    records: int
    #: Records without a key, which only ``tenant`` places.
    unkeyed: int
    #: Lines that could not be read, which are in no other number.
    skipped: int
    #: The tenant of ``small_waits_behind``, and how many records it has; null where no record has a tenant.
    small: str | None
    small_b64: str | None = None
    small_records: int


_encoder = msgspec.json.Encoder()


def encode(report: SimulationReport) -> bytes:
    return _encoder.encode(report)
