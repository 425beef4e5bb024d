"""Several hot keys whose homes are in the way of the largest: it must not shun places that the others will leave."""

from __future__ import annotations

import pytest

from hotshard.core.partitioners import PARTITIONERS
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.together import plan_all

PARTITIONS = 8
JAVA = PARTITIONERS["murmur2"]


def zipf(exponent: float, keys: int) -> list[HotLoad]:
    weights = [rank**-exponent for rank in range(1, keys + 1)]
    return [HotLoad(b"key-%d" % rank, weight / sum(weights)) for rank, weight in enumerate(weights)]


@pytest.mark.parametrize("exponent", [1.2, 1.4, 1.6, 1.8, 2.0])
@pytest.mark.parametrize("hot", [8, 20])
def test_steep_loads_on_few_partitions_stay_within_the_tolerance(exponent: float, hot: int) -> None:
    keys = zipf(exponent, 2_000)
    background = [0.0] * PARTITIONS
    for key, load, *_ in keys[hot:]:
        background[JAVA.partition(key, PARTITIONS) or 0] += load
    planned = plan_all(keys[:hot], background, Terms(partitioner=JAVA, eps=0.1))
    assert planned.imbalance_after <= 1.1 + 1e-9
    assert planned.imbalance_after < planned.imbalance_before
    assert [verdict.key for verdict in planned.verdicts] == [each.key for each in keys[:hot]]
