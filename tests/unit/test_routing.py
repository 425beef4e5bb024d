"""From heat to routes: cases of one router's steps."""

from __future__ import annotations

from hotshard.core.deciding.book import RouteBook
from hotshard.core.deciding.routing import Measured, Moment, Router
from hotshard.core.topic import Mode, Ordering, TopicSpec
from hotshard.core.wire.route import RouteState

KEY = b"noisy\x1fstream"
QUIET = [100.0] * 6
HOUR_MS = 3_600_000


def measured(load: float, place: int = 2) -> Measured:
    current = {place: load} if load else {}
    return Measured(load=load, current=current, share=0.4, lower=round(load), upper=round(load), worth_acting=load > 0)


def moment(now_ms: int) -> Moment:
    return Moment(registry_epoch=1, at=now_ms // 1000, now_ms=now_ms)


def test_a_plan_is_left_alone_while_nothing_of_its_key_is_measured() -> None:
    book = RouteBook()
    router = Router(TopicSpec(name="t", sources=("t",), mode=Mode.ACTIVE, ordering=Ordering.NONE), book)
    flood = [*QUIET[:2], 500.0, *QUIET[3:]]
    (turn,) = router.step({KEY: measured(400.0)}, flood, moment(0))
    assert turn.route.state is RouteState.ACTIVE
    assert len(turn.route.suffixes) > 1
    assert router.step({KEY: measured(0.0)}, [0.0] * 6, moment(HOUR_MS)) == ()
    assert book.get(KEY) == turn.route
