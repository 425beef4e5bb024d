"""The pane protocol against a random world: every record counted once, whoever dies, sleeps or wakes."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.pane_world import Rules, World

SEEDS = 60
STEPS = 3_000


class Chances:
    """Chance out of a list of numbers, again and again, so that Hypothesis can shrink what went wrong."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = itertools.cycle(numbers)
        self._turn = 0

    def __call__(self, n: int) -> int:
        self._turn += 1
        return (next(self._numbers) + self._turn // 7) % n


def lived(seed: int, rules: Rules, steps: int = STEPS) -> World:
    world = World(random.Random(seed).randrange, rules)  # noqa: S311
    world.run(steps)
    world.settle()
    return world


def check_counted_once(world: World) -> None:
    counted = world.counted()
    doubled = {number for number, times in counted.items() if times > 1}
    missing = world.broker.times.keys() - counted.keys()
    assert not doubled
    assert not missing
    assert sum(window.totals.records for window in world.said) == len(world.broker.times)
    for partition, ranges in world.ranges().items():
        assert_tiled(ranges)
        assert ranges[0][0] == 0
        assert ranges[-1][1] == world.broker.logs[partition].end


def assert_tiled(ranges: list[tuple[int, int, int]]) -> None:
    for (_, end, _), (start, _, lost) in itertools.pairwise(ranges):
        assert start - lost == end


def check_numbered_once(world: World) -> None:
    numbers = [(window.start_ms, window.revision) for window in world.said]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_record_is_counted_once_whoever_dies_sleeps_or_wakes(seed: int) -> None:
    world = lived(seed, Rules())
    check_counted_once(world)
    check_numbered_once(world)
    assert world.lost == 0
    assert world.restarted == 0


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=400), st.integers(0, 600))
def test_every_record_is_counted_once_in_worlds_that_shrink(numbers: list[int], steps: int) -> None:
    world = World(Chances(numbers), Rules())
    world.run(steps)
    world.settle()
    check_counted_once(world)
    check_numbered_once(world)


def test_a_commit_before_its_publish_is_found_out() -> None:
    def is_wrong(seed: int) -> bool:
        world = lived(seed, Rules(commit_first=True))
        try:
            check_counted_once(world)
        except AssertionError:
            return True
        return False

    assert sum(map(is_wrong, range(10))) > 5


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_deleted_before_it_is_read_is_counted_as_lost(seed: int) -> None:
    world = lived(seed, Rules(deletes=True))
    counted = world.counted()
    assert not {number for number, times in counted.items() if times > 1}
    assert not world.broker.covered.keys() - counted.keys()
    for ranges in world.ranges().values():
        assert_tiled(ranges)
    assert world.restarted == 0


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_group_set_back_or_deleted_or_a_topic_made_again_is_counted_from_there(seed: int) -> None:
    world = lived(seed, Rules(meddles=True))
    counted = world.counted()
    assert not {number for number, times in counted.items() if times > 1 + world.times_set_back(number)}
    missing = world.broker.covered.keys() - counted.keys()
    assert not {number for number in missing if world.is_still_there(number)}
