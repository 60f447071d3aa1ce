"""The driver of a node: real sockets on one side, the `Node` machine on the other, and nothing in between but this.

Everything one readiness event brought goes to the machine, and what it wants sent is written once per face. Its
deadline is one timer. Listeners are in `roost.host.listening`, what a face is in `roost.host.attachment`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final, Protocol

from roost.errors import BadConfig, Disconnected
from roost.forwarding.face import CONGESTION_MARKING, PERSISTENT, Arrived, CloseFace, FaceSpec, OpenFace, Send
from roost.host.address import Address, describe_datagram, is_loopback, parse_uri
from roost.host.alarm import Alarm
from roost.host.attachment import FIRST_PAUSE_S, Attachment
from roost.host.clock import Clock
from roost.host.datagram import UdpChannel
from roost.host.dial import dial, resolve
from roost.host.journal import Journal
from roost.host.transport import Batch, Transport, wait_closed
from roost.machine import Effect

_CREATION_FAILED: Final = 504  # as NFD
_UNSUPPORTED: Final = 406


class NodeMachine(Protocol):
    """What the server needs of `roost.node.Node`."""

    def start(self, now: int) -> list[Effect]: ...
    def free_face_id(self) -> int: ...
    def open_face(self, face_id: int, spec: FaceSpec, now: int) -> list[Effect]: ...
    def close_face(self, face_id: int, now: int) -> list[Effect]: ...
    def face_opened(self, request: int, face_id: int, now: int) -> list[Effect]: ...
    def face_failed(self, request: int, code: int, reason: str, now: int) -> list[Effect]: ...
    def queue_reported(self, face_id: int, queued_bytes: int, now: int) -> None: ...
    def receive(self, event: Arrived, now: int) -> list[Effect]: ...
    def tick(self, now: int) -> list[Effect]: ...
    def deadline(self) -> int | None: ...


class Server:
    """Runs one node; the owner of all its transports."""

    def __init__(self, node: NodeMachine, clock: Clock | None = None, journal: Journal | None = None) -> None:
        self.node: Final = node
        self.clock: Final = clock or Clock()
        self.journal: Final = journal or Journal()
        self.channels: list[UdpChannel] = []  # filled by whoever listens
        self._faces: dict[int, Attachment] = {}  # bound: the forwarder's face limit
        self._ids: dict[Transport, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: Final = asyncio.get_running_loop()
        self._alarm: Final = Alarm(self.clock, self._tick)

    def start(self) -> None:
        """Start the machine."""
        now = self.clock()
        self._execute(self.node.start(now), now)

    async def stop(self) -> None:
        """Close every face and end every task."""
        self._alarm.cancel()
        transports = [attachment.transport for attachment in self._faces.values()]
        for attachment in list(self._faces.values()):
            attachment.close()
        self._faces.clear()
        self._ids.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await wait_closed(*transports)

    @property
    def faces(self) -> int:
        """How many faces there are."""
        return len(self._faces)

    def transport_of(self, face: int) -> Transport | None:
        """The transport of a face, None while it has none."""
        attachment = self._faces.get(face)
        return None if attachment is None else attachment.transport

    # -- the owner of transports

    def attach(self, transport: Transport, address: Address | None = None, spec: FaceSpec | None = None) -> int:
        """Give a transport a face of the node."""
        now = self.clock()
        face = self.node.free_face_id()
        said = spec or transport.spec
        said = replace(said, flags=said.flags | CONGESTION_MARKING)
        self._faces[face] = Attachment(face, transport, address, said.persistency)
        self._ids[transport] = face
        self._execute(self.node.open_face(face, said, now), now)
        return face

    def accepted(self, transport: Transport) -> None:
        """Somebody connected to a listener."""
        self.attach(transport)

    def arrived(self, batch: Batch) -> None:
        """Packets came: one batch into the machine, one write per face out of it."""
        now = self.clock()
        receive = self.node.receive
        ids = self._ids
        effects: list[Effect] = []
        for transport, packets in batch:
            face = ids.get(transport)
            if face is not None:
                effects += receive(Arrived(face, packets), now)
        self._execute(effects if len(batch) == 1 else _merged(effects), now)

    def closed(self, transport: Transport, reason: str) -> None:
        """A transport ended by itself."""
        face = self._ids.pop(transport, None)
        attachment = self._faces.get(face) if face is not None else None
        if face is None or attachment is None:
            return
        self.journal.say("face %d to %s is down: %s", face, transport.spec.remote_uri, reason)
        attachment.transport = None
        if attachment.stays:
            attachment.redial = self._spawn(self._dial_again(attachment))
            return
        del self._faces[face]
        now = self.clock()
        self._execute(self.node.close_face(face, now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        faces = self._faces
        for effect in effects:
            if isinstance(effect, Send):
                attachment = faces.get(effect.face)
                if attachment is not None and effect.packets:
                    queued = attachment.send(effect.packets)
                    if queued >= 0:
                        self.node.queue_reported(effect.face, queued, now)
            elif isinstance(effect, CloseFace):
                self._close(effect.face)
            elif isinstance(effect, OpenFace):
                self._spawn(self._open(effect))
            else:
                self.journal.write(effect, now)
        self._alarm.set(self.node.deadline(), now)

    def _close(self, face: int) -> None:
        attachment = self._faces.pop(face, None)
        if attachment is not None:
            if attachment.transport is not None:
                self._ids.pop(attachment.transport, None)
            attachment.close()

    def _tick(self, now: int) -> None:
        self._execute(self.node.tick(now), now)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _open(self, effect: OpenFace) -> None:
        try:
            address = parse_uri(effect.uri)
            transport = await self._dial(address, effect)
        except BadConfig as error:
            now = self.clock()
            self._execute(self.node.face_failed(effect.request, _UNSUPPORTED, str(error), now), now)
            return
        except (Disconnected, OSError) as error:
            now = self.clock()
            self._execute(self.node.face_failed(effect.request, _CREATION_FAILED, str(error), now), now)
            return
        spec = replace(
            transport.spec,
            persistency=effect.persistency,
            flags=effect.flags,
            mtu=effect.mtu if effect.mtu and transport.spec.mtu else transport.spec.mtu,
        )
        known = self._ids.get(transport)
        face = self.attach(transport, address, spec) if known is None else known
        now = self.clock()
        self._execute(self.node.face_opened(effect.request, face, now), now)

    async def _dial(self, address: Address, effect: OpenFace) -> Transport:
        if address.scheme == "udp":
            family, target = await resolve(address)
            for channel in self.channels:
                # Over the listener's socket, so that the peer sees the port it knows us by.
                if channel.family == family and is_loopback(str(channel.local[0])) <= is_loopback(str(target[0])):
                    return channel.open(target, describe_datagram(target, channel.local, effect.persistency))
        return await dial(address, self, effect.persistency)

    async def _dial_again(self, attachment: Attachment) -> None:
        address = attachment.address
        while address is not None:
            await asyncio.sleep(attachment.next_pause())
            try:
                transport = await dial(address, self, PERSISTENT)
            except Disconnected as error:
                self.journal.say("face %d is still down: %s", attachment.face, error)
                continue
            if self._faces.get(attachment.face) is not attachment:
                transport.close()
                return
            attachment.transport = transport
            attachment.pause_s = FIRST_PAUSE_S
            self._ids[transport] = attachment.face
            self.journal.say("face %d to %s is up again", attachment.face, address)
            return


def _merged(effects: list[Effect]) -> list[Effect]:
    """Join what several peers' packets want sent to one face, so that it is written once."""
    sends: dict[int, list[bytes]] = {}
    others: list[Effect] = []
    for effect in effects:
        if not isinstance(effect, Send):
            others.append(effect)
        elif effect.face in sends:
            sends[effect.face] += effect.packets
        else:
            sends[effect.face] = list(effect.packets)
    return [*[Send(face, packets) for face, packets in sends.items()], *others]
