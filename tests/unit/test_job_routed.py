"""What a worker counts exactly: every key that is hot or routed, and a retired route for a while."""

from __future__ import annotations

from hotshard.core.panes.windows import WindowsMemory
from hotshard.core.policy.machine import HeatMemory
from hotshard.core.wire import state
from hotshard.core.wire.route import EarlierRoute, Epoch, Route, RouteState
from hotshard.doors.kafka.contract import Log
from hotshard.job.routed import RETIRED_MS, Routed

NOW_MS = 1_700_000_000_000


def head(at_ms: int) -> Log:
    value = state.TopicHead(
        topic="orders",
        registry_epoch=1,
        state_version=1,
        at_ms=at_ms,
        replay_from=0,
        done=0,
        expected=(),
        windows=WindowsMemory(),
        keys=HeatMemory(),
        tenants=HeatMemory(),
        told_at=-1,
    )
    return Log("state", 0, 0, state.head_key("orders"), state.encode(value), at_ms)


def retired(changed_ms: int) -> Log:
    route = Route(
        topic="orders",
        key="a\x1fb",
        state=RouteState.RETIRED,
        epoch=Epoch(1, 2),
        partition_count=12,
        partitioner="murmur2",
        since_ms=changed_ms,
        changed_ms=changed_ms,
        earlier=(EarlierRoute(epoch=Epoch(1, 1), suffixes=("0", "3"), partitions=(1, 2), until_ms=changed_ms + 10**9),),
    )
    return Log("state", 0, 1, state.route_key("orders", b"a\x1fb"), state.encode(route), changed_ms)


def test_a_retired_route_is_counted_exactly_for_a_while_and_then_no_more() -> None:
    routed = Routed()
    routed.hear([retired(NOW_MS), head(NOW_MS + RETIRED_MS)])
    assert set(routed.aliases("orders")) == {b"a\x1fb", b"a\x1fb\x1f0", b"a\x1fb\x1f3"}
    routed.hear([head(NOW_MS + RETIRED_MS + 1)])
    assert not routed.aliases("orders")
