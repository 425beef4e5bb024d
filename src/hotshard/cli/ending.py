"""How a command ends: its exit code, and one line instead of a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Final

from hotshard.cli.printing import tell
from hotshard.errors import HotshardError, OutputError, SettingsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

FINE: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141

CODES: Final = "exit codes: 0 fine, 1 failed, 2 wrong use, 130 interrupted"


def ended(command: Callable[[], int], *, tracebacks: bool) -> int:
    """Run it, turn whatever it raises into a line and a code."""
    try:
        code = _code(command)
        if sys.stdout is not None:  # None where whoever started us has closed it
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _into_nothing()
        return PIPE_CLOSED
    except HotshardError as error:
        _trace(wanted=tracebacks)
        tell(str(error))
        if isinstance(error, OutputError):
            _into_nothing()
        return WRONG_USE if isinstance(error, UsageError | SettingsError) else FAILED
    except Exception as error:  # noqa: BLE001 -- no traceback reaches a user who did not ask for it
        _trace(wanted=tracebacks)
        more = "" if tracebacks else "; run it again with -vv for the traceback"
        tell(f"unexpected error, which is a fault of hotshard: {type(error).__name__}: {error}{more}")
        return FAILED
    return code


def _code(command: Callable[[], int]) -> int:
    try:
        return command()
    except SystemExit as end:  # argparse ends so, after --help, --version and wrong use
        return end.code if isinstance(end.code, int) else FINE


def _trace(*, wanted: bool) -> None:
    if wanted:
        traceback.print_exc()


def _into_nothing() -> None:
    """Nobody gets stdout. What is still buffered goes nowhere, so that nothing is said about it at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
