"""What leaves the forwarder: a queue of link packets per face, handed out as one `Send` per face.

A packet that fits goes out as it is. One that is larger than the face's MTU, and everything on a reliable face, passes
the face's link machine (`roost.wire.link`), whose timers are kept here too.
"""

from __future__ import annotations

from roost.forwarding.face import Send
from roost.forwarding.faces import Face
from roost.machine.contract import Effect, earliest
from roost.wire.lp import LpPacket


class Outbox:
    """The queues of all faces; emptied by `take` after every batch, so they hold one batch's answers at most."""

    def __init__(self, faces: dict[int, Face]) -> None:
        self._faces = faces
        self._queues: dict[int, list[bytes]] = {}
        self._busy: set[int] = set()  # faces whose link machine may have a deadline

    def send(self, face: Face, wire: bytes, now: int) -> None:
        """Queue a network packet without headers."""
        if (face.mtu and len(wire) > face.mtu) or face.reliable:
            self.send_lp(face, LpPacket(wire), now)
            return
        face.out_bytes += len(wire)
        queue = self._queues.get(face.id)
        if queue is None:
            self._queues[face.id] = [wire]
        else:
            queue.append(wire)

    def send_lp(self, face: Face, lp: LpPacket, now: int) -> None:
        """Queue a network packet with link headers."""
        if face.mtu or face.reliable:
            packets = face.busy_link().wrap([lp], now)
            self._busy.add(face.id)
        else:
            packets = [lp.encode()]
        for wire in packets:
            face.out_bytes += len(wire)
        self._extend(face.id, packets)

    def unwrap(self, face: Face, lp: LpPacket, now: int) -> LpPacket | None:
        """Give the link machine a packet with a sequence number or acknowledgements; returns what it completes."""
        self._busy.add(face.id)
        return face.busy_link().unwrap(lp, now)

    def take(self) -> list[Effect]:
        """Hand out everything queued."""
        if not self._queues:
            return []
        effects: list[Effect] = [Send(face, packets) for face, packets in self._queues.items()]
        self._queues = {}
        return effects

    def forget(self, face_id: int) -> None:
        """Drop what waits for a face that is gone."""
        self._queues.pop(face_id, None)
        self._busy.discard(face_id)

    def tick(self, now: int) -> None:
        """Let links retransmit, acknowledge and give up."""
        for face_id in list(self._busy):
            face = self._faces.get(face_id)
            link = None if face is None else face.link
            if link is not None:
                self._extend(face_id, link.tick(now))
            if link is None or link.deadline() is None:
                self._busy.discard(face_id)

    def deadline(self) -> int | None:
        """When the first link wants to be ticked."""
        soonest: int | None = None
        for face_id in self._busy:
            face = self._faces.get(face_id)
            if face is not None and face.link is not None:
                soonest = earliest(soonest, face.link.deadline())
        return soonest

    def _extend(self, face_id: int, packets: list[bytes]) -> None:
        if packets:
            self._queues.setdefault(face_id, []).extend(packets)
