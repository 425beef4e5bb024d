"""A Faust app that does only what hotshard needs of it: no files, no web server, no topics of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import faust

if TYPE_CHECKING:
    from hotshard.doors.kafka.connection import KafkaConnection


class QuietApp(faust.App):
    """Makes no folders."""

    def _create_directories(self) -> None:
        """Nothing of Faust's is kept on disk."""


def quiet_app(
    group: str,
    connection: KafkaConnection,
    *,
    instance_id: str | None = None,
    session_timeout_s: float = 10.0,
    **settings: Any,  # noqa: ANN401 - Faust's own settings
) -> QuietApp:
    """Make an app that consumes as ``group``; further ``settings`` of Faust go before what is set here.

    It must be made, started and stopped in a running loop: ``await app.start()``, ``await app.stop()``; never by
    Faust's worker command, which starts a web server on all addresses whatever ``web_enabled`` says.
    """
    return QuietApp(
        group,
        **{
            "broker": f"kafka://{connection.bootstrap_servers[0]}",
            "store": "memory://",
            "autodiscover": False,
            "web_enabled": False,
            "topic_disable_leader": True,
            "topic_allow_declare": False,
            "table_standby_replicas": 0,
            "stream_wait_empty": False,
            # counted in slabs, or records
            "stream_buffer_maxsize": 8,
            "consumer_auto_offset_reset": "earliest",
            # new partitions, and a topic made again, are noticed within this; Kafka's own default is five minutes
            "consumer_metadata_max_age_ms": 30_000,
            "consumer_group_instance_id": instance_id,
            "broker_session_timeout": session_timeout_s,
            "broker_heartbeat_interval": session_timeout_s / 3,
            # a join is answered when the last member has joined, or has been given up
            "broker_rebalance_timeout": session_timeout_s + 5,
            "broker_request_timeout": session_timeout_s + 10,
            **settings,
        },
    )
