"""What helps against each cause: remedies in the order in which they are asked, the last of which always fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.causes import consumers, leaving, treatable
from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.holds import tops_rise
from hotshard.core.wire.route import Treatment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.causes.evidence import Evidence

#: What is done where a rate is advised; words that end with it go on with the rate, where that is known.
_LIMIT: Final = "limit its rate"


class Remedy(NamedTuple):
    """A treatment, when it fits, its reason code, the imbalance it leaves, and what it comes to in words.

    ``do`` may name numbers of the verdict; a number that is not known makes it be left out.
    """

    treatment: Treatment
    reason: str
    fits: Callable[[Evidence], bool]
    after: Callable[[Evidence], float | None]
    do: str

    def in_words(self, numbers: Mapping[str, float]) -> str:
        """What it comes to, by the numbers of the verdict; empty where one of those it names is not known."""
        try:
            done = self.do.format(**numbers)
        except KeyError:
            return ""
        rate_per_s = numbers.get("rate_per_s")
        return f"{done} to {rate_per_s:,.0f} a second" if rate_per_s and done.endswith(_LIMIT) else done


_T = Treatment
_USE_ONE = "let every producer use one partitioner (murmur2_random in librdkafka's clients is Java's)"

NOTHING: Final = (
    Remedy(_T.NONE, "no_load", treatable.there_is_no_load, leaving.not_computed, ""),
    Remedy(
        _T.NONE, "one_partition", treatable.there_is_one_partition, leaving.unchanged,
        "the topic has one partition",
    ),
    Remedy(
        _T.NONE, "too_few_records", treatable.records_are_too_few, leaving.unchanged,
        "with so few records that may be chance",
    ),
    Remedy(_T.NONE, "plan_holds", treatable.a_plan_holds, leaving.unchanged, "the plan for its hot key holds"),
    Remedy(
        _T.NONE, "partition_not_above", treatable.a_hot_key_fits, leaving.unchanged,
        "a key is hot, and its partition has room for it",
    ),
    Remedy(
        _T.NONE, "unkeyed_even", treatable.records_without_key_lie_even, leaving.unchanged,
        "no record has a key, and they lie evenly",
    ),
    Remedy(_T.NONE, "even", treatable.always, leaving.unchanged, ""),
)  # fmt: skip

FEW_KEYS: Final = (
    Remedy(
        _T.REKEY, "placeholder_key", treatable.key_stands_for_nothing, leaving.all_even,
        "it stands for a missing value, so neither more partitions nor a suffix will help",
    ),
    Remedy(
        _T.REKEY, "constant_key", treatable.there_is_one_key, leaving.all_even,
        "more partitions will not help: 1 distinct key; drop the key or use a finer one",
    ),
    Remedy(
        _T.REKEY, "fewer_keys_than_partitions", treatable.there_are_fewer_keys_than_partitions, leaving.all_even,
        "more partitions will not help, only a finer key",
    ),
    Remedy(
        _T.REKEY, "few_keys", treatable.always, leaving.all_even,
        "that is too few to lie evenly, so only a finer key helps",
    ),
)  # fmt: skip

NO_KEY: Final = (
    Remedy(
        _T.NONE, "all_unkeyed", treatable.nobody_knows_where_they_lie, leaving.not_computed,
        "where they lie is the producer's choice, and no key is in the way",
    ),
    Remedy(
        _T.REKEY, "unkeyed_alternating", treatable.every_other_partition_is_idle, leaving.all_even,
        "the producer's partitioner leaves out every other partition: replace it, or give the records a key",
    ),
    Remedy(
        _T.REKEY, "unkeyed_pinned", treatable.one_partition_has_most, leaving.all_even,
        "a producer stays on that partition: let its partitioner take turns, or give the records a key",
    ),
    Remedy(
        _T.REKEY, "unkeyed_uneven", treatable.always, leaving.all_even,
        "let the producer's partitioner take turns, or give the records a key",
    ),
)  # fmt: skip

STUCK: Final = (
    Remedy(
        _T.DEAD_LETTER, "bad_record", consumers.all_groups_stand_at_one_offset, leaving.not_computed,
        "several groups stand there, so it is the record: put it on a dead letter topic and go on behind it",
    ),
    Remedy(
        _T.NONE, "unassigned_partition", consumers.nobody_has_it, leaving.not_computed,
        "restart or rebalance the group; it is no matter of keys",
    ),
    Remedy(
        _T.DEAD_LETTER, "poison_record", consumers.some_partition_stands, leaving.not_computed,
        "look at the record there and put it on a dead letter topic if it is bad; more consumers will not help",
    ),
    Remedy(
        _T.NONE, "lag_without_load", treatable.always, leaving.not_computed,
        "look at its consumer; it is no matter of keys",
    ),
)  # fmt: skip

SLOW: Final = (
    Remedy(
        _T.SCALE_CONSUMERS, "consumers_stopped", consumers.consumers_are_stopped, leaving.unchanged,
        "start its consumers",
    ),
    Remedy(
        _T.NONE, "idle_members", consumers.members_stand_idle, leaving.unchanged,
        "{idle_members:.0f} of {members:.0f} members have no partition, so more of them will not help: look at the"
        " assignment",
    ),
    Remedy(
        _T.SCALE_CONSUMERS, "members_below_partitions", consumers.members_are_fewer_than_partitions, leaving.unchanged,
        "add consumers: {members:.0f} members, {partitions:.0f} partitions",
    ),
    Remedy(
        _T.SCALE_CONSUMERS, "members_unknown", consumers.members_are_not_known, leaving.unchanged,
        "add consumers if there are fewer than {partitions:.0f}",
    ),
    Remedy(
        _T.ADD_PARTITIONS, "all_partitions_high", consumers.everything_is_high_and_even, leaving.unchanged,
        "load is even, so more partitions, with a consumer each, would help",
    ),
    Remedy(
        _T.NONE, "members_at_partitions", treatable.always, leaving.unchanged,
        "more consumers will not help, as every partition has one: make each faster, or make load even first",
    ),
)  # fmt: skip

BURST: Final = (
    Remedy(
        _T.SPLIT, "burst_split", treatable.something_is_split_already, leaving.key_split,
        "the plan that stands for it will be retired when it has cooled",
    ),
    Remedy(_T.NONE, "burst", treatable.always, leaving.unchanged, "wait whether it lasts"),
)  # fmt: skip

SEQUENTIAL: Final = (
    Remedy(
        _T.REKEY, "rising_key", tops_rise, leaving.all_even,
        "the key holds a rising number, which no split can follow",
    ),
    Remedy(_T.REKEY, "moving_key", treatable.always, leaving.all_even, "no split can follow that: use another key"),
)  # fmt: skip

HOT_DISCRIMINATOR: Final = (
    Remedy(
        _T.THROTTLE, "sub_over_capacity", treatable.one_partition_cannot_carry_its_sub, leaving.key_limited,
        "no split helps: limit it to {capacity_per_s:,.0f} a second",
    ),
    Remedy(
        _T.ISOLATE, "skewed_discriminator", treatable.always, leaving.key_isolated,
        "no split by it helps: give the key a topic of its own, or split by a finer one",
    ),
)  # fmt: skip

HOT_KEY: Final = (
    Remedy(
        _T.REKEY, "placeholder_key", treatable.lead_stands_for_nothing, leaving.key_spread,
        "it stands for a missing value, so it is not to be split",
    ),
    Remedy(
        _T.SPLIT, "split_stands", treatable.it_is_split_already, leaving.key_split,
        "a plan stands for it, which has yet to show",
    ),
    Remedy(
        _T.THROTTLE, "key_over_capacity", treatable.one_partition_cannot_carry_it, leaving.key_limited,
        "it may not be split and is more than a partition can carry: limit it to {capacity_per_s:,.0f} a second",
    ),
    Remedy(
        _T.REKEY, "per_key_order", treatable.order_forbids, leaving.key_spread,
        "its records must stay in order, so it is not split",
    ),
    Remedy(
        _T.ISOLATE, "may_not_be_split", treatable.it_may_not_be_split, leaving.key_isolated,
        "it cannot be split: give it a topic of its own",
    ),
    Remedy(
        _T.SPLIT, "counter_key", treatable.it_is_a_total, leaving.key_split,
        "spread over several partitions it would leave {imbalance_after:.2f} times the mean",
    ),
    Remedy(
        _T.SPLIT, "spreadable_key", treatable.a_split_helps, leaving.key_split,
        "spread over several partitions it would leave {imbalance_after:.2f} times the mean",
    ),
    Remedy(
        _T.NONE, "not_worth", treatable.a_split_is_not_worth_it, leaving.unchanged,
        "it is too small for a split to help",
    ),
    Remedy(
        _T.ISOLATE, "no_room", treatable.always, leaving.key_isolated,
        "the other partitions have no room for it: give it a topic of its own",
    ),
)  # fmt: skip

HOT_TENANT: Final = (
    Remedy(
        _T.THROTTLE, "tenant_fills_topic", treatable.no_partitions_would_be_left, leaving.tenant_limited,
        f"it would need all partitions for itself: {_LIMIT}",
    ),
    Remedy(
        _T.ISOLATE, "many_lukewarm_keys", treatable.always, leaving.tenant_isolated,
        "suffixes would not help, as no key of it is hot: give it a topic or {own_partitions:.0f} partitions of its"
        f" own, or {_LIMIT}",
    ),
)  # fmt: skip

COLLISION: Final = (
    Remedy(
        _T.NONE, "collision_tolerable", treatable.unevenness_is_tolerable, leaving.unchanged,
        "below three times the median nothing need be done",
    ),
    Remedy(
        _T.REKEY, "collision", treatable.always, leaving.all_even,
        "no single key is to blame: a finer key, or another number of partitions, would mix them anew",
    ),
)  # fmt: skip

MIXED: Final = (
    Remedy(
        _T.NONE, "mixed_partitioners", treatable.two_partitioners_are_at_work, leaving.not_computed,
        f"the order of such a key is lost, and no suffix helps: {_USE_ONE}",
    ),
    Remedy(
        _T.NONE, "other_partitioner", treatable.another_partitioner_is_at_work, leaving.not_computed,
        "set the topic's partitioner to that, or the producers' to the topic's",
    ),
    Remedy(
        _T.NONE, "unstable_hash", treatable.the_hash_is_unstable, leaving.not_computed,
        "a producer's hash differs from process to process, and the order of the key is lost: use a fixed partitioner",
    ),
    Remedy(
        _T.NONE, "key_encodings", treatable.one_value_has_two_frames, leaving.not_computed,
        "its records lie on different partitions: write keys without the schema's number, or keep one schema",
    ),
    Remedy(
        _T.NONE, "scattered_key", treatable.always, leaving.not_computed,
        "no partitioner that is known puts it there: look how producers choose the partition",
    ),
)  # fmt: skip

UNKNOWN: Final = (
    Remedy(_T.NONE, "unexplained", treatable.always, leaving.unchanged, "no treatment would be sure to help"),
)  # fmt: skip

REMEDIES: Final[Mapping[Cause, tuple[Remedy, ...]]] = {
    Cause.NONE: NOTHING,
    Cause.FEW_KEYS: FEW_KEYS,
    Cause.NO_KEY: NO_KEY,
    Cause.STUCK_PARTITION: STUCK,
    Cause.SLOW_CONSUMERS: SLOW,
    Cause.BURST: BURST,
    Cause.SEQUENTIAL_KEY: SEQUENTIAL,
    Cause.HOT_DISCRIMINATOR: HOT_DISCRIMINATOR,
    Cause.HOT_KEY: HOT_KEY,
    Cause.HOT_TENANT: HOT_TENANT,
    Cause.COLLISION: COLLISION,
    Cause.MIXED_PARTITIONERS: MIXED,
    Cause.UNKNOWN: UNKNOWN,
}
