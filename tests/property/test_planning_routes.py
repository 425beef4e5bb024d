"""A plan on its way to a producer: drafted, written, read as hostile input, and sent by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import assume, given
from hypothesis import strategies as st

from hotshard.client.held import entry
from hotshard.core.deciding.drafting import Drafts
from hotshard.core.deciding.moment import Measured, Moment
from hotshard.core.partitioners import PARTITIONERS, partitioner
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.resize import same_shards, stands
from hotshard.core.planning.situation import HotLoad
from hotshard.core.planning.terms import terms_of
from hotshard.core.planning.verdict import Plan
from hotshard.core.topic import Carry, KeyLayout, Mode, Ordering, TopicSpec
from hotshard.core.wire import state
from hotshard.doors.redis.entries import obeyed, read_route, route_field, write

if TYPE_CHECKING:
    from collections.abc import Iterator

MEASURED = Measured(load=90, current={}, share=0.5, lower=80, upper=100, worth_acting=True)

specs = st.builds(
    TopicSpec,
    name=st.just("orders"),
    sources=st.just(("orders",)),
    layout=st.just(KeyLayout.ENTITY),
    mode=st.just(Mode.ACTIVE),
    ordering=st.just(Ordering.NONE),
    partitioner=st.sampled_from(list(PARTITIONERS)),
    also_partitioner=st.none() | st.sampled_from(list(PARTITIONERS)),
    carry=st.sampled_from(Carry),
)
#: Any bytes, and texts, which may get suffixes.
keys = st.binary(min_size=1, max_size=256) | st.text(min_size=1, max_size=60).map(str.encode)


def sends(value: bytes, key: bytes, shards: int) -> Iterator[tuple[bytes, int | None]]:
    """What a producer sends records of ``key`` with, one round over all shards."""
    spread = entry(value, read_route("orders", key, value)).keys
    assert spread is not None
    for _ in range(shards):
        routed = spread.pick(None)
        yield routed.key, routed.partition


@given(specs, keys, st.integers(2, 24), st.integers(1, 2**40))
def test_a_plan_reaches_a_producer_as_it_is_and_records_land_where_it_says(
    spec: TopicSpec, key: bytes, partitions: int, offset: int
) -> None:
    assume(forbidden(key, spec) is None)
    plan = plan_split(HotLoad(key, 90.0 * partitions), [10.0] * partitions, terms_of(spec))
    assume(isinstance(plan, Plan))
    assert isinstance(plan, Plan)
    route = Drafts(spec).planned(plan, MEASURED, None, Moment(1, offset, offset), active=True)
    value = write(route)
    read = read_route("orders", route_field(route), value)
    assert read == route
    assert state.read(state.route_key("orders", key), state.encode(route)).value == route
    assert obeyed(read)
    assert same_shards(read, plan)
    assert stands(key, read, terms_of(spec), partitions)
    for name in {spec.partitioner, spec.also_partitioner or spec.partitioner}:
        places = [
            partitioner(name).partition(sent, partitions) if given is None else given
            for sent, given in sends(value, key, plan.shards)
        ]
        assert sorted(place for place in places if place is not None) == sorted(plan.partitions)
