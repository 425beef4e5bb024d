"""The command as a user starts it: a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hotshard
from tests.support.require import require

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.acceptance

SOURCE = Path(hotshard.__file__).resolve().parents[1]
SCRIPT = Path(sys.executable).with_name("hotshard")
MODULE = (sys.executable, "-m", "hotshard")
#: As if no extra were installed.
BASE_ONLY = """import sys
sys.modules.update(dict.fromkeys(['faust', 'aiokafka', 'datasketches', 'rich']))
from hotshard.cli.main import main
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}


def says(command: tuple[str, ...], environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    env = {**ENVIRONMENT, **(environ or {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env)


def hotshard_says(*argv: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return says((*MODULE, *argv), environ)


def test_the_installed_script_is_the_module() -> None:
    require(None if SCRIPT.exists() else "hotshard is not installed in this environment; run make setup")
    done = says((str(SCRIPT), "--version"))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"hotshard {hotshard.__version__}\n", "")
    assert hotshard_says("--version").stdout == done.stdout


def test_help_goes_to_stdout_and_wrong_use_to_stderr() -> None:
    done = hotshard_says("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in ("demo", "worker", "config", "schema", "exit codes"))
    done = hotshard_says("confg")
    assert (done.returncode, done.stdout) == (2, "")
    assert "confg" in done.stderr


def test_config_prints_json_with_origins_and_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        '[topics.orders]\nmode = "active"\n[mirror]\nsecurity_protocol = "SASL_SSL"\nsasl_username = "ann"\n'
    )
    hush = {"HOTSHARD_MIRROR_SASL_PASSWORD": "hush", "HOTSHARD_REDIS_URL": "redis://:hush@r:1/0"}
    done = hotshard_says("config", "--settings", str(path), "--json", "--set", "worker.window_s=5", environ=hush)
    assert (done.returncode, done.stderr) == (0, "")
    assert "hush" not in done.stdout
    found = json.loads(done.stdout)
    assert found["worker.window_s"] == {"value": 5.0, "unit": "s", "from": "command line"}
    assert found["topics.orders.mode"] == {"value": "active", "unit": "", "from": str(path)}
    assert found["mirror.sasl_password"]["from"] == "environment HOTSHARD_MIRROR_SASL_PASSWORD"
    assert found["output.sasl_username"] == {"value": "ann", "unit": "", "from": "as mirror"}


def test_the_reference_is_a_settings_file_that_the_command_takes(tmp_path: Path) -> None:
    done = hotshard_says("config", "--reference", "toml")
    assert tomllib.loads(done.stdout)["redis"]["url"] == "redis://localhost:6379/0"
    path = tmp_path / "s.toml"
    path.write_text(done.stdout)
    assert hotshard_says("config", "--settings", str(path)).returncode == 0


def test_an_unknown_setting_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("[worker]\nwindow = 5\n")
    done = hotshard_says("worker", "--settings", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"hotshard: unknown setting worker.window ({path}); did you mean worker.window_s?\n"


def test_the_schema_is_one_json_document() -> None:
    assert json.loads(hotshard_says("schema").stdout)["title"] == "hotshard"
    assert json.loads(hotshard_says("schema", "event").stdout)["$ref"] == "#/$defs/Event"


@pytest.mark.parametrize("argv", [("config",), ("schema",), ("--help",), ("config", "--help")])
def test_a_reader_that_goes_away_is_no_error(argv: tuple[str, ...]) -> None:
    with subprocess.Popen([*MODULE, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in {141, 0}  # 0: argparse writes its help in a try of its own


def test_an_interrupt_ends_quietly_with_130(tmp_path: Path) -> None:
    """A settings file that never ends to be read: a pipe that nobody writes to."""
    pipe = tmp_path / "s.toml"
    os.mkfifo(pipe)
    argv = [*MODULE, "config", "--settings", str(pipe)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    with process, pipe.open("w"):  # opened when the command is reading
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_the_base_install_needs_no_extra_for_config_and_schema() -> None:
    for argv in (["config"], ["schema"], ["--help"]):
        done = says((sys.executable, "-c", f"{BASE_ONLY}sys.exit(main({argv!r}))"))
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("argv", "extra"), [(["worker", "--topic", "a"], "worker"), (["demo"], "demo")])
def test_without_its_extra_a_command_says_how_to_install_it(argv: list[str], extra: str) -> None:
    done = says((sys.executable, "-c", f"{BASE_ONLY}sys.exit(main({argv!r}))"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"this command needs: pip install 'hotshard[{extra}]'\n")
    assert done.stderr.count("\n") == 1
