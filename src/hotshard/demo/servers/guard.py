"""Outlives us by a moment, to clean up when we could not: ends the servers and removes their folders.

Run as a script by ``child.py``. It reads one JSON object a line from its standard input:
``{"pid": n}`` a process group to end, ``{"folder": path}`` a folder to remove, each with ``"done": true``
when there is nothing left to do for it. The end of the input means that the process we watch is gone, however
it went. (PR_SET_PDEATHSIG would fire when the *thread* that started a server ends, and removes no folder.)
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def listen(lines: Iterable[str]) -> tuple[set[int], set[str]]:
    """Take notes until the input ends; what is left: the process groups and the folders."""
    pids: set[int] = set()
    folders: set[str] = set()
    for line in lines:
        note = json.loads(line)
        if "pid" in note:
            (pids.discard if note.get("done") else pids.add)(int(note["pid"]))
        if "folder" in note:
            (folders.discard if note.get("done") else folders.add)(str(note["folder"]))
    return pids, folders


def clean(pids: Iterable[int], folders: Iterable[str]) -> None:
    """Kill the groups, then remove the folders; a dying server may still write, so try a few times."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    for folder in folders:
        for _ in range(50):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):  # noqa: PTH110 - starts faster without pathlib
                break
            time.sleep(0.02)


if __name__ == "__main__":
    clean(*listen(sys.stdin))
