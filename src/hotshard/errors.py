"""Every error a user can meet.

The docstring of an error is its message unless a message is given; it names the fix.
``retriable`` says whether trying again, with nothing changed, can help.
"""

from __future__ import annotations

from typing import ClassVar


class HotshardError(Exception):
    """Something went wrong in hotshard."""

    retriable: ClassVar[bool] = False

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class UsageError(HotshardError):
    """The command was called wrongly; see --help."""


class InputError(HotshardError):
    """The input cannot be read, or is not what it should be; see --format."""


class OutputError(HotshardError):
    """Standard output is closed, so nothing can be said; give it a terminal, a file or a pipe."""


class SettingsError(HotshardError):
    """A setting is wrong; `hotshard config` shows what is in force and where it came from."""


class KeyPartError(HotshardError, ValueError):
    """A tenant, entity or suffix is missing, empty or holds U+001F; give it a value without that character."""


class DiscriminatorRequiredError(HotshardError, ValueError):
    """With shard_count above 1 a discriminator is needed; pass what tells the independent sub-units apart."""


class WireError(HotshardError):
    """A message does not have the expected form; it is counted and left alone."""


class NewerSchemaError(WireError):
    """The registry has a newer schema than this library knows: update hotshard."""


class UnavailableError(HotshardError):
    """An outside system does not answer; check its address and that it runs."""

    retriable: ClassVar[bool] = True


class RefusedError(HotshardError):
    """An outside system refused: credentials or rights; check user, password and access list."""


class FencedError(HotshardError):
    """Another worker has taken over this part of the work; what was about to be said is dropped."""


class MissingTopicError(HotshardError):
    """The topic does not exist; create it or correct its name in the settings."""


class TopicMismatchError(HotshardError):
    """A topic of hotshard's own has another partition count than the settings; restore it or set the real one."""


class PaneGapError(HotshardError):
    """A slab does not continue its partition; drop what is open and read again from the committed offset."""


class PortTakenError(HotshardError):
    """A port is in use; choose another or stop what holds it."""


class MissingExtraError(HotshardError):
    """Packages are missing for this; install hotshard with the extra that has them."""
