"""A worker's own settings for TLS, as a broker with TLS takes them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hotshard.demo.servers import ApacheKafka, free_port
from hotshard.doors.kafka.real import AioKafka
from hotshard.errors import RefusedError
from hotshard.settings.load import load
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


class TlsKafka(ApacheKafka):
    """Also listens for TLS, and asks for a certificate that it trusts: there is only one, everybody's own."""

    def __init__(self, pem: Path, cert: Path) -> None:
        super().__init__()
        self._files = {"keystore": pem, "truststore": cert}
        self._tls_port = free_port()

    @property
    def tls_bootstrap(self) -> str:
        return f"localhost:{self._tls_port}"

    def ports(self) -> list[int]:
        return [*super().ports(), self._tls_port]

    def settings(self) -> dict[str, str]:
        found = super().settings()
        found["listeners"] += f",TLS://localhost:{self._tls_port}"
        found["listener.security.protocol.map"] += ",TLS:SSL"
        for store, path in self._files.items():
            found |= {
                f"listener.name.tls.ssl.{store}.type": "PEM",
                f"listener.name.tls.ssl.{store}.location": str(path),
            }
        return {**found, "listener.name.tls.ssl.client.auth": "required"}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A key, its certificate for localhost, and both in one file."""
    key, cert, both = (tmp_path / name for name in ("key.pem", "cert.pem", "both.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_text(key.read_text() + cert.read_text())
    return key, cert, both


@pytest.mark.usefixtures("needs_kafka")
async def test_tls_is_passed_through_with_a_certificate_of_the_clients_own(files: tuple[Path, Path, Path]) -> None:
    key, cert, both = files
    with TlsKafka(both, cert) as server:
        await create_topic(server.bootstrap, "orders", 3)
        flags = {"bootstrap_servers": server.tls_bootstrap, "security_protocol": "SSL", "ca_file": str(cert)}
        own = {"cert_file": str(cert), "key_file": str(key)}
        assert await partitions({**flags, **own}) == 3
        for wrong in (flags, {**flags, **own, "ca_file": ""}):
            with pytest.raises(
                RefusedError, match=rf"{server.tls_bootstrap} refused .* check security_protocol, ca_file"
            ) as caught:
                await partitions(wrong)
            assert "\n" not in str(caught.value)


async def partitions(mirror: dict[str, str]) -> int | None:
    """Ask for the topic as a worker with these settings does."""
    admin = AioKafka(load(flags={f"mirror.{name}": value for name, value in mirror.items()}).mirror).admin()
    try:
        return await admin.partitions("orders")
    finally:
        await admin.stop()
