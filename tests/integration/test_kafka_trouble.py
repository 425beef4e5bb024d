"""What the real Kafka door says and does when the cluster is not as it should be."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaProducer

from hotshard.demo.servers.ports import free_port
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.contract import Out, TopicWanted
from hotshard.doors.kafka.real import AioKafka
from hotshard.errors import HotshardError, RefusedError, SettingsError, UnavailableError
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.swallowed import swallowed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from hotshard.demo.servers import ApacheKafka
    from hotshard.doors.kafka.contract import Admin, Kafka, Publisher, Speaker

pytestmark = pytest.mark.integration

OUT = Out("t", b"v", b"k", 0)
#: Longer than any call may take, and shorter than a client without a limit of its own would wait.
_IN_TIME_S = 30.0


@pytest.fixture(autouse=True)
def quiet_client(caplog: pytest.LogCaptureFixture) -> None:
    """aiokafka shouts about an outage; the worker limits that in job/quiet.py."""
    caplog.set_level(logging.CRITICAL, logger="aiokafka")


def reach(address: str, *, timeout_s: float = 6, **security: Any) -> AioKafka:  # noqa: ANN401 -- passed on
    return AioKafka(KafkaConnection(bootstrap_servers=(address,), **security), timeout_s=timeout_s)


async def everything(kafka: Kafka) -> dict[str, Callable[[], Awaitable[object]]]:
    """One call of each part of the door."""
    return {
        "publisher": kafka.publisher().start,
        "publish": lambda: kafka.publisher().publish([OUT]),
        "take": kafka.speaker("id").take,
        "take plain": kafka.speaker("id", transactional=False).take,
        "read": lambda: kafka.reader().read_all("t", 0),
        "follow": lambda: anext(kafka.reader().follow("t")),
        "admin": lambda: kafka.admin().partitions("t"),
    }


async def test_a_wrong_address_is_one_clear_line_from_every_part_and_at_once() -> None:
    kafka = reach(f"127.0.0.1:{free_port()}", timeout_s=2 * _IN_TIME_S)
    for name, call in (await everything(kafka)).items():
        async with asyncio.timeout(_IN_TIME_S):
            with pytest.raises(UnavailableError) as caught:
                await call()
        message = str(caught.value)
        assert "does not answer (" in message, name
        assert "check that it runs, its address" in message, name
        assert "\n" not in message, name


async def test_a_name_that_is_no_host_is_one_clear_line() -> None:
    with pytest.raises(UnavailableError, match=r"no-such-host\.invalid:9092 does not answer"):
        await reach("no-such-host.invalid:9092").admin().partitions("t")


@pytest.mark.parametrize("password", ["wrong", "right"])
async def test_a_wrong_password_is_refused_with_what_to_do(locked_kafka: ApacheKafka, password: str) -> None:
    security: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_username": "ann",
        "sasl_password": password,
    }
    kafka = reach(locked_kafka.sasl_bootstrap, **security)
    if password == "right":
        admin = kafka.admin()
        assert await admin.partitions("t") is None
        await admin.stop()
        return
    for name, call in (await everything(kafka)).items():
        with pytest.raises(RefusedError) as caught:
            await call()
        message = str(caught.value)
        assert "refused the connection" in message, name
        assert "check sasl_username (ann), sasl_password" in message, name
        assert "wrong" not in message, name
        assert "\n" not in message, name


async def test_a_mechanism_that_the_broker_has_not_is_refused(locked_kafka: ApacheKafka) -> None:
    security: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "ann", "sasl_password": "right"}
    with pytest.raises(RefusedError, match="sasl_mechanism"):
        await reach(locked_kafka.sasl_bootstrap, sasl_mechanism="SCRAM-SHA-256", **security).admin().partitions("t")


async def test_tls_to_a_broker_without_it_is_told(kafka: ApacheKafka) -> None:
    with pytest.raises(HotshardError, match="security_protocol"):
        await reach(kafka.bootstrap, security_protocol="SSL").admin().partitions("t")


async def test_a_login_without_a_password_is_a_wrong_setting(kafka: ApacheKafka) -> None:
    with pytest.raises(SettingsError, match="needs a user and a password"):
        await reach(kafka.bootstrap, security_protocol="SASL_PLAINTEXT", sasl_username="ann").admin().partitions("t")


async def test_an_impossible_replication_is_refused(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    admin = reach(kafka.bootstrap).admin()
    with pytest.raises(RefusedError, match=r"refused creating topic .*replication"):
        await admin.ensure(TopicWanted(name=fresh_topic_name, partitions=1, replication=3))
    await admin.stop()


async def test_a_setting_that_no_topic_has_is_refused(kafka: ApacheKafka, fresh_topic_name: str) -> None:
    admin = reach(kafka.bootstrap).admin()
    with pytest.raises(RefusedError, match=r"refused creating topic"):
        await admin.ensure(TopicWanted(name=fresh_topic_name, partitions=1, config={"cleanup.policy": "wash"}))
    await admin.stop()


@dataclass
class Parts:
    """The parts of a door whose calls end within 3 s, and a topic of one partition."""

    kafka: Kafka
    topic: str
    publisher: Publisher
    speaker: Speaker
    admin: Admin

    async def publishes(self) -> bool:
        return await works(self.publisher.publish([Out(self.topic, b"v", b"k", 0)]))

    async def says(self) -> bool:
        return await works(self.speaker.say([Out(self.topic, b"v", b"k", 0)]))

    async def takes_and_says(self) -> bool:
        return await works(self.speaker.take()) and await self.says()

    async def looks(self) -> bool:
        return await works(self.admin.partitions(self.topic))

    async def reads(self) -> bool:
        return await works(self.kafka.reader().read_all(self.topic, 0))

    async def count(self) -> int:
        return len(await self.kafka.reader().read_all(self.topic, 0))

    async def close(self) -> None:
        for part in (self.publisher, self.speaker, self.admin):
            await part.stop()


@pytest.fixture
async def parts(shaky_kafka: ApacheKafka, fresh_topic_name: str) -> AsyncIterator[Parts]:
    kafka = reach(shaky_kafka.bootstrap, timeout_s=3)
    found = Parts(kafka, fresh_topic_name, kafka.publisher(), kafka.speaker(fresh_topic_name), kafka.admin())
    admin = reach(shaky_kafka.bootstrap, timeout_s=20).admin()
    await admin.ensure(TopicWanted(name=fresh_topic_name, partitions=1))
    await admin.stop()
    await eventually(found.takes_and_says)
    await eventually(found.publishes)
    yield found
    await found.close()


async def works(call: Awaitable[object]) -> bool:
    try:
        await call
    except UnavailableError:
        return False
    return True


async def test_all_parts_go_on_by_themselves_after_kafka_was_stopped_and_started(
    shaky_kafka: ApacheKafka, parts: Parts
) -> None:
    following = parts.kafka.reader().follow(parts.topic)
    seen = len(await anext(following))
    shaky_kafka.stop()
    assert not await parts.publishes()
    assert not await parts.says()
    assert not await parts.looks()
    shaky_kafka.start()
    for part_works in (parts.publishes, parts.takes_and_says, parts.looks):
        await eventually(part_works)
    async with asyncio.timeout(PATIENCE_S):
        while seen < 4:
            seen += len(await anext(following))
    await following.aclose()
    assert await parts.count() == seen


async def test_a_kafka_that_hangs_ends_every_call_in_time_and_nothing_dropped_comes_late(
    shaky_kafka: ApacheKafka, parts: Parts
) -> None:
    shaky_kafka.pause()
    for part_works in (parts.publishes, parts.says, parts.reads):
        async with asyncio.timeout(_IN_TIME_S):
            assert not await part_works()
    assert not await parts.says()
    shaky_kafka.resume()
    await eventually(parts.publishes)
    await eventually(parts.takes_and_says)
    before = await parts.count()
    assert 4 <= before <= 6  # the two that were under way may or may not stand
    await parts.close()
    assert await parts.count() == before


async def test_an_open_transaction_that_does_not_end_is_told_in_time(shaky_kafka: ApacheKafka, parts: Parts) -> None:
    dying = AIOKafkaProducer(bootstrap_servers=shaky_kafka.bootstrap, transactional_id=f"{parts.topic}-other")
    await dying.start()
    await dying.begin_transaction()
    await dying.send_and_wait(parts.topic, b"open", b"k", 0)
    with pytest.raises(UnavailableError, match="has an open transaction at offset"):
        await parts.count()
    await dying.abort_transaction()
    await dying.stop()
    assert await parts.count() == 2


async def test_ending_while_kafka_is_away_does_not_hang(shaky_kafka: ApacheKafka, parts: Parts) -> None:
    shaky_kafka.kill()
    async with asyncio.timeout(_IN_TIME_S):
        await parts.close()


async def test_a_cancelled_call_leaves_a_speaker_that_must_be_taken_again(
    shaky_kafka: ApacheKafka, parts: Parts
) -> None:
    shaky_kafka.pause()
    saying = asyncio.create_task(parts.says())
    done, _ = await asyncio.wait([saying], timeout=0.2)
    assert not done
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    shaky_kafka.resume()
    with pytest.raises(UnavailableError, match="taken again"):
        await parts.speaker.say([Out(parts.topic, b"v")])
    await eventually(parts.takes_and_says)


async def test_a_speaker_that_is_stopped_while_it_is_being_fenced_leaves_no_exception_behind(
    kafka: ApacheKafka, fresh_topic_name: str
) -> None:
    """As when a worker wakes that was paused: its partitions are taken away while it still speaks."""
    door = reach(kafka.bootstrap)
    admin = door.admin()
    await admin.ensure(TopicWanted(name=fresh_topic_name, partitions=2, replication=1, config={}))
    outs = [Out(fresh_topic_name, b"v", b"k", partition) for partition in (0, 1)]
    old, new = door.speaker(fresh_topic_name), door.speaker(fresh_topic_name)
    await old.take()
    await old.say(outs)
    await new.take()
    for pause_s in (0.0, 0.001, 0.002, 0.004, 0.008):
        speaking = asyncio.create_task(old.say(outs))
        await asyncio.sleep(pause_s)
        await old.stop()
        (answer,) = await asyncio.gather(speaking, return_exceptions=True)
        assert isinstance(answer, HotshardError)
        del speaking, answer
        await old.take()
        await new.take()
    await asyncio.gather(old.stop(), new.stop(), admin.stop())
    gc.collect()
    assert swallowed() == []
