"""The benchmark, part after part, on a real Kafka.

Progress goes to stderr, tables to stdout. ``throughput`` compares the worker's whole path with the usual clients;
the baselines are written as their authors write them: in batches where there are any, on the same broker and the
same records. With ``--json`` the last line is ``{"worker_per_s": x, "plain_faust_per_s": x, "getmany_per_s": x,
"confluent_per_s": x, "quixstreams_per_s": x, "missed": [...]}``: medians of 13-byte values, null for whom there is no
figure, and the goals that were asked and not reached; after them what the other parts found, by name, each with its own
``missed``. The exit code is 1 where a part or a round did not come to its end; a missed goal does not change it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hotshard.demo.servers.artifacts import KAFKA_VERSION
from hotshard.errors import HotshardError
from tests.bench import catchup, live, machine, memory, parts, processes, producing, scale
from tests.bench.parts import out, quieten, say
from tests.bench.table import FIGURES, as_json, as_stored, compared, table
from tests.bench.throughput import ALL, Case, bench, cases
from tests.bench.watching import StoppedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What was measured last, and stands in the README.
STORED: Final = Path(__file__).parents[2] / "docs" / "bench.json"
THROUGHPUT: Final = "throughput"
_ALL: Final = (processes.PART, live.PART, memory.PART, scale.PART, producing.PART, catchup.PART)
PARTS: Final = {part.name: part for part in _ALL}


def main() -> int:
    options = _options()
    quieten()
    if options.compare and not options.compare.exists():
        say(f"{options.compare} is not there to compare with; --store makes it")
        return 2
    stored = json.loads(options.compare.read_text()) if options.compare else {}
    said: dict[str, Any] = {}
    worst = 0
    for name in _chosen(options):
        try:
            more, lost = _throughput(options, stored) if name == THROUGHPUT else (_part(name, options, stored), ())
            said |= more
            worst = 1 if lost else worst
        except (HotshardError, StoppedError) as error:
            say(f"{name}: {error}")
            said |= dict.fromkeys(FIGURES) if name == THROUGHPUT else {}
            worst = 1
        except KeyboardInterrupt:
            return 130
    if options.json and said:
        out(json.dumps(said))
    return worst


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    names = (THROUGHPUT, *PARTS)
    parser.add_argument("--part", action="append", choices=names, help="only this; may be repeated")
    parser.add_argument("--quick", action="store_true", help="throughput of 13-byte values only, and fewer of them")
    parser.add_argument("--tiny", action="store_true", help="parts beside throughput only show that they work")
    parser.add_argument("--json", action="store_true", help="end with one line for programs")
    parser.add_argument("--store", type=Path, nargs="?", const=STORED, help="keep the result (docs/bench.json)")
    parser.add_argument("--compare", type=Path, nargs="?", const=STORED, help="with a stored result")
    only = parser.add_argument_group("of throughput")
    only.add_argument("--records", type=int, help="so many records of 13 bytes instead")
    only.add_argument("--rounds", type=int, default=3, help="rounds of those that are not slow")
    only.add_argument("--only", action="append", choices=ALL, help="contestants; may be repeated")
    only.add_argument("--case", action="append", help="cases whose name begins so; may be repeated")
    only.add_argument("--no-pin", action="store_true", help="let everything run on any core")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[str]:
    asked: list[str] | None = options.part
    if asked is None:
        asked = [THROUGHPUT] if options.quick else [THROUGHPUT, *PARTS]
    return asked


def _part(name: str, options: argparse.Namespace, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a part and show it; what it found, by its name."""
    part, load, began_s = PARTS[name], parts.load(), time.monotonic()
    found = part.measure(say, options.tiny)
    out(f"\n{name}, in {time.monotonic() - began_s:.0f} s; {_machine()}; load average {load} before")
    out(parts.show(found, part.goals))
    if name in stored:
        out("\n".join(parts.compared(found, stored[name]["found"])))
    if options.store:
        _store(options.store, name, _machine(), load, found)
    return {name: parts.as_json(found, part.goals)}


def _throughput(options: argparse.Namespace, stored: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[object]]:
    """As :func:`_part`: records a second of each contestant, by the names that programs know; and the rounds lost."""
    chosen, load = _cases(options), parts.load()
    found, cores, lost = bench(chosen, options.rounds, pin=not options.no_pin, say=say)
    where = f"{_machine()}; {cores}"
    out(f"{where}; load average {load} before; each timed from its assignment")
    for case in chosen:
        out(f"{case.name}: {case.traffic}")
    out(table(found))
    for name, contestant in lost:
        out(f"{name}: a round of {contestant} did not come to its end")
    if THROUGHPUT in stored:
        out("\n".join(compared(found, stored[THROUGHPUT]["found"])))
    if options.store:
        _store(options.store, THROUGHPUT, where, load, as_stored(found))
    return dict(json.loads(as_json(found))), lost


def _cases(options: argparse.Namespace) -> tuple[Case, ...]:
    only = options.only or ALL
    return tuple(
        Case(case.name, case.traffic, contestants, case.at_most)
        for case in cases(quick=options.quick, records=options.records)
        if (not options.case or any(case.name.startswith(begin) for begin in options.case))
        and (contestants := tuple(name for name in case.contestants if name in only))
    )


def _machine() -> str:
    return f"{machine.description()}, Apache Kafka {KAFKA_VERSION}"


def _store(path: Path, name: str, where: str, load: float, found: Mapping[str, Any]) -> None:
    """Keep what a part found, beside what others did, with the machine, its load before, and the day."""
    held = json.loads(path.read_text()) if path.exists() else {}
    held[name] = {"machine": where, "load_before": load, "day": time.strftime("%Y-%m-%d"), "found": found}
    path.write_text(json.dumps(held, indent=2) + "\n")
    say(f"{name}: stored in {path}")


if __name__ == "__main__":
    sys.exit(main())
