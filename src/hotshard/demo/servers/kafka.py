"""Apache Kafka: one node, KRaft mode, on the loopback address."""

from __future__ import annotations

import base64
import subprocess
import uuid
from typing import NamedTuple

from hotshard.demo.servers.artifacts import kafka_jars
from hotshard.demo.servers.metadata import broker_ready
from hotshard.demo.servers.ports import free_port
from hotshard.demo.servers.server import Server
from hotshard.errors import UnavailableError

_LOG4J = """rootLogger.level = WARN
rootLogger.appenderRef.stdout.ref = STDOUT
appender.stdout.name = STDOUT
appender.stdout.type = Console
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d %p %m (%c)%n
"""

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAIN",
    "listener.security.protocol.map": "PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # a broker that comes back after a kill waits until its old self's session is over
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
    # records with old or wild timestamps must survive a run
    "log.retention.ms": "-1",
    "log.message.timestamp.after.max.ms": "9223372036854775807",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.dedupe.buffer.size": "33554432",
    "num.network.threads": "2",
    "num.io.threads": "4",
}


class Login(NamedTuple):
    """A user for the SASL/PLAIN listener."""

    user: str
    password: str


class ApacheKafka(Server):
    """A broker with transactions. With a ``login`` it also listens, on a port of its own, for SASL/PLAIN."""

    kind = "kafka"
    transactions = True
    start_within_s = 90.0

    def __init__(self, port: int | None = None, *, login: Login | None = None, heap_mb: int = 1024) -> None:
        super().__init__(port)
        self._login = login
        self._heap_mb = heap_mb
        self._controller_port = free_port()
        self._sasl_port = free_port()

    @property
    def bootstrap(self) -> str:
        """The address without security."""
        return f"127.0.0.1:{self.port}"

    @property
    def sasl_bootstrap(self) -> str:
        """The address of the SASL/PLAIN listener; there only with a login."""
        return f"127.0.0.1:{self._sasl_port}"

    def ports(self) -> list[int]:
        return [self.port, self._controller_port, *([self._sasl_port] if self._login else [])]

    def settings(self) -> dict[str, str]:
        """Return everything in ``server.properties``."""
        listeners = f"PLAIN://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self._controller_port}"
        extra = {}
        if self._login is not None:
            listeners += f",SASL://127.0.0.1:{self._sasl_port}"
            extra = {
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl.plain.sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required "
                    f'user_{self._login.user}="{self._login.password}";'
                ),
            }
        return {
            **_SETTINGS,
            "listeners": listeners,
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "log.dirs": str(self.folder / "data"),
            **extra,
        }

    def prepare(self) -> None:
        lines = "".join(f"{name}={value}\n" for name, value in self.settings().items())
        (self.folder / "server.properties").write_text(lines)
        (self.folder / "log4j2.properties").write_text(_LOG4J)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")
        settings = str(self.folder / "server.properties")
        format_it = self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", settings)
        done = subprocess.run(format_it, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UnavailableError(f"the folder of Kafka could not be formatted: {(done.stderr or done.stdout)[-500:]}")

    def command(self) -> list[str]:
        return self._java("kafka.Kafka", str(self.folder / "server.properties"))

    def ready(self) -> bool:
        return broker_ready(self.port)

    def _java(self, *arguments: str) -> list[str]:
        log4j = self.folder / "log4j2.properties"
        options = [f"-Xmx{self._heap_mb}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        if arguments[0] == "kafka.Kafka":
            options = [f"-Xmx{self._heap_mb}m", f"-Xms{min(256, self._heap_mb)}m", "-XX:+UseG1GC"]
        return ["java", *options, f"-Dlog4j2.configurationFile={log4j}", "-cp", f"{kafka_jars()}/*", *arguments]
