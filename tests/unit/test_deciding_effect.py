"""What a plan came to in one window: when a window says nothing, and which reason is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hotshard.core.deciding.effect import EffectMemory, InWindow, effect, is_to_be_told, remembered
from hotshard.core.keys import with_suffix
from hotshard.core.topic import Carry
from hotshard.core.wire.route import Epoch, Route, RouteState, Treatment

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = b"acme\x1forder-1"
N = 6
HOME = 0
LEAST = 0.025

#: A key of 600 records among 600 others, split over three partitions besides its own.
ROUTE = Route(
    topic="orders", key=KEY.decode(), state=RouteState.ACTIVE, epoch=Epoch(1, 5), suffixes=("0", "1", "2"),
    partitions=(1, 2, 3), partition_count=N, partitioner="murmur2", since_ms=0, changed_ms=0, share=0.5, lower=600,
    upper=600, imbalance_before=3.5, imbalance_after=1.5,
)  # fmt: skip


def seen(wires: Mapping[bytes, Mapping[int, float]], others: float = 100.0, **more: Any) -> InWindow:  # noqa: ANN401
    loads = [others] * N
    for places in wires.values():
        for partition, load in places.items():
            loads[partition] += load
    given: dict[str, Any] = {
        "start_ms": 20_000, "end_ms": 30_000, "loads": loads, "records": round(sum(loads)), "wires": wires,
    }  # fmt: skip
    return InWindow(**(given | more))


def shards(*loads: float) -> dict[bytes, dict[int, float]]:
    return {with_suffix(KEY, str(number)): {number + 1: load} for number, load in enumerate(loads)}


FOLLOWED = seen(shards(200, 200, 200))
IGNORED = seen({KEY: {HOME: 600}})


def reason(route: Route, window: InWindow) -> str | None:
    found = effect(route, window, HOME, LEAST)
    assert found is not None
    return found.reason


def test_a_plan_that_is_followed_has_no_reason() -> None:
    found = effect(ROUTE, FOLLOWED, HOME, LEAST)
    assert found is not None
    assert found.reason is None
    assert found.promised == 1.5
    assert found.measured == pytest.approx(1.5)


def test_the_fullest_of_the_keys_own_partitions_counts_and_no_other() -> None:
    loads = [*FOLLOWED.loads[:5], 5000.0]
    crowded_elsewhere = replace(FOLLOWED, loads=loads, records=6200)
    assert reason(ROUTE, crowded_elsewhere) is None


@pytest.mark.parametrize(
    ("route", "window"),
    [
        (msgspec.structs.replace(ROUTE, state=RouteState.PROPOSED), IGNORED),
        (msgspec.structs.replace(ROUTE, changed_ms=1), IGNORED),
        (msgspec.structs.replace(ROUTE, imbalance_after=None), IGNORED),
        (msgspec.structs.replace(ROUTE, partition_count=7), IGNORED),
        (ROUTE, replace(IGNORED, completeness=0.9)),
        (ROUTE, seen({KEY: {HOME: 10}}, others=1000)),
        (ROUTE, seen({}, others=0)),
    ],
    ids=["not given", "too soon", "no promise", "other partitions", "incomplete", "cooled", "no load"],
)
def test_a_window_that_says_nothing_of_the_plan(route: Route, window: InWindow) -> None:
    assert effect(route, window, HOME, LEAST) is None


CASES = {
    "nobody follows": (ROUTE, IGNORED, "producers_without_library"),
    "some do not follow": (ROUTE, seen({KEY: {HOME: 480.0}} | shards(40, 40, 40)), "producers_without_library"),
    "nobody follows, and others came": (
        ROUTE, replace(IGNORED, loads=[700.0, 100.0, 900.0, 100.0, 100.0, 100.0], records=2000),
        "producers_without_library",
    ),
    "a few do not follow, and others came": (
        ROUTE,
        replace(seen({KEY: {HOME: 60.0}} | shards(180, 180, 180)), loads=[160.0, 280.0, 900.0, 280.0, 100.0, 100.0]),
        "others_crowd_it",
    ),
    "one shard has nearly all": (ROUTE, seen(shards(560, 20, 20)), "skewed_discriminator"),
    "the key has grown": (
        msgspec.structs.replace(ROUTE, suffixes=("0", "1"), partitions=(1, 2)), seen(shards(3000, 3000), others=300),
        "load_grew",
    ),
    "others came": (
        msgspec.structs.replace(ROUTE, upper=0),
        replace(FOLLOWED, loads=[100.0, 1500.0, 300.0, 300.0, 100.0, 100.0], records=2400), "others_crowd_it",
    ),
    "isolated on paper": (
        msgspec.structs.replace(ROUTE, treatment=Treatment.ISOLATE, suffixes=(), partitions=()), IGNORED,
        "tenant_leaks",
    ),
    "by partition, and nobody follows": (
        msgspec.structs.replace(ROUTE, carry=Carry.PARTITION, suffixes=(), partitions=(0, 1, 2)),
        IGNORED, "producers_without_library",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_why_it_did_not_help(case: str) -> None:
    route, window, expected = CASES[case]
    assert reason(route, window) == expected


def test_a_few_records_say_nothing_for_sure() -> None:
    few = seen({KEY: {HOME: 12}}, others=2)
    assert reason(ROUTE, few) is None


def test_half_of_what_was_promised_is_enough() -> None:
    half = seen({KEY: {HOME: 260.0}} | shards(120, 110, 110))
    found = effect(ROUTE, half, HOME, LEAST)
    assert found is not None
    assert 1.5 < found.measured < 2.5
    assert found.reason is None


def test_it_is_told_after_three_windows_on_end_and_once() -> None:
    bad, good = effect(ROUTE, IGNORED, HOME, LEAST), effect(ROUTE, FOLLOWED, HOME, LEAST)
    memory = remembered(None, ROUTE, bad)
    memory = remembered(memory, ROUTE, bad)
    assert not is_to_be_told(memory)
    assert not is_to_be_told(remembered(remembered(memory, ROUTE, good), ROUTE, bad))
    memory = remembered(remembered(memory, ROUTE, None), ROUTE, bad)
    assert is_to_be_told(memory)
    assert not is_to_be_told(msgspec.structs.replace(memory, told=True))


def test_another_plan_is_looked_at_anew() -> None:
    memory = EffectMemory(key=KEY, epoch=Epoch(1, 4), windows=9, told=True)
    assert remembered(memory, ROUTE, None) == EffectMemory(key=KEY, epoch=Epoch(1, 5))
