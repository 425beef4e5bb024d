"""What every test gets: a clean environment, Hypothesis profiles, and the servers as fixtures."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures", "tests.support.swallowed"]

# The machines are shared and slow at times: a deadline for one example would only measure the neighbours.
settings.register_profile("fast", max_examples=20, deadline=None)
settings.register_profile("dev", max_examples=100, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Always the same examples, so that more of them find no more from one run to the next.
settings.register_profile(
    "ci", max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "dev"))


def pytest_configure() -> None:
    """Take the user's own settings away: a test sets what it needs. Ctrl-C is heard also by a run in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's `&` ignores it, and every child would
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith("HOTSHARD_")]:
        del os.environ[name]
