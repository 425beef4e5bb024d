"""Sending by a route asks no network and takes no lock."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any, Final

import pytest

from hotshard import MemoryRegistry, Registry, shard
from tests.support.offline import OfflineProducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hotshard.client.wrap import Discriminate

TOPIC: Final = "orders"
HOT: Final = "acme\x1fcart-7"
#: What a lock can be asked, in any of its forms.
_LOCKING: Final = ("acquire", "__enter__", "wait", "wait_for")
_TALKING: Final = ("send", "sendall", "sendto", "recv", "recv_into", "connect", "connect_ex")


class TouchedError(AssertionError):
    """Something was used that a sender must not use."""


class _Guarded:
    """A lock, or what is built on one, that the sending thread must not take while it sends."""

    def __init__(self, real: Any, sending: set[int]) -> None:  # noqa: ANN401 - any of several classes
        self._real = real
        self._sending = sending

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name in _LOCKING:
            self._refuse(name)
        return getattr(self._real, name)

    def __enter__(self) -> Any:  # noqa: ANN401
        self._refuse("with")
        return self._real.__enter__()

    def __exit__(self, *error: object) -> None:
        self._real.__exit__(*error)

    def _refuse(self, how: str) -> None:
        if threading.get_ident() in self._sending:
            raise TouchedError(f"{how} of a {type(self._real).__name__}")


@pytest.fixture
def sending(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Threads that send now. Locks made from here on, and all sockets, refuse to serve them."""
    threads: set[int] = set()

    def guarded(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: _Guarded(make(*arguments), threads)

    def refusing(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            if threading.get_ident() in threads:
                raise TouchedError(f"socket.{name}")
            return call(*arguments, **named)

        return refuse

    for name in ("Lock", "RLock", "Condition", "Event", "Semaphore"):
        monkeypatch.setattr(threading, name, guarded(getattr(threading, name)))
    for name in _TALKING:
        monkeypatch.setattr(socket.socket, name, refusing(name, getattr(socket.socket, name)))
    return threads


@pytest.fixture
def registry(sending: set[int]) -> Iterator[Registry]:
    assert not sending
    memory = MemoryRegistry()
    memory.split(TOPIC, HOT, ["0", "1", "2"])
    with Registry(memory) as registry:
        assert registry.route(TOPIC, HOT).key != HOT
        yield registry


@pytest.mark.parametrize("key", [HOT, HOT.encode(), "another", b"another"])
@pytest.mark.parametrize("discriminator", [None, "user-1", b"user-1"])
def test_a_route_is_found_without_network_and_without_a_lock(
    registry: Registry,
    sending: set[int],
    key: Any,  # noqa: ANN401 - text or bytes
    discriminator: str | bytes | None,
) -> None:
    sending.add(threading.get_ident())
    try:
        routed = [registry.route(TOPIC, key, discriminator) for _ in range(5)]
    finally:
        sending.clear()
    assert (routed[0].key != key) == (key in {HOT, HOT.encode()})
    assert registry.counters.route_errors == 0


@pytest.mark.parametrize("text", [HOT, "another"])
@pytest.mark.parametrize("text_keys", [False, True])
@pytest.mark.parametrize("discriminator", [None, lambda _key, value, _headers: value])
async def test_a_wrapped_producer_sends_without_network_and_without_a_lock(
    registry: Registry, sending: set[int], text: str, *, text_keys: bool, discriminator: Discriminate | None
) -> None:
    producer = OfflineProducer(TOPIC, 12, key_serializer=str.encode if text_keys else None)
    wrapped = shard(producer, registry, discriminator=discriminator, text_keys=text_keys)
    sending.add(threading.get_ident())
    try:
        for _ in range(5):
            with pytest.raises(StopIteration):  # at once: it never waits
                wrapped.send(TOPIC, b"value", text if text_keys else text.encode()).send(None)
    finally:
        sending.clear()
    assert [written.key != text.encode() for written in producer.written] == [text == HOT] * 5
    assert registry.counters.route_errors == 0


def test_a_lock_or_a_socket_in_the_send_path_would_be_seen(sending: set[int]) -> None:
    lock, made = threading.Lock(), threading.Event()
    with socket.socket() as open_socket:
        sending.add(threading.get_ident())
        try:
            with pytest.raises(TouchedError), lock:
                pass
            with pytest.raises(TouchedError):
                made.wait(0)
            with pytest.raises(TouchedError):
                open_socket.connect(("127.0.0.1", 9))
        finally:
            sending.clear()
