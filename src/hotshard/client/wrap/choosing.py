"""The partition of a shard, worked out once instead of at every send."""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakKeyDictionary, ref

from aiokafka import AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner

#: What a producer's own class would have to do otherwise for its partitions to be others.
_METHODS: Final = ("send", "_serialize", "_partition")
_choose: Final = DefaultPartitioner()


class Chosen:
    """The partitions that aiokafka's default partitioner gives to keys, until the producer's metadata is read anew.

    The partitioner hashes in Python, at every send: microseconds for a key that is sent again and again.
    """

    def __init__(self, cluster: Any) -> None:  # noqa: ANN401 - aiokafka has no types
        # Weak: the cluster holds this, as its listener, and is what it is kept by.
        self._cluster = ref(cluster)
        self._places: dict[str, dict[bytes, int]] = {}
        cluster.add_listener(lambda _cluster: self._places.clear())

    @classmethod
    def of(cls, producer: Any) -> Chosen | None:  # noqa: ANN401 - aiokafka has no types
        """The one of the producer's metadata, however often it is wrapped.

        None where it is not certain that the producer asks the default partitioner, with the key as it is given.
        """
        default = type(getattr(producer, "_partitioner", None)) is DefaultPartitioner
        as_given = getattr(producer, "_key_serializer", cls) is None
        stock = all(getattr(type(producer), name, None) is getattr(AIOKafkaProducer, name, cls) for name in _METHODS)
        if not (default and as_given and stock):
            return None
        cluster = producer.client.cluster
        chosen = _of_cluster.get(cluster)
        if chosen is None:
            chosen = _of_cluster[cluster] = cls(cluster)
        return chosen

    def partition(self, topic: str, key: str | bytes) -> int | None:
        """Where a record with ``key`` goes; None leaves it to the producer, which may not know the topic yet."""
        if not isinstance(key, bytes):
            return None
        places = self._places.get(topic)
        if places is not None and key in places:
            return places[key]
        return self._choose(topic, key)

    def _choose(self, topic: str, key: bytes) -> int | None:
        cluster = self._cluster()
        seen = None if cluster is None else cluster.partitions_for_topic(topic)
        if not seen:
            return None
        partition: int = _choose(key, list(seen), ())
        self._places.setdefault(topic, {})[key] = partition
        return partition


_of_cluster: Final[WeakKeyDictionary[Any, Chosen]] = WeakKeyDictionary()
