"""What scan keeps of all of the input: whose a key is, where names go, what chance allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hotshard.core.causes.evidence import Cause
from hotshard.core.policy.chance import beyond_chance
from hotshard.core.scanning import findings as kept
from hotshard.core.scanning import owning
from hotshard.core.scanning.findings import Findings, Window
from hotshard.core.scanning.heating import Hot
from hotshard.core.scanning.owning import Owning
from hotshard.core.scanning.placing import Places
from hotshard.core.sketching.whole import Whole, WholeCount, WholeSum
from hotshard.core.wire.pane import HeavyList, Row, travelling_key

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize(
    ("load", "mean", "largest", "least"),
    [
        (0, 1.0, 1, 0),
        (1, 1.0, 1, 0),
        (25, 1.0, 1, 0),
        (100, 1.0, 1, 50),
        (10_000, 1.0, 1, 9_500),
        (100_000, 1_000.0, 5_000, 50_000),  # 100 records of the mean
        (100_000, 1.0, 100_000, 0),  # one record may have brought it
    ],
)
def test_chance_is_five_times_the_root_of_the_records(load: int, mean: float, largest: int, least: int) -> None:
    assert beyond_chance(load, mean, largest) == least


# -- whose a key is --------------------------------------------------------------------------------


def owned(*slabs: Sequence[tuple[bytes | None, bytes | None]]) -> Owning:
    made = Owning()
    for pairs in slabs:
        made.note_beside([key for key, _ in pairs], [tenant for _, tenant in pairs])
    return made


def test_a_key_is_of_the_one_tenant_of_all_its_records() -> None:
    made = owned([(b"a", b"t"), (b"b", b"u")], [(b"a", b"t"), (b"c", b"u")])
    assert [made.of(key) for key in (b"a", b"b", b"c", b"never")] == [b"t", b"u", b"u", None]
    assert made.distinct_keys == 3


@pytest.mark.parametrize(
    "slabs",
    [
        ([(b"a", b"t"), (b"a", b"u")],),
        ([(b"a", b"t"), (b"a", b"u"), (b"a", b"t")],),  # the first and the last are alike
        ([(b"a", b"t")], [(b"a", b"u")], [(b"a", b"t")]),
        ([(b"a", b"t"), (b"a", None)],),
        ([(b"a", None)], [(b"a", b"t")]),
        ([(b"a", None)],),
    ],
)
def test_a_key_of_several_tenants_or_none_has_no_owner(slabs: tuple[list[tuple[bytes, bytes | None]], ...]) -> None:
    assert owned(*slabs).of(b"a") is None


def test_of_very_many_tenants_the_first_are_remembered_and_what_each_takes_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A short tenant takes as an object twenty times its bytes, so the bytes alone are no bound on memory."""
    monkeypatch.setattr(owning, "_TENANT_BYTES", 100_000)
    made = owned(
        *([(b"k%d" % one, b"t%d" % one) for one in range(first, first + 100)] for first in range(0, 3000, 100))
    )
    known = [one for one in range(3000) if made.of(b"k%d" % one) is not None]
    assert known == list(range(len(known)))
    assert 500 <= len(known) <= 800


def test_records_without_a_key_are_no_key() -> None:
    made = owned([(None, b"t"), (b"", b"t"), (None, b"u")])
    assert made.distinct_keys == 1
    assert made.of(b"") == b"t"


def test_keys_without_tenants_are_counted_alike() -> None:
    made = Owning()
    made.note([b"a", b"b"])
    made.note([b"b", b"c"])
    assert (made.distinct_keys, made.of(b"a")) == (3, None)


def test_long_keys_are_remembered_whole_and_the_longest_are_not() -> None:
    long, longest = b"k" * 300, b"k" * 9000
    made = owned([(long, b"t"), (longest, b"t"), (b"k", b"t")])
    assert made.whole(travelling_key(long)) == long
    assert made.whole(travelling_key(longest)) == travelling_key(longest)
    assert (made.of(travelling_key(long)), made.distinct_keys) == (b"t", 3)


