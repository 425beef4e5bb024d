"""Records a second on a real Kafka: the worker's whole path, a plain Faust agent, and ``getmany`` alone.

All read the same topic from its beginning, one after the other and in turns. What is timed is told in
:mod:`tests.bench.rounds`. Progress goes to stderr, the table to stdout; with ``--json`` the last line is
``{"worker_per_s": x, "plain_faust_per_s": x, "getmany_per_s": x}``: medians.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from hotshard.demo.servers import ApacheKafka, apache_missing, choose_redis
from hotshard.demo.servers.artifacts import KAFKA_VERSION
from hotshard.demo.servers.child import new_folder, remove_folder
from hotshard.errors import HotshardError, UnavailableError
from tests.bench import machine
from tests.bench.filling import Traffic, fill
from tests.bench.rounds import Place, Result, peer_round, worker_round
from tests.bench.table import GETMANY, GETMANY_500, PLAIN_FAUST, WORKER, as_json, table
from tests.bench.watching import StoppedError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The fastest contestant reads more than a million records a second: a round of it is to last about 3 s or more.
_RECORDS: Final = 10_000_000
_RECORDS_QUICK: Final = 4_000_000
_PLAIN_S: Final = 5.0
_ALL: Final = (WORKER, GETMANY, GETMANY_500, PLAIN_FAUST)
#: These have one round only.
_ONCE: Final = (GETMANY_500, PLAIN_FAUST)


def main() -> int:
    options = _options()
    # The broker's first group makes it create the topic of offsets; aiokafka takes the wait for an error.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    traffic = Traffic(topic="mirror", records=options.records or (_RECORDS_QUICK if options.quick else _RECORDS))
    try:
        rounds, cores = bench(traffic, options)
    except (HotshardError, StoppedError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    out(f"{machine.description()}, Apache Kafka {KAFKA_VERSION}; {cores}")
    out(f"{traffic}; each timed from its assignment")
    out(table(rounds))
    if options.json:
        out(as_json(rounds))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{_RECORDS_QUICK:,} records instead of {_RECORDS:,}")
    parser.add_argument("--json", action="store_true", help="end with one line for programs")
    parser.add_argument("--records", type=int, help="so many records instead")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the worker and of getmany")
    parser.add_argument("--only", action="append", choices=_ALL, help="may be repeated")
    parser.add_argument("--no-pin", action="store_true", help="let everything run on any core")
    return parser.parse_args()


def bench(traffic: Traffic, options: argparse.Namespace) -> tuple[dict[str, list[Result]], machine.Cores]:
    """Start the servers, fill the topic, run the rounds."""
    missing = apache_missing()
    if missing is not None:
        raise UnavailableError(f"the benchmark needs Apache Kafka: {missing}")
    cores = machine.share_out(pin=not options.no_pin)
    with ExitStack() as stack:
        folder = new_folder("bench")
        stack.callback(remove_folder, folder)
        with machine.on(cores.servers):
            kafka = stack.enter_context(ApacheKafka())
            redis_server = stack.enter_context(choose_redis().server)
        began_s = time.monotonic()
        fill(kafka.bootstrap, traffic)
        say(f"{traffic.records:,} records produced in {time.monotonic() - began_s:.1f} s")
        place = Place(kafka.bootstrap, redis_server.url, traffic, folder, cores)
        with machine.on(cores.servers):
            return asyncio.run(run(place, options.only or _ALL, options.rounds)), cores


async def run(place: Place, names: Sequence[str], count: int) -> dict[str, list[Result]]:
    """Let the contestants take turns."""
    rounds: dict[str, list[Result]] = {name: [] for name in _ALL}
    for number in range(1, count + 1):
        for name in _ALL[:: 1 if number % 2 else -1]:
            if name in names and (name not in _ONCE or number == 1):
                result = await _round(place, name, number)
                rounds[name].append(result)
                note = f" ({result.note})" if result.note else ""
                say(f"round {number} of {count}: {name}, {result.per_s:,.0f} records a second{note}")
    return rounds


async def _round(place: Place, name: str, number: int) -> Result:
    unique = f"{name.replace('_', '-')}-{number}"
    if name == WORKER:
        return await worker_round(place, unique)
    if name in {GETMANY, GETMANY_500}:
        return await peer_round(place, "tests.bench.getmany_alone", unique, at_once=500 if name == GETMANY_500 else 0)
    return await peer_round(place, "tests.bench.plain_faust", unique, for_s=_PLAIN_S)


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def out(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
