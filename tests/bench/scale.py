"""What panes, deciding and Redis cost, of many partitions and topics: ``python -m tests.bench.scale``.

A worker that keeps account of its processor time (:mod:`tests.bench.accounted`) first reads all that waits, at full
speed, then live traffic. The shares are parts of its whole processor time from when it has all its partitions, of its
own topics too: what a start costs is paid once. What it writes to Redis is counted by Redis itself, and held against
what :mod:`hotshard.core.pacing` promises of topics that have settled.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import redis.asyncio

from hotshard.core.pacing import ALL_AT_ONCE, ALL_PER_BEAT, TOPIC_AT_ONCE, TOPIC_PER_BEAT
from tests.bench import watching
from tests.bench.accounted import DECIDE, KINDS, PANES, REDIS
from tests.bench.filling import Traffic, fill
from tests.bench.parts import Goal, Ground, Part, alone, rounded, servers, settings_with
from tests.bench.pumping import pumping
from tests.bench.rounds import observing_group, running, settings_text
from tests.bench.watching import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.bench.parts import Figures, Found, Say

_NAME: Final = "scale"
_LIVE_PER_S: Final = 20_000
#: Of each of a worker's own topics, where the settings say nothing.
_OWN_PARTITIONS: Final = 8
_WARM_S: Final = 12.0
_WITHIN_S: Final = 300.0
#: Coroutines named of those that took the most.
_NAMED: Final = 16
#: What changes something in Redis, as Redis names it; those inside a script count as well.
_WRITES: Final = frozenset(("set", "hset", "hdel", "del", "unlink", "xadd", "xtrim", "expire", "pexpire", "persist"))


class Case(NamedTuple):
    """``topics`` topics of ``partitions`` partitions each."""

    partitions: int
    topics: int = 1

    def __str__(self) -> str:
        many = f"{self.topics} topics of " if self.topics > 1 else ""
        return f"{many}{self.partitions:,} partitions"

    def names(self) -> list[str]:
        return [f"scale-{self.partitions}-{self.topics}-{number}" for number in range(self.topics)]


CASES: Final = (Case(12), Case(100), Case(1000), Case(12, 10), Case(12, 50))
_BACKLOG: Final = "{}, backlog"
_LIVE: Final = "{}, live"
_LIVE_S: Final = 30.0
_TINY_LIVE_S: Final = 5.0
#: Of one publish at most, all that write.
_COMMANDS: Final = 7


def most_writes_per_s(topics: int, seconds: float) -> float:
    """What one worker may write in so long: each topic by its two purses, all together, and a beat a second.

    A beat writes for up to 100 topics. Plans and topics that Redis does not hold have purses beside the one of all
    together; where traffic has settled there are none.
    """
    each = 2 * (TOPIC_AT_ONCE + TOPIC_PER_BEAT * seconds)
    publishes = min(topics * each, ALL_AT_ONCE + ALL_PER_BEAT * seconds)
    return _COMMANDS * publishes / seconds + math.ceil(topics / 100)


GOALS: Final = (
    Goal(_BACKLOG.format(CASES[0]), "together_percent", most=5.0),
    Goal(_BACKLOG.format(CASES[1]), "together_percent", most=15.0),
    *(
        Goal(_LIVE.format(case), "redis_writes_per_s", most=round(most_writes_per_s(case.topics, _LIVE_S), 1))
        for case in CASES
    ),
)


class Look(NamedTuple):
    """The worker's account and Redis's count of writes at one moment."""

    account: dict[str, Any]
    writes: int

    def until(self, later: Look, records: int) -> Figures:
        spent = {kind: later.account[kind] - self.account[kind] for kind in KINDS}
        whole = later.account["cpu_s"] - self.account["cpu_s"]
        took_s = later.account["at_s"] - self.account["at_s"]
        beside = (PANES, DECIDE, REDIS)
        percent = {f"{kind}_percent": 100 * spent[kind] / whole for kind in beside}
        return rounded(
            {
                "records_per_s": records / took_s,
                "cores": whole / took_s,
                **percent,
                "together_percent": sum(percent.values()),
                "together_cores": sum(spent[kind] for kind in beside) / took_s,
                "redis_writes_per_s": (later.writes - self.writes) / took_s,
            }
        )

    def names(self, later: Look) -> str:
        """What took the most until then."""
        before, after = self.account["names"], later.account["names"]
        spent = {name: spent_s - before.get(name, 0.0) for name, spent_s in after.items()}
        most = sorted(spent.items(), key=lambda each: -each[1])[:_NAMED]
        return ", ".join(f"{name} {spent_s:.2f} s" for name, spent_s in most)


def deciding_group(name: str) -> str:
    """The group in which a worker of group ``name`` decides."""
    return f"{name}-decide"


def measure(say: Say, tiny: bool) -> Found:  # noqa: FBT001 - as every part has it
    found: dict[str, Figures] = {}
    records, live_s = (200_000, _TINY_LIVE_S) if tiny else (8_000_000, _LIVE_S)
    for case in (CASES[0], Case(100), Case(12, 3)) if tiny else CASES:
        with servers("scale") as ground:
            found |= asyncio.run(_case(ground, case, records, live_s, say))
    return found


async def _case(ground: Ground, case: Case, records: int, live_s: float, say: Say) -> Found:
    topics = case.names()
    each = records // len(topics)
    for topic in topics:
        await asyncio.to_thread(fill, ground.bootstrap, Traffic(topic=topic, records=each, partitions=case.partitions))
        await watching.begin_at_zero(ground.bootstrap, observing_group(_NAME), topic, case.partitions)
    say(f"scale: {case}: {records:,} records produced")
    async with _worker(ground, case) as worker:
        began, ended, read = await worker.reads_all()
        backlog = began.until(ended, read)
        say(f"scale: {case}, backlog: {json.dumps(backlog)}; the most: {began.names(ended)}")
        async with pumping(ground.bootstrap, dict.fromkeys(topics, case.partitions), _LIVE_PER_S) as pump:
            await asyncio.sleep(min(_WARM_S, 2 * live_s))
            began, sent = await worker.look(), pump.sent
            await asyncio.sleep(live_s)
            ended, sent = await worker.look(), pump.sent - sent
        live = began.until(ended, sent)
        say(f"scale: {case}, live: {json.dumps(live)}; the most: {began.names(ended)}")
    return {_BACKLOG.format(case): backlog, _LIVE.format(case): live}


@dataclass
class _Worker:
    """A worker that keeps account, and whom to ask how far it is."""

    account: Path
    client: redis.asyncio.Redis
    patience: Patience
    groups: list[tuple[watching.Group, dict[int, int]]]
    deciding: watching.Group

    async def reads_all(self) -> tuple[Look, Look, int]:
        """Look when it has its partitions, and when its group has committed all their ends; records read between."""
        for group in (self.groups[0][0], self.deciding):
            await self.patience.until(group.assigned, "it has partitions")
        first, already = await self.look(), await self._committed()
        for group, ends in self.groups:
            await self.patience.until(partial(group.has_committed, ends), "its group has committed all")
        return first, await self.look(), await self._committed() - already

    async def _committed(self) -> int:
        """Records before the group's offsets; all topics are read from their beginning."""
        return sum([sum((await group.committed()).values()) for group, _ in self.groups])

    async def look(self) -> Look:
        """The next account that it writes."""
        now_s = time.monotonic()

        async def is_told() -> bool:
            return bool(self._told()["at_s"] >= now_s)

        await self.patience.until(is_told, "it has written its account")
        return Look(self._told(), await writes(self.client))

    def _told(self) -> dict[str, Any]:
        return dict(json.loads(self.account.read_text())) if self.account.exists() else {"at_s": 0.0}


