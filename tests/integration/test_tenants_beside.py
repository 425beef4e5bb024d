"""Tenants in headers and in JSON values of a real topic: read, counted, and named when they are hot."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

import msgspec
import pytest
from faust.types import TP

from hotshard import AsyncRegistry
from hotshard.core.fields import FieldReader, parse_field
from hotshard.core.wire.event import EventType, Finding
from tests.support.eventually import eventually
from tests.support.exactness import counted, told
from tests.support.mirror import ends_of, make_mirror, running
from tests.support.topics import Sent, create_topic, produce, producing, send_all
from tests.support.workers import Install, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from hotshard.core.slab import Slab
    from hotshard.core.wire.event import Event
    from hotshard.core.wire.report import WindowReport
    from hotshard.demo.servers import ApacheKafka, RedisServer

pytestmark = pytest.mark.integration

PARTITIONS: Final = 6
#: Keys of the tenant that is hot by none of them, and of each of the others.
LUKEWARM, CALM = 5_000, 500
TENANTS: Final = 40


# -- what is read ------------------------------------------------------------------------------------


def _rows(count: int) -> list[Sent]:
    """Tenants and discriminators in all their forms; every seventh value is no JSON."""
    return [
        Sent(
            None if n % 11 == 0 else b"k%d" % (n % 17),
            b'{"a": ' if n % 7 == 0 else msgspec.json.encode({"x": [n] * 5, "a": {"d": [f"d{n % 3}", n, None][n % 3]}}),
            n % 2,
            headers=[[], [("t", b"x%d" % (n % 5))], [("o", b"1"), ("t", b""), ("t", b"y")]][n % 3],
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("slabs", [True, False])
async def test_headers_and_values_are_read_through_the_hook_as_the_stock_way(
    kafka: ApacheKafka, fresh_topic_name: str, *, slabs: bool
) -> None:
    name, rows = fresh_topic_name, _rows(3_000)
    await create_topic(kafka.bootstrap, name, 2)
    await produce(kafka.bootstrap, name, rows, compression_type="gzip", linger_ms=20)
    reader = FieldReader(parse_field("header:t"), parse_field("json:a.d"))
    mirror = make_mirror(kafka.bootstrap, [name], group=f"{name}-g", slabs=slabs, fields={name: reader})
    async with running(mirror):
        await mirror.until(await ends_of(kafka.bootstrap, name))
    assert bool(mirror.stock) is not slabs
    for partition in range(2):
        taken, lying = mirror.taken[TP(name, partition)], [row for row in rows if row.partition == partition]
        assert _columns(taken) == [(row.key, *_fields(row)) for row in lying]
        assert sum(slab.damaged for slab in taken) == sum(row.value == b'{"a": ' for row in lying)


def _columns(taken: Iterable[Slab]) -> list[tuple[bytes | None, bytes | None, bytes | None]]:
    columns = [(slab.keys, slab.tenants or [], slab.discriminators or []) for slab in taken if len(slab)]
    return [row for slab in columns for row in zip(*slab, strict=True)]


def _fields(row: Sent) -> tuple[bytes | None, bytes | None]:
    """By another way than the one under test."""
    tenant = dict(reversed(row.headers)).get("t") or None
    try:
        found = msgspec.json.decode(row.value or b"")["a"]["d"]
    except msgspec.DecodeError:
        found = None
    return tenant, None if found is None else str(found).encode()


# -- what comes of it --------------------------------------------------------------------------------


class Crowd:
    """Records of many calm tenants, and of one with so many keys that none of them stands out."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - nothing is secret here
        self.noisy = self.untenanted = self.damaged = self.sent = 0

    def in_header(self, *, noisy: float) -> Sent:
        missing = self._draw.random() < 0.02
        tenant, key = self._one(noisy, missing=missing)
        return Sent(key, b"v", headers=[] if missing else [("tenant", tenant)])

    def in_value(self, *, noisy: float) -> Sent:
        damaged = self._draw.random() < 0.02
        self.damaged += damaged
        tenant, key = self._one(noisy, missing=damaged)
        value = msgspec.json.encode({"customer": {"id": tenant.decode()}, "items": [1, 2, 3]})
        return Sent(key, value[:-5] if damaged else value)

    def _one(self, noisy: float, *, missing: bool) -> tuple[bytes, bytes]:
        self.sent += 1
        self.untenanted += missing
        if self._draw.random() < noisy:
            self.noisy += not missing
            return b"noisy", b"n%d" % self._draw.randrange(LUKEWARM)
        number = self._draw.randrange(TENANTS)
        return b"t%d" % number, b"c%d-%d" % (number, self._draw.randrange(CALM))


