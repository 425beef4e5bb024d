"""What a partition takes in memory, measured from outside in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MEASURE = """
import sys
from pathlib import Path
from tests.support.counting import NOW_MS, WINDOW_MS, partition_panes, slab, take

PARTITIONS, RECORDS, PAD, TENANTS, BESIDE = map(int, sys.argv[1:])

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def feed(panes, windows):
    for window in range(windows):
        now_ms = NOW_MS + window * WINDOW_MS
        for each in panes:
            for _ in range(3):
                start = each.position
                numbers = range(start, start + RECORDS)
                owners = [b"t%07d" % (n % TENANTS) for n in numbers]
                keys = [owner + b"\\x1f%07d" % n + b"x" * PAD for n, owner in zip(numbers, owners)]
                more = {"tenants": owners} if BESIDE else {}
                each.add(slab(start, keys, at_ms=now_ms, **more), now_ms, {})
            if window < windows - 1:
                take(each, now_ms)

feed([partition_panes()], 9)
before = resident_bytes()
panes = [partition_panes() for _ in range(PARTITIONS)]
feed(panes, 9)
print((resident_bytes() - before) / PARTITIONS)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")
@pytest.mark.parametrize(
    ("partitions", "records", "pad", "tenants", "beside"),
    [
        (40, 2_000, 0, 200, 0),
        (160, 2_000, 24, 10**7, 0),  # so many that what the process itself grows by, some 0.2 MB, is not seen
        (400, 20, 0, 200, 0),
        (40, 2_000, 0, 400, 1),
        (40, 2_000, 0, 10**7, 1),
    ],
    ids=[
        "all different keys",
        "all different keys and tenants of 40 bytes",
        "many quiet partitions",
        "tenants beside the keys",
        "tenants beside the keys, all different",
    ],
)
def test_a_partition_takes_at_most_three_quarters_of_a_megabyte(
    partitions: int, records: int, pad: int, tenants: int, beside: int
) -> None:
    arguments = [str(number) for number in (partitions, records, pad, tenants, beside)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    per_partition = float(done.stdout)
    assert 100_000 < per_partition < 750_000
