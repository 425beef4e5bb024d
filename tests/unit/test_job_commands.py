"""Commands on their way: from the registry through workers into the state, and what producers see of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hotshard.core.topic import Mode, Pin
from hotshard.core.wire.command import START, Command, CommandKind
from hotshard.core.wire.event import EventType, Ordered, PlanChange
from hotshard.core.wire.orders import Outcome
from hotshard.core.wire.route import Route, RouteState
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.commands import FIELD
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import RefusedError
from hotshard.job import commands as module
from hotshard.job.commands import CommandReader
from tests.support.deciding import TOPIC, key
from tests.support.eventually import eventually
from tests.support.job import Deciders, Producing, memory_kafka

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from hotshard.core.wire.command import Page, StreamId
    from hotshard.core.wire.orders import Orders

CALM = {key(0, f"t{number}"): 10 for number in range(24)}
HOT = key(1)
FLOOD = CALM | {HOT: 200}
OTHER = "another-topic"


class House:
    """One Kafka, one registry, traffic on two topics, and workers."""

    def __init__(self, **of_each: Any) -> None:  # noqa: ANN401 - any field of the topics' specs
        self.clock = ManualClock()
        self.kafka = memory_kafka(self.clock)
        self.registry = MemoryRegistry(self.clock)
        self.producing = [Producing(self.kafka, self.clock, name) for name in (TOPIC, OTHER)]
        self._of_each = of_each

    async def worker(self) -> Deciders:
        made = Deciders(self.kafka, self.clock, topics=(TOPIC, OTHER), registry=self.registry, **self._of_each)
        await made.assigned()
        return made

    async def live(self, worker: Deciders, loads: Mapping[bytes, int], seconds: int) -> None:
        for _ in range(seconds):
            self.clock.advance(1)
            for each in self.producing:
                await each.second(loads)
            await worker.round()
            await worker.keeper._write()  # noqa: SLF001

    async def command(
        self,
        kind: CommandKind,
        topic: str | None = TOPIC,
        name: bytes | None = None,
        **more: Any,  # noqa: ANN401 - any field of a command
    ) -> str:
        """A person commands; the place of the command."""
        self.clock.advance(0.001)
        text = None if name is None else name.decode()
        command = Command(kind=kind, topic=topic, key=text, **({"by": "ann", "reason": "why"} | more))
        return str(await self.registry.command(command))

    async def orders(self, topic: str = TOPIC) -> Orders:
        return (await self.registry.desk()).topics[topic].orders

    async def route(self, topic: str = TOPIC) -> Route:
        (route,) = (await self.registry.desk()).topics[topic].routes
        return route


def ordered(worker: Deciders, topic: str = TOPIC) -> list[Ordered]:
    return [event.data for event in worker.events() if isinstance(event.data, Ordered) and event.data.topic == topic]


async def test_a_plan_approved_by_a_person_is_given_to_producers_and_it_is_told_who_wanted_it() -> None:
    house = House(mode=Mode.APPROVE)
    worker = await house.worker()
    await house.live(worker, CALM, 3)
    await house.live(worker, FLOOD, 3)
    proposed = await house.route()
    assert (proposed.state, proposed.reason) == (RouteState.PROPOSED, "mode_approve")
    at = await house.command(CommandKind.APPROVE, name=HOT, suffixes=proposed.suffixes, partitions=proposed.partitions)
    await house.live(worker, FLOOD, 2)
    route = await house.route()
    assert (route.state, route.suffixes) == (RouteState.ACTIVE, proposed.suffixes)
    (told,) = ordered(worker)
    assert (told.id, told.command, told.by, told.why, told.reason) == (
        at, CommandKind.APPROVE, "ann", "why", Outcome.APPROVED,
    )  # fmt: skip
    kinds = [event.type for event in worker.events() if event.data.topic == TOPIC]
    assert kinds.index(EventType.COMMAND_APPLIED) < kinds.index(EventType.PLAN_ACTIVATED)
    (approval,) = (await house.orders()).approvals
    assert (approval.base_key, approval.given.by) == (HOT, "ann")
    assert (await house.orders()).done[-1].id == at


async def test_a_command_for_all_topics_is_obeyed_by_each_of_them_once() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, FLOOD, 4)
    await house.command(CommandKind.RETIRE, None, reason="incident")
    await worker.round()
    await worker.keeper._write()  # noqa: SLF001
    for topic in (TOPIC, OTHER):
        (told,) = ordered(worker, topic)
        assert (told.command, told.reason) == (CommandKind.RETIRE, Outcome.RETIRED)
        assert (await house.route(topic)).state is RouteState.RETIRED
    await house.live(worker, FLOOD, 20)
    assert (await house.route()).state is RouteState.RETIRED
    await house.command(CommandKind.THAW, TOPIC)
    await house.live(worker, FLOOD, 2)
    assert (await house.route()).state is RouteState.ACTIVE
    assert (await house.route(OTHER)).state is RouteState.RETIRED


async def test_what_a_person_wants_retired_waits_for_no_message() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, FLOOD, 4)
    house.clock.advance(1)
    for each in house.producing:
        await each.second(FLOOD)
    await worker.round()
    await house.command(CommandKind.RETIRE)
    await worker.round(0.1)  # nobody counts, nobody speaks
    await worker.keeper._write()  # noqa: SLF001
    route = await house.route()
    assert (route.state, route.reason) == (RouteState.RETIRED, "retired_by_person")
    ids = [event.id for event in worker.events()]
    assert len(ids) == len(set(ids))


async def test_in_a_frozen_topic_heat_is_told_and_no_route_changes() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, CALM, 3)
    await house.command(CommandKind.FREEZE)
    await house.live(worker, FLOOD, 6)
    kinds = [event.type for event in worker.events() if event.data.topic == TOPIC]
    assert EventType.HOTKEY_DETECTED in kinds
    assert EventType.PLAN_PROPOSED not in kinds
    frozen = (await house.orders()).frozen
    assert frozen is not None
    assert (frozen.by, frozen.reason) == ("ann", "why")


async def test_who_takes_over_knows_what_was_ordered_and_obeys_nothing_twice() -> None:
    house = House()
    first = await house.worker()
    await house.live(first, FLOOD, 4)
    await house.command(CommandKind.RETIRE, pause_s=60)
    await house.command(CommandKind.PIN, name=key(5), shards=3)
    await house.live(first, FLOOD, 1)
    before = await house.orders()
    second = await house.worker()
    await house.live(second, FLOOD, 3)
    assert await house.orders() == before
    assert len(ordered(second)) == 2
    assert (await house.registry.desk()).topics[TOPIC].mode == "active"


async def test_a_command_whose_outcome_was_not_written_is_obeyed_by_whoever_writes_next() -> None:
    house = House()
    first = await house.worker()
    await house.live(first, FLOOD, 4)
    await house.command(CommandKind.FREEZE)
    house.kafka.cluster.lose_requests = 1
    await first.round()
    assert ordered(first) == []
    await house.live(first, FLOOD, 3)
    assert len(ordered(first)) == 1
    assert (await house.orders()).frozen is not None


async def test_commands_that_nobody_heard_wait_for_a_worker() -> None:
    house = House()
    first = await house.worker()
    await house.live(first, FLOOD, 4)
    await first.revoked()
    await house.command(CommandKind.RETIRE)
    house.clock.advance(3600)
    second = await house.worker()
    await house.live(second, FLOOD, 2)
    assert (await house.route()).state is RouteState.RETIRED
    (pause,) = (await house.orders()).pauses
    assert pause.until_ms > house.clock.now_ms()


async def test_a_topic_watched_for_the_first_time_takes_old_pins_and_no_old_pause() -> None:
    house = House()
    await house.command(CommandKind.RETIRE, None)
    await house.command(CommandKind.PIN, name=HOT, shards=None)
    house.clock.advance(3600)
    worker = await house.worker()
    await house.live(worker, FLOOD, 4)
    orders = await house.orders()
    assert [pin.base_key for pin in orders.pins] == [HOT]
    assert orders.pauses == ()
    assert (await house.route(OTHER)).state is RouteState.ACTIVE
    assert (await house.registry.desk()).topics[TOPIC].routes == ()


async def test_damage_in_the_stream_is_counted_and_what_follows_is_obeyed() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, CALM, 2)
    for number in range(300):
        house.registry.store.add_command({FIELD: b"?" * number})
    house.registry.store.add_command({b"other": b"field"})
    await house.command(CommandKind.FREEZE)
    await worker.round()
    assert worker.commands.damaged == 301
    assert len(ordered(worker)) == 1


async def test_a_registry_made_again_takes_commands_at_once_and_repeats_none() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, FLOOD, 4)
    house.registry.store.add_command({FIELD: b'{"kind":"freeze"}'}, f"{2**60}-0")
    await house.live(worker, FLOOD, 1)
    assert (await house.orders()).frozen is not None
    house.registry.store.wipe()
    await house.command(CommandKind.THAW)
    await house.live(worker, FLOOD, 2)
    await worker.keeper._beat()  # noqa: SLF001
    assert [one.command for one in ordered(worker)] == [CommandKind.FREEZE, CommandKind.THAW]
    assert (await house.orders()).frozen is None


async def test_an_outage_of_the_registry_is_waited_for_and_nothing_given_meanwhile_is_lost(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.001)
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    house = House()
    worker = await house.worker()
    await house.live(worker, CALM, 2)
    running = asyncio.create_task(worker.commands.run())
    house.registry.store.available = False
    await asyncio.sleep(0.02)
    house.registry.store.available = True
    await house.command(CommandKind.FREEZE)
    await eventually(lambda: all(each.commands_after is not None for each in worker.deciding.speaking()))
    await eventually(lambda: any((each.commands_after or START) > START for each in worker.deciding.speaking()))
    await house.live(worker, CALM, 1)
    assert len(ordered(worker)) == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert "waiting" not in caplog.text, "that Redis is away is said by whoever keeps it"


class Refusing(MemoryRegistry):
    async def commands(self, after: StreamId, limit: int = 100) -> Page:
        raise RefusedError(f"no rights to read {limit} commands after {after}")


async def test_missing_rights_are_said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.001)
    house = House()
    worker = await house.worker()
    await house.live(worker, CALM, 2)
    reader = CommandReader(Refusing(house.clock), worker.deciding, clock=house.clock, says=worker.says)
    running = asyncio.create_task(reader.run())
    await eventually(lambda: "waiting for the commands in Redis" in caplog.text)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert caplog.text.count("no rights") == 1


async def test_a_command_is_decided_on_soon() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, CALM, 2)
    worker.deciding._heard.clear()  # noqa: SLF001
    await house.command(CommandKind.FREEZE)
    await worker.commands.read_once()
    assert worker.deciding._heard.is_set()  # noqa: SLF001


async def test_a_seat_in_doubt_hears_no_command() -> None:
    house = House()
    worker = await house.worker()
    await house.live(worker, CALM, 2)
    for seat in worker.deciding._seats.values():  # noqa: SLF001
        worker.deciding._doubt(seat, 60.0)  # noqa: SLF001
    await house.command(CommandKind.FREEZE)
    await worker.commands.read_once()
    assert not worker.deciding.speaking()
    assert ordered(worker) == []


async def test_a_key_pinned_in_the_settings_is_split_before_it_is_ever_seen_and_stays_so() -> None:
    house = House(pins={key(7).decode(): Pin(3)})
    worker = await house.worker()
    await house.live(worker, CALM, 3)
    route = await house.route()
    assert (route.state, len(route.partitions), route.base_key) == (RouteState.ACTIVE, 3, key(7))
    await house.live(worker, CALM | {key(7): 300}, 6)
    await house.live(worker, CALM, 15)
    assert (await house.route()).suffixes == route.suffixes
    retired = [event for event in worker.events() if isinstance(event.data, PlanChange)]
    assert EventType.PLAN_RETIRED not in [event.type for event in retired]
