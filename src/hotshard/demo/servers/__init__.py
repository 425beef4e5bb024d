"""Servers of our own, started and stopped as values: for the demo, the benchmark and the tests."""

from hotshard.demo.servers.choose import Chosen, apache_missing, choose_kafka, choose_redis
from hotshard.demo.servers.embedded import EmbeddedKafka
from hotshard.demo.servers.kafka import ApacheKafka, Login
from hotshard.demo.servers.ports import free_port
from hotshard.demo.servers.redis import RedisServer

__all__ = [
    "ApacheKafka",
    "Chosen",
    "EmbeddedKafka",
    "Login",
    "RedisServer",
    "apache_missing",
    "choose_kafka",
    "choose_redis",
    "free_port",
]
