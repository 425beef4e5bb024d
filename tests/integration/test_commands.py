"""People command, on real Kafka and Redis: with the installed command line, while traffic runs and workers die."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from hotshard import AsyncRegistry
from hotshard.core.wire.event import EventType, Ordered
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.exactness import told
from tests.support.faulty import BEFORE_REDIS, REACHED
from tests.support.topics import create_topic
from tests.support.traffic import HOT, Traffic
from tests.support.workers import FAULTY, Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS: Final = 12
HOLD_S: Final = 600
#: Low floors, as the test's load is small; nothing cools while it runs.
POLICY: Final = {
    "floor_act_per_s": 20,
    "floor_fast": 50,
    "slow_view_s": 5,
    "hold_s": HOLD_S,
    "off_s": HOLD_S,
}
TENANT, ENTITY = HOT.split("\x1f")


class Person:
    """Somebody at a terminal."""

    def __init__(self, install: Install, topic: str) -> None:
        self._where = ("--redis", install.redis_url, "--namespace", install.name, "--json")
        self.topic = topic

    async def says(self, *words: str) -> tuple[int, Any]:
        """Run the command; its exit code and what it printed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "hotshard", "registry", *words, *self._where,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
        assert b"Traceback" not in err, err.decode()
        return process.returncode or 0, json.loads(out) if out else err.decode()

    async def obeyed(self, *words: str) -> dict[str, Any]:
        code, answer = await self.says(*words)
        assert code == 0, answer
        found = answer["topics"][self.topic]
        assert isinstance(found, dict)
        return found

    async def sees(self) -> dict[str, Any]:
        code, answer = await self.says("show")
        assert code == 0, answer
        found = answer["topics"].get(self.topic, {})
        assert isinstance(found, dict)
        return found

    async def has_no_pause(self) -> bool:
        _, answer = await self.says("show")
        return all(pause["until_ms"] < answer["now_ms"] for pause in answer["topics"][self.topic]["pauses"])

    async def route(self) -> dict[str, Any]:
        routes = (await self.sees()).get("routes", [])
        return next((dict(route) for route in routes if route["key"] == HOT), {})

    async def route_in(self, state: str) -> dict[str, Any] | None:
        route = await self.route()
        return route if route.get("state") == state else None


class Scene:
    """A flooded topic, a worker on it, and a person."""

    def __init__(self, worker: WorkerProcess, person: Person, traffic: Traffic, install: Install) -> None:
        self.worker, self.person, self.traffic, self.install = worker, person, traffic, install

    async def as_the_route_says(self) -> int:
        """Wait until the hot key is written just where the registry says, which may change; on how many partitions."""

        async def look() -> int:
            route = await self.person.route()
            given = set(route["partitions"]) if route["state"] == "active" else set()
            self.traffic.places.clear()
            await eventually(lambda: sum(self.traffic.places.values()) > 60)
            lies = set(self.traffic.places)
            return len(lies) if lies == given or (not given and len(lies) == 1) else 0

        return await eventually(look, what="the key lies where its route says")

    async def orders_told(self) -> list[tuple[str, str]]:
        events = [event for event in await told(self.install) if isinstance(event.data, Ordered)]
        assert len({event.id for event in events}) == len(events)
        assert {event.type for event in events} <= {EventType.COMMAND_APPLIED, EventType.COMMAND_REFUSED}
        return [(event.data.command, event.data.reason) for event in events if isinstance(event.data, Ordered)]


@asynccontextmanager
async def scene(
    kafka: ApacheKafka, redis: RedisServer, topic: str, folder: Path, mode: str, **faults: str
) -> AsyncIterator[Scene]:
    await create_topic(kafka.bootstrap, topic, PARTITIONS)
    topics = {topic: {"ordering": "none", "mode": mode, **POLICY}}
    install = Install(folder, kafka.bootstrap, redis.url, f"{topic}-hs", topics, {"session_timeout_s": 3})
    worker = WorkerProcess(install, module=FAULTY) if faults else WorkerProcess(install)
    try:
        worker.start(**faults)
        await worker.assigned()
        async with (
            AsyncRegistry(install.redis_url, namespace=install.name) as registry,
            Traffic(kafka.bootstrap, topic, per_s=400, registry=registry) as traffic,
        ):
            await eventually(lambda: traffic.acked > 800)
            traffic.flood = 0.4
            yield Scene(worker, Person(install, topic), traffic, install)
        assert worker.stop() == 0
    finally:
        worker.end()


