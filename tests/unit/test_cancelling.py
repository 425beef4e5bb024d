"""A task that is cancelled ends, also where redis-py and ``asyncio.wait_for`` swallow it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hotshard.doors.cancelling import cancelled_all_the_same
from hotshard.doors.redis.real import RedisReader, RedisRegistry
from hotshard.errors import UnavailableError


async def swallowing(answer: object = None) -> object:
    """What ``asyncio.wait_for`` of Python 3.11 does when both come at one moment."""
    try:
        await asyncio.sleep(60.0)
    except asyncio.CancelledError:
        if isinstance(answer, Exception):
            raise answer from None
    return answer


class Client:
    """As much of redis-py as a reader of the log needs, swallowing."""

    def __init__(self, answer: object) -> None:
        self._answer = answer
        self.connection_pool = type("Pool", (), {"connection_kwargs": {}})

    async def xread(self, *_: object, **__: object) -> Any:  # noqa: ANN401
        return await swallowing(self._answer)

    async def execute_command(self, *_: object) -> Any:  # noqa: ANN401
        return await swallowing(self._answer)

    async def aclose(self) -> None: ...


async def cancelled(work: asyncio.Task[Any]) -> bool:
    await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])
    return work.cancelled()


@pytest.mark.parametrize("answer", [None, [], OSError("reset")], ids=["none", "an answer", "an error"])
@pytest.mark.parametrize("ask", ["changes", "hot"])
async def test_a_registrys_door_is_cancelled_although_redis_py_swallows_it(
    answer: object, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, door = RedisReader("redis://localhost", "n", None), RedisRegistry("redis://localhost")
    for each in (reader, door):
        monkeypatch.setattr(each, "_connected", lambda: Client(answer))
    asked = reader.changes(b"0-0", 1.0) if ask == "changes" else door.hot("t")
    assert await cancelled(asyncio.ensure_future(asked))


async def test_what_was_cancelled_before_the_block_or_not_at_all_is_left_alone() -> None:
    async def cleaning_up() -> str:
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:
            with cancelled_all_the_same():
                await asyncio.sleep(0)
            return "cleaned up"
        raise AssertionError

    task = asyncio.ensure_future(cleaning_up())
    assert not await cancelled(task)
    assert task.result() == "cleaned up"
    with pytest.raises(UnavailableError), cancelled_all_the_same():
        raise UnavailableError("as it is")


async def test_a_timeout_within_or_around_stays_a_timeout() -> None:
    with cancelled_all_the_same(), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(60.0)

    async def around() -> None:
        async with asyncio.timeout(0.01):
            with cancelled_all_the_same():
                await swallowing()

    with pytest.raises(TimeoutError):
        await around()
