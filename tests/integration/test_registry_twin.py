"""The registry in memory does what the one in Redis does, whatever is done to both."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hotshard.doors.redis.entries import read_change
from tests.support.registry import TOPIC, Place, hot_entry, place_in_memory, place_in_redis, route, state

if TYPE_CHECKING:
    from hotshard.demo.servers import RedisServer

pytestmark = pytest.mark.integration

_NAMES = itertools.count()

topics = st.sampled_from([TOPIC, "other"])
numbers = st.integers(0, 3)
keys = st.dictionaries(st.sampled_from(["a", "b\x1fc", "é"]), st.sampled_from(["0", "1"]), max_size=3)
steps = st.one_of(
    st.tuples(st.just("publish"), topics, numbers, numbers, keys, st.booleans()),
    st.tuples(st.just("beat"), topics, numbers, numbers),
    st.tuples(st.just("wipe")),
    st.tuples(st.just("lose"), topics),
    st.tuples(st.just("spoil"), topics),
    st.tuples(st.just("put"), topics, st.binary(max_size=4)),
    st.tuples(
        st.just("meta"), st.sampled_from(["epoch", "version", "time", "routes", "hot"]), topics, st.binary(max_size=4)
    ),
)


async def carry_out(place: Place, step: tuple[Any, ...]) -> object:
    match step:
        case "publish", topic, epoch, version, shards, hot:
            routes = (route(key, (suffix,), topic=topic) for key, suffix in shards.items())
            heat = (hot_entry(),) if hot else ()
            return await place.door.publish(state(version, *routes, epoch=epoch, topic=topic, hot=heat))
        case "beat", topic, epoch, version:
            return await place.door.beat(topic, epoch, version)
        case ("wipe",):
            place.harm.wipe()
        case "lose", topic:
            place.harm.lose_routes(topic)
        case "spoil", topic:
            place.harm.lose_routes(topic)
            place.harm.spoil_routes(topic)
        case "put", topic, field:
            place.harm.put_route(topic, field, b"?")
        case "meta", name, topic, value:
            place.harm.put_meta(f"{name}:{topic}".encode(), value)
    return None


async def what_stands(place: Place) -> object:
    """All that a reader sees, but for times and ids."""
    snapshot = await place.reader.snapshot([TOPIC, "other"])
    meta = {field: value for field, value in (snapshot.meta or {}).items() if not field.startswith(b"time:")}
    log = [read_change(raw.fields)._replace(at_ms=0) for raw in await place.reader.changes(b"0-0", 0.001)]
    return meta, snapshot.routes, log


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(given_steps=st.lists(steps, max_size=12))
def test_both_give_the_same_answers(redis_server: RedisServer, given_steps: list[tuple[Any, ...]]) -> None:
    async def run() -> None:
        twins = place_in_memory(), place_in_redis(redis_server.url, f"twin-{next(_NAMES)}")
        try:
            for step in given_steps:
                if step[0] == "put" and not isinstance(
                    (await twins[0].reader.snapshot([step[1]])).routes[step[1]], dict
                ):
                    continue  # Redis refuses a field of what is no hash
                in_memory, in_redis = [await carry_out(place, step) for place in twins]
                assert in_memory == in_redis, step
                assert await what_stands(twins[0]) == await what_stands(twins[1]), step
        finally:
            for place in twins:
                await place.close()

    asyncio.run(run())
