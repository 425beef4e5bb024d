"""How a Kafka cluster is reached."""

from __future__ import annotations

import importlib.util
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hotshard.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Arguments of aiokafka that a connection may carry in ``extra``: those its producer, consumer and client share.
EXTRA_NAMES: Final = frozenset(
    {
        "connections_max_idle_ms",
        "metadata_max_age_ms",
        "request_timeout_ms",
        "retry_backoff_ms",
        "sasl_kerberos_domain_name",
        "sasl_kerberos_service_name",
        "sasl_oauth_token_provider",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConnection:
    """Addresses and security of one cluster; files are PEM. ``extra`` goes to aiokafka as it is."""

    bootstrap_servers: tuple[str, ...] = ("localhost:9092",)
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The addresses as a message shows them."""
        return ",".join(self.bootstrap_servers)

    def client_kwargs(self) -> dict[str, Any]:
        """Arguments that aiokafka's producer, consumer and client all take.

        Raises:
            SettingsError: a certificate or key file cannot be read, a login lacks its user or password,
                or ``extra`` holds an unknown name.

        """
        unknown = sorted(set(self.extra) - EXTRA_NAMES)
        if unknown:
            raise SettingsError(f"not an option of a Kafka connection: {', '.join(unknown)}")
        kwargs: dict[str, Any] = {
            "bootstrap_servers": list(self.bootstrap_servers),
            "security_protocol": self.security_protocol,
        }
        if self.security_protocol.startswith("SASL"):
            self._require_login()
            kwargs["sasl_mechanism"] = self.sasl_mechanism
            kwargs["sasl_plain_username"] = self.sasl_username
            kwargs["sasl_plain_password"] = self.sasl_password
        if self.security_protocol.endswith("SSL"):
            kwargs["ssl_context"] = self._ssl_context()
        return {**kwargs, **self.extra}

    def _require_login(self) -> None:
        by_password = self.sasl_mechanism == "PLAIN" or self.sasl_mechanism.startswith("SCRAM")
        if by_password and not (self.sasl_username and self.sasl_password):
            raise SettingsError(f"{self.security_protocol} with {self.sasl_mechanism} needs a user and a password")
        if self.sasl_mechanism == "GSSAPI" and importlib.util.find_spec("gssapi") is None:
            raise SettingsError("sasl_mechanism GSSAPI needs a package that is not installed: pip install gssapi")

    def _ssl_context(self) -> ssl.SSLContext:
        for file in (self.ca_file, self.cert_file, self.key_file):
            if file is not None and not Path(file).is_file():
                raise SettingsError(f"no such file: {file}; correct the Kafka connection's TLS settings")
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file, self.key_password or "")
        except (OSError, ValueError) as error:
            raise SettingsError(f"the Kafka connection's TLS files cannot be used: {error}") from None
        return context
