"""The one sentence of a verdict: what is so, by the cause, and what to do, by the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.causes import consumers
from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.measures import keyed
from hotshard.core.causes.treatable import partitioners_of
from hotshard.core.looks import framed_alike, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.causes.evidence import Evidence, HotName


def sentence(what: str, do: str, advised: str | None) -> str:
    """One sentence of its parts; ``do`` may be empty."""
    parts = [part for part in (what, do) if part]
    if advised is not None:
        parts.append(f"the application should {advised}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def what(cause: Cause, evidence: Evidence, name: HotName | None, numbers: Mapping[str, float]) -> str:
    """What is so, where ``cause`` is why."""
    return _WHAT[cause](evidence, name, numbers)


#: This part of the fullest partition is most of it.
_MOST: Final = 0.5


def plural(count: float, word: str) -> str:
    """``1 key``, ``1,200 keys``."""
    return f"{count:,.0f} {word}" if count == 1 else f"{count:,.0f} {word}s"


def _uneven(evidence: Evidence) -> str:
    spread = keyed(evidence)
    return f"partition {spread.skew.hottest_partition} carries {spread.skew.imbalance:.2f} times the mean"


def _none(evidence: Evidence, _: HotName | None, numbers: Mapping[str, float]) -> str:
    if not evidence.records:
        return "there are no records"
    surely = "surely " if keyed(evidence).is_uneven else ""
    return f"nothing is {surely}wrong: the fullest partition carries {numbers['imbalance']:.2f} times the mean"


def _few_keys(evidence: Evidence, name: HotName | None, _: Mapping[str, float]) -> str:
    idle = keyed(evidence).skew.idle_partitions
    if evidence.distinct_keys == 1:
        return f"all records have one key, and {idle} of {evidence.partitions} partitions are idle"
    text = f"there are {evidence.distinct_keys} distinct keys for {evidence.partitions} partitions"
    text += f", {idle} of which {'is' if idle == 1 else 'are'} idle" if idle else f", and {_uneven(evidence)}"
    if name is not None and name.share * evidence.partitions > 1:  # less than an even partition has is nothing to tell
        text += f", and key {shown(name.name)} alone has {name.share:.0%} of the load"
    return text


def _no_key(evidence: Evidence, _: HotName | None, numbers: Mapping[str, float]) -> str:
    if evidence.unkeyed == evidence.records:
        text = "no record has a key"
    else:
        text = f"{evidence.unkeyed / evidence.records:.0%} of the records have no key"
    if "whole_hottest" not in numbers:
        return text
    uneven = f"partition {numbers['whole_hottest']:.0f} carries {numbers['whole_imbalance']:.2f} times the mean"
    return f"{text}, and {uneven} with {plural(numbers['whole_idle'], 'partition')} idle"


def _stuck(evidence: Evidence, _: HotName | None, numbers: Mapping[str, float]) -> str:
    found = consumers.standing(evidence)
    waiting = plural(numbers.get("lag", 0), "record")
    if found is None:
        group = consumers.lags_without_load(evidence)
        name = "" if group is None else f" of group {group.evidence.group}"
        return (
            f"{waiting} wait on partition {numbers.get('lag_partition', 0):.0f}{name}, which gets no more than others"
        )
    group, partition = found
    if consumers.nobody_has_it(evidence):
        return (
            f"no member of group {group.evidence.group} has partition {partition.partition}, and {waiting} wait there"
        )
    since = f" for {partition.since_s:.0f} s" if partition.since_s else ""
    return (
        f"group {group.evidence.group} has stood at offset {partition.committed} of partition {partition.partition}"
        f"{since} while others move, and {waiting} wait"
    )


def _slow(evidence: Evidence, _: HotName | None, numbers: Mapping[str, float]) -> str:
    idle = consumers.stopped(evidence)
    if idle is not None:
        return f"group {idle.evidence.group} reads nothing, and {plural(idle.skew.total, 'record')} wait"
    group = consumers.slow(evidence)
    if group is not None:
        lag = f"a median of {group.skew.median:,.0f} records"
        return f"group {group.evidence.group} is behind on all partitions alike, by {lag}"
    return f"all {numbers['partitions']:.0f} partitions get more than one can carry"


def _named(name: HotName | None, kind: str) -> str:
    return kind if name is None else f"{kind} {shown(name.name)} has {name.share:.0%} of the load"


def _burst(evidence: Evidence, name: HotName | None, _: Mapping[str, float]) -> str:
    kind = "key" if evidence.hot_keys else "tenant"
    return f"{_named(name, kind)}, in {evidence.windows_hot} of {evidence.windows} windows only"


def _sequential(evidence: Evidence, _: HotName | None, __: Mapping[str, float]) -> str:
    different = len(set(evidence.recent_tops))
    if different > 1:
        return f"{_uneven(evidence)}, each time by another key ({different} in {len(evidence.recent_tops)} hot windows)"
    return "keys are made of the clock, so that one partition at a time gets everything"


def _hot_discriminator(_: Evidence, name: HotName | None, __: Mapping[str, float]) -> str:
    part = 0.0 if name is None else name.largest_sub or 0.0
    return f"{_named(name, 'key')}, and {part:.0%} of that is of one sub-unit, more than a partition may carry"


def _hot_key(evidence: Evidence, name: HotName | None, _: Mapping[str, float]) -> str:
    return f"{_named(name, 'key')}, and {_uneven(evidence)}"


def _hot_tenant(_: Evidence, name: HotName | None, __: Mapping[str, float]) -> str:
    text = _named(name, "tenant")
    if name is None or name.largest_key is None:
        return text
    return f"{text}, its heaviest key {name.largest_key:.1%} of that"


def _collision(evidence: Evidence, _: HotName | None, __: Mapping[str, float]) -> str:
    return f"{_uneven(evidence)}, because middling keys happen to fall together"


def _mixed(evidence: Evidence, _: HotName | None, __: Mapping[str, float]) -> str:
    if not evidence.scattered:
        frames = framed_alike(evidence.listed)
        return f"{len(frames)} keys are one value under different schemas, such as {shown(frames[0])}"
    key, places = evidence.scattered[0]
    seen = " and ".join(str(place) for place, _ in places)
    names = partitioners_of(evidence)
    text = f"key {shown(key)} was seen on partition{'s' if len(places) > 1 else ''} {seen}"
    return f"{text}, as {' and '.join(names)} put{'s' if len(names) == 1 else ''} it" if names else text


def _unknown(evidence: Evidence, _: HotName | None, __: Mapping[str, float]) -> str:
    """With the name that has most of the fullest partition: it is none that is surely hot, and yet where to look."""
    spread = keyed(evidence)
    name, load = evidence.top_of_hottest[0] if evidence.top_of_hottest else (b"", 0)
    part = min(1.0, load / spread.skew.max) if spread.skew.max else 0.0
    if part < _MOST or name in {hot.name for hot in evidence.hot_keys}:
        return f"{_uneven(evidence)}, and it is not known why"
    return f"{_uneven(evidence)}, and {shown(name)}, which has {part:.0%} of that, is not surely hot"


#: What is so, of the evidence, the name it is about and the verdict's numbers.
_WHAT: Final[Mapping[Cause, Callable[[Evidence, HotName | None, Mapping[str, float]], str]]] = {
    Cause.NONE: _none,
    Cause.FEW_KEYS: _few_keys,
    Cause.NO_KEY: _no_key,
    Cause.STUCK_PARTITION: _stuck,
    Cause.SLOW_CONSUMERS: _slow,
    Cause.BURST: _burst,
    Cause.SEQUENTIAL_KEY: _sequential,
    Cause.HOT_DISCRIMINATOR: _hot_discriminator,
    Cause.HOT_KEY: _hot_key,
    Cause.HOT_TENANT: _hot_tenant,
    Cause.COLLISION: _collision,
    Cause.MIXED_PARTITIONERS: _mixed,
    Cause.UNKNOWN: _unknown,
}
