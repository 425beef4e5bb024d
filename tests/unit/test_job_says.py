"""What is said, and how often."""

from __future__ import annotations

import pytest

from hotshard.doors.clock import ManualClock
from hotshard.job.quiet import EVERY_S
from hotshard.job.says import Says


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_waiting_is_told_at_once_and_then_every_ten_seconds(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    says = Says(clock)
    for _ in range(250):
        says.waiting("Kafka", "no answer")
        clock.advance(0.1)
    assert [record.getMessage() for record in caplog.records] == [
        "waiting for Kafka (0 s): no answer",
        "waiting for Kafka (10 s): no answer",
        "waiting for Kafka (20 s): no answer",
    ]


def test_the_end_of_a_wait_is_told_once_and_only_if_the_wait_was(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    says = Says(clock)
    says.well("Kafka")
    says.waiting("Kafka", "no answer")
    clock.advance(3)
    says.well("Kafka")
    says.well("Kafka")
    assert [record.getMessage() for record in caplog.records[1:]] == ["Kafka is there again after 3 s"]


def test_what_comes_and_goes_is_told_no_more_often(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    says = Says(clock)
    for _ in range(100):
        says.waiting("Kafka", "no answer")
        says.well("Kafka")
        clock.advance(EVERY_S / 50)
    assert len(caplog.records) == 4


def test_each_subject_has_a_voice_of_its_own(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    says = Says(clock)
    says.waiting("Kafka", "no answer")
    says.waiting("Redis", "no answer")
    says.well("Redis")
    assert len(caplog.records) == 3


def test_a_fault_is_told_once_in_a_while(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    says = Says(clock)
    for _ in range(50):
        says.failed("counting failed", ZeroDivisionError("ours"))
        clock.advance(0.3)
    assert caplog.text.count("ZeroDivisionError: ours") == 2
