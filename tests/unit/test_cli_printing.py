"""What is printed where stdout cannot show every character."""

from __future__ import annotations

import io
import json
import sys

import pytest

from hotshard.cli.printing import put, tell

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
