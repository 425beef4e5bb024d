"""What is asked of the clusters before a worker starts."""

from __future__ import annotations

import asyncio

import pytest

from hotshard.core.topic import PartitionsFrom
from hotshard.doors.clock import ManualClock
from hotshard.doors.kafka.contract import TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.job import sources as sources_module
from hotshard.job.says import Says
from hotshard.job.sources import Recount, Watched, look_up
from tests.support.deciding import SOURCE, spec
from tests.support.eventually import eventually


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.mark.parametrize(
    ("given", "production", "partitions"),
    [(12, 8, 12), (None, 8, 8), (None, None, 6)],
)
async def test_the_partitions_of_production_are_given_or_asked_or_those_of_the_source(
    clock: ManualClock, given: int | None, production: int | None, partitions: int
) -> None:
    mirror, other = MemoryKafka(clock=clock), MemoryKafka(clock=clock)
    mirror.cluster.create(TopicWanted(name=SOURCE, partitions=6))
    if production is not None:
        other.cluster.create(TopicWanted(name="orders", partitions=production))
    watched = await look_up([spec(partitions=given)], mirror.admin(), other.admin(), Says(clock))
    assert watched.partitions == {"orders": partitions}
    assert watched.sources[SOURCE].partitions == 6
    assert watched.sources[SOURCE].partition_of is None


async def test_the_production_partition_is_computed_where_the_source_is_laid_out_otherwise(clock: ManualClock) -> None:
    mirror = MemoryKafka(clock=clock)
    mirror.cluster.create(TopicWanted(name=SOURCE, partitions=1))
    of = spec(partitions=12, partitions_from=PartitionsFrom.COMPUTED)
    watched = await look_up([of], mirror.admin(), mirror.admin(), Says(clock))
    place = watched.sources[SOURCE].partition_of
    assert place is not None
    assert {place(f"key-{number}".encode()) for number in range(500)} == set(range(12))


async def test_a_source_that_is_missing_or_away_is_waited_for(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sources_module, "_AGAIN_S", 0.01)
    mirror = MemoryKafka(clock=clock)
    mirror.cluster.down = True
    looking = asyncio.create_task(look_up([spec(partitions=6)], mirror.admin(), mirror.admin(), Says(clock)))
    await eventually(lambda: "waiting for Kafka" in caplog.text)
    mirror.cluster.down = False
    await eventually(lambda: f"topic '{SOURCE}' does not exist" in caplog.text)
    mirror.cluster.create(TopicWanted(name=SOURCE, partitions=3))
    watched = await looking
    assert watched.sources[SOURCE].partitions == 3
    assert f"source {SOURCE} is there again" in caplog.text


async def recounted(watched: Watched, mirror: MemoryKafka, production: MemoryKafka) -> set[str]:
    """The topics of which another look at the clusters tells that they have changed."""
    changed: set[str] = set()
    await Recount(watched, mirror.admin(), production.admin(), Says(ManualClock()), changed.update).look()
    return changed


def cluster(**counts: int) -> MemoryKafka:
    kafka = MemoryKafka(clock=ManualClock())
    for name, partitions in counts.items():
        kafka.cluster.create(TopicWanted(name=name.replace("_", "."), partitions=partitions))
    return kafka


async def test_a_topic_that_has_other_partitions_now_is_told_and_placed_by_them(clock: ManualClock) -> None:
    mirror = cluster(mirror_orders=1)
    of = spec(partitions_from=PartitionsFrom.COMPUTED)
    watched = await look_up([of], mirror.admin(), cluster(orders=6).admin(), Says(clock))
    place = watched.sources[SOURCE].partition_of
    assert place is not None
    assert await recounted(watched, mirror, cluster(orders=6)) == set()
    assert await recounted(watched, mirror, cluster(orders=12)) == {"orders"}
    assert watched.partitions == {"orders": 12}
    assert {place(f"key-{number}".encode()) for number in range(500)} == set(range(12))
    assert await recounted(watched, mirror, cluster(orders=12)) == set()


async def test_a_count_that_the_settings_give_is_never_asked_for_again(clock: ManualClock) -> None:
    mirror = cluster(mirror_orders=6)
    watched = await look_up([spec(partitions=6)], mirror.admin(), cluster().admin(), Says(clock))
    assert await recounted(watched, mirror, cluster(orders=12)) == set()


async def test_a_topic_that_is_gone_from_production_keeps_its_count_until_it_is_made_again(clock: ManualClock) -> None:
    mirror = cluster(mirror_orders=3)
    watched = await look_up([spec()], mirror.admin(), cluster(orders=6).admin(), Says(clock))
    assert await recounted(watched, mirror, cluster()) == set()
    assert await recounted(watched, mirror, cluster(orders=9)) == {"orders"}


async def test_without_the_topic_in_production_its_sources_tell(clock: ManualClock) -> None:
    watched = await look_up([spec()], cluster(mirror_orders=3).admin(), cluster().admin(), Says(clock))
    assert await recounted(watched, cluster(mirror_orders=5), cluster()) == {"orders"}
    assert watched.partitions == {"orders": 5}
    assert await recounted(watched, cluster(), cluster()) == set()
