"""The driver of a node: real sockets on one side, the `Node` machine on the other, and nothing in between but this.

Everything one readiness event brought goes to the machine, and what it wants sent is written once per face. Its
deadline is one timer. Listeners are in `roost.host.listening`, what a face is in `roost.host.attachment`, what is saved
in `roost.host.disk`. Applications inside the node tell whoever attached them (`roost.host.guest`), after all else that
the same call wanted was done, so that a callback may give the next command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final

from roost.errors import BadConfig, Disconnected, InvalidInput
from roost.forwarding.face import CONGESTION_MARKING, PERSISTENT, Arrived, CloseFace, FaceSpec, OpenFace, Send
from roost.host.address import Address, describe_datagram, is_loopback, parse_uri
from roost.host.alarm import Alarm
from roost.host.attachment import Attachment, Pauses, Watcher
from roost.host.clock import Clock
from roost.host.datagram import UdpChannel
from roost.host.dial import dial, resolve
from roost.host.disk import Disk
from roost.host.guest import Guest, Tell, Told
from roost.host.journal import Journal
from roost.host.node_machine import NodeMachine
from roost.host.transport import Batch, Transport, wait_closed
from roost.machine import Effect
from roost.machine.disk import Save
from roost.naming import Name
from roost.node.node import INSIDE, Application
from roost.pubsub.resident import DiskEvent
from roost.repo.store import Write

_CREATION_FAILED: Final = 504  # as NFD
_UNSUPPORTED: Final = 406


class Server:
    """Runs one node; the owner of all its transports."""

    def __init__(
        self,
        node: NodeMachine,
        clock: Clock | None = None,
        journal: Journal | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.node: Final = node
        self.clock: Final = clock or Clock()
        self.journal: Final = journal or Journal()
        self.disk: Final = disk or Disk()
        self.disk.hear = self._on_disk
        self.channels: list[UdpChannel] = []  # filled by whoever listens
        self._faces: dict[int, Attachment] = {}  # bound: the forwarder's face limit
        self._ids: dict[Transport, int] = {}
        self._guests: Final[list[Guest]] = []  # bound: as many as were attached
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: Final = asyncio.get_running_loop()
        self._stopped = False
        self._alarm: Final = Alarm(self.clock, self._tick)

    def start(self) -> None:
        """Start the machine."""
        now = self.clock()
        self._execute(self.node.start(now), now)

    async def stop(self) -> None:
        """Finish what is being saved, so that it can still be answered; then close every face and end every task."""
        await self.disk.finish()
        self._stopped = True
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
        await self.disk.close()

    @property
    def faces(self) -> int:
        """How many faces there are."""
        return len(self._faces)

    def transport_of(self, face: int) -> Transport | None:
        """The transport of a face, None while it has none."""
        attachment = self._faces.get(face)
        return None if attachment is None else attachment.transport

    # -- applications inside the node

    def attach_application(self, application: Application, told: Told, spec: FaceSpec = INSIDE) -> None:
        """Attach an application to the node; `told(effect, now)` hears what it tells. Raises `Backpressure`."""
        now = self.clock()
        guest = Guest(application, told)
        effects = self.node.attach(guest, now, spec)
        self._guests.append(guest)
        self._execute(effects, now)

    def act(self, application: Application, effects: list[Effect]) -> None:
        """Carry out what a command to an attached application returned."""
        for guest in self._guests:
            if guest.application is application:
                now = self.clock()
                self._execute(self.node.act(guest, guest.tagged(effects), now), now)
                return
        raise InvalidInput("the application is not attached here: attach it first")

    def add_route(self, prefix: Name, face: int, cost: int, *, inherited: bool = True) -> None:
        """Route a prefix to a face, until it is closed."""
        now = self.clock()
        self._execute(self.node.add_route(prefix, face, cost, now, inherited=inherited), now)

    def _on_disk(self, event: DiskEvent) -> None:
        now = self.clock()
        self._execute(self.node.receive(event, now), now)

    # -- the owner of transports

    def keep(self, address: Address, watcher: Watcher) -> None:
        """Keep a persistent face to an address, from when it first answers on; the watcher hears when it is up."""
        self._spawn(self._keep(address, watcher))

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
        now = self.clock()
        if attachment.stays:
            attachment.redial = self._spawn(self._dial_again(attachment))
            self._execute(self.node.face_down(face, now), now)
            if attachment.watcher is not None:
                attachment.watcher.face_down(face, reason, now)
            return
        del self._faces[face]
        self._execute(self.node.close_face(face, now), now)

    # -- what the machine wants

    def _execute(self, effects: list[Effect], now: int) -> None:
        faces = self._faces
        tells: list[Tell] = []
        for effect in effects:
            if isinstance(effect, Send):
                attachment = faces.get(effect.face)
                if attachment is not None and effect.packets:
                    queued = attachment.send(effect.packets)
                    if queued >= 0:
                        self.node.queue_reported(effect.face, queued, now)
            elif isinstance(effect, Tell):
                tells.append(effect)
            elif isinstance(effect, Write):
                self.disk.write(effect)
            elif isinstance(effect, Save):
                self.disk.save(effect)
            elif isinstance(effect, CloseFace):
                self._close(effect.face)
            elif isinstance(effect, OpenFace):
                self._spawn(self._open(effect))
            else:
                self.journal.write(effect, now)
        if not self._stopped:
            self._alarm.set(self.node.deadline(), now)
        for tell in tells:
            try:
                tell.whom(tell.effect, now)
            except Exception as error:  # noqa: BLE001  a listener's bug must not stop the others
                self.journal.warn("nobody took %s: %s: %s", type(tell.effect).__name__, type(error).__name__, error)

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

    async def _dial_patiently(self, address: Address, pauses: Pauses) -> Transport:
        while True:
            try:
                return await dial(address, self, PERSISTENT)
            except Disconnected as error:
                self.journal.say("%s does not answer: %s", address, error)
            await asyncio.sleep(pauses.next())

    async def _keep(self, address: Address, watcher: Watcher) -> None:
        face = self.attach(await self._dial_patiently(address, Pauses()), address)
        attachment = self._faces.get(face)
        if attachment is None:
            self.journal.warn("%s is not linked: the node has as many faces as it may have", address)
            return
        attachment.watcher = watcher
        self._tell_up(attachment)

    async def _dial_again(self, attachment: Attachment) -> None:
        address = attachment.address
        if address is None:
            return
        pauses = Pauses()
        await asyncio.sleep(pauses.next())
        transport = await self._dial_patiently(address, pauses)
        if self._faces.get(attachment.face) is not attachment:
            transport.close()
            return
        attachment.transport = transport
        self._ids[transport] = attachment.face
        self.journal.say("face %d to %s is up again", attachment.face, address)
        now = self.clock()
        self._execute(self.node.face_up(attachment.face, now), now)
        self._tell_up(attachment)

    def _tell_up(self, attachment: Attachment) -> None:
        if attachment.watcher is not None and attachment.transport is not None:
            attachment.watcher.face_up(attachment.face, attachment.transport.spec, self.clock())


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
