"""A place: one partition of one topic."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    topic: str
    partition: int
