"""A client of MQTT packet by packet on a real socket: it counts, answers what it has to, and waits for what comes.

    async with wire(port) as device, wire(port) as display:
        await display.subscribe("hall/#", qos=1)
        device.publish("hall/temp", "21.5")
        await display.until(lambda: len(display.got) == 1)

What a server sends is read by `tests.broker_packets`, which asserts every rule of form. With QoS 1 a client has at most
`WINDOW` of its messages unacknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from tests import broker_packets as packets
from tests.broker_packets import Seen

WINDOW = 64
LIMIT_S = 30
_names = count()


class Wire(asyncio.Protocol):
    """One connection."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.sent = 0  # PUBLISH packets
        self.got: list[Seen] = []  # the same, of the server
        self.open: dict[int, None] = {}  # packet ids that are not acknowledged
        self.answers: list[Seen] = []  # all other packets of the server
        self._transport: asyncio.Transport
        self._rest = b""
        self._changed = asyncio.Event()
        self._ids = count()
        self._is_over = False

    # -- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        whole = _whole(data)
        self._rest = data[whole:]
        acknowledgements = b""
        for packet in packets.seen(data[:whole], self.version):
            if packet.kind == "PUBLISH":
                self.got.append(packet)
                if packet.qos:
                    acknowledgements += packets.puback(packet.packet_id)
            elif packet.kind == "PUBACK":
                assert packet.reason < 0x80, f"refused with {packet.reason:#x}"
                del self.open[packet.packet_id]
            else:
                self.answers.append(packet)
        if acknowledgements:
            self._transport.write(acknowledgements)
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._is_over = True
        self._changed.set()

    # -- the client's

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                assert not self._is_over, "the server has hung up"
                self._changed.clear()
                await self._changed.wait()

    async def ask(self, packet: bytes) -> Seen:
        """Send a packet, and wait for what answers it."""
        self.answers.clear()
        self._transport.write(packet)
        await self.until(lambda: bool(self.answers))
        return self.answers[0]

    async def subscribe(self, *filters: str, qos: int = 0) -> None:
        wanted = [(each.encode(), qos) for each in filters]
        answer = await self.ask(packets.subscribe(1, *wanted, version=self.version))
        assert (answer.kind, answer.codes) == ("SUBACK", [qos] * len(filters))

    async def settle(self) -> None:
        """All that the server wanted to send before this is here."""
        assert (await self.ask(packets.pingreq())).kind == "PINGRESP"

    def publish(self, topic: str, payload: str | bytes, *, qos: int = 0, properties: bytes = b"") -> None:
        content = payload.encode() if isinstance(payload, str) else payload
        number = 0
        if qos:
            number = next(self._ids) % 0xFFFF + 1
            self.open[number] = None
        more = {"qos": qos, "packet_id": number, "version": self.version, "properties": properties}
        self._transport.write(packets.publish(topic.encode(), content, **more))  # type: ignore[arg-type]
        self.sent += 1

    async def say(self, topic: str, payload: str | bytes, *, properties: bytes = b"") -> None:
        """Publish at QoS 1, as soon as there is room for one more."""
        await self.until(lambda: len(self.open) < WINDOW)
        self.publish(topic, payload, qos=1, properties=properties)

    async def acknowledged(self) -> None:
        """All that was published is the server's business now."""
        await self.until(lambda: not self.open)

    @property
    def payloads(self) -> list[str]:
        """What came, in order."""
        return [each.payload.decode() for each in self.got]

    def close(self) -> None:
        self._transport.close()


class Load:
    """Numbered readings on some topics at QoS 1, as fast as they are acknowledged, until it is told to stop."""

    def __init__(self, device: Wire, *topics: str) -> None:
        self.count = 0  # on each topic
        self._device = device
        self._topics = topics
        self._is_over = False

    async def run(self) -> None:
        while not self._is_over:
            self.count += 1
            for topic in self._topics:
                await self._device.say(topic, str(self.count))
        await self._device.acknowledged()

    async def more(self, count: int) -> None:
        """Wait until there are so many more."""
        until = self.count + count
        await self._device.until(lambda: self.count >= until)

    def stop(self) -> None:
        self._is_over = True


@asynccontextmanager
async def wire(port: int, version: int = 4) -> AsyncIterator[Wire]:
    """Connect, while the block runs."""
    _, client = await asyncio.get_running_loop().create_connection(lambda: Wire(version), "127.0.0.1", port)
    try:
        welcome = await client.ask(packets.connect(b"wire%d" % next(_names), version=version))
        assert (welcome.kind, welcome.reason) == ("CONNACK", 0)
        yield client
    finally:
        client.close()


def _whole(data: bytes) -> int:
    """How many bytes of these are whole packets."""
    at = 0
    while at + 2 <= len(data):
        size, shift, here = 0, 0, at + 1
        while here < len(data) and data[here] >= 128:
            size |= (data[here] & 127) << shift
            shift, here = shift + 7, here + 1
        if here >= len(data) or here + 1 + (size | data[here] << shift) > len(data):
            break
        at = here + 1 + (size | data[here] << shift)
    return at
