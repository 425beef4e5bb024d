from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hotshard.cli.choosing import words_of
from hotshard.cli.main import build_parser
from hotshard.cli.worker import commands
from hotshard.job.supervisor import NUMBER, PARENT, BackOff, is_orphan
from hotshard.settings import load
from tests.support.eventually import PATIENCE_S, eventually_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_SUPERVISE = """
import sys
from hotshard.job import supervisor
supervisor.STOP_S = 1.0
sys.exit(supervisor.run_processes([[sys.executable, "-c", script] for script in sys.argv[1:]]))
"""
#: A process that says who it is, and does as it is told at the end.
_PATIENT = "import os, time; open(f'{FOLDER}/{os.environ[\"HOTSHARD_PROCESS\"]}', 'w').write(str(os.getpid()))\n"
_WAITS = "time.sleep(60)"
#: The first starts fail, as where a machine has no process or no memory left.
_NO_ROOM = """
import asyncio, errno, os
start, errors = asyncio.create_subprocess_exec, [errno.ENOMEM, errno.EAGAIN]
async def fail(*command, **settings):
    if errors:
        number = errors.pop()
        raise OSError(number, os.strerror(number))
    return await start(*command, **settings)
asyncio.create_subprocess_exec = fail
"""


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(*scripts: str, first: str = "") -> subprocess.Popen[str]:
        whole = [(_PATIENT + script).replace("{FOLDER}", str(tmp_path)) for script in scripts]
        process = subprocess.Popen(
            [sys.executable, "-c", first + _SUPERVISE, *whole], stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()  # killed, it would leave its processes behind
        process.communicate()


def pids(folder: Path, count: int) -> dict[int, int]:
    """Process numbers of all that have begun, by their number here."""
    eventually_blocking(lambda: len([each for each in folder.iterdir() if each.read_text()]) >= count)
    return {int(each.name): int(each.read_text()) for each in folder.iterdir()}


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_stop_is_passed_on_and_all_end_well(
    number: signal.Signals, supervise: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    supervisor = supervise(_WAITS, _WAITS)
    found = pids(tmp_path, 2)
    supervisor.send_signal(number)
    assert supervisor.wait(PATIENCE_S) == 0
    assert sorted(found) == [1, 2]
    assert not any(map(is_running, found.values()))


def test_a_process_that_was_killed_is_started_again_and_the_other_goes_on(
    supervise: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    supervise(_WAITS, _WAITS)
    before = pids(tmp_path, 2)
    os.kill(before[1], signal.SIGKILL)
    eventually_blocking(lambda: pids(tmp_path, 2)[1] != before[1])
    assert pids(tmp_path, 2)[2] == before[2]
    assert is_running(before[2])


def test_processes_that_could_not_be_started_are_tried_again_and_that_is_said(
    supervise: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    supervisor = supervise(_WAITS, _WAITS, first=_NO_ROOM)
    pids(tmp_path, 2)
    supervisor.terminate()
    _, said = supervisor.communicate(timeout=PATIENCE_S)
    assert supervisor.returncode == 0
    lines = [line for line in said.splitlines() if "could not be started" in line]
    assert len(lines) == 2
    assert all("ulimit -u" in line and "tried again in 1 s" in line for line in lines)
    assert "Traceback" not in said


def test_under_nohup_a_terminal_that_closes_ends_nothing(
    supervise: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    ignores = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    supervisor = supervise(_WAITS, first=ignores)
    before = pids(tmp_path, 1)
    supervisor.send_signal(signal.SIGHUP)
    # Whatever SIGHUP did is done by when it has started a process anew.
    os.kill(before[1], signal.SIGKILL)
    eventually_blocking(lambda: pids(tmp_path, 1)[1] != before[1])
    assert supervisor.poll() is None


def test_a_process_that_does_not_end_is_killed(supervise: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); open(f'{FOLDER}/9', 'w').write('1')\n"
    supervisor = supervise(deaf + _WAITS)
    found = pids(tmp_path, 2)
    supervisor.terminate()
    _, said = supervisor.communicate(timeout=PATIENCE_S)
    assert supervisor.returncode == 0
    assert not is_running(found[1])
    assert "are killed" in said


def test_wrong_settings_end_everything_and_are_not_tried_again(
    supervise: Callable[..., subprocess.Popen[str]],
) -> None:
    supervisor = supervise(_WAITS, "raise SystemExit(2)")
    supervisor.communicate(timeout=PATIENCE_S)
    assert supervisor.returncode == 2


def test_each_wait_is_longer_until_a_bound_and_short_again_after_a_good_run() -> None:
    back_off = BackOff()
    assert [back_off.wait_s(0.1) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert back_off.wait_s(BackOff.WELL_S) == 1
    assert back_off.wait_s(0.1) == 2


@pytest.mark.parametrize(
    ("parent", "orphan"), [("", False), (str(os.getppid()), False), ("1000000", True), ("x", False)]
)
def test_a_process_whose_supervisor_is_gone_is_an_orphan(
    parent: str, orphan: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PARENT, parent)
    assert is_orphan() == orphan


def of(words: list[str], environ: Mapping[str, str] | None = None) -> list[list[str]]:
    args = build_parser(environ or {}).parse_args(["worker", *words])
    flags = dict(word.split("=", 1) for word in args.set or ())
    if args.processes:
        flags["worker.processes"] = args.processes
    settings = load(None, environ or {}, flags, args.topic or ())
    return commands(settings.worker, words_of(args))


def test_every_process_has_the_flags_of_the_supervisor_and_none_starts_others() -> None:
    words = ["--topic", "orders=dc1.orders", "--redis", "redis://r/0", "--set", "worker.window_s=5", "--processes", "3"]
    found = of(words)
    assert len(found) == 3
    for command in found:
        assert command[1:4] == ["-m", "hotshard", "worker"]
        args = build_parser({}).parse_args(command[3:])
        assert (args.topic, args.redis) == (["orders=dc1.orders"], "redis://r/0")
        assert args.set == ["worker.window_s=5", "worker.processes=1"]


def test_names_that_must_be_unique_get_the_number() -> None:
    found = of(["--set", "worker.name=w", "--set", "worker.instance_id=i", "--processes=2"])
    assert [command[-2:] for command in found] == [
        ["--set=worker.name=w-1", "--set=worker.instance_id=i-1"],
        ["--set=worker.name=w-2", "--set=worker.instance_id=i-2"],
    ]


def test_the_number_is_in_the_environment_under_a_name_that_stays() -> None:
    assert (NUMBER, PARENT) == ("HOTSHARD_PROCESS", "HOTSHARD_SUPERVISOR")
