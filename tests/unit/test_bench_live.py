"""What the benchmark makes of floods and of producers that follow the registry."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hotshard.core.keys import SEPARATOR
from hotshard.core.partitioners import partition_of
from tests.bench import followers
from tests.bench.latency import Flood, Pump, summary
from tests.bench.live import RUNS
from tests.bench.parts import Goal, percentile
from tests.support.registry import KEY

if TYPE_CHECKING:
    import pytest


class Batch:
    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []

    def append(self, *, timestamp: int, key: bytes, value: bytes) -> None:
        assert value
        self.records.append((timestamp, key))

    def record_count(self) -> int:
        return len(self.records)


class Producer:
    """Takes batches, and keeps what is in them by partition."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int, bytes]] = []

    def create_batch(self) -> Batch:
        return Batch()

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> None:
        assert topic == "t"
        self.sent += [(partition, timestamp, key) for timestamp, key in batch.records]


async def ticked(flood: Flood | None) -> tuple[Producer, Pump]:
    producer: Any = Producer()
    pump = Pump(producer, "t", 4)
    pump.pace(50_000, 0.02)
    pump.flood = flood
    await pump._tick()  # noqa: SLF001 - one tick, without the clock
    return producer, pump


async def test_a_flood_takes_its_share_of_a_rate_that_stays_and_lies_where_its_key_does() -> None:
    producer, pump = await ticked(Flood(b"new\x1fkey", 0.3))
    flooded = [partition for partition, _, key in producer.sent if key == b"new\x1fkey"]
    assert (pump.sent, len(producer.sent), len(flooded)) == (1000, 1000, 300)
    assert set(flooded) == {partition_of("murmur2", 4)(b"new\x1fkey")}


async def test_a_flood_begins_with_the_timestamp_of_its_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(100, 200))
    clock = SimpleNamespace(monotonic=lambda: next(moments), time_ns=lambda: next(moments) * 1_000_000)
    monkeypatch.setattr("tests.bench.latency.time", clock)
    flood = Flood(b"new\x1fkey", 0.3)
    producer, pump = await ticked(flood)
    assert flood.began_s == 100
    assert {timestamp for _, timestamp, key in producer.sent if key == flood.key} == {101}
    await pump._tick()  # noqa: SLF001
    assert flood.began_s == 100


async def test_without_a_flood_the_rate_is_the_same() -> None:
    producer, _ = await ticked(None)
    assert len(producer.sent) == 1000


def test_floods_that_were_not_found_are_told_and_are_in_no_time() -> None:
    assert summary([0.5, None, 0.7]) == {"floods": 3, "missed": 1, "p50_s": 0.6, "p99_s": 0.698, "most_s": 0.7}
    assert summary([None]) == {"floods": 1, "missed": 1, "p50_s": None, "p99_s": None, "most_s": None}


def test_of_one_value_every_percentile_is_that_value() -> None:
    assert (percentile([3.0], 50), percentile([3.0], 99), percentile([], 99)) == (3.0, 3.0, None)


def test_there_are_as_many_floods_as_the_goals_speak_of() -> None:
    kinds = {(kind.share, kind.per_s): kind.floods for kind in RUNS.values()}
    assert kinds[0.3, 50_000] >= 100
    assert kinds[0.05, 50_000] >= 30


# -- followers -----------------------------------------------------------------------------------


def test_each_producer_is_timed_from_the_write_it_follows() -> None:
    written = [(2, 10.0), (3, 20.0)]
    told = [[(2, 10.010), (3, 20.030)], [(3, 20.050)]]
    found = followers.summary(written, told)
    assert (found["registries"], found["missed"], found["p50_ms"], found["most_ms"]) == (2, 1, 30.0, 50.0)


def test_a_record_tells_the_route_it_went_by() -> None:
    keys = [f"{KEY}{SEPARATOR}{suffix}" for suffix in followers.suffixes_of(12)]
    assert {followers.version_of(key) for key in keys} == {12}
    assert followers.version_of(KEY) is None


# -- goals ---------------------------------------------------------------------------------------


def test_a_goal_that_could_not_be_judged_says_why() -> None:
    goal = Goal("two beside one", "ratio", least=1.7, else_="not judged")
    assert goal.verdict({"two beside one": {"ratio": None}}) == "two beside one: ratio: not judged"
    assert goal.verdict({}) is None
    assert "reached" in (goal.verdict({"two beside one": {"ratio": 1.8}}) or "")