async def test_a_tenant_hot_through_lukewarm_keys_is_named_and_no_key_of_it_is(
    kafka: ApacheKafka, redis_server: RedisServer, fresh_topic_name: str, tmp_path: Path
) -> None:
    by_header, by_value = f"{fresh_topic_name}-h", f"{fresh_topic_name}-v"
    for topic in (by_header, by_value):
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
    common = {"ordering": "none", "mode": "active", "layout": "entity", "partitions": PARTITIONS}
    topics = {
        by_header: {**common, "tenant": "header:tenant"},
        by_value: {**common, "tenant": "json:customer.id"},
    }
    name = f"{fresh_topic_name}-hs"
    install = Install(tmp_path, kafka.bootstrap, redis_server.url, name, topics, {"window_s": 2, "grace_s": 2})
    worker, crowds = WorkerProcess(install), {by_header: Crowd(1), by_value: Crowd(2)}
    try:
        worker.start()
        await worker.assigned()
        await _send(kafka.bootstrap, crowds, noisy=0.0, until=lambda: _reported(install, crowds))
        await _send(kafka.bootstrap, crowds, noisy=0.5, until=lambda: _lasting(install, crowds))
        await eventually(lambda: _all_counted(install, crowds))
        events = await told(install)
        for topic, crowd in crowds.items():
            _assert_named(events, topic)
            reports = (await counted(install.bootstrap, install.windows, topic)).reports
            _assert_reported(reports, crowd)
        async with AsyncRegistry(install.redis_url, namespace=install.name) as registry:
            assert list(registry.shards_of(by_header, "n1")) == ["n1"]
        assert worker.stop() == 0
    finally:
        worker.end()


async def _send(
    bootstrap: str, crowds: dict[str, Crowd], *, noisy: float, until: Callable[[], Awaitable[bool]]
) -> None:
    """About 1,500 records a second to each topic, until it is so."""
    async with producing(bootstrap, linger_ms=5) as producer, asyncio.TaskGroup() as beside:
        waiting = beside.create_task(eventually(until))
        while not waiting.done():
            for topic, crowd in crowds.items():
                one = crowd.in_header if topic.endswith("-h") else crowd.in_value
                await send_all(producer, topic, [one(noisy=noisy) for _ in range(150)])
            await asyncio.sleep(0.1)  # the pace of the traffic, nothing that is waited for


async def _reported(install: Install, crowds: dict[str, Crowd]) -> bool:
    """Whether there is a report of each."""
    return all([(await counted(install.bootstrap, install.windows, topic)).records for topic in crowds])


async def _lasting(install: Install, crowds: dict[str, Crowd]) -> bool:
    """Whether each has been said to have a hot tenant for longer than a burst."""
    found = [(await counted(install.bootstrap, install.windows, topic)).reports for topic in crowds]
    return all("hot_tenant" in {report.cause for report in reports} for reports in found)


async def _all_counted(install: Install, crowds: dict[str, Crowd]) -> bool:
    return all(
        [
            (await counted(install.bootstrap, install.windows, topic)).records == crowd.sent
            for topic, crowd in crowds.items()
        ]
    )


def _assert_named(events: list[Event], topic: str) -> None:
    mine = [event for event in events if event.data.topic == topic]
    assert {EventType.HOTTENANT_DETECTED} <= {event.type for event in mine}, mine
    assert {event.type for event in mine} <= {EventType.HOTTENANT_DETECTED, EventType.HOTTENANT_COOLED}, mine
    hot = next(event.data for event in mine if event.type is EventType.HOTTENANT_DETECTED)
    assert isinstance(hot, Finding)
    assert (hot.key, hot.tenant) == ("noisy", "noisy")
    assert hot.treatment in {"isolate", "throttle"}
    assert 0.1 < hot.share < 0.6


def _noisy_in(report: WindowReport) -> int:
    return sum(row.lower for row in report.tenants if row.key == "noisy")


def _assert_reported(reports: list[WindowReport], crowd: Crowd) -> None:
    assert sum(report.untenanted for report in reports) == crowd.untenanted > 0
    assert sum(report.damaged for report in reports) == crowd.damaged
    assert not [key for report in reports for key in report.hot_keys]
    rows = [row for report in reports for row in report.tenants if row.key == "noisy"]
    assert (
        sum(row.lower for row in rows)
        <= crowd.noisy
        <= sum(row.upper for row in rows) + sum(report.threshold_tenants for report in reports)
    )
    owners = [row.tenant for report in reports for row in report.keys if row.key and row.key[0] == "n"]
    # A key of which one record had no tenant has none.
    assert set(owners) <= {"noisy", None}
    assert owners.count("noisy") > len(owners) / 2
    assert max(report.distinct_keys or 0 for report in reports) > 500
    # At first it may be a burst; then it lasts. The window in which the tenant begins may hold too little of it.
    filled = [report for report in reports if report.hot_tenants and _noisy_in(report) > 0.3 * report.records]
    assert {report.cause for report in filled} <= {"", "burst", "hot_tenant"}
    lasting = [report for report in reports if report.cause == "hot_tenant" and report.records > 1_000]
    assert lasting
    assert {report.treatment for report in lasting} <= {"isolate", "throttle"}
    assert all(report.numbers["largest_key"] < 0.05 and report.numbers["keys"] > 100 for report in lasting)
    assert all(report.numbers["rate_per_s"] > 0 for report in lasting)
