"""Redis kept as the state says, on the twin."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hotshard.core.pacing import Haste
from hotshard.core.wire.route import TopicState
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import RefusedError
from hotshard.job import registry as module
from hotshard.job.registry import RegistryKeeper
from hotshard.job.says import Says
from tests.support.eventually import eventually
from tests.support.registry import TOPIC, route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from hotshard.doors.redis.contract import Beat


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_S", 0.02)


def state(version: int = 1, *, topic: str = TOPIC, epoch: int = 1) -> TopicState:
    return TopicState(topic=topic, epoch=epoch, version=version, at_ms=0, routes=(route(topic=topic, offset=version),))


class Noting(MemoryRegistry):
    """A registry that counts what is asked of it, and refuses some topics."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.published: list[TopicState] = []
        self.asked = 0
        self.refused: set[str] = set()

    async def publish(self, state: TopicState) -> bool:
        await asyncio.sleep(0)
        if state.topic in self.refused:
            raise RefusedError(f"{state.topic} is refused")
        self.published.append(state)
        return await super().publish(state)

    async def beats(self, beats: Sequence[Beat]) -> tuple[bool, ...]:
        self.asked += 1
        return await super().beats(beats)

    def version(self, topic: str = TOPIC) -> bytes | None:
        return self.store.meta().get(f"version:{topic}".encode())


class Kept:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.door = Noting(self.clock)
        self.keeper = RegistryKeeper(self.door, Says(self.clock))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.keeper.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def beaten(self, times: int = 3) -> None:
        until = self.door.asked + times
        await eventually(lambda: self.door.asked >= until)


@pytest.fixture
def kept() -> Kept:
    return Kept()


async def test_what_is_to_be_kept_is_written_at_once_and_once(kept: Kept) -> None:
    async with kept.running():
        kept.keeper.keep(state())
        assert kept.keeper.behind
        await kept.beaten()
        assert kept.door.version() == b"1"
        assert not kept.keeper.behind
        kept.keeper.keep(state(2))
        await kept.beaten()
        assert kept.door.version() == b"2"
    assert kept.door.published == [state(1), state(2)]


async def test_the_time_moves_with_every_beat_although_nothing_changes(kept: Kept) -> None:
    async with kept.running():
        kept.keeper.keep(state())
        await kept.beaten()
        kept.clock.advance(60)
        await kept.beaten()
        assert kept.door.store.meta()[f"time:{TOPIC}".encode()] == str(kept.clock.now_ms()).encode()


async def test_an_emptied_redis_is_written_again(kept: Kept) -> None:
    async with kept.running():
        for topic in (TOPIC, "payments"):
            kept.keeper.keep(state(topic=topic))
        await kept.beaten()
        kept.door.store.wipe()
        await eventually(lambda: kept.door.version() == kept.door.version("payments") == b"1")


async def test_a_redis_that_fell_behind_is_written_again(kept: Kept) -> None:
    async with kept.running():
        kept.keeper.keep(state(5))
        await kept.beaten()
        kept.door.store.wipe()
        kept.door.store.publish(state(3))
        await eventually(lambda: kept.door.version() == b"5")