async def test_producers_spread_a_key_when_a_person_approves_it_and_stop_when_one_retires_it_whoever_dies(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    """The worker dies between the state and Redis when it obeys the first command, and before it hears the second."""
    faults = {"FAULTY_POINT": BEFORE_REDIS, "FAULTY_COUNT": "2"}  # after the plan is proposed, when it is given
    async with scene(kafka, redis_server, fresh_topic_name, tmp_path, "approve", **faults) as here:
        person = here.person
        proposed = await eventually(lambda: person.route_in("proposed"))
        assert proposed["reason"] == "mode_approve"
        assert await here.as_the_route_says() == 1
        await person.says("approve", person.topic, TENANT, ENTITY, "--by", "ann", "--reason", "sale", "--wait", "0")
        assert await here.worker.ended() == REACHED
        assert await person.route_in("proposed")
        here.worker.start()
        await eventually(lambda: person.route_in("active"))
        assert await here.as_the_route_says() > 1
        assert await here.orders_told() == [("approve", "approved")]
        approval = (await person.sees())["approvals"][0]
        assert (approval["key"], approval["given"]["by"], approval["given"]["reason"]) == (HOT, "ann", "sale")

        here.worker.kill()
        code, answer = await person.says("retire", "--all", "--wait", "1")
        assert (code, answer["topics"][person.topic]["applied"]) == (1, None)
        assert (await person.route())["state"] == "active"
        here.worker.start()
        await eventually(lambda: person.route_in("retired"))
        assert await here.as_the_route_says() == 1
        assert (await person.sees())["pauses"][0]["key"] is None
        assert await here.orders_told() == [("approve", "approved"), ("retire", "retired")]


async def test_in_an_incident_everything_stops_at_once_and_stays_so_whoever_dies(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    async with scene(kafka, redis_server, fresh_topic_name, tmp_path, "active") as here:
        person = here.person
        await eventually(lambda: person.route_in("active"))
        assert await here.as_the_route_says() > 1
        assert (await person.obeyed("freeze", "--reason", "incident"))["outcome"] == "frozen"
        code, answer = await person.says("retire", "--all", "--pause", "5")
        assert (code, answer["topics"][person.topic]["outcome"]) == (0, "retired")
        retired = await person.route()
        assert retired["state"] == "retired"
        waited_ms = retired["changed_ms"] - int(answer["id"].partition("-")[0])
        assert waited_ms < HOLD_S * 100, "it is not held first"
        assert await here.as_the_route_says() == 1

        here.worker.kill()
        here.worker.start()
        await here.worker.assigned()
        sees = await person.sees()
        assert sees["frozen"]["reason"] == "incident"
        await eventually(person.has_no_pause, what="the pause is over")
        assert (await person.route())["state"] == "retired", "what is frozen stays as it is"
        await eventually(lambda: answers(person), what="the new worker answers")
        assert (await person.obeyed("thaw", person.topic))["outcome"] == "thawed"
        await eventually(lambda: person.route_in("active"))

        assert (await person.obeyed("pin", person.topic, TENANT, ENTITY, "--never"))["outcome"] == "pinned"
        never = await eventually(lambda: person.route_in("retired"))
        assert never["reason"] == "pinned_never"
        assert (await person.obeyed("pin", person.topic, TENANT, ENTITY, "--shards", "7"))["outcome"] == "pinned"
        pinned = await eventually(lambda: person.route_in("active"))
        assert len(set(pinned["partitions"])) == 7
        assert await here.as_the_route_says() == 7
        assert [kind for kind, _ in await here.orders_told()] == ["freeze", "retire", "thaw", "pin", "pin"]


async def answers(person: Person) -> bool:
    return bool((await person.sees()).get("heartbeat_age_s", 99) < 2)


async def test_a_registry_that_was_emptied_takes_commands_again_and_knows_the_old_ones(
    kafka: ApacheKafka, own_redis: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    async with scene(kafka, own_redis, fresh_topic_name, tmp_path, "active") as here:
        person = here.person
        await eventually(lambda: person.route_in("active"))
        await person.obeyed("pin", person.topic, "other", "key", "--never")
        await person.obeyed("freeze")
        own_redis.stop()
        own_redis.start()
        await eventually(lambda: answers(person), what="the registry is written again")
        sees = await person.sees()
        assert sees["frozen"] is not None
        assert [pin["key"] for pin in sees["pins"]] == ["other\x1fkey"]
        assert (await person.obeyed("thaw"))["outcome"] == "thawed"
        assert [kind for kind, _ in await here.orders_told()] == ["pin", "freeze", "thaw"]
