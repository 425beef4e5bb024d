"""Circumstances in which a split does nothing, each by the number that decides it."""

from __future__ import annotations

import pytest

from hotshard.core.planning.hindrances import Circumstances, hindered


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (Circumstances(partitions=12), None),
        (Circumstances(partitions=12, distinct_keys=47), "few_keys"),
        (Circumstances(partitions=12, distinct_keys=48), None),
        (Circumstances(partitions=12, distinct_keys=0), None),
        (Circumstances(partitions=12, partition_load=100, unkeyed_load=51), "unkeyed"),
        (Circumstances(partitions=12, partition_load=100, unkeyed_load=50), None),
        (Circumstances(partitions=12, stuck=True), "stuck_partition"),
        (Circumstances(partitions=12, elsewhere=True), "mixed_partitioners"),
        # eps 0.25 on 12 partitions: a split helps from 2.27 % on
        (Circumstances(partitions=12, tenant_share=0.4, largest_key=0.05, tenant_keys=900), "lukewarm_keys"),
        (Circumstances(partitions=12, tenant_share=0.4, largest_key=0.06), None),
        (Circumstances(partitions=12, tenant_share=0.02, largest_key=0.05), None),
        (Circumstances(partitions=12, tenant_share=0.4), None),
        (Circumstances(partitions=12, distinct_keys=3, stuck=True), "few_keys"),
    ],
)
def test_what_makes_a_split_useless_is_told_with_its_reason(now: Circumstances, reason: str | None) -> None:
    refusal = hindered(b"t\x1fe", now)
    if reason is None:
        assert refusal is None
        return
    assert refusal is not None
    assert (refusal.key, refusal.reason) == (b"t\x1fe", reason)
    assert refusal.detail


@pytest.mark.parametrize("key", [b"undefined", b"acme\x1fnull", b"N/A"])
def test_a_key_that_stands_for_a_missing_value_is_not_split(key: bytes) -> None:
    refusal = hindered(key, Circumstances(partitions=12))
    assert refusal is not None
    assert refusal.reason == "placeholder_key"