def test_beyond_so_many_keys_they_are_estimated_and_new_ones_have_no_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owning, "EXACT_KEYS", 1000)
    made = owned(*([(b"%d" % (each * 500 + one), b"t") for one in range(500)] for each in range(20)))
    assert abs(made.distinct_keys - 10_000) < 500
    assert made.of(b"7") == b"t"
    assert made.of(b"9999") is None
    made.note_beside([b"7"], [b"u"])
    assert made.of(b"7") is None


# -- where names go --------------------------------------------------------------------------------


def test_places_are_bounded_and_right_after_they_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hotshard.core.scanning.placing._REMEMBERED", 100)
    places = Places("murmur2", 7)
    names = [b"%d" % each for each in range(300)]
    for begin in range(0, 300, 60):
        places.learn(names[begin : begin + 60])
        assert len(places) <= 100
    fresh = Places("murmur2", 7)
    assert [places.of(name) for name in names] == [fresh.of(name) for name in names]


def test_an_empty_key_that_goes_anywhere_goes_everywhere() -> None:
    places = Places("crc32", 4)
    assert {places.of(b"") for _ in range(8)} == {0, 1, 2, 3}
    assert len({places.of(b"a") for _ in range(8)}) == 1


# -- the heaviest ----------------------------------------------------------------------------------


def test_few_names_are_counted_exactly() -> None:
    whole = WholeCount()
    whole.add({b"a": 5, b"b": 7})
    whole.add({b"a": 1})
    assert whole.heaviest() == [Whole(b"b", 7, 7, 7), Whole(b"a", 6, 6, 6)]
    assert whole.get(b"a") == Whole(b"a", 6, 6, 6)
    assert whole.get(b"c") is None
    assert (whole.threshold(13), whole.threshold(13_001)) == (1, 14)


def test_a_sum_lets_the_lightest_go_and_its_bounds_still_hold() -> None:
    whole = WholeSum(2)
    for _ in range(3):
        whole.add(HeavyList((Row(b"a", 9, 10), Row(b"b", 5, 5)), 2))
    for each in range(8):
        whole.add(HeavyList((Row(b"x%d" % each, 1, 1),), 0))
    a, b = whole.get(b"a"), whole.get(b"b")
    assert a is not None
    assert (a.lower, a.upper, a.estimate) == (27, 30, 30)
    assert b is not None
    assert (b.lower, b.upper) == (15, 15)
    last = whole.get(b"x7")
    assert last is not None
    assert last.lower == 1 <= last.upper
    assert whole.error >= 6


# -- findings --------------------------------------------------------------------------------------


def window(number: int, records: int, hot: tuple[bytes, ...] = (), cause: Cause = Cause.NONE) -> Window:
    return Window(number, None, None, records, hot, (), cause)


def test_windows_with_findings_and_the_largest_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_WINDOWS", 3)
    findings = Findings()
    for each in (window(0, 10), window(1, 5, (b"k",)), window(2, 30), window(3, 20), window(4, 1, (), Cause.COLLISION)):
        findings.tell(each)
    assert [each.number for each in findings.windows()] == [1, 2, 4]
    assert findings.windows_total == 5


def test_a_name_is_hot_since_its_first_window_and_its_worst_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = Findings()
    findings.heat([Hot(b"k", 5, 5, 0.1)], [], 1000, {0: 1})
    findings.heat([Hot(b"k", 9, 9, 0.5)], [], 2000, {0: 2})
    findings.heat([Hot(b"k", 1, 1, 0.2)], [], 3000, {0: 3})
    spell = findings.keys[b"k"]
    assert (spell.since_ms, spell.windows, spell.worst.share, spell.loads) == (1000, 3, 0.5, {0: 2})
    monkeypatch.setattr(kept, "_MAX_SPELLS", 2)
    for each in range(6):
        findings.heat([Hot(b"n%d" % each, 1, 1, each / 100)], [], None, {})
    assert len(findings.keys) <= 4
    assert b"k" in findings.keys
