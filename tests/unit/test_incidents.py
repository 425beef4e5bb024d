"""Incidents that people had, run again through the real code: each is to be told as what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cases import ALL

if TYPE_CHECKING:
    from tests.cases.incident import Incident


@pytest.mark.parametrize("incident", ALL, ids=lambda incident: f"{incident.id}-{incident.kind}")
def test_incident(incident: Incident) -> None:
    seen = incident.seen()
    assert {name: seen[name] for name in incident.answer} == incident.answer
