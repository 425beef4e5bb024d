"""What a small sample surely shows."""

from __future__ import annotations

import random

import pytest

from hotshard.core.policy.chance import SIGMAS, beyond_chance


@pytest.mark.parametrize(("load", "surely"), [(0, 0), (1, 0), (24, 0), (25, 0), (36, 6), (100, 50), (10_000, 9_500)])
def test_five_standard_deviations_of_a_count_are_chance(load: int, surely: int) -> None:
    assert SIGMAS == 5
    assert beyond_chance(load) == surely


def test_one_huge_record_says_nothing_however_many_small_ones_it_came_with() -> None:
    huge = 10**12
    assert beyond_chance(huge, 2e8, huge) == 0
    assert beyond_chance(huge + 300, 2e8, huge) == 300
    assert beyond_chance(100 * huge, huge, huge) == 50 * huge, "many of them do"


def test_bytes_are_as_sure_as_the_records_they_are() -> None:
    assert beyond_chance(100 * 500, 500) == 50 * 500


def test_chance_alone_hardly_ever_shows_more_than_there_is() -> None:
    draw = random.Random(8)  # noqa: S311  # traffic, no secrets
    expected, stretches = 40, 2_000
    counts = [sum(draw.random() < expected / 1_000 for _ in range(1_000)) for _ in range(stretches)]
    assert sum(count > expected for count in counts) > stretches / 3
    assert not any(beyond_chance(count) > expected for count in counts)
