"""One round of one contestant: started in a process of its own, timed from its assignment, ended.

A round begins when the group's coordinator has given every partition to a member that has joined; the
coordinator is asked every 20 ms. It ends

- for the worker, when all of this is seen from outside: its group has committed the end of every
  partition; the panes on the panes topic tile every partition from its first to its last record; the
  state topic, read committed, says that the newest of them was decided on; and Redis holds that state.
  A decider writes its state when it has something to say, so this may be seen up to a second after it
  has decided; nothing is taken off for that;
- for ``getmany`` and confluent-kafka, when the last record has been returned (by its own clock, the machine's
  monotonic one);
- for the plain agent and quixstreams, after so many seconds by its own clock, counted from the moment it heard of its
  assignment; quixstreams does not tell of that, and counts from its first record. It has then counted a part of the
  records only.

A worker that counted more or fewer records than there are has no figure.
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import redis.asyncio

from hotshard.demo.servers.child import Child
from tests.bench import machine, watching
from tests.bench.filling import Tenants
from tests.bench.peer import Done, Job, told
from tests.bench.watching import Group, Patience, StoppedError, Written
from tests.support.topics import admin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from hotshard.core.wire.state import TopicHead
    from tests.bench.filling import Traffic
    from tests.bench.machine import Cores

_ASSIGNED_WITHIN_S: Final = 60.0
#: How a worker is told where tenants stand.
_TENANT: Final = {
    Tenants.KEY: "",
    Tenants.HEADER: 'tenant = "header:tenant"',
    Tenants.JSON: 'tenant = "json:tenant"',
}
_DONE_WITHIN_S: Final = 300.0


class Result(NamedTuple):
    """What one round took."""

    records: int
    seconds: float
    #: Processor seconds of the contestant in that time; None where that is not told.
    cpu_s: float | None
    note: str = ""

    @property
    def per_s(self) -> float:
        return self.records / self.seconds


@dataclass(frozen=True)
class Place:
    """Where rounds are run: the servers, what is read, and a folder for files."""

    bootstrap: str
    redis_url: str
    traffic: Traffic
    folder: Path
    cores: Cores

    def start(self, name: str, command: Sequence[str]) -> Child:
        with machine.on(self.cores.clients):
            return Child([sys.executable, *command], self._log(name))

    def last_words(self, name: str) -> str:
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-20:]) or "it said nothing"

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    @asynccontextmanager
    async def group(self, name: str) -> AsyncIterator[Group]:
        async with admin(self.bootstrap) as client:
            yield Group(client, name, self.traffic.topic, self.traffic.partitions)


@asynccontextmanager
async def running(place: Place, name: str, command: Sequence[str]) -> AsyncIterator[Child]:
    """Give the contestant's process; it has ended after. An error inside shows what it said."""
    child = place.start(name, command)
    try:
        yield child
    except StoppedError as error:
        raise StoppedError(f"{name} {error}; its last words:\n{place.last_words(name)}") from error
    finally:
        child.end()


async def peer_round(place: Place, module: str, name: str, *, for_s: float = 0.0, at_once: int = 0) -> Result:
    """Let the module of a peer read everything, or ``for_s`` long."""
    result = place.folder / f"{name}.json"
    job = Job(place.bootstrap, place.traffic.topic, name, place.traffic.records, for_s, result, at_once)
    async with place.group(name) as group, running(place, name, ["-m", module, *job.arguments()]) as child:
        start_s = await Patience(_ASSIGNED_WITHIN_S, lambda: child.running).until(group.assigned, "it has partitions")
        used_s = machine.cpu_s(child.pid)
        done: Done | None = None

        async def is_done() -> bool:
            nonlocal done
            done = told(result)
            return done is not None

        await Patience(_DONE_WITHIN_S, lambda: child.running).until(is_done, "it has read everything")
        if done is None:
            raise AssertionError
        return Result(done.records, done.end_s - start_s, None if used_s is None else done.cpu_s - used_s)


async def worker_round(place: Place, name: str) -> Result:
    """Let a worker with topics, group and registry of its own read everything. Raises StoppedError."""
    traffic = place.traffic
    settings = place.folder / f"{name}.toml"
    settings.write_text(settings_text(place, name))
    ends = await watching.end_offsets(place.bootstrap, traffic.topic, traffic.partitions)
    group_name = observing_group(name)
    await watching.begin_at_zero(place.bootstrap, group_name, traffic.topic, traffic.partitions)
    command = ["-m", "hotshard", "worker", "--settings", str(settings)]
    async with place.group(group_name) as group, running(place, name, command) as child:
        assigned = Patience(_ASSIGNED_WITHIN_S, lambda: child.running)
        start_s = await assigned.until(group.assigned, "it has partitions")
        used_s = machine.cpu_s(child.pid)
        async with watching.listening(place.bootstrap, f"{name}-panes", f"{name}-state") as written:
            patience = Patience(_DONE_WITHIN_S, lambda: child.running)
            committed = await patience.until(lambda: group.has_committed(ends), "its group has committed all")
            decided, end_s = await decided_on(patience, place, name, written, ends)
            counted = all_counted(written, ends, traffic)
        spent_s = machine.cpu_s(child.pid)
    cpu_s = None if used_s is None or spent_s is None else spent_s - used_s
    stages = [f"{at_s - start_s:.2f} s" for at_s in (committed, decided, end_s)]
    note = "committed after {}, decided after {}, in Redis after {}".format(*stages)
    return Result(counted, end_s - start_s, cpu_s, note)


def all_counted(written: Written, ends: dict[int, int], traffic: Traffic) -> int:
    """The records of all panes; raises StoppedError where they are not those that were produced."""
    records = written.records(ends)
    if records != traffic.records:
        raise StoppedError(f"counted {records:,} records of {traffic.records:,}")
    return records


def observing_group(name: str) -> str:
    """The group in which a worker of group ``name`` observes."""
    return f"{name}-observe"


async def decided_on(
    patience: Patience, place: Place, name: str, written: Written, ends: dict[int, int]
) -> tuple[float, float]:
    """The moments at which everything was decided on, and at which Redis held that."""
    head: TopicHead | None = None

    async def is_decided() -> bool:
        nonlocal head
        head = written.decided(ends)
        return head is not None

    async def is_in_redis() -> bool:
        return head is not None and await watching.redis_holds(client, name, head)

    decided_s = await patience.until(is_decided, "every record lies in a pane that was decided on")
    async with redis.asyncio.from_url(place.redis_url) as client:
        return decided_s, await patience.until(is_in_redis, "Redis holds what was decided")


def settings_text(place: Place, name: str) -> str:
    topics = "".join(f'{what} = "{name}-{what}"\n' for what in ("panes", "state", "windows", "events"))
    return f"""\
[worker]
group = "{name}"
namespace = "{name}"

[mirror]
bootstrap_servers = ["{place.bootstrap}"]

[own_topics]
{topics}
[redis]
url = "{place.redis_url}"

[topics.{place.traffic.topic}]
{_TENANT[place.traffic.tenant_in]}
"""