@asynccontextmanager
async def _worker(ground: Ground, case: Case) -> AsyncIterator[_Worker]:
    first, *others = places = [
        ground.place(Traffic(topic=topic, records=0, partitions=case.partitions)) for topic in case.names()
    ]
    settings, account = ground.folder / "scale.toml", ground.folder / "account.json"
    settings.write_text(settings_with(settings_text(first, _NAME), [place.traffic.topic for place in others]))
    port = str(urlsplit(ground.redis_url).port)
    command = ["-m", "tests.bench.accounted", str(account), port, "worker", "--settings", str(settings)]
    async with AsyncExitStack() as stack:
        groups = []
        for place in places:
            ends = await watching.end_offsets(ground.bootstrap, place.traffic.topic, case.partitions)
            groups.append((await stack.enter_async_context(place.group(observing_group(_NAME))), ends))
        panes = ground.place(Traffic(topic=f"{_NAME}-panes", records=0, partitions=_OWN_PARTITIONS))
        deciding = await stack.enter_async_context(panes.group(deciding_group(_NAME)))
        child = await stack.enter_async_context(running(first, _NAME, command))
        client = await stack.enter_async_context(redis.asyncio.from_url(ground.redis_url))
        yield _Worker(account, client, Patience(_WITHIN_S, lambda: child.running), groups, deciding)


async def writes(client: redis.asyncio.Redis) -> int:
    """Commands since Redis started that changed something."""
    stats = await client.info("commandstats")
    names = ((name.removeprefix("cmdstat_").lower(), told["calls"]) for name, told in stats.items())
    return sum(calls for name, calls in names if name in _WRITES)


PART: Final = Part("scale", measure, GOALS)

if __name__ == "__main__":
    sys.exit(alone(PART))
