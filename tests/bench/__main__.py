"""Records a second on a real Kafka: the worker's whole path beside the usual clients.

Progress goes to stderr, tables to stdout; with ``--json`` the last line is ``{"worker_per_s": x,
"plain_faust_per_s": x, "getmany_per_s": x, "confluent_per_s": x, "quixstreams_per_s": x}``: medians of 13-byte
values. The baselines are written as their authors write them: in batches where there are any, on the same broker
and the same records.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any, Final

from hotshard.demo.servers.artifacts import KAFKA_VERSION
from hotshard.errors import HotshardError
from tests.bench import machine
from tests.bench.table import as_json, as_stored, compared, table
from tests.bench.throughput import ALL, Case, bench, cases
from tests.bench.watching import StoppedError

#: What was measured last, and stands in the README.
STORED: Final = Path(__file__).parents[2] / "docs" / "bench.json"


def main() -> int:
    options = _options()
    # The broker's first group makes it create the topic of offsets; aiokafka takes the wait for an error.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    chosen = _chosen(options)
    try:
        found, cores = bench(chosen, options.rounds, pin=not options.no_pin, say=say)
    except (HotshardError, StoppedError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    where = f"{machine.description()}, Apache Kafka {KAFKA_VERSION}; {cores}"
    out(f"{where}; each timed from its assignment")
    for case in chosen:
        out(f"{case.name}: {case.traffic}")
    out(table(found))
    if options.compare:
        out("\n".join(compared(found, json.loads(options.compare.read_text())["throughput"])))
    if options.store:
        _store(options.store, {"machine": where, "day": time.strftime("%Y-%m-%d"), "throughput": as_stored(found)})
    if options.json:
        out(as_json(found))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="13-byte values only, and fewer of them")
    parser.add_argument("--json", action="store_true", help="end with one line for programs")
    parser.add_argument("--records", type=int, help="so many records of 13 bytes instead")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of those that are not slow")
    parser.add_argument("--only", action="append", choices=ALL, help="contestants; may be repeated")
    parser.add_argument("--case", action="append", help="cases whose name begins so; may be repeated")
    parser.add_argument("--no-pin", action="store_true", help="let everything run on any core")
    parser.add_argument("--store", type=Path, nargs="?", const=STORED, help="keep the result (docs/bench.json)")
    parser.add_argument("--compare", type=Path, nargs="?", const=STORED, help="with a stored result")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> tuple[Case, ...]:
    only = options.only or ALL
    return tuple(
        Case(case.name, case.traffic, contestants, case.once)
        for case in cases(quick=options.quick, records=options.records)
        if (not options.case or any(case.name.startswith(begin) for begin in options.case))
        and (contestants := tuple(name for name in case.contestants if name in only))
    )


def _store(path: Path, result: dict[str, Any]) -> None:
    held = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(held | result, indent=2) + "\n")
    say(f"stored in {path}")


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def out(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
