"""What the benchmark makes of one process beside two."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.bench import processes, side_by_side

if TYPE_CHECKING:
    from tests.bench.parts import Figures


def figures(per_s: float, member: float | None, broker: float | None, watch: float | None) -> Figures:
    return {"per_s": per_s, "member_cores": member, "broker_cores": broker, "watch_cores": watch}


def test_a_machine_with_cores_to_spare_is_judged() -> None:
    found = processes.compared(figures(100, 1.0, 0.4, 0.1), figures(180, 1.9, 0.8, 0.2), 4, 2.0, 1.9)
    assert (found["ratio"], found["machine_allows"], found["ratio_with_cores_free"]) == (1.8, 2.0, 1.8)


def test_where_one_process_and_its_broker_fill_most_of_the_cores_there_is_no_judgement() -> None:
    found = processes.compared(figures(100, 1.0, 0.4, 0.1), figures(130, 1.4, 0.5, 0.1), 2, 2.0, 1.8)
    assert found["machine_allows"] == 1.2  # 2 cores of 0.9, of which one process takes 1.5 with all that it needs
    assert (found["ratio"], found["ratio_with_cores_free"]) == (1.3, None)


def test_where_processor_time_is_not_told_nothing_is_said_of_the_machine() -> None:
    found = processes.compared(figures(100, None, None, None), figures(130, None, None, None), 8, 2.0, 2.0)
    assert (found["ratio"], found["machine_allows"], found["ratio_with_cores_free"]) == (1.3, None, None)


def test_records_that_were_counted_from_memory_are_all_told() -> None:
    counting = side_by_side._Counting()  # noqa: SLF001 - a step of it, without the clock
    told = sum(counting.step() for _ in range(24))
    assert told == sum(panes.position for panes in counting._panes)  # noqa: SLF001
    assert all(panes.position for panes in counting._panes)  # noqa: SLF001


def test_two_copies_work_at_the_same_time() -> None:
    assert side_by_side.per_s(side_by_side.LOOP, 2, 0.01) > 0


def test_children_are_found() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert child.pid in processes._children(os.getpid())  # noqa: SLF001
    finally:
        child.communicate(b"\n")
    assert child.pid not in processes._children(os.getpid())  # noqa: SLF001
