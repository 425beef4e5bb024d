"""Ports: finding a free one, and asking whether something listens."""

from __future__ import annotations

import random
import socket

_HOST = "127.0.0.1"
# Below the range from which systems take a client's own port: else a client that tries again while its server
# is down can be given the server's port as its own, connect to itself, and keep the server from coming back.
_FREE = range(18_000, 32_000)


def port_free(port: int) -> bool:
    """Whether a server could listen on this port of the loopback address now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """Return a port nobody listens on; another process may still take it first."""
    for port in random.SystemRandom().sample(_FREE, 200):
        if port_free(port):
            return port
    raise OSError("no free port found between 18000 and 32000")


def ask(port: int, request: bytes, *, timeout_s: float = 1.0) -> bytes:
    """Send ``request`` to a port of the loopback address and return the first piece of the answer.

    Empty when nobody listens or nothing comes in time.
    """
    try:
        with socket.create_connection((_HOST, port), timeout=timeout_s) as connection:
            connection.sendall(request)
            return connection.recv(65_536)
    except OSError:
        return b""
