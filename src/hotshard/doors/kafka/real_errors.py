"""aiokafka's errors in the words of hotshard, each one line that names the fix."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final

from aiokafka import errors as kafka
from aiokafka.conn import collect_hosts, create_conn

from hotshard.errors import FencedError, HotshardError, MissingTopicError, RefusedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.doors.kafka.connection import KafkaConnection

_FENCED: Final = (kafka.ProducerFenced, kafka.InvalidProducerEpoch)
_LOGIN: Final = (
    kafka.AuthenticationFailedError,
    kafka.AuthenticationMethodNotSupported,
    kafka.IllegalSaslStateError,
    kafka.SaslAuthenticationFailed,
    kafka.UnsupportedSaslMechanismError,
)
_RIGHTS: Final = (
    kafka.ClusterAuthorizationFailedError,
    kafka.GroupAuthorizationFailedError,
    kafka.TopicAuthorizationFailedError,
    kafka.TransactionalIdAuthorizationFailed,
)
_NEVER: Final = (
    kafka.InvalidConfigurationError,
    kafka.InvalidPartitionsError,
    kafka.InvalidReplicationFactorError,
    kafka.InvalidTopicError,
    kafka.MessageSizeTooLargeError,
    kafka.PolicyViolationError,
    kafka.RecordListTooLargeError,
)
#: So many addresses are tried one by one when none let aiokafka in.
_KNOCKS: Final = 3
#: What a call to aiokafka may raise when the cluster is at fault.
FOREIGN: Final = (
    kafka.KafkaError,
    kafka.ConsumerStoppedError,
    kafka.IllegalOperation,
    OSError,
    TimeoutError,
)


def translate(error: BaseException, connection: KafkaConnection, doing: str) -> HotshardError:
    """The error of our own that says what ``error``, met while ``doing`` something, means to a user."""
    for cause in _chain(error):
        told = cause if isinstance(cause, HotshardError) else _known(cause, connection, doing)
        if told is not None:
            return told
    advice = "check that it runs, its address, and security_protocol"
    return UnavailableError(f"Kafka at {connection.address} does not answer ({_text(error)}) to {doing}; {advice}")


def _known(cause: BaseException, connection: KafkaConnection, doing: str) -> HotshardError | None:
    """What a cause means that says more than that there is no answer."""
    where = f"Kafka at {connection.address}"
    if isinstance(cause, _FENCED):
        return FencedError()
    if isinstance(cause, (*_LOGIN, ssl.SSLError)):
        return RefusedError(f"{where} refused the connection ({_text(cause)}); {_login_advice(connection)}")
    if isinstance(cause, _RIGHTS):
        return RefusedError(f"{where} does not allow {doing} ({_text(cause)}); give the user that right")
    if isinstance(cause, _NEVER):
        return RefusedError(f"{where} refused {doing} ({_text(cause)})")
    if isinstance(cause, kafka.UnknownTopicOrPartitionError):
        return MissingTopicError(f"{where} has not the topic needed for {doing}; create it or correct its name")
    return None


async def explain(error: BaseException, connection: KafkaConnection, doing: str) -> HotshardError:
    """As :func:`translate`, for an error met while connecting: aiokafka hides what each address answered."""
    told = translate(error, connection, doing)
    if not isinstance(told, UnavailableError):
        return told
    found: HotshardError | None = None
    for host, port, _ in collect_hosts(connection.bootstrap_servers, randomize=False)[:_KNOCKS]:
        cause = await _knock(host, port, connection)
        if cause is None:
            return told
        answer = translate(cause, connection, doing)
        if isinstance(answer, RefusedError):
            return answer
        found = found or answer
    return found or told


async def _knock(host: str, port: int, connection: KafkaConnection) -> Exception | None:
    """What one address answers when it is connected to by itself."""
    kwargs = connection.client_kwargs()
    shared = {"bootstrap_servers", "metadata_max_age_ms", "retry_backoff_ms", "connections_max_idle_ms"}
    options = {name: value for name, value in kwargs.items() if name not in shared}
    try:
        async with asyncio.timeout(3):
            conn = await create_conn(host, port, **{**options, "request_timeout_ms": 2500})
    except FOREIGN as error:
        return error
    await conn.close()
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _text(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return error.strerror or "no such host"
    text = str(error).removeprefix("KafkaConnectionError: ") or type(error).__name__
    return " ".join(text.split())


def _login_advice(connection: KafkaConnection) -> str:
    if connection.security_protocol.startswith("SASL"):
        return f"check sasl_username ({connection.sasl_username}), sasl_password and sasl_mechanism"
    return "check security_protocol, ca_file, cert_file and key_file"
