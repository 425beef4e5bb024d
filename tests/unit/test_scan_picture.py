from __future__ import annotations

from pathlib import Path

from hotshard.demo.scan_picture import rows, svg

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_of_a_scan_is_what_the_code_draws_now() -> None:
    assert (ROOT / "docs" / "scan.svg").read_text(encoding="utf-8") == svg()


def test_its_traffic_is_the_same_every_time() -> None:
    assert list(rows()) == list(rows())
