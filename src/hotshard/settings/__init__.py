"""The settings: one table, its sources, masking."""

from hotshard.settings.load import load
from hotshard.settings.model import OwnTopics, RedisConnection, Settings, WorkerSettings

__all__ = ["OwnTopics", "RedisConnection", "Settings", "WorkerSettings", "load"]
