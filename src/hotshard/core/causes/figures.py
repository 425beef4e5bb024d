"""The numbers of a verdict: by name, finite all of them, left out where they are not known."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from hotshard.core.causes import consumers, outcome
from hotshard.core.causes.lag import drain_s, lag_of, per_s
from hotshard.core.causes.measures import explained, keyed, with_unkeyed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.causes.evidence import Evidence, HotName


def figures(evidence: Evidence, name: HotName | None, after: float | None) -> dict[str, float]:
    """All numbers of a verdict that is about ``name``, with the imbalance its treatment would leave."""
    given = {
        **_of_the_load(evidence),
        **_of_the_unkeyed(evidence),
        **_of_the_lag(evidence),
        **({} if name is None else _of_the_name(evidence, name)),
        "imbalance_after": after,
    }
    return {key: round(value, 6) for key, value in given.items() if value is not None and isfinite(value)}


def _of_the_load(evidence: Evidence) -> Mapping[str, float | None]:
    spread = keyed(evidence)
    return {
        "partitions": evidence.partitions,
        "records": evidence.records,
        "imbalance": spread.skew.imbalance,
        "ratio": spread.skew.skew_ratio,
        "idle": spread.skew.idle_partitions,
        "hottest": spread.skew.hottest_partition,
        "distinct_keys": evidence.distinct_keys,
        "top1_of_excess": explained(evidence, 1) if spread.is_uneven else None,
        "top10_of_excess": explained(evidence, 10) if spread.is_uneven else None,
        "windows": evidence.windows or None,
        "windows_hot": evidence.windows_hot if evidence.windows else None,
    }


def _of_the_unkeyed(evidence: Evidence) -> Mapping[str, float | None]:
    if not evidence.unkeyed:
        return {}
    whole = with_unkeyed(evidence).skew
    known = bool(evidence.unkeyed_loads)
    return {
        "unkeyed": evidence.unkeyed,
        "whole_imbalance": whole.imbalance if known else None,
        "whole_ratio": whole.skew_ratio if known else None,
        "whole_idle": whole.idle_partitions if known else None,
        "whole_hottest": whole.hottest_partition if known else None,
    }


def _of_the_lag(evidence: Evidence) -> Mapping[str, float | None]:
    groups = consumers.groups(evidence)
    if not groups:
        return {}
    stands = consumers.standing(evidence)
    group = groups[0] if stands is None else stands[0]
    hottest = group.skew.hottest_partition
    partition = next((each for each in group.evidence.partitions if each.partition == hottest), None)
    where = partition if stands is None else stands[1]
    return {
        "lag": None if where is None else lag_of(where),
        "lag_partition": None if where is None else where.partition,
        "lag_offset": None if where is None else where.committed,
        "lag_max": group.skew.max,
        "lag_median": group.skew.median,
        "lag_ratio": group.skew.skew_ratio,
        "lag_per_s": None if where is None else per_s(where),
        "drain_s": None if where is None else drain_s(where),
        "lag_lost": group.lost or None,
        "members": group.evidence.members,
        "idle_members": group.idle_members,
    }


def _of_the_name(evidence: Evidence, name: HotName) -> Mapping[str, float | None]:
    bearable = outcome.bearable(evidence, name) if name.bearable is None else name.bearable
    limited = None if bearable is None else outcome.after_limiting(evidence, name, bearable)
    capacity = None if name.terms is None or not evidence.span_s else name.terms.capacity
    return {
        "share": name.share,
        "lower": name.lower,
        "upper": name.upper,
        "largest_sub": name.largest_sub,
        "subs": name.subs,
        "largest_key": name.largest_key,
        "keys": name.keys,
        "own_partitions": outcome.own_partitions(evidence, name),
        "rate_per_s": bearable / evidence.span_s if bearable is not None and evidence.span_s else None,
        "imbalance_at_rate": limited,
        "capacity_per_s": capacity / evidence.span_s if capacity is not None and evidence.span_s else None,
    }
