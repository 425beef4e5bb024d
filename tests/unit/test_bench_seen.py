"""When the benchmark takes a worker to be done, and what it makes of its rounds."""

from __future__ import annotations

import json

import pytest

from hotshard.core.panes.windows import WindowsMemory
from hotshard.core.policy.memory import HeatMemory
from hotshard.core.wire import pane, state
from hotshard.doors.kafka.contract import Log
from tests.bench.filling import Tenants, Traffic
from tests.bench.rounds import Result
from tests.bench.table import as_json, as_stored, compared, table
from tests.bench.throughput import ALL, CONFLUENT, PLAIN_FAUST, SMALL, cases
from tests.bench.watching import Written

ENDS = {0: 30, 1: 5}


def pane_log(at: int, partition: int, start: int, end: int, records: int | None = None) -> Log:
    message = pane.Pane(
        topic="t",
        source="t",
        partition=partition,
        start=start,
        end=end,
        generation=1,
        high_watermark=end,
        worker="w",
        records=end - start if records is None else records,
        size_bytes=0,
        time_ms=0,
        span_ms=0,
        opened_ms=0,
        cut_ms=0,
    )
    return Log("panes", 0, at, b"t", pane.encode(message), 0)


def head_log(done: int) -> Log:
    head = state.TopicHead(
        topic="t",
        registry_epoch=1,
        state_version=done,
        at_ms=0,
        replay_from=0,
        done=done,
        expected=(),
        windows=WindowsMemory(),
        keys=HeatMemory(),
        tenants=HeatMemory(),
    )
    return Log("state", 0, 0, state.head_key("t"), state.encode(head), 0)


def written(*logs: Log) -> Written:
    seen = Written()
    seen.hear_panes(list(logs))
    return seen


WHOLE = (pane_log(0, 0, 0, 10), pane_log(1, 1, 0, 5), pane_log(2, 0, 10, 30))


def test_panes_that_tile_every_partition_hold_all_records() -> None:
    assert written(*WHOLE).records(ENDS) == 35


def test_a_later_version_of_a_pane_counts_instead_of_the_earlier_one() -> None:
    assert written(pane_log(0, 0, 0, 4), *WHOLE).records(ENDS) == 35


@pytest.mark.parametrize("missing", range(len(WHOLE)))
def test_with_any_pane_missing_records_are_not_all_there(missing: int) -> None:
    assert written(*WHOLE[:missing], *WHOLE[missing + 1 :]).records(ENDS) == -1


def test_panes_are_decided_on_once_the_state_has_heard_the_newest_of_them() -> None:
    seen = written(*WHOLE)
    assert seen.decided(ENDS) is None
    seen.hear_state([head_log(done=2)])
    assert seen.decided(ENDS) is None
    seen.hear_state([head_log(done=3)])
    head = seen.decided(ENDS)
    assert head is not None
    assert head.done == 3


def test_what_was_decided_before_the_last_pane_does_not_count() -> None:
    seen = written(*WHOLE[:2])
    seen.hear_state([head_log(done=99)])
    assert seen.decided(ENDS) is None


def test_both_producers_send_the_same_records_every_time_and_all_of_them() -> None:
    traffic = Traffic(topic="t", records=50_001, distinct=1000)
    sent = [[rank for chunk in traffic.ranks(producer) for rank in chunk] for producer in (0, 1)]
    assert sum(map(len, sent)) == 50_001
    assert sent[0] != sent[1][: len(sent[0])]
    assert [rank for chunk in traffic.ranks(0) for rank in chunk] == sent[0]
    assert 0.15 < sent[0].count(0) / len(sent[0]) < 0.35  # Zipf 1.2: the first key has about a quarter


ROUNDS = {
    SMALL: {
        "worker": [Result(250, 1.0, 1.0), Result(100, 1.0, 1.0), Result(900, 1.0, None)],
        "getmany": [Result(100, 1.0, 0.5)],
        "plain_faust": [Result(5, 1.0, 1.0)],
        "confluent": [],
    }
}


def test_the_line_for_programs_holds_the_medians_under_the_agreed_names() -> None:
    said = {"worker_per_s": 250, "plain_faust_per_s": 5, "getmany_per_s": 100}
    told = json.loads(as_json(ROUNDS))
    assert told.pop("missed") == [f"{SMALL}: worker / {name}" for name in (CONFLUENT, PLAIN_FAUST)]
    assert told == {**said, "confluent_per_s": None, "quixstreams_per_s": None}


def test_the_table_shows_the_spread_of_the_rounds_and_which_goals_were_missed() -> None:
    shown = table(ROUNDS)
    worker = next(line for line in shown.splitlines() if line.startswith("hotshard worker"))
    assert worker.split()[-6:] == ["3", "250", "100", "900", "1.00", "175"]
    assert "getmany alone: 2.50, the goal of 2.5 is reached" in shown
    assert "same sketches: 50.00, the goal of 100 is MISSED" in shown


def test_a_result_is_compared_with_a_stored_one_also_beside_getmany() -> None:
    stored = as_stored(ROUNDS)
    twice = {SMALL: {**ROUNDS[SMALL], "worker": [Result(500, 1.0, None)]}}
    line = next(line for line in compared(twice, stored) if "worker" in line)
    assert line.split()[-4:] == ["500", "250", "2.00", "2.00"]
    assert not [line for line in compared({"another case": ROUNDS[SMALL]}, stored) if "worker" in line]


def test_every_case_has_the_worker_and_topics_of_their_own() -> None:
    every = cases(quick=False, records=1000)
    assert all("worker" in case.contestants for case in every)
    assert len({case.traffic.topic for case in every}) == len(every)
    assert {peer for case in every for peer in case.contestants} == set(ALL)


@pytest.mark.parametrize("tenant_in", list(Tenants))
def test_values_are_as_long_as_asked_and_tenants_stand_where_they_should(tenant_in: Tenants) -> None:
    traffic = Traffic(topic="t", records=1, value_bytes=100, tenant_in=tenant_in)
    assert len(traffic.value(7)) == 100
    assert bool(traffic.headers(7)) is (tenant_in is Tenants.HEADER)
    if tenant_in is Tenants.JSON:
        assert json.loads(traffic.value(7))["tenant"] == "t007"
