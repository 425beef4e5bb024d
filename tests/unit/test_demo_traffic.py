"""Who sends how much, to where, and through what."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.partitioners import partition_of
from hotshard.core.skew import describe_skew
from hotshard.demo.cast import assemble
from hotshard.demo.pace import MOST_BEHIND_S, Pace
from hotshard.demo.script import Script
from hotshard.demo.traffic import Rates, Traffic
from hotshard.doors.clock import ManualClock, SystemClock
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable

CAST = assemble()
PLACE = partition_of("murmur2", CAST.partitions)


def test_the_small_tenant_lies_on_the_partition_that_is_flooded() -> None:
    assert PLACE(CAST.flood_key) == PLACE(CAST.small_key) == CAST.flooded


def test_there_are_two_hundred_tenants() -> None:
    tenants = {key.split(b"\x1f")[0] for key in (*CAST.crowd, CAST.small_key, CAST.flood_key)}
    assert len(tenants) == CAST.tenants == 200


def test_the_crowd_is_spread_evenly_and_nobody_in_it_is_hot() -> None:
    keys = list(islice(CAST.crowd_keys(seed=3), 50_000))
    loads = Counter(map(PLACE, keys))
    assert describe_skew([loads[partition] for partition in range(12)]).imbalance < 1.15
    least_worth = 0.25 / (CAST.partitions - 1)
    assert Counter(keys).most_common(1)[0][1] < len(keys) * least_worth / 4


def test_the_flood_has_between_30_and_40_percent_and_outruns_one_partition_only() -> None:
    script = Script()
    assert 0.3 <= script.rates.flood / script.rates.flooded <= 0.4
    assert script.rates.flooded / CAST.partitions < script.handled_per_s / 2
    assert script.rates.flood > script.handled_per_s


@given(st.floats(10, 5000), st.lists(st.floats(0, 0.4), max_size=50))
def test_a_pace_owes_nothing_and_gives_nothing_extra(per_s: float, steps: list[float]) -> None:
    pace, now_s, given_out = Pace(per_s, 0.0), 0.0, 0
    for step in steps:
        now_s += step
        given_out += pace.due(now_s)
    assert abs(given_out - now_s * per_s) <= 1


def test_a_pace_does_not_make_good_a_long_standstill() -> None:
    assert Pace(1000, 0.0).due(60.0) == 1000 * MOST_BEHIND_S


def test_a_clock_that_goes_back_owes_nothing() -> None:
    pace = Pace(1000, 10.0)
    assert pace.due(5.0) == 0
    assert pace.due(5.25) == 250


class _Sender:
    """Delivers at once, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: Counter[bytes] = Counter()
        self._error = error

    async def send(self, topic: str, value: bytes, *, key: bytes) -> Awaitable[object]:
        assert topic == "orders"
        assert value
        self.sent[key] += 1
        delivery = asyncio.get_running_loop().create_future()
        if self._error is None:
            delivery.set_result(None)
        else:
            delivery.set_exception(self._error)
        return delivery


async def test_the_flood_goes_out_only_between_its_start_and_its_end() -> None:
    traffic = Traffic(CAST, Rates(crowd=500, small=100, flood=1000), "orders", SystemClock())
    crowd, flood = _Sender(), _Sender()
    running = asyncio.create_task(traffic.run(crowd, flood))
    await eventually(lambda: crowd.sent[CAST.small_key] > 5)
    assert not flood.sent
    traffic.start_flood()
    await eventually(lambda: flood.sent[CAST.flood_key] > 50)
    traffic.stop_flood()
    so_far = crowd.sent.total()
    await eventually(lambda: crowd.sent.total() > so_far + 20)
    stopped_at = flood.sent.total()
    await eventually(lambda: crowd.sent.total() > so_far + 100)
    assert flood.sent.total() == stopped_at
    assert set(flood.sent) == {CAST.flood_key}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert traffic.sent == crowd.sent.total() + flood.sent.total()
    assert traffic.failed == 0


async def test_a_record_that_cannot_be_delivered_is_counted_and_ends_nothing() -> None:
    traffic = Traffic(CAST, Rates(crowd=500, small=100, flood=1000), "orders", SystemClock())
    running = asyncio.create_task(traffic.run(_Sender(ConnectionError("gone")), _Sender()))
    await eventually(lambda: traffic.failed > 20)
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_a_pace_follows_the_clock_it_is_given() -> None:
    clock = ManualClock()
    pace = Pace(200, clock.monotonic_s())
    clock.advance(0.25)
    assert pace.due(clock.monotonic_s()) == 50
    assert pace.due(clock.monotonic_s()) == 0
