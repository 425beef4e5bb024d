"""The producer that Faust insists on, and that sends nothing: hotshard publishes through its own door."""

from __future__ import annotations

from typing import NoReturn

from faust.transport.drivers import aiokafka as driver


class NoProducer(driver.Producer):
    """Opens no connection, so there is nothing that an outage could break."""

    async def on_start(self) -> None:
        await self.add_runtime_dependency(self.buffer)

    async def on_stop(self) -> None:
        """There is nothing to stop."""

    async def flush(self) -> None:
        """There is nothing to flush."""

    async def send(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError("hotshard publishes through hotshard.doors.kafka")

    async def send_and_wait(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError("hotshard publishes through hotshard.doors.kafka")
