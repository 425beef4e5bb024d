"""The plugin that fails a test whose exceptions nobody saw."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.swallowed import swallowed

if TYPE_CHECKING:
    from pathlib import Path

_TESTS = """
import asyncio

async def boom():
    raise ValueError("unseen")

async def test_task():
    task = asyncio.create_task(boom())
    await asyncio.wait([task])

async def test_callback():
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

async def test_seen():
    (answer,) = await asyncio.gather(boom(), return_exceptions=True)
    assert "unseen" in str(answer)
"""


def test_a_task_or_callback_that_fails_unseen_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_TESTS)
    said = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tests.support.swallowed",
            "-o",
            "asyncio_mode=auto",
            str(tmp_path),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    ).stdout
    assert set(re.findall(r"ERROR test_it\.py::(\w+) - Failed: swallowed", said)) == {"test_task", "test_callback"}
    assert "test_seen -" not in said


def test_nothing_is_swallowed_where_nothing_failed() -> None:
    assert swallowed() == []
