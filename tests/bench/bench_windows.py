"""What confirming and windows cost a second, for 1,000 partitions with a pane of 100 rows each: run it as a script."""

from __future__ import annotations

import argparse
import sys
import time

from hotshard.core.panes.ledger import Ledger
from hotshard.core.panes.windows import PartitionStand, Windows
from hotshard.core.wire.pane import HeavyList, Pane, Row, decode, encode

SOURCE = "mirror.orders"


def pane(partition: int, second: int, rows: int) -> Pane:
    heavy = HeavyList(
        tuple(Row(b"tenant-%d\x1fentity-%d" % (partition, row), 1000 - row, 1003 - row) for row in range(rows)), 3
    )
    return Pane(
        topic="orders",
        source=SOURCE,
        partition=partition,
        start=1000 * second,
        end=1000 * (second + 1),
        generation=1,
        high_watermark=1000 * (second + 1),
        worker="w",
        records=1000,
        size_bytes=100_000,
        loads={partition: 1000},
        keys=heavy,
        tenants=heavy,
        time_ms=1000 * second,
        span_ms=1000,
        opened_ms=1000 * second,
        cut_ms=1000 * (second + 1),
    )


def run(partitions: int, rows: int, seconds: int) -> tuple[float, float]:
    """CPU seconds a second of traffic, and the longest that one look at the windows took."""
    ledger, windows = Ledger(), Windows(window_ms=10_000, grace_ms=5_000)
    stands = {(SOURCE, partition): PartitionStand() for partition in range(partitions)}
    at, busy_s, longest_s = 0, 0.0, 0.0
    for second in range(seconds):
        messages = [decode(encode(pane(partition, second, rows))) for partition in range(partitions)]
        begun_s = time.process_time()
        for message in messages:
            at += 1
            for confirmed in ledger.pane(message, at) if isinstance(message, Pane) else ():
                windows.add(confirmed)
        look_s = time.process_time()
        windows.close(second * 1000, stands)
        needed = windows.oldest_needed() or at
        ledger.expected_at(needed)
        ledger.oldest_open()
        ledger.forget_before(needed)
        longest_s = max(longest_s, time.process_time() - look_s)
        busy_s += time.process_time() - begun_s
    return busy_s / seconds, longest_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=32)
    options = parser.parse_args()
    cost, longest_s = run(options.partitions, options.rows, options.seconds)
    sys.stdout.write(f"{cost:.3f} of a core; the longest close took {longest_s * 1000:.0f} ms\n")


if __name__ == "__main__":
    main()
