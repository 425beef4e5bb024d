"""How fast ``hotshard scan`` is, from its start to its end: run by hand, ``python tests/bench/bench_scan.py``.

Each trace in ``../shared/traces`` is scanned by a process of its own on one core, start-up and unpacking included,
several times; printed are rows a second (of the median and of the quickest run), by the clock and by processor
time, and the most memory the process had. On a machine that does other things processor time says more.
``--rows N`` scans made-up rows instead, Zipf 1.2 over a million keys, where there are no traces.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from tests.bench.machine import description, on, share_out
from tests.support.traces import FOLDER, TRACES

_GOALS = {"retail_sku": 300_000, "flights": 300_000, "reviews": 120_000, "llm_kv_blocks": 120_000}
_ZIPF = 1.2


class Run(NamedTuple):
    seconds: float
    cpu_s: float
    memory_bytes: int


def main() -> None:
    args = _arguments()
    print(description())  # noqa: T201
    print(f"{'rows a second':20}{'rows':>10}{'median':>11}{'quickest':>11}{'per CPU s':>11}{'MB':>7}")  # noqa: T201
    if args.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.tsv"
            _make(path, args.rows)
            _measure("made-up", path, args.rows, args.runs, args.flags)
        return
    for name, rows in TRACES.items():
        path = FOLDER / f"{name}.tsv.gz"
        if path.exists() and (not args.traces or name in args.traces):
            _measure(name, path, rows, args.runs, args.flags)


def _measure(name: str, path: Path, rows: int, runs: int, flags: list[str]) -> None:
    done = [_scan(path, flags) for _ in range(runs)]
    median = rows / statistics.median(run.seconds for run in done)
    quickest, by_cpu = rows / min(run.seconds for run in done), rows / min(run.cpu_s for run in done)
    most = max(run.memory_bytes for run in done) / 1e6
    goal = _GOALS.get(name)
    verdict = "" if goal is None else f"  goal {goal:,} {'reached' if quickest >= goal else 'MISSED'}"
    print(f"{name:20}{rows:>10,}{median:>11,.0f}{quickest:>11,.0f}{by_cpu:>11,.0f}{most:>7.0f}{verdict}")  # noqa: T201


def _scan(path: Path, flags: list[str]) -> Run:
    """Scan a file in a process of its own, on one core."""
    with on(share_out(pin=True).clients):
        begun = time.monotonic()
        scan = subprocess.Popen(
            (sys.executable, "-m", "hotshard", "scan", str(path), "--json", *flags), stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(scan.pid, 0)
        scan.returncode = os.waitstatus_to_exitcode(status)
    if scan.returncode not in {0, 1}:
        sys.exit(f"the scan of {path.name} ended with {scan.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss * unit)


def _make(path: Path, rows: int) -> None:
    draw = random.Random(1)  # noqa: S311  # traffic, no secrets
    weights = [*accumulate(1 / rank**_ZIPF for rank in range(1, 1_000_001))]
    keys = draw.choices(range(1_000_000), cum_weights=weights, k=rows)
    with path.open("w") as file:
        file.writelines(f"{1_700_000_000_000 + at}\tt{key % 97}\tk{key}\t100\n" for at, key in enumerate(keys))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="only these")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, help="so many made-up rows instead")
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[], help="for the command, such as --load bytes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
