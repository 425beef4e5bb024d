"""What the comparison of throughput makes of its rounds, also of those that do not come to an end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hotshard.errors import MissingTopicError, UnavailableError
from tests.bench import __main__ as command
from tests.bench import machine, throughput, watching
from tests.bench.filling import Traffic
from tests.bench.rounds import Place, Result, all_counted
from tests.bench.scale import most_writes_per_s
from tests.bench.table import as_json, missed, table
from tests.bench.throughput import ALL, CONFLUENT, GETMANY, GETMANY_500, LARGE, SMALL, WORKER, Case, Outcome
from tests.bench.watching import StoppedError, Written

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TRAFFIC = Traffic(topic="t", records=10)
PLACE = Place("nowhere:9092", "redis://nowhere", TRAFFIC, Path(), machine.share_out(pin=False))
FIGURES = ["worker_per_s", "plain_faust_per_s", "getmany_per_s", "confluent_per_s", "quixstreams_per_s"]


def speed(per_s: float) -> Result:
    return Result(int(per_s), 1.0, None)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is told while quixstreams never comes to an end, and confluent not the first time."""

    async def one(_: Place, name: str, unique: str) -> Result:
        if name == "quixstreams" or unique == "t-confluent-1":
            raise StoppedError(f"{unique} ended before this was so")
        return speed(100)

    monkeypatch.setattr(throughput, "_round", one)
    return []


def test_the_others_go_on_when_a_round_does_not_come_to_its_end(said: list[str]) -> None:
    found, lost = asyncio.run(throughput._turns(Case(SMALL, TRAFFIC, ALL), PLACE, 2, said.append))  # noqa: SLF001
    assert {name: len(results) for name, results in found.items()} == {
        **dict.fromkeys(ALL, 2),
        "confluent": 1,
        "quixstreams": 0,
    }
    assert sorted(lost) == ["confluent", "quixstreams", "quixstreams"]
    assert any("t-confluent-1 ended before" in line for line in said)
    assert "quixstreams, count per key and window: none of its rounds came to an end" in table({SMALL: found})
    assert json.loads(as_json({SMALL: found}))["quixstreams_per_s"] is None


def test_the_last_line_is_there_when_a_contestant_has_no_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = {name: [speed(100.0)] for name in ALL} | {"quixstreams": []}
    outcome = Outcome({SMALL: rounds}, PLACE.cores, [(SMALL, "quixstreams")])
    monkeypatch.setattr(command, "bench", lambda *_, **__: outcome)
    monkeypatch.setattr("sys.argv", ["bench", "--quick", "--json"])
    assert command.main() == 1
    *_, last = capsys.readouterr().out.splitlines()
    told = json.loads(last)
    assert list(told) == [*FIGURES, "missed"]
    assert (told["worker_per_s"], told["quixstreams_per_s"]) == (100, None)
    assert f"{SMALL}: worker / quixstreams" in told["missed"]


def test_the_last_line_is_there_when_there_are_no_servers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bench(*_: object, **__: object) -> Outcome:
        raise UnavailableError("no Kafka")

    monkeypatch.setattr(command, "bench", bench)
    monkeypatch.setattr("sys.argv", ["bench", "--quick", "--json"])
    assert command.main() == 1
    assert json.loads(capsys.readouterr().out) == dict.fromkeys(FIGURES)


def test_goals_of_those_that_were_not_asked_are_not_missed() -> None:
    assert missed({SMALL: {WORKER: [speed(300)], GETMANY: [speed(100)]}}) == []
    assert missed({SMALL: {WORKER: [speed(200)], GETMANY: [speed(100)]}}) == [f"{SMALL}: worker / getmany"]
    assert missed({SMALL: {WORKER: [], CONFLUENT: [speed(100)]}}) == [f"{SMALL}: worker / confluent"]


def test_the_tuned_getmany_is_told_beside_the_goals_in_both_cases() -> None:
    rounds = {WORKER: [speed(150)], GETMANY_500: [speed(100)]}
    lines = table({SMALL: rounds, LARGE: rounds}).splitlines()
    assert lines[-2:] == [
        f"{case}: worker / getmany alone, 500 records a call: 1.50, no goal" for case in (SMALL, LARGE)
    ]


def test_a_worker_that_counted_other_records_than_there_are_has_no_figure() -> None:
    written = Written(panes={(0, 0): (10, 9)})
    with pytest.raises(StoppedError, match="9 records of 10"):
        all_counted(written, {0: 10}, TRAFFIC)
    assert all_counted(Written(panes={(0, 0): (10, 10)}), {0: 10}, TRAFFIC) == 10


def test_an_error_while_the_worker_is_listened_to_goes_out_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        def __init__(self, *_: object, **__: object) -> None: ...

        def reader(self) -> Nothing:
            return self

        async def follow(self, _: str) -> AsyncIterator[object]:
            raise MissingTopicError("t")
            yield

    async def listens() -> None:
        async with watching.listening("nowhere:9092", "panes", "state"):
            await asyncio.sleep(0)
            raise StoppedError("not within 1 s")

    monkeypatch.setattr(watching, "AioKafka", Nothing)
    with pytest.raises(StoppedError, match="not within"):
        asyncio.run(listens())


def test_more_topics_may_be_written_more_often_up_to_what_all_together_may() -> None:
    rates = [most_writes_per_s(topics, 30.0) for topics in (1, 2, 5, 50, 100)]
    assert rates == sorted(rates)
    assert rates[-1] == rates[-2]
    assert most_writes_per_s(1, 30.0) < most_writes_per_s(1, 5.0)
