"""The report of a closed window, as it stands on the windows topic. JSON."""

from __future__ import annotations

from typing import Final

import msgspec

SCHEMA: Final = 1


class Name(msgspec.Struct, frozen=True, kw_only=True):
    """A key or tenant with its part of the load of a partition.

    Here and below, ``key`` is None where a name is not UTF-8, and ``key_b64`` given. A key of more than
    256 bytes has both where it is text: its first 256 bytes, and those with a digest of the whole.
    """

    key: str | None
    key_b64: str | None = None
    share: float


class HeavyReport(msgspec.Struct, frozen=True, kw_only=True):
    """A key or tenant of a window; its true load lies in ``[lower, upper]``, and so does ``estimate``."""

    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    estimate: int
    lower: int
    upper: int
    #: The estimate's part of the load of the window.
    share: float
    hot: bool = False
    #: Count-min estimates of the windows before, the newest last; they hold with a probability only.
    recent: tuple[int, ...] = ()


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """Exact load of one production partition, and the up to five keys and tenants that fill most of it.

    A shard counts for its base key. In a topic of very many partitions fewer names are told of each, or none.
    """

    partition: int
    load: int
    share: float
    top_keys: tuple[Name, ...] = ()
    top_tenants: tuple[Name, ...] = ()


class SkewReport(msgspec.Struct, frozen=True, kw_only=True):
    """The load per partition described; ``ratio`` is max / max(median, 1), ``imbalance`` max / mean."""

    total: int
    max: int
    median: float
    ratio: float
    imbalance: float
    idle: int
    hottest: int | None


class SourceRange(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets ``[start, end)`` of a source partition that this report counts."""

    source: str
    partition: int
    start: int
    end: int
    records: int
    #: Offsets before ``start`` that were deleted before they were read.
    lost_before: int = 0


class WindowReport(msgspec.Struct, frozen=True, kw_only=True):
    """One closed window of one topic, or (``revision`` above 0) only what came late for it.

    The sum over all revisions of a window is its count.
    Every key with more than ``threshold`` load in this window is in ``keys``; every true load lies
    between its ``lower`` and ``upper``. Both hold where ``guaranteed`` is true: no record was put aside
    or lost, and no partition is missing.
    """

    schema: int = SCHEMA
    topic: str
    start_ms: int
    end_ms: int
    revision: int
    records: int
    size_bytes: int
    unkeyed: int
    skipped: int
    failed: int
    lost: int
    load: str
    threshold: int
    threshold_tenants: int
    guaranteed: bool
    #: Share of the source partitions that were present.
    completeness: float
    partitions: tuple[PartitionReport, ...]
    skew: SkewReport
    keys: tuple[HeavyReport, ...]
    tenants: tuple[HeavyReport, ...]
    hot_keys: tuple[str | None, ...] = ()
    hot_tenants: tuple[str | None, ...] = ()
    ranges: tuple[SourceRange, ...]
    #: Distinct keys, exact while few and else estimated; None where that is not known.
    distinct_keys: int | None = None
    #: Distinct tenants; at least so many where ``all_tenants`` is false. None where there are no tenants.
    distinct_tenants: int | None = None
    all_tenants: bool = True
    #: Where tenants are looked for beside the key: records without one, and values that are no JSON.
    untenanted: int = 0
    damaged: int = 0
    #: Why load is uneven, what would help, and the code for why just that; empty in revisions, which decide nothing.
    cause: str = ""
    treatment: str = ""
    reason: str = ""
    #: What the verdict rests on, by name.
    numbers: dict[str, float] = {}
    #: One sentence for a person: what is so, and what to do.
    advice: str = ""
    #: Causes that hold, too; codes of what the application must do itself; what could not be judged.
    also: tuple[str, ...] = ()
    application: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


_encoder = msgspec.json.Encoder()


def encode(report: WindowReport) -> bytes:
    return _encoder.encode(report)
