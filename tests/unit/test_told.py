"""Events as lines of a log."""

from __future__ import annotations

from hotshard.core.wire.command import CommandKind
from hotshard.core.wire.event import Event, EventType, Finding, Ineffective, Ordered, PlanChange, Skewed, Told
from hotshard.core.wire.route import Epoch, RouteState, Treatment
from hotshard.report.told import event_line


def event(kind: EventType, data: Told) -> Event:
    return Event(id="1", source="s", type=kind, subject="x", time="2026-01-01T00:00:00.000Z", data=data)


def test_a_finding_tells_key_share_rate_and_reason() -> None:
    finding = Finding(
        topic="orders",
        key="acme\x1fbasket",
        view_s=2.0,
        total=4000,
        lower=1400,
        upper=1400,
        share=0.35,
        load_per_s=1234.5,
        threshold=4,
        completeness=1.0,
        since_ms=0,
        treatment=Treatment.SPLIT,
        reason="fast_share",
    )
    line = event_line(event(EventType.HOTKEY_DETECTED, finding))
    assert line == "hotkey.detected: orders: acme / basket, 35 % of the load, 1,234/s (fast_share)"


def test_a_plan_tells_where_it_goes_and_a_binary_key_is_written_in_base64() -> None:
    change = PlanChange(
        topic="orders",
        key=None,
        key_b64="AAE=",
        treatment=Treatment.ISOLATE,
        state=RouteState.PROPOSED,
        epoch=Epoch(1, 1),
        suffixes=(),
        partitions=(),
        share=0.1,
        reason="binary_key",
    )
    assert (
        event_line(event(EventType.PLAN_PROPOSED, change)) == "plan.proposed: orders: base64 AAE=, isolate (binary_key)"
    )
    split = PlanChange(
        topic="orders",
        key="k",
        treatment=Treatment.SPLIT,
        state=RouteState.ACTIVE,
        epoch=Epoch(1, 2),
        suffixes=("0", "3"),
        partitions=(4, 7),
        share=0.1,
        reason="within_tolerance",
    )
    line = event_line(event(EventType.PLAN_ACTIVATED, split))
    assert line == "plan.activated: orders: k, split over partitions 4 7 (within_tolerance)"


def test_a_plan_that_does_not_do_what_it_promised_tells_both_numbers() -> None:
    missed = Ineffective(
        topic="orders",
        key="k",
        treatment=Treatment.SPLIT,
        epoch=Epoch(1, 2),
        since_ms=0,
        start_ms=0,
        end_ms=10_000,
        windows=3,
        imbalance_before=6.0,
        imbalance_promised=1.2,
        imbalance_measured=5.5,
        completeness=1.0,
        reason="producers_without_library",
    )
    line = event_line(event(EventType.PLAN_INEFFECTIVE, missed))
    assert line == "plan.ineffective: orders: k, 5.50 times the mean, 1.20 was promised (producers_without_library)"


def test_a_skewed_topic_tells_its_fullest_partition() -> None:
    skewed = Skewed(
        topic="orders",
        partition=3,
        start_ms=0,
        end_ms=10_000,
        since_ms=0,
        total=1000,
        max=900,
        median=10.0,
        ratio=90.0,
        imbalance=10.8,
        idle=0,
        completeness=1.0,
        cause="no_key",
        treatment="rekey",
        reason="unkeyed_pinned",
    )
    line = event_line(event(EventType.PARTITION_SKEW, skewed))
    assert line == "partition.skew: orders: partition 3, 90.0 times the median (unkeyed_pinned)"


def test_a_command_tells_who_gave_it_why_and_what_came_of_it_and_acts_on_no_terminal() -> None:
    of_all = Ordered(
        topic="orders", id="5-0", command=CommandKind.FREEZE, by="ann\x1b[2J", why="an\nincident", reason="frozen"
    )
    line = event_line(event(EventType.COMMAND_APPLIED, of_all))
    assert line == "command.applied: orders: freeze by ann\\x1b[2J: an\\nincident (frozen)"
    of_a_key = Ordered(
        topic="orders", key="acme\x1fcart", id="5-0", command=CommandKind.PIN, by="", why="", reason="per_key_order"
    )
    line = event_line(event(EventType.COMMAND_REFUSED, of_a_key))
    assert line == "command.refused: orders: pin acme / cart by nobody named (per_key_order)"
