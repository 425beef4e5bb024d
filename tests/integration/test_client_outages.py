"""Redis dies, comes back empty, is emptied, stalls and refuses, while clients follow it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

import hotshard
from hotshard import AsyncRegistry, Registry, RegistryState
from hotshard.demo.servers import RedisServer
from hotshard.doors.redis.real import RedisRegistry
from hotshard.errors import RefusedError, UnavailableError
from tests.support.eventually import eventually, eventually_blocking
from tests.support.registry import KEY, TOPIC, route, state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from hotshard.core.wire.route import TopicState

pytestmark = pytest.mark.integration

#: Longer than any call may take, and shorter than one that waits for Redis would.
IN_TIME_S = 30.0
FIRST, SECOND = state(1, route()), state(2, route(suffixes=("0", "1", "2")))
STALE_AFTER_S = 1.0


class World:
    """A Redis of its own, the detector's door to it, and a registry of each kind."""

    def __init__(self, server: RedisServer, start_timeout_s: float) -> None:
        self.server = server
        self.door = RedisRegistry(server.url)
        settings = {"stale_after_s": STALE_AFTER_S, "start_timeout_s": start_timeout_s}
        self.threads = Registry(server.url, [TOPIC], **settings)  # type: ignore[arg-type]  # mypy takes them for more
        self.tasks = AsyncRegistry(server.url, [TOPIC], **settings)  # type: ignore[arg-type]

    async def all_are(self, wanted: RegistryState) -> None:
        await eventually(lambda: self.states() == {wanted}, what=f"all {wanted}")

    async def all_have(self, shards: int) -> None:
        await eventually(lambda: self.shards() == {shards}, what=f"{shards} shards everywhere")

    def states(self) -> set[RegistryState]:
        return {registry.state for registry in (self.threads, self.tasks)}

    def shards(self) -> set[int]:
        """How many keys records of KEY are sent under."""
        return {len({one.route(TOPIC, KEY).key for _ in range(8)}) for one in (self.threads, self.tasks)}

    async def start(self) -> None:
        await asyncio.to_thread(self.threads.start)
        await self.tasks.start()

    async def publish(self, wanted: TopicState) -> None:
        """As the job does: again and again until it stands."""

        async def stands() -> bool:
            try:
                return await self.door.publish(wanted) or await self.door.beat(
                    wanted.topic, wanted.epoch, wanted.version
                )
            except UnavailableError:
                return False

        await eventually(stands)

    async def are_ready_with(self, wanted: TopicState) -> None:
        """Publish until all are ready: once is no sign of life for long, two that look at different times miss it."""

        async def ready() -> bool:
            await self.publish(wanted)
            return self.states() == {RegistryState.READY}

        await eventually(ready)

    async def close(self) -> None:
        await asyncio.to_thread(self.threads.close)
        await self.tasks.close()
        await self.door.close()


@pytest.fixture
async def world(own_redis: RedisServer) -> AsyncIterator[World]:
    made = World(own_redis, start_timeout_s=2 * IN_TIME_S)
    yield made
    await made.close()


@pytest.fixture
async def hasty(own_redis: RedisServer) -> AsyncIterator[World]:
    """One whose registries start without a Redis that does not answer at once."""
    made = World(own_redis, start_timeout_s=0.3)
    yield made
    await made.close()


async def test_routes_outlive_a_redis_that_dies_and_comes_back_empty(world: World) -> None:
    await world.publish(FIRST)
    await world.start()
    assert world.shards() == {2}
    world.server.kill()
    await world.all_are(RegistryState.STALE)
    assert world.shards() == {2}
    world.server.start()
    await eventually(lambda: world.threads.error is None and world.tasks.error is None)
    assert (world.states(), world.shards()) == ({RegistryState.STALE}, {2})
    await world.are_ready_with(FIRST)
    await world.publish(SECOND)
    await world.all_have(3)
    assert world.threads.counters.kept == world.tasks.counters.kept == 0


async def test_routes_outlive_a_redis_that_is_emptied(world: World) -> None:
    await world.publish(FIRST)
    await world.start()
    with redis.Redis.from_url(world.server.url) as client:
        client.flushall()
    await world.all_are(RegistryState.STALE)
    assert world.shards() == {2}
    await world.are_ready_with(SECOND)
    await world.all_have(3)


async def test_a_start_without_redis_takes_no_longer_than_it_may(hasty: World) -> None:
    hasty.server.kill()
    async with asyncio.timeout(IN_TIME_S):
        await hasty.start()
    assert (hasty.states(), hasty.shards()) == ({RegistryState.NOT_READY}, {1})
    await eventually(lambda: "does not answer" in (hasty.threads.error or ""))
    hasty.server.start()
    await hasty.all_are(RegistryState.EMPTY)
    await hasty.are_ready_with(FIRST)
    await hasty.all_have(2)


async def test_a_redis_that_stalls_holds_up_no_record_and_no_closing(world: World) -> None:
    await world.publish(FIRST)
    await world.start()
    world.server.pause()
    try:
        await world.all_are(RegistryState.STALE)
        started = time.monotonic()
        assert world.shards() == {2}
        await asyncio.to_thread(world.threads.close)
        await world.tasks.close()
        assert time.monotonic() - started < 2.0
    finally:
        world.server.resume()


