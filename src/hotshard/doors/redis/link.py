"""How Redis is reached: an address, what is passed through to redis-py, and what its errors mean to a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

import redis
import redis.asyncio
from redis import exceptions as foreign
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from hotshard.errors import HotshardError, RefusedError, SettingsError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_TIMEOUT_S: Final = 2.0
#: Every answer must be there within this; a call that waits adds its waiting time.
ANSWER_TIMEOUT_S: Final = 3.0

_Meaning = tuple[tuple[type[Exception], ...], tuple[str, ...], type[HotshardError], str]

#: What redis-py raises, by its class or by how its text begins, and what that means. The first that fits holds.
_MEANINGS: Final[tuple[_Meaning, ...]] = (
    (
        (foreign.AuthenticationError,),
        ("NOAUTH", "WRONGPASS", "Protocol error: unauthenticated"),  # the last for a command of many parts
        RefusedError,
        "refused the login; check user and password",
    ),
    (
        (foreign.NoPermissionError,),
        ("NOPERM", "ACL failure"),
        RefusedError,
        "refused a command; give the user the rights that deploy/redis.acl lists",
    ),
    (
        (foreign.ReadOnlyError,),
        ("READONLY",),
        RefusedError,
        "is a read-only replica; give the address of the primary",
    ),
    (
        (foreign.OutOfMemoryError,),
        ("OOM",),
        UnavailableError,
        "is out of memory; raise its maxmemory, the registry needs little",
    ),
    (
        (foreign.BusyLoadingError, foreign.ClusterDownError, foreign.TryAgainError),
        ("MISCONF", "BUSY", "NOREPLICAS"),
        UnavailableError,
        "is not in service; see its own log",
    ),
    (
        (),
        ("WRONGTYPE",),
        RefusedError,
        "holds something else under a name of the registry; take another namespace, or delete that",
    ),
    ((foreign.ResponseError,), (), RefusedError, "refused a command; it must be a Redis of 6.2 or later"),
)


class Link:
    """One Redis, by URL (``redis://``, ``rediss://``, ``unix://``), and ``options`` for redis-py beside it.

    A cluster is reached through any of its nodes: as one slot holds the whole registry, the node that a
    ``MOVED`` answer names is all that is needed, until it fails; then the address is asked again.

    Raises:
        SettingsError: the URL is none.

    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url = url
        self._moved: str | None = None
        self._options = dict(options or {})
        try:
            parts = urlsplit(url)
            redis.ConnectionPool.from_url(url)  # connects to nothing, but reads the URL
            self.name = _without_secrets(parts)
        except ValueError as error:
            raise SettingsError(f"the address of Redis is wrong: {error}") from None

    def blocking(self) -> redis.Redis:
        retry = Retry(NoBackoff(), 0)
        return redis.Redis.from_url(self._moved or self._url, **{**self._defaults(), "retry": retry, **self._options})

    def asynchronous(self) -> redis.asyncio.Redis:
        # redis-py retries would hide an outage for seconds; its callers here have a loop of their own.
        retry = AsyncRetry(NoBackoff(), 0)
        url = self._moved or self._url
        return redis.asyncio.Redis.from_url(url, **{**self._defaults(), "retry": retry, **self._options})

    def moved(self, error: foreign.MovedError) -> None:
        """Go to the node that a cluster named."""
        parts = urlsplit(self._url)
        login, at, _ = parts.netloc.rpartition("@")
        host = error.host or parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        self._moved = urlunsplit(parts._replace(netloc=f"{login}{at}{host}:{error.port}"))

    def home(self) -> None:
        """Go back to the address given."""
        self._moved = None

    def explain(self, error: Exception) -> HotshardError:
        """What ``error`` means, in one line that names the fix."""
        text = " ".join(str(error).split()) or type(error).__name__
        for kinds, openings, ours, what in _MEANINGS:
            if isinstance(error, kinds) or text.startswith(openings):
                return ours(f"Redis at {self.name} {what} ({text})")
        return UnavailableError(f"Redis at {self.name} does not answer; check its address and that it runs ({text})")

    @staticmethod
    def _defaults() -> dict[str, Any]:
        # RESP2: with RESP3 redis-py hands out connections that died in the pool (its issues 4128 and 4252).
        return {"protocol": 2, "socket_timeout": ANSWER_TIMEOUT_S, "socket_connect_timeout": CONNECT_TIMEOUT_S}


def wait_ms(client: redis.Redis | redis.asyncio.Redis, wait_s: float) -> int:
    """How long a read may block: at most half of what the socket waits, or the socket would give up first."""
    limit = client.connection_pool.connection_kwargs.get("socket_timeout")
    bounded = min(wait_s, float(limit) / 2) if limit else wait_s
    return max(1, int(bounded * 1000))


def _without_secrets(parts: SplitResult) -> str:
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    host = parts.hostname or "localhost"
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{parts.port or 6379}{parts.path.rstrip('/')}"
