"""Tests that need a program which is not there: skipped with the reason, but in CI a failure."""

from __future__ import annotations

import os

import pytest


def require(missing: str | None) -> None:
    """Go on when nothing is missing; else skip the test, or fail it when ``CI`` is set to true."""
    if missing is None:
        return
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"needed in CI: {missing}", pytrace=False)
    pytest.skip(missing)
