"""An application's face to an hICN forwarder, ours or hicn-light, over UDP.

    async with hicn_connect(9695) as face:
        data = await face.fetch("abcd::1|100")
        async with face.serve("abcd::/64", handler): …

An Interest is sent again when its lifetime is over and never earlier: a forwarder sends an early repetition on, and
three of them cost three Interests where one would do. Nothing here checks signatures: `roost.hicn.signing.verify` does,
with the key that the caller believes in for the name. The end of the block says connection-remove, for a forwarder
cannot see otherwise that a UDP peer is gone.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

from roost.errors import Backpressure, BadConfig, BadPacket, Disconnected, Refused, TimedOut
from roost.hicn import Data, HicnName, Interest, Prefix, decode, encode
from roost.hicn.control import DONE, REFUSED, Control, Verb, read_reply
from roost.hicn.head import MAX_PACKET_BYTES
from roost.hicn.packet import INTEREST_LIFETIME_MS
from roost.hicn.strategy import StrategyKind
from roost.host.address import canonical
from roost.host.datagram import DatagramSocket
from roost.host.hicn.line import connected_socket
from roost.host.hicn.serving import Handler, HicnDesk, HicnServing
from roost.host.transport import MAX_BATCH, Counters

COMMAND_S: Final = 1.0  # until a command is repeated
COMMAND_TRIES: Final = 3
MAX_WAITING: Final = 16_384
_REFUSED: Final = 403
_READ: Final = MAX_PACKET_BYTES + 1


class HicnEndpoint:
    """A face of an application; made by `hicn_connect`."""

    def __init__(self, sock: socket.socket) -> None:
        self.where: Final = canonical("udp", sock.getpeername())
        self.counters: Final = Counters()
        self.unreadable = 0
        self._link: Final = DatagramSocket(sock)
        self._desk: Final = HicnDesk(self.send)
        self._loop: Final = asyncio.get_running_loop()
        self._waiting: Final[dict[bytes, set[asyncio.Future[Data]]]] = {}  # by name; bound: MAX_WAITING
        self._commands: Final[dict[int, asyncio.Future[bool]]] = {}  # by sequence; bound: as above
        self._sequence = 0
        self._closed = False
        self._loop.add_reader(sock, self._readable)

    # -- asking

    async def fetch(
        self,
        name: HicnName | str,
        *,
        lifetime_ms: int = INTEREST_LIFETIME_MS,
        tries: int = 3,
        payload: bytes = b"",
    ) -> Data:
        """Fetch one Data; asked for up to `tries` times, `lifetime_ms` apart. Raises `TimedOut`."""
        wanted = HicnName.parse(name) if isinstance(name, str) else name
        if lifetime_ms < 1 or tries < 1:
            raise BadConfig("to wait for an answer, lifetime_ms and tries are at least 1")
        wire = encode(Interest(wanted, lifetime_ms, payload))
        key = wanted.key
        for _ in range(tries):
            future = self._wait_for(key)
            try:
                async with asyncio.timeout(lifetime_ms / 1000):
                    self._send(wire)
                    return await future
            except TimeoutError:
                continue
            finally:
                self._forget(key, future)
        raise TimedOut(
            f"{wanted} was asked for {tries} times over {self.where}, and nobody answered: "
            "nobody serves it, a route is missing, or no forwarder is there"
        )

    # -- serving

    def serve(self, prefix: Prefix | str, handler: Handler, *, cost: int = 1) -> HicnServing:
        """Answer Interests under a prefix within an `async with` block, which begins when it is registered.

        The handler takes the Interest and returns a `Data` of its name, bytes that become one, or None; or is async.
        """
        wanted = Prefix.parse(prefix) if isinstance(prefix, str) else prefix
        return HicnServing(self, self._desk, wanted, handler, cost)

    def push(self, data: Data) -> None:
        """Put a Data into the forwarder's cache, which takes it from faces on its own machine only."""
        self.send(data)

    def send(self, packet: Interest | Data) -> None:
        """Write one packet; for those who keep their own account of answers."""
        self._send(encode(packet))

    # -- commands

    async def add_route(self, prefix: Prefix, cost: int = 1) -> None:
        """Have the forwarder send Interests under a prefix here."""
        await self._command(Control(Verb.ADD_ROUTE, 0, prefix, cost), f"routing {prefix}")

    async def remove_route(self, prefix: Prefix) -> None:
        """Have it send them here no longer."""
        await self._command(Control(Verb.REMOVE_ROUTE, 0, prefix), f"removing the route of {prefix}")

    async def set_strategy(self, prefix: Prefix, strategy: StrategyKind) -> None:
        """Choose how the forwarder finds next hops under a prefix."""
        await self._command(Control(Verb.SET_STRATEGY, 0, prefix, strategy=strategy), f"a strategy for {prefix}")

    async def clear_cache(self) -> None:
        """Have the forwarder forget all Data."""
        await self._command(Control(Verb.CLEAR_CACHE, 0), "clearing the cache")

    async def close(self) -> None:
        """Say goodbye, once and without waiting for the answer, and end what waits."""
        if self._closed:
            return
        await self._desk.stop()
        self._sequence += 1
        self._send(Control(Verb.REMOVE_CONNECTION, self._sequence).encode())
        self._closed = True
        self._link.close()
        futures: list[asyncio.Future[Any]] = [
            *self._commands.values(),
            *(f for waiting in self._waiting.values() for f in waiting),
        ]
        for future in futures:
            if not future.done():
                future.set_exception(Disconnected(f"the face to {self.where} is closed"))

    async def _command(self, control: Control, what: str) -> None:
        self._sequence += 1
        sequence = self._sequence
        wire = replace(control, sequence=sequence).encode()
        for _ in range(COMMAND_TRIES):
            future: asyncio.Future[bool] = self._loop.create_future()
            self._commands[sequence] = future
            try:
                async with asyncio.timeout(COMMAND_S):
                    self._send(wire)
                    done = await future
            except TimeoutError:
                continue
            finally:
                self._commands.pop(sequence, None)
            if not done:
                raise Refused(
                    f"{self.where} refused {what}: it obeys its own machine only, within its limits", _REFUSED
                )
            return
        raise TimedOut(f"{self.where} does not answer: start a forwarder there with `roost hicn`, or name another one")

    # -- packets

    def _send(self, wire: bytes) -> None:
        if self._closed:
            raise Disconnected(f"the face to {self.where} is closed: use it within its `async with` block")
        self._link.send([wire], None, self.counters)

    def _readable(self) -> None:
        for _ in range(MAX_BATCH):
            if self._closed:  # by a handler
                return
            try:
                wire = self._link.sock.recv(_READ)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:  # nobody listens there yet: what was sent is lost, and sent again in time
                continue
            try:
                self._take(wire)
            except BadPacket:
                self.unreadable += 1

    def _take(self, wire: bytes) -> None:
        if wire[:1] in {bytes([DONE]), bytes([REFUSED])}:
            sequence, done = read_reply(wire)
            command = self._commands.get(sequence)
            if command is not None and not command.done():
                command.set_result(done)
            return
        packet = decode(wire)
        if isinstance(packet, Interest):
            self._desk.asked(packet)
            return
        for future in self._waiting.get(packet.name.key, ()):
            if not future.done():
                future.set_result(packet)

    def _wait_for(self, key: bytes) -> asyncio.Future[Data]:
        if len(self._waiting) >= MAX_WAITING:
            raise Backpressure(f"{MAX_WAITING} names are waited for on this face, which is the limit", 1000)
        future: asyncio.Future[Data] = self._loop.create_future()
        self._waiting.setdefault(key, set()).add(future)
        return future

    def _forget(self, key: bytes, future: asyncio.Future[Data]) -> None:
        waiting = self._waiting[key]
        waiting.discard(future)
        if not waiting:
            del self._waiting[key]


class HicnConnection:
    """What `hicn_connect` returns: `async with` opens the face and closes it."""

    def __init__(self, host: str, port: int, local_port: int) -> None:
        self._host: Final = host
        self._port: Final = port
        self._local_port: Final = local_port
        self._face: HicnEndpoint | None = None

    async def __aenter__(self) -> HicnEndpoint:
        self._face = HicnEndpoint(await connected_socket(self._host, self._port, self._local_port))
        return self._face

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._face is not None:
            await self._face.close()


def hicn_connect(port: int, host: str = "127.0.0.1", *, local_port: int = 0) -> HicnConnection:
    """Return a face to a forwarder, opened and closed by `async with`.

    A producer does well to keep its `local_port`: killed and started again, it is the same face to the forwarder.
    """
    return HicnConnection(host, port, local_port)
