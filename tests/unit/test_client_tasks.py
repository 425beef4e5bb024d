from __future__ import annotations

import asyncio

import pytest

from hotshard import AsyncRegistry, MemoryRegistry, RegistryState
from hotshard.errors import RefusedError
from tests.support.eventually import eventually
from tests.support.registry import KEY, TOPIC

SHARDS = {f"{KEY}\x1f0", f"{KEY}\x1f1"}


@pytest.fixture
def memory() -> MemoryRegistry:
    made = MemoryRegistry()
    made.split(TOPIC, KEY, ("0", "1"))
    return made


async def test_it_follows_within_its_block_and_keeps_the_routes_after(memory: MemoryRegistry) -> None:
    async with AsyncRegistry(memory, [TOPIC]) as registry:
        assert registry.state is RegistryState.READY
        assert {registry.route(TOPIC, KEY).key for _ in range(4)} == SHARDS
        memory.split(TOPIC, KEY, ("0", "1", "2"))
        await eventually(lambda: len(registry.shards_of(TOPIC, KEY)) == 4)
    assert len(registry.shards_of(TOPIC, KEY)) == 4
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "hotshard-registry"]


async def test_starting_and_closing_twice_is_no_harm_and_it_can_start_again(memory: MemoryRegistry) -> None:
    registry = AsyncRegistry(memory)
    assert await registry.start() is await registry.start() is RegistryState.READY
    await registry.close()
    await registry.close()
    memory.split(TOPIC, KEY, ())
    async with registry:
        await eventually(lambda: registry.route(TOPIC, KEY).key == KEY)


async def test_a_start_without_a_registry_ends_in_time_and_follows_later(memory: MemoryRegistry) -> None:
    memory.store.available = False
    async with asyncio.timeout(30.0), AsyncRegistry(memory, start_timeout_s=0.05) as registry:
        assert (registry.state, registry.error is None) == (RegistryState.NOT_READY, False)
        memory.store.available = True
        await eventually(lambda: registry.state is RegistryState.READY)


async def test_a_refusal_ends_the_start_at_once(memory: MemoryRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise RefusedError("no rights")

    monkeypatch.setattr(memory.store, "snapshot", refused)
    async with asyncio.timeout(30.0), AsyncRegistry(memory, start_timeout_s=60.0) as registry:
        assert (registry.state, registry.error) == (RegistryState.NOT_READY, "no rights")


async def test_an_error_that_is_none_of_redis_is_survived(
    memory: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncRegistry(memory) as registry:
        with monkeypatch.context() as broken:
            broken.setattr(memory.store, "later", lambda _: 1 / 0)
            memory.split(TOPIC, KEY, ("x",))
            await eventually(lambda: registry.counters.failures > 0)
            assert "ZeroDivisionError" in (registry.error or "")
        await eventually(lambda: registry.shards_of(TOPIC, KEY) == (KEY, f"{KEY}\x1fx"))


async def test_every_state_is_told_in_the_loop(memory: MemoryRegistry) -> None:
    told: list[tuple[RegistryState, asyncio.AbstractEventLoop]] = []
    memory.store.wipe()
    async with AsyncRegistry(memory, on_state=lambda new: told.append((new, asyncio.get_running_loop()))):
        memory.split(TOPIC, KEY, ("0",))
        await eventually(lambda: len(told) == 2)
    loop = asyncio.get_running_loop()
    assert told == [(RegistryState.EMPTY, loop), (RegistryState.READY, loop)]


async def test_a_cancelled_start_leaves_something_that_can_be_closed(memory: MemoryRegistry) -> None:
    memory.store.available = False
    registry = AsyncRegistry(memory, start_timeout_s=60.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await registry.start()
    await registry.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "hotshard-registry"]


async def test_it_ends_although_being_cancelled_is_swallowed_once(
    memory: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    swallowed: list[bool] = []
    reader = memory.reader()

    async def changes(*_: object) -> list[object]:
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:  # as redis-py does right after the start
            if swallowed:
                raise
            swallowed.append(True)
        return []

    monkeypatch.setattr(reader, "changes", changes)
    monkeypatch.setattr(memory, "reader", lambda: reader)
    async with asyncio.timeout(30.0), AsyncRegistry(memory, [TOPIC]) as registry:
        await asyncio.sleep(0.01)
        assert registry.state is RegistryState.READY
    assert swallowed
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "hotshard-registry"]
