"""Whatever befalls workers and registry, each command is obeyed once, and the state is what they add up to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from hotshard.core.wire.command import Command, CommandKind
from hotshard.core.wire.event import EventType, Ordered
from hotshard.core.wire.route import RouteState
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.commands import FIELD
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import HotshardError
from tests.support.deciding import TOPIC, key
from tests.support.job import Deciders, Producing, memory_kafka

if TYPE_CHECKING:
    from hotshard.core.wire.orders import Orders

OTHER = "another-topic"
TOPICS = (TOPIC, OTHER)
CALM = {key(0, f"t{number}"): 10 for number in range(12)}
LOADS: tuple[dict[bytes, int], ...] = (CALM, CALM | {key(1): 200}, CALM | {key(2): 300})
#: Longer than a test lives.
PAUSE_S = 1_000_000


class Behind:
    """The clock of a Redis, which gives its stream the places; that of another one may be behind."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.behind_ms = 0

    def now_ms(self) -> int:
        return self._clock.now_ms() - self.behind_ms

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()


class World:
    """Two workers on one Kafka and one registry; people who command; and trouble."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.kafka = memory_kafka(self.clock)
        self.redis_clock = Behind(self.clock)
        self.registry = MemoryRegistry(self.redis_clock)
        self.producing = [Producing(self.kafka, self.clock, name) for name in TOPICS]
        self.workers = [self._worker(), self._worker()]
        #: What was commanded, in order; its place here is said in it, as the reason.
        self.commands: list[Command] = []
        #: Commands before this one may have been lost with the registry before anybody read them.
        self.safe_from = 0
        self.backup: Any = None

    def _worker(self) -> Deciders:
        return Deciders(self.kafka, self.clock, topics=TOPICS, registry=self.registry)

    async def second(self, number: int) -> None:
        self.clock.advance(1)
        for one in self.producing:
            await one.second(LOADS[number % len(LOADS)])

    async def round(self, number: int, seconds: float = 0.3) -> None:
        self.clock.advance(seconds)
        await self.workers[number % 2].round()

    async def command(self, command: Command) -> None:
        self.clock.advance(0.001)
        said = Command(
            kind=command.kind, topic=command.topic, key=command.key, shards=command.shards, pause_s=PAUSE_S,
            reason=str(len(self.commands)),
        )  # fmt: skip
        try:
            await self.registry.command(said)
        except HotshardError:
            return
        self.commands.append(said)

    async def give(self, number: int) -> None:
        """The group gives everything to one worker."""
        try:
            await self.workers[number % 2].assigned()
        except HotshardError:
            await self.workers[number % 2].revoked()

    def replaced(self, number: int) -> None:
        self.workers[number % 2] = self._worker()

    async def end(self) -> Deciders:
        """Let whoever decides go on in peace, or a new worker where nobody does."""
        cluster = self.kafka.cluster
        cluster.down, cluster.lose_answers, cluster.lose_requests = False, 0, 0
        self.registry.store.available = True
        last = next((each for each in self.workers if len(each.deciding.speaking()) == len(TOPICS)), None)
        if last is None:
            last = self._worker()
            await last.assigned()
        for _ in range(6):  # one who was fenced waits for two seconds
            await self.second(0)
            await last.round()
            await last.keeper._write()  # noqa: SLF001
        return last


Doing = Callable[[World, int], Coroutine[Any, Any, None]]


class Step(NamedTuple):
    doing: Doing
    number: int


async def _lived(world: World, number: int) -> None:
    await world.second(number)
    for each in (0, 1):
        await world.round(each, 0)


async def _round(world: World, number: int) -> None:
    await world.round(number)


async def _taken_over(world: World, number: int) -> None:
    await world.workers[(number + 1) % 2].revoked()
    await world.give(number)


async def _stolen(world: World, number: int) -> None:
    """One worker does not know (yet) that it has lost everything."""
    await world.give(number)


async def _killed(world: World, number: int) -> None:
    world.replaced(number)
    await world.give(number)


async def _an_answer_is_lost(world: World, number: int) -> None:
    world.kafka.cluster.lose_answers = 1
    await world.round(number)
    world.kafka.cluster.lose_answers = 0


async def _a_request_is_lost(world: World, number: int) -> None:
    world.kafka.cluster.lose_requests = 1
    await world.round(number)
    world.kafka.cluster.lose_requests = 0


async def _the_registry_is_away(world: World, number: int) -> None:
    world.registry.store.available = False
    await world.round(number)
    world.registry.store.available = True


async def _the_registry_is_emptied(world: World, number: int) -> None:
    """And the clock of the next one may be far behind."""
    world.clock.advance(0.001)
    world.registry.store.wipe()
    world.redis_clock.behind_ms = 1_000_000 * number
    world.safe_from = len(world.commands)


async def _a_backup_is_taken(world: World, number: int) -> None:
    del number
    world.backup = deepcopy(world.registry.store._commands._entries)  # noqa: SLF001


async def _the_registry_is_set_back(world: World, number: int) -> None:
    del number
    if world.backup is not None:
        world.clock.advance(0.001)
        world.registry.store._commands._entries = deepcopy(world.backup)  # noqa: SLF001
        world.safe_from = len(world.commands)


async def _damage(world: World, number: int) -> None:
    world.clock.advance(0.001)
    damage = (b"", b"?", b'{"kind":"dance"}', b'{"kind":"pin","topic":"orders"}', b"\xff" * 30_000)
    world.registry.store.add_command({FIELD: damage[number % len(damage)]})


DOINGS: tuple[Doing, ...] = (
    _lived, _lived, _lived, _round, _taken_over, _stolen, _killed, _an_answer_is_lost, _a_request_is_lost,
    _the_registry_is_away, _the_registry_is_emptied, _a_backup_is_taken, _the_registry_is_set_back, _damage,
)  # fmt: skip
topics = st.sampled_from((TOPIC, TOPIC, OTHER, None))
names = st.sampled_from([key(number).decode() for number in range(1, 4)])
commands = st.one_of(
    st.builds(Command, kind=st.sampled_from((CommandKind.FREEZE, CommandKind.THAW, CommandKind.RETIRE)), topic=topics),
    st.builds(
        Command,
        kind=st.sampled_from((CommandKind.PIN, CommandKind.UNPIN, CommandKind.RETIRE)),
        topic=st.sampled_from(TOPICS),
        key=names,
        shards=st.sampled_from((None, 0, 2, 3)),
    ),
)
steps = st.builds(Step, st.sampled_from(DOINGS), st.integers(0, 11))
lives = st.lists(st.one_of(steps, steps, commands), max_size=40)


def _then(*doings: Doing) -> list[Step | Command]:
    """A life in which every trouble is followed by a command, and nobody takes over."""
    freeze = Command(kind=CommandKind.FREEZE, topic=TOPIC)
    return [each for doing in (_lived, *doings) for each in (Step(doing, 3), freeze, Step(_lived, 0))]


class Model:
    """What commands add up to, said as simply as it can be."""

    def __init__(self) -> None:
        self.frozen = False
        self.pins: dict[str, int | None] = {}
        self.paused: set[str | None] = set()

    def obey(self, command: Command) -> None:
        if command.kind is CommandKind.FREEZE:
            self.frozen = True
        elif command.kind is CommandKind.THAW:
            self.frozen, self.paused = False, set()
        elif command.kind is CommandKind.RETIRE:
            self.paused = {None} if command.key is None else self.paused | {command.key}
        elif command.key is not None and command.kind is CommandKind.PIN:
            self.pins[command.key] = command.shards
            self.paused.discard(command.key)
        elif command.key is not None:
            self.pins.pop(command.key, None)

    def agrees(self, orders: Orders) -> bool:
        return (self.frozen, self.pins, self.paused) == (
            orders.frozen is not None,
            {pin.key: pin.shards for pin in orders.pins},
            {pause.key for pause in orders.pauses},
        )


async def lived(life: list[Step | Command]) -> tuple[World, Deciders]:
    world = World()
    await world.give(0)
    for each in life:
        if isinstance(each, Command):
            await world.command(each)
        else:
            await each.doing(world, each.number)
    return world, await world.end()


@given(life=lives)
@example(life=_then(_the_registry_is_emptied))
@example(life=_then(_the_registry_is_away, _damage))
@example(life=_then(_a_backup_is_taken, _lived, _the_registry_is_set_back))
@example(life=_then(_a_request_is_lost, _an_answer_is_lost, _killed))
def test_each_command_is_obeyed_once_in_order_and_the_state_is_what_they_add_up_to(life: list[Step | Command]) -> None:
    world, last = asyncio.run(lived(life))
    told: dict[str, list[int]] = defaultdict(list)
    for event in last.events():
        if isinstance(event.data, Ordered):
            assert event.type is EventType.COMMAND_APPLIED
            told[event.data.topic].append(int(event.data.why))
    for head in [head for head in last.heads() if head.state_version == _newest(last, head.topic)]:
        obeyed = told[head.topic]
        wanted = [n for n, command in enumerate(world.commands) if command.concerns(head.topic)]
        assert obeyed == sorted(set(obeyed)), "none twice, and in order"
        assert [n for n in wanted if n >= world.safe_from] == [n for n in obeyed if n >= world.safe_from], "none lost"
        model = Model()
        for number in obeyed:
            model.obey(world.commands[number])
        assert model.agrees(head.orders)
    ids = [event.id for event in last.events()]
    assert len(ids) == len(set(ids))


@given(life=lives)
def test_what_is_paused_or_not_to_be_touched_has_no_route_and_the_registry_says_the_same(
    life: list[Step | Command],
) -> None:
    world, last = asyncio.run(lived(life))
    desk = asyncio.run(world.registry.desk())
    for topic, shown in desk.topics.items():
        (head,) = [head for head in last.heads() if (head.topic, head.state_version) == (topic, _newest(last, topic))]
        assert shown.orders == head.orders
        live = {route.key for route in shown.routes if route.state is not RouteState.RETIRED}
        paused = {pause.key for pause in head.orders.pauses}
        assert not live & paused
        assert not (live and None in paused)
        if head.orders.frozen is None:
            assert not live & {pin.key for pin in head.orders.pins if pin.shards is None}


def _newest(worker: Deciders, topic: str) -> int:
    return max(head.state_version for head in worker.heads() if head.topic == topic)
