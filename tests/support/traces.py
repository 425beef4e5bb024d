"""Real traffic, where it is: beside the repository, and never in it. What is true of it is counted here."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hotshard.core.partitioners import murmur2
from hotshard.core.scanning.scanner import WINDOW_MS, By, Scanner
from hotshard.core.topic import KeyLayout, Load, Ordering, PartitionsFrom, TopicSpec
from hotshard.doors.files.opening import open_records

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.slab import Slab
    from hotshard.core.wire.scan import ScanReport

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "traces"
#: Name and rows of each.
TRACES = {
    "apache_access": 10_000,
    "retail_sku": 541_909,
    "flights": 336_776,
    "reviews": 380_000,
    "wiki_edits": 39_244,
    "llm_kv_blocks": 288_500,
    "kafka_state_change": 4_223,
}
PARTITIONS = 32


def trace(name: str) -> Path:
    """The file of a trace; the test is skipped where there is none."""
    path = FOLDER / f"{name}.tsv.gz"
    if not path.exists():  # also in CI: it is not to be had everywhere
        pytest.skip(f"no {path.name} in ../shared/traces: real traffic is not part of the project")
    return path


class Row(NamedTuple):
    at_ms: int
    tenant: bytes | None
    key: bytes | None
    size: int


@lru_cache(maxsize=1)
def rows(name: str) -> tuple[Row, ...]:
    """The rows of a trace, read as plainly as can be; none of them has an escape."""
    with gzip.open(trace(name)) as lines:
        fields = [line.rstrip(b"\n").split(b"\t") for line in lines]
    assert not any(b"\\" in part for row in fields for part in row)
    return tuple(Row(int(at), tenant or None, key or None, int(size)) for at, tenant, key, size in fields)


@dataclass
class Exact:
    """What is true of some rows."""

    records: int = 0
    unkeyed: int = 0
    load: int = 0
    keys: Counter[bytes] = field(default_factory=Counter)
    tenants: Counter[bytes] = field(default_factory=Counter)
    owners: dict[bytes, set[bytes | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[Row], load: Load) -> Exact:
        exact = cls()
        for row in given:
            weight = 1 if load is Load.RECORDS else row.size
            exact.records += 1
            exact.load += weight
            if row.key is None:
                exact.unkeyed += 1
            else:
                exact.keys[row.key] += weight
                exact.owners.setdefault(row.key, set()).add(row.tenant)
            if row.tenant is not None:
                exact.tenants[row.tenant] += weight
        return exact

    def partitions(self, by: By, partitioner: str, partitions: int = PARTITIONS) -> list[int]:
        loads = [0] * partitions
        for name, load in (self.keys if by is By.KEY else self.tenants).items():
            hashed = murmur2(name) & 0x7FFFFFFF if partitioner == "murmur2" else zlib.crc32(name)
            loads[hashed % partitions] += load
        return loads

    def only_tenant(self, key: bytes) -> str | None:
        owners = self.owners[key]
        only = next(iter(owners)) if len(owners) == 1 else None
        return None if only is None else only.decode()


def spec(
    load: Load = Load.RECORDS, partitioner: str = "murmur2", ordering: Ordering = Ordering.PER_DISCRIMINATOR
) -> TopicSpec:
    """A file's."""
    return TopicSpec(
        name="input",
        sources=("",),
        layout=KeyLayout.ENTITY,
        partitions_from=PartitionsFrom.COMPUTED,
        load=load,
        partitioner=partitioner,
        ordering=ordering,
    )


def scanned(
    slabs: Iterable[Slab], of: TopicSpec | None = None, *, by: By = By.KEY, window_ms: int = WINDOW_MS
) -> ScanReport:
    scanner = Scanner(of or spec(), PARTITIONS, window_ms=window_ms, by=by)
    for slab in slabs:
        scanner.add(slab)
    return scanner.finish()


def scan_of(name: str, of: TopicSpec | None = None, by: By = By.KEY) -> ScanReport:
    with closing(open_records(str(trace(name)))) as records:
        return scanned(records, of, by=by)


def name_of(key: str | None, key_b64: str | None) -> bytes:
    """The bytes of a name in a report, which for the traces is always text."""
    assert key is not None
    assert key_b64 is None
    return key.encode()


def assert_right(report: ScanReport, exact: Exact, by: By, partitioner: str) -> None:
    """A report has the exact totals and partitions, lists all that is heavy, and its bounds hold."""
    assert (report.records, report.unkeyed, report.skipped) == (exact.records, exact.unkeyed, 0)
    assert report.distinct_keys == len(exact.owners)
    assert [each.load for each in report.partitions] == exact.partitions(by, partitioner, len(report.partitions))
    for listed, threshold, true in (
        (report.keys, report.threshold, exact.keys),
        (report.tenants, report.threshold_tenants, exact.tenants),
    ):
        assert threshold >= -(-exact.load // 1000)
        names = {name_of(each.key, each.key_b64): each for each in listed}
        assert {name for name, load in true.items() if load > threshold} <= names.keys()
        assert len(listed) >= min(20, sum(load > 0 for load in true.values()))
        for name, each in names.items():
            assert each.lower <= true[name] <= each.upper
            assert each.lower <= each.estimate <= each.upper
        assert [each.estimate for each in listed] == sorted((each.estimate for each in listed), reverse=True)
    for each in report.keys:
        assert each.tenant == exact.only_tenant(name_of(each.key, each.key_b64))
