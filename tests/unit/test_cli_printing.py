"""What is printed where stdout cannot show every character."""

from __future__ import annotations

import io
import json
import sys

import pytest

from hotshard.cli.main import main
from hotshard.cli.printing import look, put, tell
from hotshard.errors import OutputError

TEXT = 'plain "é 日本 😀 \udc80'


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp1252"])
def test_json_stays_json_in_every_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    put(json.dumps({"key": TEXT}, ensure_ascii=False))
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode(encoding)) == {"key": TEXT}


def test_what_can_be_shown_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="utf-8"))
    put("é 日本")
    sys.stdout.flush()
    assert raw.getvalue().decode() == "é 日本\n"


def test_a_message_gets_through_too(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    tell("no file\ncalled é")
    sys.stderr.flush()
    assert raw.getvalue() == b"hotshard: no file called \\u00e9\n"


class Full(io.StringIO):
    """A file on a disk that is full: what is written is kept back, and refused when it is to go out."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_what_cannot_be_written_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(OutputError, match="standard output cannot be written: No space left on device"):
        put("data")
    monkeypatch.setattr(sys, "stdout", None)
    for use in (lambda: put("data"), lambda: look({})):
        with pytest.raises(OutputError, match="Standard output is closed"):
            use()


def test_where_stderr_is_closed_or_full_nobody_is_told_and_all_else_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, f"No space left on device for {len(text)}")

    for stderr in (None, Refusing()):
        monkeypatch.setattr(sys, "stderr", stderr)
        tell("a word")
        assert main(["scan", "/nowhere/at/all"]) == 2
