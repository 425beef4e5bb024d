"""The command line, called in this process."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

import hotshard
from hotshard.cli.ending import ended
from hotshard.cli.main import COMMANDS, build_parser, command_of, main
from hotshard.errors import FencedError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hotshard.settings import Settings

Capture = pytest.CaptureFixture[str]


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    parser = build_parser({})
    yield "hotshard", parser
    for action in actions(parser):
        if isinstance(action.choices, Mapping):
            yield from action.choices.items()


def every_action(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Of a parser and of all below it."""
    for action in actions(parser):
        yield action
        if isinstance(action.choices, Mapping):
            for below in action.choices.values():
                yield from every_action(below)


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 -- argparse shows them nowhere else


def fake(monkeypatch: pytest.MonkeyPatch, module: str, **names: object) -> None:
    made = types.ModuleType(module)
    for name, value in names.items():
        setattr(made, name, value)
    monkeypatch.setitem(sys.modules, module, made)


def fake_worker(monkeypatch: pytest.MonkeyPatch, run_worker: Callable[[Settings], int]) -> None:
    fake(monkeypatch, "hotshard.job.run", run_worker=run_worker)


# Help


@pytest.mark.parametrize(("name", "parser"), list(parsers()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_flag_names_its_environment_variable(name: str, parser: argparse.ArgumentParser) -> None:
    del name
    for action in actions(parser):
        if action.option_strings and not {"--help", "--version"} & set(action.option_strings):
            assert re.search(r"\[env HOTSHARD_[A-Z_<>]+\]$", action.help or ""), action.option_strings


def test_a_variable_that_several_commands_read_says_the_same_to_each() -> None:
    said: dict[str, set[object]] = {}
    for action in every_action(build_parser({})):
        if found := re.search(r"\[env (HOTSHARD_[A-Z_<>]+)\]$", action.help or ""):
            said.setdefault(found[1], set()).add((action.metavar, tuple(action.choices or ()), action.nargs))
    assert {name: forms for name, forms in said.items() if len(forms) > 1} == {}


@pytest.mark.parametrize(("name", "parser"), list(parsers()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_help_has_an_example_and_the_exit_codes(name: str, parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    assert "hotshard " + (name if name != "hotshard" else "demo") in (parser.epilog or "")
    assert "exit codes: 0 fine, 1 failed, 2 wrong use" in text
    assert parser.allow_abbrev is False


def test_help_and_version_are_data_and_fine(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hotshard {hotshard.__version__}\n"
    assert main(["config", "--help"]) == 0
    assert "--changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [[], ["nothing"], ["config", "--nothing"], ["config", "--chang"], ["config", "--reference", "yaml"]]
)
def test_wrong_use_is_2_and_says_so_on_stderr(argv: list[str], capsys: Capture) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "error:" in err


def test_a_flag_that_is_not_known_is_answered_by_its_command_with_the_nearest(capsys: Capture) -> None:
    assert main(["worker", "--bootstrp=kafka:9092", "--topic", "orders"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("usage: hotshard worker ")
    assert "unrecognized arguments: --bootstrp=kafka:9092; did you mean --bootstrap?" in err
    assert main(["worker", "orders"]) == 2
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: orders\n")


# Environment


def test_the_environment_gives_what_the_command_line_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    path = tmp_path / "s.toml"
    path.write_text("[worker]\nwindow_s = 3\n")
    monkeypatch.setenv("HOTSHARD_SETTINGS", str(path))
    monkeypatch.setenv("HOTSHARD_JSON", "yes")
    monkeypatch.setenv("HOTSHARD_CONFIG_CHANGED", "1")
    monkeypatch.setenv("HOTSHARD_VERBOSE", "0")
    assert main(["config"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "worker.window_s": {"value": 3.0, "unit": "s", "from": str(path)},
    }


@pytest.mark.parametrize(("variable", "value"), [("HOTSHARD_JSON", "maybe"), ("HOTSHARD_VERBOSE", "very")])
def test_a_variable_that_a_flag_cannot_take_is_wrong_use(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["config"]) == 2
    assert capsys.readouterr().err.startswith(f"hotshard: {variable} is '{value}'; ")


# config


def test_config_prints_what_is_in_force_and_where_from(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOTSHARD_WORKER_GRACE_S", "4")
    argv = ["config", "--changed", "--topic", "orders=a", "--mode", "active", "--set", "redis.password=hush"]
    assert main(argv) == 0
    lines = [re.split(r"\s+# ", line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["worker.grace_s = 4.0", "environment HOTSHARD_WORKER_GRACE_S"],
        ['redis.password = "********"', "command line"],
        ['defaults.mode = "active"', "command line"],
        ['topics.orders.sources = ["a"]', "command line"],
        ['topics.orders.mode = "active"', "command line"],
    ]


def test_config_of_nothing_changed_prints_nothing(capsys: Capture) -> None:
    assert main(["config", "--changed"]) == 0
    assert capsys.readouterr().out == ""


def test_config_gives_its_reference_in_two_forms(capsys: Capture) -> None:
    assert main(["config", "--reference", "toml"]) == 0
    assert "[own_topics]" in capsys.readouterr().out
    assert main(["config", "--reference", "markdown"]) == 0
    assert "| `redis.url` |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--set", "worker.windows_s=5"],
            "unknown setting worker.windows_s (command line); did you mean worker.window_s?",
        ),
        (["--set", "worker.window_s"], "--set takes NAME=VALUE, not 'worker.window_s'"),
        (["--mode", "activ"], "did you mean active?"),
        (["--settings", "/nowhere/s.toml"], "no settings file /nowhere/s.toml"),
        (["--redis", "localhost:6379"], "redis.url (command line): 'localhost:6379' is not an address"),
        (["--bootstrap", "a b"], "mirror.bootstrap_servers (command line)"),
    ],
)
def test_a_wrong_setting_is_one_line_and_2(argv: list[str], message: str, capsys: Capture) -> None:
    assert main(["config", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("hotshard: ")
    assert err.count("\n") == 1


# worker


def test_the_worker_gets_its_settings_and_its_code_is_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []

    def run_worker(settings: Settings) -> int:
        seen.append(settings)
        return 1

    fake_worker(monkeypatch, run_worker)
    argv = ["worker", "--bootstrap", "a:1,b:2", "--redis", "redis://r:1/0", "--topic", "x=y", "--topic", "z", "-v"]
    assert main([*argv, "--group", "g", "--set", "topics.z.mode=active"]) == 1
    (settings,) = seen
    assert settings.mirror.bootstrap_servers == ("a:1", "b:2")
    assert settings.redis.url == "redis://r:1/0"
    assert [(topic.name, topic.sources, topic.mode) for topic in settings.topics] == [
        ("x", ("y",), "shadow"),
        ("z", ("z",), "active"),
    ]
    assert (settings.worker.group, settings.worker.log_level) == ("g", "debug")


def test_a_worker_without_a_topic_is_wrong_use(capsys: Capture) -> None:
    assert main(["worker"]) == 2
    assert capsys.readouterr().err.startswith("hotshard: no topic to watch; name one with --topic")


@pytest.mark.parametrize(("argv", "extra"), [(["worker", "--topic", "a"], "worker"), (["demo"], "demo")])
def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, argv: list[str], extra: str
) -> None:
    module = {"worker": "hotshard.job.run", "demo": "hotshard.demo.run"}[extra]

    class NoFaust:
        def find_spec(self, name: str, *_: object) -> None:
            if name == module:
                raise ModuleNotFoundError("No module named 'faust'", name="faust")

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "meta_path", [NoFaust(), *sys.meta_path])
    assert main(argv) == 1
    err = capsys.readouterr().err
    assert err == f"hotshard: package faust is not installed; this command needs: pip install 'hotshard[{extra}]'\n"


# demo


def test_the_demo_gets_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    class DemoOptions(types.SimpleNamespace):
        pass

    def run_demo(options: object) -> int:
        seen.append(options)
        return 0

    fake(monkeypatch, "hotshard.demo.run", run_demo=run_demo, DemoOptions=DemoOptions)
    monkeypatch.setenv("HOTSHARD_DEMO_REDIS", "redis://r:1/0")
    assert main(["demo", "--kafka", "k:1", "--json"]) == 0
    assert seen == [DemoOptions(json=True, kafka="k:1", redis="redis://r:1/0")]


# How commands end


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run_worker(_: Settings) -> int:
        raise error

    fake_worker(monkeypatch, run_worker)


def test_an_error_of_ours_is_one_line_and_1(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    raising(monkeypatch, FencedError("taken\nover"))
    assert main(["worker", "--topic", "a"]) == 1
    assert capsys.readouterr().err == "hotshard: taken over\n"


def test_wrong_use_found_late_is_2(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, UsageError("no"))
    assert main(["worker", "--topic", "a"]) == 2


def test_an_error_nobody_expected_is_one_line_that_says_how_to_see_more(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    raising(monkeypatch, ZeroDivisionError("division by zero"))
    assert main(["worker", "--topic", "a"]) == 1
    line = "hotshard: unexpected error, which is a fault of hotshard: ZeroDivisionError: division by zero"
    assert capsys.readouterr().err == f"{line}; run it again with -vv for the traceback\n"


@pytest.mark.parametrize("error", [ZeroDivisionError("zero"), FencedError("fenced")])
def test_tracebacks_are_for_those_who_ask(monkeypatch: pytest.MonkeyPatch, capsys: Capture, error: Exception) -> None:
    raising(monkeypatch, error)
    assert main(["worker", "--topic", "a", "-vv"]) == 1
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert err.splitlines()[-1].startswith("hotshard: ")


def test_an_interrupt_is_quiet_and_130(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert main(["worker", "--topic", "a"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_command_whose_stdout_was_closed_beforehand_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert ended(lambda: 0, tracebacks=False) == 0


@pytest.mark.parametrize("argv", [["scan", "/dev/null"], ["simulate", "/dev/null", "--json"], ["schema"]])
def test_a_command_that_prints_says_that_stdout_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, argv: list[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(argv) == 1
    assert capsys.readouterr().err.startswith("hotshard: Standard output is closed, so nothing can be said; ")


def test_every_command_has_a_line_of_help() -> None:
    assert all(command_of(name).help[0].islower() for name in COMMANDS)
