"""No outage and no failing part of aiokafka ends the worker; on a real broker."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError
from faust.types import TP

from hotshard.job.quiet import limit_loggers
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, ends_of, make_mirror, mirroring, running
from tests.support.swallowed import swallowed
from tests.support.topics import Sent, admin, create_topic, produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hotshard.demo.servers import ApacheKafka

pytestmark = pytest.mark.integration

#: Longer than any call may take, and shorter than a client without a limit of its own would wait.
_IN_TIME_S: Final = 30.0
_SESSION_S: Final = 3.0
BOTH_WAYS = pytest.mark.parametrize("slabs", [True, False], ids=["slabs", "stock"])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    undo = limit_loggers(level=logging.ERROR)
    yield
    undo()


async def _send(bootstrap: str, topic: str, records: int, partitions: int = 2) -> None:
    await produce(bootstrap, topic, [Sent(b"k%d" % n, b"v", n % partitions) for n in range(records)])


async def _blocking(call: Callable[[], None]) -> None:
    await asyncio.get_running_loop().run_in_executor(None, call)


def _fine(mirror: Mirror) -> bool:
    return not mirror.app.crashed and not mirror.app.should_stop


@BOTH_WAYS
async def test_a_broker_that_is_stopped_and_started_is_waited_for(
    shaky_kafka: ApacheKafka, fresh_topic_name: str, *, slabs: bool
) -> None:
    at, name = shaky_kafka.bootstrap, fresh_topic_name
    await create_topic(at, name, 2)
    await _send(at, name, 100)
    async with mirroring(at, name, group=name, slabs=slabs) as mirror:
        await mirror.until({TP(name, 0): 50, TP(name, 1): 50})
        generation = mirror.consumer.generation
        await _blocking(shaky_kafka.kill)
        async with asyncio.timeout(_IN_TIME_S):
            assert not await mirror.consumer.commit_once({TP(name, 0): 50}, generation)
        await _blocking(shaky_kafka.start)
        await _send(at, name, 100)
        await mirror.until({TP(name, 0): 100, TP(name, 1): 100})
        assert _fine(mirror)
        assert await _eventual_commit(mirror, {TP(name, 0): 100, TP(name, 1): 100})


async def _eventual_commit(mirror: Mirror, offsets: dict[TP, int]) -> bool:
    return await eventually(lambda: mirror.consumer.commit_once(offsets, mirror.consumer.generation))


async def test_a_broker_that_hangs_is_waited_for(shaky_kafka: ApacheKafka, fresh_topic_name: str) -> None:
    at, name = shaky_kafka.bootstrap, fresh_topic_name
    await create_topic(at, name, 2)
    await _send(at, name, 100)
    mirror = make_mirror(at, [name], group=name, request_timeout_s=1.5, session_timeout_s=_SESSION_S)
    async with running(mirror):
        await mirror.until({TP(name, 0): 50, TP(name, 1): 50})
        shaky_kafka.pause()
        async with asyncio.timeout(_IN_TIME_S):
            assert not await mirror.consumer.commit_once({TP(name, 0): 50}, mirror.consumer.generation)
        await asyncio.sleep(1.5 * _SESSION_S)  # past the session
        shaky_kafka.resume()
        await _send(at, name, 100)
        await mirror.until({TP(name, 0): 100, TP(name, 1): 100})
        assert _fine(mirror)
        assert await _eventual_commit(mirror, {TP(name, 0): 100, TP(name, 1): 100})


async def test_a_broker_that_is_not_there_at_start_is_waited_for(
    shaky_kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    at, name = shaky_kafka.bootstrap, fresh_topic_name
    await create_topic(at, name, 2)
    await _send(at, name, 100)
    shaky_kafka.kill()
    mirror = make_mirror(at, [name], group=name)
    starting = asyncio.ensure_future(mirror.app.start())
    await eventually(lambda: mirror.app.consumer.started)
    await _blocking(shaky_kafka.start)
    await asyncio.wait_for(starting, PATIENCE_S)
    await mirror.until({TP(name, 0): 50, TP(name, 1): 50})
    await mirror.app.stop()


async def test_stopping_while_the_broker_is_not_there_takes_little_time(
    shaky_kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    at, name = shaky_kafka.bootstrap, fresh_topic_name
    await create_topic(at, name, 2)
    never, running_one = make_mirror(at, [name], group=f"{name}-never"), make_mirror(at, [name], group=name)
    await running_one.app.start()
    await running_one.until_assigned()
    shaky_kafka.pause()
    starting = asyncio.ensure_future(never.app.start())
    await eventually(lambda: never.app.consumer.started)
    async with asyncio.timeout(_IN_TIME_S):
        await asyncio.gather(never.app.stop(), running_one.app.stop())
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)


async def test_a_topic_deleted_and_made_again_is_read_from_its_beginning(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    gone, stays = f"{fresh_topic_name}-gone", f"{fresh_topic_name}-stays"
    for name in (gone, stays):
        await create_topic(kafka.bootstrap, name, 2)
        await _send(kafka.bootstrap, name, 100)
    settings = {"consumer_metadata_max_age_ms": 1000}
    async with mirroring(kafka.bootstrap, gone, stays, group=fresh_topic_name, **settings) as mirror:
        await mirror.until({TP(name, part): 50 for name in (gone, stays) for part in range(2)})
        async with admin(kafka.bootstrap) as client:
            await client.delete_topics([gone])
        await _send(kafka.bootstrap, stays, 20)
        await mirror.until({TP(stays, part): 60 for part in range(2)})
        mirror.taken.clear()
        await eventually(lambda: _made(kafka.bootstrap, gone))
        await _send(kafka.bootstrap, gone, 30)
        await mirror.until({TP(gone, part): 15 for part in range(2)})
        assert {mirror.taken[TP(gone, part)][0].start for part in range(2)} == {0}
        assert _fine(mirror)


async def _made(bootstrap: str, name: str) -> bool:
    try:
        await create_topic(bootstrap, name, 2)
    except RuntimeError:  # it is still being deleted
        return False
    return True


def _fetch_task(consumer: Any) -> Any:  # noqa: ANN401 - aiokafka has no types
    return consumer._fetcher._fetch_task  # noqa: SLF001


def _coordination_task(consumer: Any) -> Any:  # noqa: ANN401
    return consumer._coordinator._coordination_task  # noqa: SLF001


def _metadata_task(consumer: Any) -> Any:  # noqa: ANN401
    return consumer._client._sync_task  # noqa: SLF001


@pytest.mark.parametrize("task", [_fetch_task, _coordination_task, _metadata_task])
async def test_a_task_of_aiokafka_that_dies_does_not_stop_reading(
    kafka: ApacheKafka, fresh_topic_name: str, task: Callable[[Any], asyncio.Task[None]]
) -> None:
    name = fresh_topic_name
    await create_topic(kafka.bootstrap, name, 2)
    await _send(kafka.bootstrap, name, 100)
    async with mirroring(kafka.bootstrap, name, group=name) as mirror:
        await mirror.until({TP(name, part): 50 for part in range(2)})
        assert await _eventual_commit(mirror, {TP(name, 0): 10})
        mirror.taken.clear()
        thread = mirror.consumer._thread  # noqa: SLF001
        consumer = thread._ensure_consumer()  # noqa: SLF001
        thread.thread_loop.call_soon_threadsafe(task(consumer).cancel)
        await eventually(lambda: thread._consumer is not consumer)  # noqa: SLF001
        await _send(kafka.bootstrap, name, 20)
        await mirror.until({TP(name, part): 60 for part in range(2)})
        assert mirror.taken[TP(name, 0)][0].start == 10
        mirror.assert_tiled()
        assert _fine(mirror)
    swallowed()


def _beats(coordinator: Any) -> bool:  # noqa: ANN401 - aiokafka has no types
    task = coordinator._heartbeat_task  # noqa: SLF001
    return task is not None and not task.done()


@pytest.mark.parametrize("error", [GroupAuthorizationFailedError("g"), KafkaError("unexpected")], ids=["rights", "bug"])
async def test_an_error_of_the_group_is_said_and_tried_again(
    kafka: ApacheKafka, fresh_topic_name: str, error: KafkaError, caplog: pytest.LogCaptureFixture
) -> None:
    name = fresh_topic_name
    await create_topic(kafka.bootstrap, name, 2)
    async with mirroring(kafka.bootstrap, name, group=name, session_timeout_s=_SESSION_S) as mirror:
        await mirror.until_assigned()
        coordinator = mirror.consumer._thread._ensure_consumer()._coordinator  # noqa: SLF001

        async def fail() -> bool:
            raise error

        beat, coordinator._do_heartbeat = coordinator._do_heartbeat, fail  # noqa: SLF001
        await eventually(lambda: "waiting for the consumer group" in caplog.text)
        coordinator._do_heartbeat = beat  # noqa: SLF001
        await eventually(lambda: _beats(coordinator), what="heartbeats")
        await _send(kafka.bootstrap, name, 20)
        await mirror.until({TP(name, part): 10 for part in range(2)})
        assert await _eventual_commit(mirror, await ends_of(kafka.bootstrap, name))
        assert _fine(mirror)
