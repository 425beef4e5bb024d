"""One line that says how far reading is."""

from __future__ import annotations

import io

import pytest

from hotshard.doors.files.contract import Progress
from hotshard.report.progress import Meter, progress_line, size

_HALF = Progress(1_200_000, 2_400_000, "bytes", 300_000)


def test_share_rows_speed_and_what_is_left_are_told() -> None:
    assert progress_line(_HALF, 1.0, 100) == "██████████            50 %, 300,000 rows, 300,000/s, 1.0 s left"
    assert (
        progress_line(_HALF, 1.0, 100, plain=True) == "##########            50 %, 300,000 rows, 300,000/s, 1.0 s left"
    )


def test_of_a_pipe_the_bytes_are_told_instead_of_a_share() -> None:
    assert progress_line(Progress(1_200_000, None, "bytes", 9), 1.0, 100) == "1.2 MB, 9 rows, 9/s"


def test_of_a_topic_without_a_known_end_the_rows_are_told() -> None:
    assert progress_line(Progress(7, None, "offsets", 9), 2.0, 100) == "9 rows, 4/s"


def test_an_empty_input_and_a_file_that_grew_are_no_trouble() -> None:
    assert progress_line(Progress(0, 0, "bytes", 0), 0.0, 100) == "0 B, 0 rows"
    assert progress_line(Progress(20, 10, "bytes", 2), 1.0, 100) == "████████████████████  100 %, 2 rows, 2/s"


@pytest.mark.parametrize("width", range(1, 100))
def test_the_line_is_never_wider_than_the_terminal(width: int) -> None:
    line = progress_line(_HALF, 1.0, width)
    assert 0 < len(line) <= width
    assert line.lstrip("█ ").startswith("50 %"[:width])


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2.5e9, "2.5 GB"), (3e15, "3000.0 TB")]
)
def test_sizes_have_the_unit_that_suits_them(value: float, text: str) -> None:
    assert size(value) == text


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_nothing_is_shown_of_what_is_over_soon() -> None:
    screen, clock = io.StringIO(), Clock()
    meter = Meter(screen, clock)
    for _ in meter.watch(range(5), lambda: _HALF):
        clock.now_s += 0.09
    meter.clear()
    assert screen.getvalue() == ""


def test_the_line_is_written_over_a_few_times_a_second_and_cleared() -> None:
    screen, clock = io.StringIO(), Clock()
    meter = Meter(screen, clock)
    assert list(iterate(meter, clock, 100)) == list(range(100))
    meter.clear()
    meter.clear()
    written = screen.getvalue()
    assert written.count("50 %") == 3  # after 0.5, 0.7 and 0.9 s
    assert written.startswith("\r\x1b[K")
    assert written.endswith("\r\x1b[K")
    assert written.count("\r\x1b[K") == 4


def iterate(meter: Meter, clock: Clock, number: int) -> list[int]:
    got = []
    for item in meter.watch(range(number), lambda: _HALF):
        clock.now_s += 0.01
        got.append(item)
    return got