async def test_a_stalled_redis_does_not_hold_up_a_start_for_long(hasty: World) -> None:
    hasty.server.pause()
    try:
        async with asyncio.timeout(IN_TIME_S):
            await hasty.start()
        assert hasty.shards() == {1}
    finally:
        hasty.server.resume()
    await hasty.all_are(RegistryState.EMPTY)


async def test_a_waiting_client_is_closed_at_once(world: World) -> None:
    await world.publish(FIRST)
    await world.start()
    await asyncio.sleep(0.1)  # both are likely to wait for the log then; the test holds if not
    started = time.monotonic()
    await asyncio.to_thread(world.threads.close)
    await world.tasks.close()
    assert time.monotonic() - started < 1.0, "what waits for the log does so for 1.5 s"


async def test_many_outages_leave_no_connections_behind(world: World) -> None:
    await world.publish(FIRST)
    await world.start()
    for _ in range(3):
        world.server.kill()
        await eventually(lambda: world.threads.error is not None and world.tasks.error is not None)
        world.server.start()
        await eventually(lambda: world.threads.error is None and world.tasks.error is None)
    await world.publish(SECOND)
    await world.all_have(3)
    with redis.Redis.from_url(world.server.url) as client:
        assert len(client.client_list()) <= 4, "one each, the door's and this one"


async def test_a_registry_closed_as_soon_as_it_is_started_ends(own_redis: RedisServer) -> None:
    for _ in range(5):
        async with asyncio.timeout(30.0), AsyncRegistry(own_redis.url, [TOPIC]) as registry:
            assert registry.state is RegistryState.EMPTY


@pytest.mark.parametrize("password", ["wrong-secret", None])
async def test_a_refused_login_is_one_clear_line_without_the_password(password: str | None) -> None:
    with RedisServer(password="right-secret") as server:
        login = f":{password}@" if password else ""
        url = f"redis://{login}127.0.0.1:{server.port}"
        started = time.monotonic()
        with Registry(url, [TOPIC], start_timeout_s=120.0) as registry:
            assert time.monotonic() - started < 60.0, "waiting does not help"
            assert registry.state is RegistryState.NOT_READY
            assert registry.route(TOPIC, KEY).key == KEY
        door = RedisRegistry(url)
        with pytest.raises(RefusedError, match="check user and password") as refused:
            await door.publish(FIRST)
        await door.close()
        for line in (str(refused.value), registry.error or ""):
            assert "refused the login" in line
            assert "secret" not in line
            assert "\n" not in line


async def test_a_wrong_address_is_one_clear_line() -> None:
    door = RedisRegistry("redis://user:hidden@127.0.0.1:1/3?socket_timeout=2")
    with pytest.raises(UnavailableError, match=r"Redis at redis://127\.0\.0\.1:1/3 does not answer") as error:
        await door.beat(TOPIC, 1, 1)
    assert "hidden" not in str(error.value)


async def test_a_replica_is_refused_for_writing_and_fine_for_following(own_redis: RedisServer) -> None:
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("repl-diskless-sync-delay", 0)  # else the replica waits 5 s for others to come
    primary = RedisRegistry(own_redis.url)
    await primary.publish(FIRST)
    with RedisServer(options={"replicaof": f"127.0.0.1 {own_redis.port}"}) as replica:
        door = RedisRegistry(replica.url)
        with pytest.raises(RefusedError, match="address of the primary"):
            await door.publish(state(9, route()))
        await door.close()
        async with AsyncRegistry(replica.url, [TOPIC]) as registry:
            await eventually(lambda: len({registry.route(TOPIC, KEY).key for _ in range(8)}) == 2)
            await primary.publish(SECOND)
            await eventually(lambda: len({registry.route(TOPIC, KEY).key for _ in range(8)}) == 3)
    await primary.close()


async def test_a_full_redis_is_said_as_it_is() -> None:
    with RedisServer(options={"maxmemory": "1kb", "maxmemory-policy": "noeviction"}) as server:
        door = RedisRegistry(server.url)
        with pytest.raises(UnavailableError, match="maxmemory"):
            await door.publish(FIRST)
        await door.close()


FORKS = """
import os, sys, time
from hotshard import Registry
registry = Registry(sys.argv[1], ["orders"], start_timeout_s=120.0)
registry.start()
def shards():
    return len({registry.route("orders", sys.argv[2]).key for _ in range(8)})
def until(wanted):
    end = time.monotonic() + 120
    while shards() != wanted and time.monotonic() < end:
        time.sleep(0.02)
    return shards() == wanted
assert until(2)
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        told = until(3)
        registry.close()
        os._exit(0 if told else 1)
    children.append(pid)
print("forked", flush=True)
assert until(3)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
registry.close()
print("done", flush=True)
"""


def test_a_forked_child_follows_with_a_thread_of_its_own(own_redis: RedisServer) -> None:
    door = RedisRegistry(own_redis.url)
    asyncio.run(_publish(door, FIRST))
    environment = {
        **os.environ, "PYTHONPATH": str(Path(hotshard.__file__).parents[1]), "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    program = [sys.executable, "-c", FORKS, own_redis.url, KEY]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "forked\n"
        asyncio.run(_publish(RedisRegistry(own_redis.url), SECOND))
        assert running.stdout.readline() == "done\n"
    assert running.returncode == 0
    eventually_blocking(lambda: running.poll() is not None)


async def _publish(door: RedisRegistry, wanted: TopicState) -> None:
    await door.publish(wanted)
    await door.close()
