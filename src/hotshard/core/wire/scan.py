"""What ``hotshard scan --json`` prints. JSON; finite numbers only."""

from __future__ import annotations

import msgspec

from hotshard.core.wire.report import PartitionReport, SkewReport


class ScanHeavy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """A key or tenant over the whole input; its true load lies in ``[lower, upper]``, and so does ``estimate``."""

    key: str | None
    key_b64: str | None = None
    #: Null unless all records of the key had one tenant.
    tenant: str | None = None
    estimate: int
    lower: int
    upper: int
    share: float
    #: Hot in any closed window.
    hot: bool = False
    #: Start of the first window in which it was hot, milliseconds; null where it was not or there is no time.
    since_ms: int | None = None


class ScanWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window with findings, or one of the largest. Times are null where the input has none."""

    start_ms: int | None
    end_ms: int | None
    records: int
    hot_keys: tuple[str | None, ...] = ()
    hot_tenants: tuple[str | None, ...] = ()
    cause: str


class ScanPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would help one key or tenant, and by how much; a treatment without shards has none.

    Plans of keys are a list to be obeyed from its top: each begins with the imbalance that those before it leave.
    ``imbalance_after`` of what is isolated, and so leaves the topic, is what its fullest partition then
    carries in means of now.
    """

    key: str | None
    key_b64: str | None = None
    tenant: str | None = None
    treatment: str
    shards: int = 0
    suffixes: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    imbalance_before: float | None = None
    imbalance_after: float | None = None
    reason: str
    #: One sentence for a person.
    detail: str = ""
    #: The same of the partitions that a plan has to do with: others may be as full.
    own_before: float | None = None
    own_after: float | None = None
    #: The imbalances are those of the window in which the key had its largest share, the other plans obeyed: over
    #: all of the input it is no trouble.
    in_window: bool = False


class ScanReport(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it; DESIGN, section 10."""

    records: int
    #: Lines that could not be read, which are in no other number.
    skipped: int
    unkeyed: int
    distinct_keys: int
    span_s: float
    load: str
    threshold: int
    threshold_tenants: int
    guaranteed: bool
    partitions: tuple[PartitionReport, ...]
    skew: SkewReport
    keys: tuple[ScanHeavy, ...]
    tenants: tuple[ScanHeavy, ...]
    windows_total: int
    windows: tuple[ScanWindow, ...]
    cause: str
    #: Reason code and numbers of the verdict, and its treatment.
    reason: str
    treatment: str
    numbers: dict[str, float]
    completeness: float
    advice: str
    plans: tuple[ScanPlan, ...]
    #: Causes that hold, too; codes of what the application must do itself; what could not be judged.
    also: tuple[str, ...] = ()
    application: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


_encoder = msgspec.json.Encoder()


def encode(report: ScanReport) -> bytes:
    return _encoder.encode(report)
