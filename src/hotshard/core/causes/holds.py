"""When a cause holds: named predicates over the evidence, each defined in one sentence.

Their proof is the table of cases in ``tests/unit/test_causes_table.py``; one is added with its cases.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from hotshard.core.causes import consumers, outcome
from hotshard.core.causes.measures import Spread, explained, keyed, with_unkeyed
from hotshard.core.keys import SEPARATOR
from hotshard.core.looks import framed_alike, is_of_the_clock, is_series
from hotshard.core.planning.worth import sub_unit_too_large

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.causes.evidence import Evidence, HotName

#: A topic with fewer distinct keys than so many times its partitions cannot be even.
KEYS_PER_PARTITION: Final = 4
#: Recent windows from which on one can tell a burst, or a hot key that moves.
LEAST_WINDOWS: Final = 3
#: A burst is hot in at most this part of the recent windows.
BURST: Final = 1 / 3
#: From this part of hot windows on in which the top key is another, the heat moves.
MOVES: Final = 0.8
#: One key explains the unevenness from this part of the excess on; for what is judged over windows half is enough.
EXPLAINS: Final = 0.6
_HALF: Final = 0.5
#: The heaviest keys that are looked at together.
_TOGETHER: Final = 10
#: Records a key from which on keys of the clock come one after the other, and not side by side.
_RUN: Final = 100


# -- nothing wrong -----------------------------------------------------------------------------------


def load_is_uneven(evidence: Evidence) -> bool:
    """The hottest partition carries more than 1 + eps times the mean, and more than chance explains."""
    return keyed(evidence).is_surely_uneven


def nothing_is_wrong(evidence: Evidence) -> bool:
    """Load is even as far as can be told, and nothing else of what follows is there to be told."""
    return not (
        load_is_uneven(evidence) or wide_tenants(evidence) or any(holds(evidence) for holds in _WRONG_THOUGH_EVEN)
    )


# -- keys --------------------------------------------------------------------------------------------


def keys_are_few(evidence: Evidence) -> bool:
    """Load is uneven, and there are fewer than four distinct keys a partition."""
    few = evidence.distinct_keys is not None and evidence.distinct_keys < KEYS_PER_PARTITION * evidence.partitions
    return few and load_is_uneven(evidence) and bool(evidence.distinct_keys)


def no_record_has_a_key(evidence: Evidence) -> bool:
    """There are records, all of them without a key, and where they lie is not known."""
    return 0 < evidence.records == evidence.unkeyed and not evidence.unkeyed_loads


def records_without_key_are_uneven(evidence: Evidence) -> bool:
    """With the records without a key load is uneven, and they are at least half of what is too much."""
    if not evidence.unkeyed_loads:
        return False
    whole, without = with_unkeyed(evidence), Spread(evidence.unkeyed_loads, evidence.unkeyed, evidence.eps)
    hottest = whole.skew.hottest_partition
    if hottest is None or not whole.is_surely_uneven:
        return False
    return evidence.unkeyed_loads[hottest] - without.mean >= _HALF * whole.excess


def keys_are_missing(evidence: Evidence) -> bool:
    """No record has a key, or those without one make load uneven."""
    return no_record_has_a_key(evidence) or records_without_key_are_uneven(evidence)


# -- consumers ---------------------------------------------------------------------------------------


def partition_is_stuck(evidence: Evidence) -> bool:
    """One partition stands still, or has no owner, while others move; or it lags though it gets no more than others."""
    return consumers.some_partition_stands(evidence) or consumers.one_lags_though_load_is_even(evidence)


def consumers_are_slow(evidence: Evidence) -> bool:
    """A group is behind on all partitions alike, or reads nothing; or load is even and more than all can carry."""
    return (
        consumers.all_partitions_are_behind(evidence)
        or consumers.consumers_are_stopped(evidence)
        or (consumers.is_over_capacity(evidence) and not keyed(evidence).is_uneven)
    )


# -- over windows ------------------------------------------------------------------------------------


def hot_for_a_moment(evidence: Evidence) -> bool:
    """Something is hot, and of three recent windows or more something was hot in at most a third."""
    if evidence.windows < LEAST_WINDOWS or not (evidence.hot_keys or evidence.hot_tenants):
        return False
    return evidence.windows_hot <= BURST * evidence.windows


def is_a_burst(evidence: Evidence) -> bool:
    """It is hot for a moment, and a tenant is, or the hottest partition's top key makes up half of the excess."""
    return hot_for_a_moment(evidence) and (bool(evidence.hot_tenants) or explained(evidence, 1) > _HALF)


