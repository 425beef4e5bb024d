"""When a treatment fits: named predicates over the evidence, each defined in one sentence.

They are asked in the order in which a cause's remedies stand in the table, so each may lean on those
before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.causes import outcome
from hotshard.core.causes.holds import lead_key, load_is_uneven, wide_tenants
from hotshard.core.causes.measures import keyed
from hotshard.core.looks import framed_alike, is_placeholder, is_total
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.verdict import Plan, Refusal, RefusalReason
from hotshard.core.planning.whose import fleet

if TYPE_CHECKING:
    from hotshard.core.causes.evidence import Evidence, HotName

#: Keys that are never split because of what reads them: the topic's order asks for another key.
_BY_ORDER: Final = RefusalReason.PER_KEY_ORDER
#: From so many partitions on one key's places are not two partitioners'.
_UNSTABLE: Final = 3
#: From this ratio on load is unbalanced; below it a chance unevenness is let be.
UNBALANCED: Final = 3.0


def always(_: Evidence) -> bool:
    """Whatever the evidence."""
    return True


# -- nothing to do -----------------------------------------------------------------------------------


def there_is_no_load(evidence: Evidence) -> bool:
    """No record has been seen."""
    return evidence.records == 0


def there_is_one_partition(evidence: Evidence) -> bool:
    """The topic has one partition, which nothing can make uneven."""
    return evidence.partitions == 1


def records_are_too_few(evidence: Evidence) -> bool:
    """Load is uneven, and no more so than chance makes so few records."""
    return keyed(evidence).is_uneven and not load_is_uneven(evidence)


def a_plan_holds(evidence: Evidence) -> bool:
    """A hot key has a plan, and load is even."""
    return any(key.routed for key in evidence.hot_keys)


def a_hot_key_fits(evidence: Evidence) -> bool:
    """A key is hot, and its partition carries no more than it may."""
    return bool(evidence.hot_keys)


def records_without_key_lie_even(evidence: Evidence) -> bool:
    """No record has a key, and they lie evenly."""
    return evidence.records == evidence.unkeyed


# -- keys --------------------------------------------------------------------------------------------


def main_name(evidence: Evidence) -> bytes | None:
    """The heaviest name there is evidence of."""
    names = [key.name for key in evidence.hot_keys] or [
        *(name for name, _ in evidence.top_of_hottest),
        *evidence.listed,
    ]
    return names[0] if names else None


def key_stands_for_nothing(evidence: Evidence) -> bool:
    """The heaviest key is what programs write where a value is missing."""
    name = main_name(evidence)
    return name is not None and is_placeholder(name)


def lead_stands_for_nothing(evidence: Evidence) -> bool:
    """The hot key is what programs write where a value is missing."""
    key = lead_key(evidence)
    return key is not None and is_placeholder(key.name)


def there_is_one_key(evidence: Evidence) -> bool:
    """All records have one key."""
    return evidence.distinct_keys == 1


def there_are_fewer_keys_than_partitions(evidence: Evidence) -> bool:
    """There are fewer keys than partitions, so that some partitions must be idle."""
    return evidence.distinct_keys is not None and evidence.distinct_keys < evidence.partitions


# -- records without a key ---------------------------------------------------------------------------


def nobody_knows_where_they_lie(evidence: Evidence) -> bool:
    """It is not known on which partitions the records without a key lie."""
    return not evidence.unkeyed_loads


def every_other_partition_is_idle(evidence: Evidence) -> bool:
    """Of the records without a key, either the even or the odd partitions have none, and the others all have some."""
    even, odd = evidence.unkeyed_loads[::2], evidence.unkeyed_loads[1::2]
    return len(odd) > 1 and ((not any(even) and all(odd)) or (not any(odd) and all(even)))


def one_partition_has_most(evidence: Evidence) -> bool:
    """More than half of the records without a key lie on one partition."""
    return max(evidence.unkeyed_loads, default=0) * 2 > sum(evidence.unkeyed_loads)


# -- one hot key -------------------------------------------------------------------------------------


def it_is_split_already(evidence: Evidence) -> bool:
    """A plan for the hot key stands."""
    key = lead_key(evidence)
    return key is not None and key.routed


def something_is_split_already(evidence: Evidence) -> bool:
    """A plan stands for something that is hot."""
    return any(key.routed for key in evidence.hot_keys)


def order_forbids(evidence: Evidence) -> bool:
    """All records of a key must stay in order, so only another key helps."""
    return _refused(evidence) == _BY_ORDER


def one_partition_cannot_carry_it(evidence: Evidence) -> bool:
    """It may not be split, and a partition cannot carry what it brings."""
    key = lead_key(evidence)
    return key is not None and key.refusal is not None and _per_s_above_capacity(evidence, key)


def one_partition_cannot_carry_its_sub(evidence: Evidence) -> bool:
    """A partition cannot carry what its largest sub-unit brings."""
    key = lead_key(evidence)
    return key is not None and _per_s_above_capacity(evidence, key, key.largest_sub or 0.0)


def it_may_not_be_split(evidence: Evidence) -> bool:
    """Something about the topic or the key forbids a suffix."""
    return _refused(evidence) is not None


def a_split_helps(evidence: Evidence) -> bool:
    """It may be split, and there is a plan that leaves the partitions more even."""
    key = lead_key(evidence)
    return key is not None and key.refusal is None and isinstance(outcome.split(evidence, key), Plan)


def a_split_is_not_worth_it(evidence: Evidence) -> bool:
    """Its share is too small for a split to help."""
    key = lead_key(evidence)
    if key is None:
        return False
    found = outcome.split(evidence, key)
    return isinstance(found, Refusal) and found.reason is RefusalReason.NOT_WORTH


def it_is_a_total(evidence: Evidence) -> bool:
    """Its name says that it is a counter or another total, and a split would help it."""
    key = lead_key(evidence)
    return key is not None and is_total(key.name) and a_split_helps(evidence)


# -- a hot tenant ------------------------------------------------------------------------------------


def lead_tenant(evidence: Evidence) -> HotName | None:
    """The heaviest of the hot tenants that are not hot by one key."""
    return max(wide_tenants(evidence), key=lambda tenant: (tenant.lower, tenant.name), default=None)


def no_partitions_would_be_left(evidence: Evidence) -> bool:
    """So many partitions would have to be its own that none would be left for others."""
    tenant = lead_tenant(evidence)
    return tenant is not None and outcome.own_partitions(evidence, tenant) >= evidence.partitions


# -- keys that fall together ---------------------------------------------------------------------------


def unevenness_is_tolerable(evidence: Evidence) -> bool:
    """The fullest partition has less than three times the median."""
    return keyed(evidence).skew.skew_ratio < UNBALANCED


# -- partitioners ------------------------------------------------------------------------------------


def partitioners_of(evidence: Evidence) -> tuple[str, ...]:
    """The one or two partitioners that put all keys where they were seen; empty where no two do."""
    return fleet({key: [place for place, _ in places] for key, places in evidence.scattered}, evidence.partitions)


def two_partitioners_are_at_work(evidence: Evidence) -> bool:
    """Two known partitioners put all those keys where they were seen, and one alone does not."""
    return bool(evidence.scattered) and len(partitioners_of(evidence)) > 1


def another_partitioner_is_at_work(evidence: Evidence) -> bool:
    """One known partitioner puts all those keys where they were seen, and it is not the topic's."""
    names = partitioners_of(evidence) if evidence.scattered else ()
    return len(names) == 1 and names[0] != partitioner(evidence.partitioner).name


def the_hash_is_unstable(evidence: Evidence) -> bool:
    """One key lies on three partitions or more, which no two partitioners explain."""
    return any(len(places) >= _UNSTABLE for _, places in evidence.scattered)


def one_value_has_two_frames(evidence: Evidence) -> bool:
    """Two of the heaviest keys differ in the number of their schema only."""
    return not evidence.scattered and bool(framed_alike(evidence.listed))


def _refused(evidence: Evidence) -> str | None:
    key = lead_key(evidence)
    return None if key is None else key.refusal


def _per_s_above_capacity(evidence: Evidence, key: HotName, part: float = 1.0) -> bool:
    capacity = outcome.capacity(evidence, key)
    return capacity is not None and part * key.lower > capacity
