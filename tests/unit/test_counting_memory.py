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

PARTITIONS, RECORDS, PAD, TENANTS = map(int, sys.argv[1:])

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def feed(panes, windows):
    for window in range(windows):
        now_ms = NOW_MS + window * WINDOW_MS
        for each in panes:
            for _ in range(3):
                start = each.position
                keys = [b"t%07d" % (n % TENANTS) + b"\\x1f%07d" % n + b"x" * PAD for n in range(start, start + RECORDS)]
                each.add(slab(start, keys, at_ms=now_ms), now_ms, {})
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
    ("partitions", "records", "pad", "tenants"),
    [(40, 2_000, 0, 200), (40, 2_000, 24, 10**7), (400, 20, 0, 200)],
    ids=["all different keys", "all different keys and tenants of 40 bytes", "many quiet partitions"],
)
def test_a_partition_takes_at_most_three_quarters_of_a_megabyte(
    partitions: int, records: int, pad: int, tenants: int
) -> None:
    arguments = [str(number) for number in (partitions, records, pad, tenants)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    per_partition = float(done.stdout)
    assert 100_000 < per_partition < 750_000
