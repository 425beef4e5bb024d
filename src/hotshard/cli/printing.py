"""Data to stdout, messages to stderr."""

from __future__ import annotations

import sys


def put(data: str) -> None:
    """Print data."""
    sys.stdout.write(data + "\n")


def tell(message: str) -> None:
    """Print a message for a person, in one line."""
    sys.stderr.write(f"hotshard: {' '.join(message.split())}\n")
