"""What a decider makes of a topic that has gone quiet, and of one of which it sees nothing for another reason."""

from __future__ import annotations

from hotshard.core.deciding.stands import Stands
from hotshard.core.wire.event import EventType
from hotshard.core.wire.pane import Mark
from tests.support.deciding import NOW_MS, PARTITIONS, SOURCE, Hearing, Traffic, key, pane, progress


def flooded() -> tuple[Hearing, Traffic]:
    """All traffic of the topic is a flood of one key, and it is named."""
    hearing, traffic = Hearing(), Traffic()
    for _ in range(4):
        traffic.now_ms += 1000
        hearing.hear(traffic.cut(0, {key(1): 500}), traffic.now_ms)
        second(hearing, traffic)
    assert told(hearing)[-1] is not EventType.HOTKEY_COOLED
    assert EventType.HOTKEY_DETECTED in told(hearing)
    return hearing, traffic


def second(hearing: Hearing, traffic: Traffic) -> None:
    hearing.hear(traffic.progress(), traffic.now_ms)
    hearing.tick(traffic.now_ms)


def told(hearing: Hearing) -> list[EventType]:
    return [event.type for event in hearing.told.events]


def test_a_flood_that_ends_in_silence_cools() -> None:
    hearing, traffic = flooded()
    for _ in range(8):
        traffic.now_ms += 1000
        second(hearing, traffic)
    assert told(hearing).count(EventType.HOTKEY_COOLED) == 1
    assert hearing.decider.decide(traffic.now_ms) is None


def test_a_key_remembered_as_hot_cools_in_a_topic_that_is_silent_from_the_beginning() -> None:
    hearing, traffic = flooded()
    traffic.now_ms += 60_000
    hearing.restart(traffic.now_ms)
    for _ in range(8):
        traffic.now_ms += 1000
        second(hearing, traffic)
    assert told(hearing).count(EventType.HOTKEY_COOLED) == 1


def test_nothing_cools_while_a_backlog_is_read_that_no_view_sees() -> None:
    hearing, traffic = flooded()
    behind = Mark(0, 2_000, 3_000, 10**6, 1)
    for _ in range(15):
        traffic.now_ms += 1000
        hearing.hear(traffic.cut(0, {key(1): 500}, live=False, high_watermark=10**6), traffic.now_ms)
        others = (Mark(number, 0, 0, 0, 1) for number in range(1, PARTITIONS))
        hearing.hear(progress([behind, *others], now_ms=traffic.now_ms), traffic.now_ms)
        hearing.tick(traffic.now_ms)
    assert EventType.HOTKEY_COOLED not in told(hearing)


def test_a_partition_read_too_far_behind_is_not_in_the_views() -> None:
    stands = Stands({SOURCE: 2}, NOW_MS)
    stands.hear(progress([Mark(0, 5, 5, 5, 1), Mark(1, 0, 0, 99, 1)], now_ms=NOW_MS, partitions=2), NOW_MS)
    assert stands.present(NOW_MS).completeness == 1
    stands.counted(pane(1, 0, {b"a": 5}, live=False), NOW_MS)
    assert stands.present(NOW_MS).completeness == 0.5
    stands.hear(progress([Mark(1, 5, 5, 99, 1)], now_ms=NOW_MS, partitions=2), NOW_MS)
    assert stands.present(NOW_MS).completeness == 0.5
    stands.hear(progress([Mark(1, 99, 99, 99, 1)], now_ms=NOW_MS, partitions=2), NOW_MS)
    assert stands.present(NOW_MS).completeness == 1
    stands.counted(pane(1, 99, {b"a": 5}, live=False), NOW_MS)
    stands.counted(pane(1, 104, {b"a": 5}), NOW_MS)
    assert stands.present(NOW_MS).completeness == 1
