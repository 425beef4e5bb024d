"""One run of the demo on a prepared ground: the clients opened, everything that runs beside the stage, the end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from hotshard.client.tasks import AsyncRegistry
from hotshard.client.wrap import shard
from hotshard.demo.cast import Cast, assemble
from hotshard.demo.paced import PacedConsumer
from hotshard.demo.script import Script
from hotshard.demo.seen import Seen
from hotshard.demo.stage import Stage
from hotshard.demo.traffic import Traffic
from hotshard.demo.watch import RegistryWatch
from hotshard.demo.worker import WorkerProcess
from hotshard.doors.clock import SystemClock
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.contract import TopicWanted
from hotshard.doors.kafka.real import AioKafka
from hotshard.doors.redis.real import RedisReader, RedisRegistry

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from hotshard.demo.ground import Ground
    from hotshard.demo.measures import Outcome
    from hotshard.demo.show import Show
    from hotshard.doors.clock import Clock

#: A worker this many seconds of load behind the newest record is not yet at work.
_BEHIND_S = 1.0


async def perform(ground: Ground, show: Show, script: Script | None = None) -> Outcome:
    """Play the demo once. Leaves no process and no task behind, however it ends."""
    script, cast, clock = script or Script(), assemble(), SystemClock()
    async with contextlib.AsyncExitStack() as stack:
        kafka = await _kafka(stack, ground, cast)
        seen = Seen(cast)
        traffic = Traffic(cast, script.rates, ground.topic, clock)
        consumer = PacedConsumer(cast.partitions, script.handled_per_s, seen, clock)
        watch = await _watch(stack, ground, clock)
        worker = WorkerProcess(
            ground,
            partitions=cast.partitions,
            most_behind=round(script.rates.flooded * _BEHIND_S / cast.partitions),
            ready_within_s=script.ready_within_s,
            kafka=kafka,
            reader=await _reader(stack, ground),
            clock=clock,
        )
        stack.callback(worker.kill)
        stage = Stage(
            cast=cast,
            script=script,
            traffic=traffic,
            consumer=consumer,
            seen=seen,
            watch=watch,
            worker=worker,
            clock=clock,
        )
        registry = await stack.enter_async_context(
            AsyncRegistry(ground.redis_url, [ground.topic], namespace=ground.run)
        )
        producers = [await _producer(stack, ground, registry) for _ in range(2)]
        beside = (
            traffic.run(*producers),
            consumer.run(await _consumer(stack, ground, cast)),
            watch.run(),
            worker.watch_over(),
            stage.show_forever(show),
        )
        outcome = await while_running(stage.play(), *beside)
        show.draw(stage.scene())
        if ground.given_kafka:
            await worker.stop()  # leave its groups; a broker of our own goes with them
        return outcome


async def while_running(main: Coroutine[Any, Any, Outcome], *beside: Coroutine[Any, Any, None]) -> Outcome:
    """Run ``main``, and everything beside it until it ends; what breaks among them ends all."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in beside]
        outcome = await main
        for task in tasks:
            task.cancel()
    return outcome


async def _kafka(stack: contextlib.AsyncExitStack, ground: Ground, cast: Cast) -> AioKafka:
    kafka = AioKafka(KafkaConnection(bootstrap_servers=(ground.bootstrap,)), client_id="hotshard-demo")
    admin = kafka.admin()
    stack.push_async_callback(admin.stop)
    await admin.ensure(TopicWanted(name=ground.topic, partitions=cast.partitions), exact=True)
    return kafka


async def _reader(stack: contextlib.AsyncExitStack, ground: Ground) -> RedisReader:
    reader = RedisReader(ground.redis_url, ground.run, None)
    stack.push_async_callback(reader.reset)
    await reader.meta((ground.topic,))  # a wrong address is said now
    return reader


async def _watch(stack: contextlib.AsyncExitStack, ground: Ground, clock: Clock) -> RegistryWatch:
    door = RedisRegistry(ground.redis_url, namespace=ground.run)
    stack.push_async_callback(door.close)
    return RegistryWatch(await _reader(stack, ground), door, ground.topic, clock)


async def _producer(stack: contextlib.AsyncExitStack, ground: Ground, registry: AsyncRegistry) -> Any:  # noqa: ANN401
    # A batch for every handful of records would cost the brokers, the embedded one above all, more than the records.
    producer = shard(AIOKafkaProducer(bootstrap_servers=ground.bootstrap, linger_ms=30), registry)
    stack.push_async_callback(producer.stop)
    await producer.start()
    return producer


async def _consumer(stack: contextlib.AsyncExitStack, ground: Ground, cast: Cast) -> Any:  # noqa: ANN401
    consumer = AIOKafkaConsumer(
        bootstrap_servers=ground.bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_min_bytes=8192,  # as few fetches, for the same reason
        fetch_max_wait_ms=50,
    )
    stack.push_async_callback(consumer.stop)
    await consumer.start()
    consumer.assign([TopicPartition(ground.topic, partition) for partition in range(cast.partitions)])
    return consumer
