"""The schemas: they take what hotshard writes, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from hotshard.cli.main import main
from hotshard.core.topic import Ordering
from hotshard.core.wire import schema
from hotshard.core.wire.event import Event, EventType, Finding, Ineffective, PlanChange, Skewed
from hotshard.core.wire.report import HeavyReport, PartitionReport, SkewReport, SourceRange, WindowReport
from hotshard.core.wire.route import Epoch, HotEntry, HotKind, Route, RouteState, Treatment

Capture = pytest.CaptureFixture[str]

FINDING = Finding(
    topic="orders", key="a\x1fb", tenant="a", view_s=2.0, total=1000, lower=290, upper=310, share=0.3,
    load_per_s=150.0, threshold=10, completeness=1.0, since_ms=1, treatment=Treatment.SPLIT, reason="share",
    partitions=(3,),
)  # fmt: skip
PLAN = PlanChange(
    topic="orders", key=None, key_b64="/w==", treatment=Treatment.NONE, state=RouteState.PROPOSED,
    epoch=Epoch(1, 2), suffixes=("0", "1"), partitions=(1, 2), share=0.3, reason="share",
)  # fmt: skip
INEFFECTIVE = Ineffective(
    topic="orders", key="k", treatment=Treatment.SPLIT, epoch=Epoch(1, 2), since_ms=0, start_ms=0, end_ms=10_000,
    windows=3, imbalance_before=6.0, imbalance_promised=1.2, imbalance_measured=5.5, completeness=1.0,
    reason="producers_without_library", numbers={"base_share": 0.9}, advice="One sentence.", retired=True,
)  # fmt: skip
SKEWED = Skewed(
    topic="orders", partition=3, start_ms=0, end_ms=10_000, since_ms=0, total=1000, max=900, median=10.0, ratio=90.0,
    imbalance=10.8, idle=0, completeness=1.0, cause="no_key", treatment="rekey", reason="unkeyed_pinned",
)  # fmt: skip
ROUTE = Route(
    topic="orders", key="k", state=RouteState.ACTIVE, epoch=Epoch(1, 2), suffixes=("0",), partitions=(1,),
    partition_count=12, partitioner="murmur2", ordering=Ordering.NONE, since_ms=1, changed_ms=2,
)  # fmt: skip
HOT = HotEntry(
    topic="orders", kind=HotKind.KEY, key="k", since_ms=1, share=0.3, lower=1, upper=2, load_per_s=1.0
)  # fmt: skip
REPORT = WindowReport(
    topic="orders", start_ms=0, end_ms=10_000, revision=0, records=10, size_bytes=100, unkeyed=0, skipped=0, failed=0,
    lost=0, load="records", threshold=1, threshold_tenants=1, guaranteed=True, completeness=1.0,
    partitions=(PartitionReport(partition=0, load=10, share=1.0),),
    skew=SkewReport(total=10, max=10, median=0.0, ratio=10.0, imbalance=12.0, idle=11, hottest=0),
    keys=(HeavyReport(key="k", estimate=10, lower=10, upper=10, share=1.0, hot=True, recent=(1, 2)),),
    tenants=(), hot_keys=("k", None), ranges=(SourceRange(source="m", partition=0, start=0, end=10, records=10),),
    distinct_keys=1, cause="few_keys", treatment="rekey", reason="constant_key", numbers={"idle": 11.0},
    advice="One sentence.", also=("hot_key",), application=("composite_key",), unjudged=("lag",),
)  # fmt: skip


def event(data: Finding | PlanChange | Ineffective | Skewed) -> Event:
    return Event(
        id="1", source="hotshard/default", type=EventType.HOTKEY_DETECTED, subject="orders",
        time="2026-01-01T00:00:00.000Z", data=data,
    )  # fmt: skip


def written(message: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(message))
    return found


WRITTEN = {
    "event": [written(event(each)) for each in (FINDING, PLAN, INEFFECTIVE, SKEWED)],
    "report": [written(REPORT)],
    "route": [written(ROUTE)],
    "hot": [written(HOT)],
}


def takes(document: dict[str, Any], message: object) -> bool:
    return bool(jsonschema.Draft202012Validator(document).is_valid(message))


def printed(argv: list[str], capsys: Capture) -> dict[str, Any]:
    assert main(argv) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(document)
    return document


@pytest.mark.parametrize("name", sorted(schema.NAMES))
def test_a_schema_by_name_takes_what_is_written_and_not_what_is_not(name: str, capsys: Capture) -> None:
    document = printed(["schema", name], capsys)
    for message in WRITTEN[name]:
        assert takes(document, message)
        for field in document["$defs"][schema.NAMES[name].__name__]["required"]:
            assert not takes(document, {key: value for key, value in message.items() if key != field})
    others = [message for other, messages in WRITTEN.items() if other != name for message in messages]
    assert not any(takes(document, message) for message in others)


def test_the_whole_document_takes_all_of_them(capsys: Capture) -> None:
    document = printed(["schema"], capsys)
    assert all(takes(document, message) for messages in WRITTEN.values() for message in messages)
    assert not takes(document, {"records": 1})
    assert {each.__name__ for each in schema.NAMES.values()} <= set(document["$defs"])


def test_an_unknown_schema_is_wrong_use_with_the_nearest(capsys: Capture) -> None:
    assert main(["schema", "events"]) == 2
    err = capsys.readouterr().err
    assert err == "hotshard: no schema is called 'events', there are event, report, route, hot; did you mean event?\n"
