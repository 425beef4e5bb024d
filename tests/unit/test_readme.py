"""What the README tells to type is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hotshard
from hotshard.core.causes.evidence import Cause

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def test_it_begins_with_a_sentence_a_picture_and_a_command() -> None:
    title, sentence, picture, command, *_ = README.split("\n\n")
    assert title == "# hotshard"
    assert sentence.count(". ") == 0
    assert picture.startswith("![")
    assert command.strip() == "make demo"


def test_every_file_it_names_is_there() -> None:
    named = set(re.findall(r"\]\(([^):]+)\)", README))
    assert {"docs/demo.svg", "deploy/settings.toml", "deploy/redis.acl"} <= named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert re.findall(r"\bpython \S+\.py\b", README) == []  # what is run stands in the Makefile


def test_every_target_it_names_is_in_the_makefile_with_a_line_of_help() -> None:
    named = set(re.findall(r"(?:^    |`)make (?:-s )?([a-z]+)", README, re.MULTILINE))
    assert {"demo", "test", "bench", "picture"} <= named
    assert [name for name in sorted(named) if not re.search(rf"^{name}:.*## ", MAKEFILE, re.MULTILINE)] == []


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_its_python_is_python_and_imports_what_there_is(block: str) -> None:
    code = compile(block, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    names = [
        alias.name
        for node in ast.walk(code)
        if isinstance(node, ast.ImportFrom) and node.module == "hotshard"
        for alias in node.names
    ]
    assert names
    assert [name for name in names if name not in hotshard.__all__] == []


def test_every_cause_is_explained_in_the_order_in_which_it_is_asked() -> None:
    table = README.split("| cause | what is so |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [cause.value for cause in Cause]
