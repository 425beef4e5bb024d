"""Records a second on a real Kafka: who reads what, and in which order.

Each case is a topic that all its contestants read from its beginning, one after the other and in turns. What is
timed is told in :mod:`tests.bench.rounds`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.demo.servers import ApacheKafka, apache_missing, choose_redis
from hotshard.demo.servers.child import new_folder, remove_folder
from hotshard.errors import UnavailableError
from tests.bench import machine
from tests.bench.filling import Keys, Tenants, Traffic, fill
from tests.bench.rounds import Place, Result, peer_round, worker_round
from tests.bench.watching import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WORKER: Final = "worker"
GETMANY: Final = "getmany"
GETMANY_500: Final = "getmany_500"
CONFLUENT: Final = "confluent"
PLAIN_FAUST: Final = "plain_faust"
QUIXSTREAMS: Final = "quixstreams"
ALL: Final = (WORKER, GETMANY, GETMANY_500, CONFLUENT, PLAIN_FAUST, QUIXSTREAMS)


class Peer(NamedTuple):
    """How a peer is run."""

    module: str
    #: Read for so long and not to the end, where it would take minutes.
    for_s: float = 0.0
    at_once: int = 0


_PEERS: Final = {
    GETMANY: Peer("tests.bench.getmany_alone"),
    GETMANY_500: Peer("tests.bench.getmany_alone", at_once=500),
    CONFLUENT: Peer("tests.bench.confluent_alone"),
    PLAIN_FAUST: Peer("tests.bench.plain_faust", for_s=5.0),
    QUIXSTREAMS: Peer("tests.bench.quix_windows", for_s=5.0),
}


@dataclass(frozen=True)
class Case:
    """A topic, and who reads it; some in so many rounds at most, as they take long."""

    name: str
    traffic: Traffic
    contestants: tuple[str, ...]
    at_most: Mapping[str, int] = field(default_factory=dict)

    def takes_part(self, contestant: str, number: int) -> bool:
        return contestant in self.contestants and number <= self.at_most.get(contestant, number)


#: The case that has all the peers.
SMALL: Final = "13-byte values"
LARGE: Final = "1 KB values"
Rounds = dict[str, list[Result]]


class Outcome(NamedTuple):
    """What came to an end, by case and contestant; who ran; and the rounds that did not: case and contestant."""

    found: dict[str, Rounds]
    cores: machine.Cores
    lost: list[tuple[str, str]]


def cases(*, quick: bool, records: int | None) -> tuple[Case, ...]:
    """What is read; ``records`` of the first case, the others have what takes about as long."""
    at_most = {GETMANY_500: 1, PLAIN_FAUST: 1, QUIXSTREAMS: 1}
    if quick:
        # A round of the fastest is to last some seconds.
        traffic = Traffic(topic="mirror", records=records or 8_000_000)
        return (Case(SMALL, traffic, ALL, at_most | {GETMANY: 2, CONFLUENT: 2}),)
    many = records or 10_000_000
    few = many // 10
    worker = (WORKER,)
    beside = {
        "uniform keys": Traffic(topic="uniform", records=many // 2, keys_are=Keys.UNIFORM),
        "every key once": Traffic(topic="distinct", records=many // 2, keys_are=Keys.DISTINCT),
        "lz4": Traffic(topic="lz4", records=many // 2, codec="lz4"),
        "zstd": Traffic(topic="zstd", records=many // 2, codec="zstd"),
        "tenant in a header": Traffic(topic="header", records=many // 4, tenant_in=Tenants.HEADER),
        "tenant in JSON": Traffic(topic="json", records=many // 4, tenant_in=Tenants.JSON, value_bytes=100),
    }
    return (
        Case(SMALL, Traffic(topic="mirror", records=many), ALL, at_most),
        Case(LARGE, Traffic(topic="large", records=few, value_bytes=1024), (WORKER, GETMANY, GETMANY_500, CONFLUENT)),
        *(Case(name, traffic, worker) for name, traffic in beside.items()),
    )


def bench(chosen: Sequence[Case], rounds: int, *, pin: bool, say: Callable[[str], None]) -> Outcome:
    """Start the servers, and let the contestants of each case take turns."""
    missing = apache_missing()
    if missing is not None:
        raise UnavailableError(f"the benchmark needs Apache Kafka: {missing}")
    cores = machine.share_out(pin=pin)
    with ExitStack() as stack:
        folder = new_folder("bench")
        stack.callback(remove_folder, folder)
        with machine.on(cores.servers):
            kafka = stack.enter_context(ApacheKafka())
            redis_server = stack.enter_context(choose_redis().server)
        outcome = Outcome({}, cores, [])
        for case in chosen:
            began_s = time.monotonic()
            fill(kafka.bootstrap, case.traffic)
            say(f"{case.name}: {case.traffic.records:,} records produced in {time.monotonic() - began_s:.1f} s")
            place = Place(kafka.bootstrap, redis_server.url, case.traffic, folder, cores)
            with machine.on(cores.servers):
                outcome.found[case.name], lost = asyncio.run(_turns(case, place, rounds, say))
            outcome.lost.extend((case.name, name) for name in lost)
        return outcome


async def _turns(case: Case, place: Place, count: int, say: Callable[[str], None]) -> tuple[Rounds, list[str]]:
    """The rounds of each, and whose did not come to an end: the others go on."""
    rounds: Rounds = {name: [] for name in case.contestants}
    lost: list[str] = []
    for number in range(1, count + 1):
        for name in case.contestants[:: 1 if number % 2 else -1]:
            if case.takes_part(name, number):
                which = f"{case.name}, round {number} of {count}: {name}"
                try:
                    result = await _round(place, name, f"{case.traffic.topic}-{name.replace('_', '-')}-{number}")
                except StoppedError as error:
                    lost.append(name)
                    say(f"{which}: no figure: {error}")
                    continue
                rounds[name].append(result)
                note = f" ({result.note})" if result.note else ""
                say(f"{which}, {result.per_s:,.0f} records a second{note}")
    return rounds, lost


async def _round(place: Place, name: str, unique: str) -> Result:
    if name == WORKER:
        return await worker_round(place, unique)
    peer = _PEERS[name]
    return await peer_round(place, peer.module, unique, for_s=peer.for_s, at_once=peer.at_once)


def of(found: Mapping[str, Rounds], case: str, contestant: str) -> Sequence[Result]:
    """The rounds of one contestant; none where it did not take part, or none of its rounds came to an end."""
    return found.get(case, {}).get(contestant, ())
