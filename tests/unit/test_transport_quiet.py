"""The same thing is said at most every ten seconds."""

from __future__ import annotations

import logging

import pytest

from hotshard.doors.clock import ManualClock
from hotshard.job.quiet import Pace, Teller, limit_loggers


def _pace(clock: ManualClock, most: int = 1000) -> Pace:
    return Pace(monotonic_s=clock.monotonic_s, most=most)


def test_a_thing_may_be_said_again_after_ten_seconds_with_how_often_it_was_not() -> None:
    clock = ManualClock()
    pace = _pace(clock)
    assert pace.held_back("a") == 0
    assert [pace.held_back("a") for _ in range(3)] == [None] * 3
    assert pace.held_back("b") == 0
    clock.advance(10)
    assert pace.held_back("a") == 3
    assert pace.held_back("a") is None


def test_what_was_said_is_remembered_within_bounds() -> None:
    pace = _pace(ManualClock(), most=10)
    assert [pace.held_back(n) for n in range(25)] == [0] * 25


def test_a_teller_holds_back_by_kind(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    tell = Teller(logging.getLogger("told"), _pace(clock))
    for number in range(3):
        tell("kind", f"line {number}")
    clock.advance(11)
    tell("kind", "line 3")
    assert caplog.messages == ["line 0", "line 3 (and 2 times more since it was last said)"]


def test_loggers_are_limited_by_kind_of_line_and_let_loose_again(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    undo = limit_loggers(("loud",), pace=_pace(clock), outages=True)
    logger = logging.getLogger("loud.module.below")
    for node in range(50):
        logger.error("Failed fetch messages from %s: %s", node, "no")
        logger.warning("another")
        logger.info("below the level")
    assert caplog.messages == ["Failed fetch messages from 0: no", "another"]
    clock.advance(10)
    logger.error("Failed fetch messages from %s: %s", 99, "no")
    assert caplog.messages[-1] == "Failed fetch messages from 99: no (and 49 times more since it was last said)"
    undo()
    logger.error("free")
    logger.error("free")
    assert caplog.messages[-2:] == ["free", "free"]


@pytest.mark.parametrize(
    "line",
    [
        "Aiokafka has not sent fetch request for %r since start (started %s)",
        "No active partitions for TP",
        "[^--SlabThread]: Thread keepalive is not responding...",
    ],
)
def test_what_faust_says_wrongly_is_not_said_at_all(caplog: pytest.LogCaptureFixture, line: str) -> None:
    undo = limit_loggers(("loud",))
    logging.getLogger("loud.faust").error(line, *(("tp", "now") if "%" in line else ()))
    undo()
    assert caplog.messages == []


def test_lines_of_one_service_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    undo = limit_loggers(("loud",))
    logging.getLogger("loud").error("[^--Consumer]: one")
    logging.getLogger("loud").error("[^--Consumer]: another")
    undo()
    assert caplog.messages == ["[^--Consumer]: one", "[^--Consumer]: another"]


def test_what_aiokafka_says_of_an_outage_is_left_to_our_own_line(caplog: pytest.LogCaptureFixture) -> None:
    undo = limit_loggers(("loud",))
    logging.getLogger("loud").error("Unable connect to node with id %s: %s", 1, "no")
    logging.getLogger("loud").error("Heartbeat failed: %r", OSError())
    undo()
    assert caplog.messages == ["Heartbeat failed: OSError()"]