async def test_an_outage_is_waited_for_and_told_at_most_every_ten_seconds(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.door.store.available = False
    async with kept.running():
        for number in range(1, 4):
            kept.keeper.keep(state(number))
            await asyncio.sleep(0.05)
        assert caplog.text.count("waiting for Redis") == 1
        kept.clock.advance(10)
        await eventually(lambda: caplog.text.count("waiting for Redis") == 2)
        kept.door.store.available = True
        await eventually(lambda: kept.door.version() == b"3")
        await eventually(lambda: "Redis is there again after 10 s" in caplog.text)


async def test_a_released_topic_is_not_written_any_more(kept: Kept) -> None:
    async with kept.running():
        kept.keeper.keep(state())
        kept.keeper.keep(state(topic="payments"))
        await kept.beaten()
        kept.keeper.release(TOPIC)
        kept.door.store.wipe()
        await eventually(lambda: kept.door.version("payments") == b"1")
        assert kept.door.version() is None
    kept.keeper.keep(state(2))
    kept.keeper.release(TOPIC)
    assert not kept.keeper.behind


async def test_what_was_released_while_it_was_written_stays_released(kept: Kept) -> None:
    kept.keeper.keep(state())
    writing = asyncio.create_task(kept.keeper._write())  # noqa: SLF001
    await asyncio.sleep(0)
    kept.keeper.release(TOPIC)
    await writing
    await kept.keeper._beat()  # noqa: SLF001
    assert kept.door.asked == 0


async def test_what_was_kept_while_something_older_was_written_is_written_next(kept: Kept) -> None:
    kept.keeper.keep(state(1))
    writing = asyncio.create_task(kept.keeper._write())  # noqa: SLF001
    await asyncio.sleep(0)
    kept.keeper.keep(state(2))
    await writing
    assert kept.keeper.behind
    await kept.keeper._write()  # noqa: SLF001
    assert kept.door.version() == b"2"


async def test_a_newer_state_of_somebody_else_is_left_alone_without_haste_and_told(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.door.store.publish(state(9))
    async with kept.running():
        kept.keeper.keep(state(1))
        await kept.beaten(8)
        assert kept.door.version() == b"9"
        assert len(kept.door.published) <= kept.door.asked + 1
        assert caplog.text.count("a newer state than this worker") == 1
        kept.keeper.keep(state(10))
        await eventually(lambda: f"the registry of topic {TOPIC} is there again" in caplog.text)


async def test_the_next_owner_of_a_topic_is_not_taken_for_a_stranger(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.keeper.keep(state(1))
    await kept.keeper._write()  # noqa: SLF001
    kept.door.store.publish(state(2))
    for _ in range(2):
        await kept.keeper._beat()  # noqa: SLF001
        await kept.keeper._write()  # noqa: SLF001
    kept.keeper.release(TOPIC)
    assert caplog.text == ""


async def test_only_beats_tell_that_somebody_else_is_ahead_however_much_is_kept_between_two(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    kept.door.store.publish(state(9))
    for version in range(1, 5):
        kept.keeper.keep(state(version))
        await kept.keeper._write()  # noqa: SLF001
    assert len(kept.door.published) == 4
    assert caplog.text == ""


async def test_a_loop_that_has_nothing_to_do_asks_once_a_beat(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: two beats are never nearer to each other than a beat, nor are there more rounds."""
    beat_s, rounds, write = 0.05, 0, kept.keeper._write  # noqa: SLF001

    async def writing() -> None:
        nonlocal rounds
        rounds += 1
        await write()

    monkeypatch.setattr(module, "BEAT_S", beat_s)
    monkeypatch.setattr(kept.keeper, "_write", writing)
    kept.door.store.publish(state(9))
    kept.keeper.keep(state(1))
    began_s = time.monotonic()
    async with kept.running():
        await kept.beaten(5)
    assert kept.door.asked <= 1 + (time.monotonic() - began_s) / beat_s
    assert len(kept.door.published) <= kept.door.asked
    # A timer may go off a little early, and then there is another round.
    assert rounds <= 2 * kept.door.asked


async def test_a_topic_that_is_refused_holds_up_no_other(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.door.refused = {"a"}
    async with kept.running():
        for topic in ("a", "b", "c"):
            kept.keeper.keep(state(topic=topic))
        await kept.beaten()
        assert kept.door.version("b") == kept.door.version("c") == b"1"
        assert caplog.text.count("a is refused") == 1
        kept.door.refused = set()
        await eventually(lambda: kept.door.version("a") == b"1")


async def test_beats_that_are_refused_hold_up_no_write(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(beats: Sequence[Beat]) -> tuple[bool, ...]:
        raise RefusedError(f"{len(beats)} beats are refused")

    with monkeypatch.context() as patch:
        patch.setattr(kept.door, "beats", refused)
        async with kept.running():
            kept.keeper.keep(state())
            await eventually(lambda: kept.door.version() == b"1")


async def test_what_was_lost_stays_lost_until_it_is_written_whatever_is_kept_meanwhile(kept: Kept) -> None:
    keeper = kept.keeper
    keeper.keep(state(1))
    await keeper._write()  # noqa: SLF001
    kept.door.store.wipe()
    await keeper._beat()  # noqa: SLF001
    figures = msgspec.structs.replace(state(1), version=2)
    keeper.keep(figures)
    assert keeper._unwritten == {TOPIC: Haste.WHOLE}  # noqa: SLF001
    await keeper._write()  # noqa: SLF001
    assert kept.door.published == [state(1), figures]
    keeper.keep(msgspec.structs.replace(figures, version=3))
    assert keeper._unwritten == {TOPIC: Haste.FIGURES}  # noqa: SLF001


async def test_closing_gives_the_connection_back(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    async def close() -> None:
        closed.append(1)

    monkeypatch.setattr(kept.door, "close", close)
    await kept.keeper.close()
    assert closed == [1]
