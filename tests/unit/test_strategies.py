"""Ways of placing records: what their sources say of them, on small streams."""

from __future__ import annotations

from collections import Counter

import pytest

from hotshard.core.partitioners import PARTITIONERS, partition_of
from hotshard.core.planning.situation import Terms
from hotshard.core.planning.strategies.catalogue import STRATEGIES
from hotshard.core.planning.strategies.choices import head_choices
from hotshard.core.planning.strategies.contract import Ground, Stretch
from hotshard.core.planning.strategies.hashed import textbook_shards
from hotshard.core.planning.strategies.pkg import choices
from hotshard.core.planning.strategies.placed import Placed
from hotshard.core.planning.strategies.watched import SPAN, Watched, surely

PARTITIONS = 12
GROUND = Ground(PARTITIONS, Terms(partitioner=PARTITIONERS["murmur2"]))
HOME = partition_of("murmur2", PARTITIONS)
OTHERS = [b"other-%d" % number for number in range(600)]


def stretch(keys: list[bytes]) -> Stretch:
    return Stretch(keys, [None] * len(keys), [HOME(key) for key in keys])


def flood(key: bytes) -> list[bytes]:
    """1,000 records of which 400 are of one key, evenly mixed."""
    return [key if at % 5 < 2 else OTHERS[at * 3 // 5 % len(OTHERS)] for at in range(1_000)]


@pytest.mark.parametrize(
    ("share", "partitions", "eps", "shards"),
    [
        (0.1, 12, 0.5, 2), (0.2, 12, 0.25, 6), (0.2, 12, 0.5, 4), (0.4, 12, 0.5, 6), (0.1, 24, 0.5, 4),
        (0.2, 24, 0.5, 7), (0.4, 24, 0.25, 15), (0.2, 48, 0.5, 14), (1.0, 1, 0.25, 1), (0.0, 12, 0.25, 1),
    ],
)  # fmt: skip
def test_the_textbook_number_of_shards(share: float, partitions: int, eps: float, shards: int) -> None:
    assert textbook_shards(share, partitions, eps) == shards


def loads_after(name: str, rounds: int = 20) -> Counter[int | None]:
    strategy = STRATEGIES[name](GROUND)
    loads: Counter[int | None] = Counter()
    for _ in range(rounds):
        loads.update(strategy.place(stretch(flood(b"hot"))))
    return loads


def test_the_plain_hash_leaves_a_flood_on_its_partition_and_two_choices_halve_it() -> None:
    mean = 20_000 / PARTITIONS
    assert max(loads_after("key").values()) > 0.4 * 20_000
    first, second = choices(b"hot", HOME(b"hot"), PARTITIONS, 2)
    assert first != second
    pkg = loads_after("pkg")
    assert {place for place, load in pkg.items() if load > 1.5 * mean} == {first, second}
    assert pkg[first] == pytest.approx(pkg[second], abs=2)


@pytest.mark.parametrize("name", ["d-choices", "w-choices"])
def test_more_choices_for_the_head_even_the_load_out(name: str) -> None:
    assert max(loads_after(name).values()) < 1.05 * 20_000 / PARTITIONS


def test_our_plans_hold_the_tolerance_where_hashed_suffixes_do_not() -> None:
    # What came before the first decision lies where it lies: 400 records.
    assert max(loads_after("placed").values()) <= 1.25 * 20_000 / PARTITIONS + 400
    assert max(loads_after("hashed").values()) > max(loads_after("placed").values())


def test_nothing_is_known_of_a_stretch_before_it_is_placed() -> None:
    for name in ("hashed", "placed", "d-choices", "w-choices"):
        first = stretch(flood(b"hot"))
        places = STRATEGIES[name](GROUND).place(first)
        of_hot = {place for key, place in zip(first.keys, places, strict=True) if key == b"hot"}
        assert len(of_hot) <= 2
        assert HOME(b"hot") in of_hot


def test_shards_are_taken_in_turn() -> None:
    strategy = Placed(GROUND)
    strategy.place(stretch(flood(b"hot")))
    later = stretch(flood(b"hot"))
    places = [place for key, place in zip(later.keys, strategy.place(later), strict=True) if key == b"hot"]
    shards = list(dict.fromkeys(places))
    assert len(shards) > 3
    assert places == [shards[at % len(shards)] for at in range(len(places))]


def test_plans_follow_the_heat_when_it_moves_on() -> None:
    strategy = Placed(GROUND)
    rounds = 3 * SPAN // 1_000
    for key in (b"first", b"second"):
        for _ in range(rounds):
            strategy.place(stretch(flood(key)))
        places = Counter(
            place for each, place in zip(flood(key), strategy.place(stretch(flood(key))), strict=True) if each == key
        )
        assert max(places.values()) < 200
    calm = stretch([b"first"] * 10)
    assert set(strategy.place(calm)) == {HOME(b"first")}


def test_what_was_long_ago_is_forgotten() -> None:
    watched = Watched(GROUND, span=1_000)
    watched.add(stretch([b"old"] * 1_000))
    watched.add(stretch([b"new"] * 1_000))
    assert (watched.load(b"old"), watched.load(b"new"), watched.records) == (1_000, 1_000, 2_000)
    watched.add(stretch([b"new"] * 1_000))
    assert (watched.load(b"old"), watched.load(b"new"), watched.records) == (0, 2_000, 2_000)
    assert sum(watched.loads) == 2_000


def test_a_key_that_may_have_come_by_chance_is_not_heavy() -> None:
    watched = Watched(GROUND)
    watched.add(stretch([b"few"] * 9 + [b"many"] * 400))
    assert [(each.key, each.load, each.home) for each in watched.heavy(1)] == [(b"many", 400, HOME(b"many"))]
    assert surely(9) == 0
    assert watched.heavy(341) == []
    assert len(watched.heavy(340)) == 1


def test_d_of_a_light_head_is_two_and_of_a_heavy_one_all() -> None:
    assert head_choices([], 50) == 2
    assert head_choices([0.005] * 3, 50) == 2
    assert head_choices([0.9], 50) == 50
    d = head_choices([0.2, 0.05], 50)
    assert 10 <= d < 50
