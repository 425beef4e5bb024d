"""Wrappers around producers, one file per producer library.

A wrapper holds one producer instance; nothing is patched. Which one is taken depends on the producer's
class, and no producer library is imported that the program has not imported itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hotshard.client.router import Router

Header = tuple[str, bytes]


class Discriminate(Protocol):
    """Tells the independent sub-units of a key apart; None where a record belongs to none.

    It gets the key, the value and the headers as they were given to ``send``, and must not change them.
    """

    def __call__(self, key: Any, value: Any, headers: Sequence[Header], /) -> str | bytes | None: ...  # noqa: ANN401


class _Kind(NamedTuple):
    package: str
    name: str
    wrapper: str

    def __str__(self) -> str:
        return f"{self.package}.{self.name}"


#: The producers that can be wrapped, and the module here whose ``wrap`` does it.
_KINDS: Final = (_Kind("aiokafka", "AIOKafkaProducer", "hotshard.client.wrap.aiokafka"),)


def shard(
    producer: Any,  # noqa: ANN401 - one of several libraries' classes
    registry: Router,
    *,
    discriminator: Discriminate | None = None,
    text_keys: bool = False,
) -> Any:  # noqa: ANN401 - a proxy with the producer's own methods
    """Wrap one producer, so that it sends records of routed keys to their shards.

    The wrapper has the producer's methods and signatures; ``wrapped`` is the producer. A record goes out
    untouched when its key is None or not routed, when it is given a partition, or when the topic is
    unknown. Keys keep their type. Where the producer has a key serializer, its keys are left alone unless
    ``text_keys=True`` says that they are the text, or the UTF-8 bytes, that the serializer will write.
    Without a discriminator the shards of a key are taken in turn. Routing never makes a send fail.

    Raises:
        TypeError: no producer that is known here.

    """
    wrap: Callable[..., Any] = importlib.import_module(_kind_of(producer).wrapper).wrap
    return wrap(producer, registry, discriminator=discriminator, text_keys=text_keys)


def _kind_of(producer: object) -> _Kind:
    for cls in type(producer).__mro__:
        for kind in _KINDS:
            if cls.__name__ == kind.name and cls.__module__.split(".")[0] == kind.package:
                return kind
    supported = ", ".join(str(kind) for kind in _KINDS)
    raise TypeError(
        f"hotshard.shard cannot wrap a {type(producer).__module__}.{type(producer).__qualname__}; it wraps {supported}."
        " With another producer use registry.route(topic, key)"
    )