def top_key_moves(evidence: Evidence) -> bool:
    """The hottest partition's top key makes up half of the excess, and differs in 80 % of three hot windows or more."""
    tops = evidence.recent_tops
    if len(tops) < LEAST_WINDOWS or explained(evidence, 1) <= _HALF:
        return False
    return sum(one != other for one, other in pairwise(tops)) >= MOVES * (len(tops) - 1)


def keys_are_of_the_clock(evidence: Evidence) -> bool:
    """Keys have 100 records or more each, and of the heaviest names most hold a time of this stretch."""
    if evidence.start_ms is None or evidence.end_ms is None or not evidence.distinct_keys:
        return False
    if evidence.records - evidence.unkeyed < _RUN * evidence.distinct_keys or len(evidence.listed) < LEAST_WINDOWS:
        return False
    return _most(is_of_the_clock(name, evidence.start_ms, evidence.end_ms) for name in evidence.listed)


def keys_are_a_sequence(evidence: Evidence) -> bool:
    """The top key moves from window to window, or keys are made of the clock, so that one at a time gets all."""
    return (load_is_uneven(evidence) and top_key_moves(evidence)) or keys_are_of_the_clock(evidence)


def tops_rise(evidence: Evidence) -> bool:
    """The keys that were at the top one after the other are one text with a rising number."""
    return is_series(tuple(dict.fromkeys(evidence.recent_tops)))


# -- hot keys and tenants ----------------------------------------------------------------------------


def lead_key(evidence: Evidence) -> HotName | None:
    """The heaviest hot key whose partition carries more than it may, and that lies where the partitioner puts it."""
    elsewhere = {key for key, _ in evidence.scattered}
    limit = keyed(evidence).limit
    above = [
        key
        for key in evidence.hot_keys
        if key.name not in elsewhere and ((crest := outcome.crest_of(evidence, key)) is None or crest > limit)
    ]
    return next(iter(sorted(above, key=lambda key: (key.routed, -key.lower, key.name))), None)


def one_key_is_hot(evidence: Evidence) -> bool:
    """Load is uneven, and a hot key lies on a partition that carries more than it may."""
    return load_is_uneven(evidence) and lead_key(evidence) is not None


def its_discriminator_is_hot(evidence: Evidence) -> bool:
    """One sub-unit of the hot key has more than any partition may carry besides, so no number of shards is enough."""
    key = lead_key(evidence)
    if key is None or key.largest_sub is None or not load_is_uneven(evidence):
        return False
    return sub_unit_too_large(key.largest_sub * key.lower, outcome.room_for(evidence, key))


def wide_tenants(evidence: Evidence) -> tuple[HotName, ...]:
    """The hot tenants that are not hot by keys of theirs that are hot themselves and make up half of their load."""
    return tuple(tenant for tenant in evidence.hot_tenants if _by_hot_keys(evidence, tenant) < _HALF * tenant.lower)


def a_tenant_is_hot(evidence: Evidence) -> bool:
    """A tenant is hot by the sum of its keys, and not by one or two of them."""
    return bool(wide_tenants(evidence))


def middling_keys_collide(evidence: Evidence) -> bool:
    """Load is uneven, the hottest partition's top key makes up less than 60 % of the excess, and its top ten more."""
    return load_is_uneven(evidence) and explained(evidence, 1) < EXPLAINS <= explained(evidence, _TOGETHER)


# -- partitioners ------------------------------------------------------------------------------------


def keys_lie_elsewhere(evidence: Evidence) -> bool:
    """A key was seen on two partitions, or on another than the partitioner's, without a plan."""
    return bool(evidence.scattered)


def keys_differ_in_their_frame(evidence: Evidence) -> bool:
    """Two of the heaviest keys are one value that was written with two schemas."""
    return bool(framed_alike(evidence.listed))


def places_are_not_one(evidence: Evidence) -> bool:
    """One logical key lies on several partitions: by partitioners that differ, or as encodings that do."""
    return keys_lie_elsewhere(evidence) or keys_differ_in_their_frame(evidence)


#: What is wrong though load be even.
_WRONG_THOUGH_EVEN: Final = (
    keys_are_missing, partition_is_stuck, consumers_are_slow, keys_are_of_the_clock, places_are_not_one,
)  # fmt: skip


def _by_hot_keys(evidence: Evidence, tenant: HotName) -> int:
    begin = tenant.name + SEPARATOR.encode()
    return sum(
        key.lower
        for key in evidence.hot_keys
        if key.tenant == tenant.name or (key.tenant is None and key.name.startswith(begin))
    )


def _most(answers: Iterable[bool]) -> bool:
    given = list(answers)
    return sum(given) >= MOVES * len(given)
