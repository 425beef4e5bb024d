"""What one setting is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotshard.settings.kinds import Kind, Value


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``key`` is its name within its section."""

    section: str
    key: str
    kind: Kind
    default: Value
    help: str
    unit: str = ""
    secret: bool = False

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "HOTSHARD_" + self.name.replace(".", "_").upper()
