"""Ways of placing records compared on Zipf streams, from the first record on: plain hash, others' and our own.

Progress goes to stderr, the tables to stdout, and between the marks in README.md; with ``--json`` the last line is
a list of the cells. It exits with 1 where our placement is above the tolerance although the keys too small to
split leave room for less.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.partitioners import PARTITIONERS, partition_of
from hotshard.core.planning.score import imbalance
from hotshard.core.planning.situation import Terms
from hotshard.core.planning.strategies.catalogue import STRATEGIES
from hotshard.core.planning.strategies.contract import Ground, Stretch
from hotshard.core.planning.worth import min_share
from hotshard.core.simulating import stretch_end
from tests.bench.placement_table import Cell, Outcome, tables, with_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

README: Final = Path(__file__).resolve().parents[2] / "README.md"
EXPONENTS: Final = (0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
PARTITIONS: Final = (8, 32, 128)
POLICIES: Final = ("key", "hashed", "pkg", "d-choices", "w-choices", "placed")
EPS: Final = 0.1
_RECORDS: Final = 1_000_000
_RECORDS_QUICK: Final = 200_000
_KEYS: Final = 100_000
_SEED: Final = 1


class Zipf(NamedTuple):
    """A stream of so many records over so many keys, the key of rank r being drawn with a weight of r ** -exponent."""

    exponent: float
    records: int
    keys: int = _KEYS

    def draw(self) -> list[bytes]:
        weights = list(accumulate(rank**-self.exponent for rank in range(1, self.keys + 1)))
        names = [b"key-%d" % rank for rank in range(1, self.keys + 1)]
        chance = random.Random(_SEED)  # noqa: S311 -- a simulation
        return chance.choices(names, cum_weights=weights, k=self.records)


def main() -> int:
    options = _options()
    records = options.records or (_RECORDS_QUICK if options.quick else _RECORDS)
    cells = list(compared(records, options.exponent or EXPONENTS, options.partitions or PARTITIONS))
    out(tables(cells, EPS))
    if _is_whole(options):
        README.write_text(with_tables(README.read_text(), cells, EPS))
        say(f"written to {README.name}")
    if options.json:
        out(json.dumps([cell.as_json() for cell in cells]))
    missed = [cell for cell in cells if cell.is_missed(EPS)]
    for cell in missed:
        say(f"MISSED: Zipf {cell.exponent}, {cell.partitions} partitions: {cell.outcomes['placed'].imbalance:.3f}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.compare_placement", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{_RECORDS_QUICK:,} records; README stays as it is")
    parser.add_argument("--records", type=int, help="so many records; README stays as it is")
    parser.add_argument("--exponent", type=float, action="append", help="only these; README stays as it is")
    parser.add_argument("--partitions", type=int, action="append", help="only these; README stays as it is")
    parser.add_argument("--json", action="store_true", help="end with one line for programs")
    return parser.parse_args()


def _is_whole(options: argparse.Namespace) -> bool:
    return not (options.quick or options.records or options.exponent or options.partitions)


def compared(records: int, exponents: Sequence[float], partitions: Sequence[int]) -> Iterator[Cell]:
    """Every cell, in the order of the table."""
    for exponent in exponents:
        stream = Zipf(exponent, records).draw()
        for count in partitions:
            yield compare(exponent, stream, count)


def compare(exponent: float, stream: Sequence[bytes], partitions: int) -> Cell:
    """All policies on one stream; a key may be split over all partitions there are."""
    ground = Ground(partitions, Terms(partitioner=PARTITIONERS["murmur2"], eps=EPS, max_shards=partitions))
    place = partition_of("murmur2", partitions)
    loads = Counter(stream)
    homes = {key: place(key) for key in loads}
    outcomes = {}
    for policy in POLICIES:
        outcomes[policy] = placed(policy, ground, stream, homes)
        say(f"Zipf {exponent}, {partitions} partitions, {policy}: {outcomes[policy].imbalance:.3f}")
    return Cell(exponent, partitions, rest_alone(loads, homes, partitions), outcomes)


def placed(policy: str, ground: Ground, stream: Sequence[bytes], homes: dict[bytes, int]) -> Outcome:
    """What one policy comes to over the whole stream, what it had to learn included."""
    strategy = STRATEGIES[policy](ground)
    loads: Counter[int | None] = Counter()
    lie: set[tuple[bytes, int | None]] = set()
    start = 0
    while start < len(stream):
        keys = stream[start : stretch_end(start)]
        places = strategy.place(Stretch(keys, keys, [homes[key] for key in keys]))
        loads.update(places)
        lie.update(zip(keys, places, strict=True))
        start += len(keys)
    split = [count for count in Counter(key for key, _ in lie).values() if count > 1]
    return Outcome(imbalance([loads[number] for number in range(ground.partitions)]), len(split), sum(split))


def rest_alone(loads: Counter[bytes], homes: dict[bytes, int], partitions: int) -> float:
    """What the fullest partition has of keys that are not worth splitting, by their hash, over the mean of all load.

    No split can bring the imbalance below this; only moving such keys can.
    """
    total = loads.total()
    rest = [0] * partitions
    for key, load in loads.items():
        if load <= min_share(EPS, partitions) * total:
            rest[homes[key]] += load
    return max(rest) * partitions / total


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def out(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
