"""From the words of a command to what it reads."""

from __future__ import annotations

import argparse
import io
import sys
from typing import TYPE_CHECKING

import pytest

from hotshard.cli.inputs import Input, add_input_flags, last_s, open_input
from hotshard.core.topic import KeyLayout, Load, PartitionsFrom
from hotshard.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

_ROWS = b"1700000000000\tacme\torder\t12\n" * 3


def opened(*words: str, environ: dict[str, str] | None = None) -> Input:
    parser = argparse.ArgumentParser()
    add_input_flags(parser, environ or {})
    return open_input(parser.parse_args(words), environ or {})


@pytest.fixture
def rows(tmp_path: Path) -> str:
    file = tmp_path / "rows.tsv"
    file.write_bytes(_ROWS)
    return str(file)


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def count(source: Input) -> int:
    with source:
        return sum(map(len, source.slabs()))


def test_a_file_is_an_opaque_key_on_partitions_yet_to_be_chosen(rows: str) -> None:
    source = opened(rows)
    assert (source.name, source.partitions, source.records.format) == (rows, None, "tsv")
    assert (source.spec.layout, source.spec.partitions_from) == (KeyLayout.ENTITY, PartitionsFrom.COMPUTED)
    assert count(source) == 3


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"order-1\n\norder-2\n", KeyLayout.ENTITY),
        (b"acme\x1forder-1\n\nacme\x1forder-2\nother\n", KeyLayout.TENANT_ENTITY),
        (b"acme\x1forder-1\nother\n", KeyLayout.ENTITY),
        (b"", KeyLayout.ENTITY),
    ],
)
def test_how_keys_are_built_is_told_from_them(
    monkeypatch: pytest.MonkeyPatch, data: bytes, expected: KeyLayout
) -> None:
    give_stdin(monkeypatch, data)
    with opened("-", "--format", "keys") as source:
        assert source.spec.layout is expected
        keys = [key or b"" for slab in source.slabs() for key in slab.keys]
    assert b"".join(key + b"\n" for key in keys) == data


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"a\nb\n")
    source = opened("-")
    assert (source.name, source.records.format) == ("standard input", "keys")
    assert count(source) == 2


def test_closed_standard_input_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input is closed"):
        opened("-")


def test_the_format_may_be_told_by_flag_and_by_environment(rows: str) -> None:
    for source in (opened(rows, "--format", "keys"), opened(rows, environ={"HOTSHARD_FORMAT": "keys"})):
        with source:
            assert source.records.format == "keys"
    with pytest.raises(UsageError, match="no format is called 'csv'"):
        opened(rows, "--format", "csv")


def test_settings_give_a_file_their_defaults_for_topics(rows: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text('[defaults]\nload = "bytes"\npartitions = 12\nsources = ["dc1.{topic}"]\n[topics.orders]\n')
    with opened(rows, "--config", str(settings), environ={"HOTSHARD_TOPICS": "another"}) as source:
        spec = source.spec
    assert (spec.load, source.partitions, spec.sources) == (Load.BYTES, 12, ("",))
    settings.write_text("[defaults]\nlaod = 1\n")
    with pytest.raises(SettingsError, match="did you mean"):
        opened(rows, "--config", str(settings))


def test_a_time_is_for_topics_only_but_its_variable_may_be_set(rows: str) -> None:
    with pytest.raises(UsageError, match="--last is for a topic"):
        opened(rows, "--last", "5m")
    assert count(opened(rows, environ={"HOTSHARD_LAST": "5m"})) == 3


@pytest.mark.parametrize(
    ("text", "expected"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("7d", 604_800), (" 2h ", 7200), ("all", None)]
)
def test_a_time_has_a_unit(text: str, expected: float | None) -> None:
    assert last_s(text) == expected


@pytest.mark.parametrize("text", ["", "10", "m", "-5m", "5 minutes", "infh", "1e9d", "\u0665m"])
def test_a_time_without_a_unit_is_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match="such as 90s, 10m, 2h or 7d"):
        last_s(text)


def test_what_was_skipped_is_told_once_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_stdin(monkeypatch, _ROWS + b"x\n" + _ROWS + b"y\n")
    assert count(opened("-")) == 6
    told = "standard input: 2 skipped; line 4: 1 field instead of 4: timestamp_ms, tenant, key, bytes"
    assert capsys.readouterr().err == f"hotshard: {told}\n"


def test_progress_is_shown_on_a_terminal_alone(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("hotshard.report.progress._FIRST_S", 0.0)
    for screen, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        assert count(opened(rows)) == 3
        assert ("100 %" in screen.getvalue()) == shown
        assert screen.getvalue().endswith("\r\x1b[K" if shown else "")
