"""A client of MQTT.js, which lives with others of its kind in one process of Node.js (`mqtt/peer.mjs`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.interop.mqtt_server import RECEIVE_MAXIMUM, MqttServer, fresh
from tests.interop.processes import HERE, Peer, running

_SCHEMES: Final = {"tcp": "mqtt", "tls": "mqtts", "ws": "ws", "wss": "wss"}

Heard = tuple[str, bytes]


@contextmanager
def running_mqttjs(folder: Path) -> Iterator[Peer]:
    """Start the process; for `make test`, which installs it, it has to be there."""
    missing = ""
    if shutil.which("node") is None:
        missing = "node is not installed: install Node.js 20 or newer"
    elif not (HERE / "mqtt" / "node_modules" / "mqtt").is_dir():
        missing = "the npm packages of tests/interop/mqtt are not installed: run `make test`, which installs them"
    if missing and os.environ.get("ROOST_RUN"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with running(Peer("MQTT.js", ["node", str(HERE / "mqtt" / "peer.mjs")], folder)) as started:
        yield started


class JsClient:
    """One client, whose connection is there or was refused; `told` is what CONNACK said."""

    def __init__(self, peer: Peer, name: str, told: dict[str, Any]) -> None:
        self._peer: Final = peer
        self._name: Final = name
        self.told: Final = told

    async def subscribe(self, *filters: str, qos: int = 0, **options: object) -> list[int]:
        """What SUBACK says."""
        return await self._ask("subscribe", filters=filters, options={"qos": qos, **options})  # type: ignore[no-any-return]

    async def unsubscribe(self, *filters: str) -> None:
        await self._ask("unsubscribe", filters=filters)

    async def publish(self, topic: str, payload: bytes = b"", qos: int = 0, **options: object) -> int:
        """Publish, and wait for the acknowledgement, whose reason is returned."""
        said = {"qos": qos, **options}
        return await self._ask("publish", topic=topic, payload=payload.hex(), options=said)  # type: ignore[no-any-return]

    async def burst(self, topic: str, count: int, qos: int, *, window: int = RECEIVE_MAXIMUM) -> None:
        """Publish the numbers below `count`, so many at once."""
        await self._ask("burst", topic=topic, count=count, window=window, options={"qos": qos})

    async def sent(self) -> dict[str, Any]:
        """The topic and the alias in the last PUBLISH that left."""
        return await self._ask("sent")  # type: ignore[no-any-return]

    async def take(self, count: int = 1) -> list[dict[str, Any]]:
        """The next messages, with their properties by the names that MQTT.js has for them."""
        found = await self._ask("take", count=count)
        return [message | {"payload": bytes.fromhex(message["payload"])} for message in found]

    async def heard(self, count: int = 1) -> list[Heard]:
        """The next messages, as topics and payloads."""
        return [(message["topic"], message["payload"]) for message in await self.take(count)]

    async def nothing_more(self) -> bool:
        """Whether nothing came: what was on its way comes before the answer to a question."""
        await self.unsubscribe("nothing/of/this/name")
        return await self._ask("kept") == 0  # type: ignore[no-any-return]

    async def closed(self) -> int | None:
        """Wait until the connection is over; the reason of the server's DISCONNECT."""
        return (await self._ask("closed"))["reason"]  # type: ignore[no-any-return]

    async def end(self, **options: object) -> None:
        """Say goodbye."""
        await self._ask("end", options=options)

    async def cut(self) -> None:
        """End the connection without a goodbye."""
        await self._ask("cut")

    async def _ask(self, verb: str, **args: object) -> Any:  # noqa: ANN401  JSON
        return await self._peer.ask(verb, name=self._name, **args)


async def joined(peer: Peer, server: MqttServer, version: int, transport: str = "tcp", **options: object) -> JsClient:
    """A client that has its CONNACK; options are those of MQTT.js, but `files` has names of files."""
    url = f"{_SCHEMES[transport]}://127.0.0.1:{server.ports[transport]}"
    if transport in {"tls", "wss"}:
        options["files"] = {"ca": server.authority, **options.get("files", {})}  # type: ignore[dict-item]
    name = fresh()
    told = await peer.ask("connect", name=name, url=url, options={"protocolVersion": version, **options})
    return JsClient(peer, name, told)


@asynccontextmanager
async def member(
    peer: Peer, server: MqttServer, version: int, transport: str = "tcp", **options: object
) -> AsyncIterator[JsClient]:
    """A client for as long as the block lasts."""
    made = await joined(peer, server, version, transport, **options)
    assert made.told["reason"] == 0, made.told
    yield made
    await made.end()
