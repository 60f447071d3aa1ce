"""What leaves the forwarder: a queue of link packets per face, handed out as one `Send` per face.

A packet that fits goes out as it is. One that is larger than the face's MTU, and everything on a reliable face, passes
the face's link machine (`roost.wire.link`), whose timers are kept here too.
"""

from __future__ import annotations

from roost.forwarding.face import Send
from roost.forwarding.faces import Face
from roost.machine.contract import Effect
from roost.wire.link import Link
from roost.wire.lp import LpPacket


class Outbox:
    """The queues of all faces; emptied by `take` after every batch, so they hold one batch's answers at most."""

    def __init__(self, faces: dict[int, Face]) -> None:
        self._faces = faces
        self._queues: dict[int, list[bytes]] = {}
        self._busy: dict[int, None] = {}  # faces whose link machine may have a deadline
        self._soonest: int | None = None  # not later than the first of these deadlines; exact after a tick

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
            link = face.busy_link()
            packets = link.wrap([lp], now)
            if face.reliable:
                self._watch(face, link)
        else:
            packets = [lp.encode()]
        for wire in packets:
            face.out_bytes += len(wire)
        self._extend(face.id, packets)

    def unwrap(self, face: Face, lp: LpPacket, now: int) -> LpPacket | None:
        """Give the link machine a packet with a sequence number or acknowledgements; returns what it completes."""
        link = face.busy_link()
        try:
            return link.unwrap(lp, now)
        finally:  # what is refused may have to be acknowledged all the same
            self._watch(face, link)

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
        self._busy.pop(face_id, None)

    def tick(self, now: int) -> None:
        """Let links retransmit, acknowledge and give up."""
        if self._soonest is None or self._soonest > now:
            return
        self._soonest = None
        for face_id in list(self._busy):
            face = self._faces.get(face_id)
            link = None if face is None else face.link
            if face is None or link is None:
                del self._busy[face_id]
                continue
            packets = link.tick(now)
            for wire in packets:
                face.out_bytes += len(wire)
            self._extend(face_id, packets)
            if not self._watch(face, link):
                del self._busy[face_id]

    def deadline(self) -> int | None:
        """When the first link wants to be ticked, or a little earlier."""
        return self._soonest

    def _watch(self, face: Face, link: Link) -> bool:
        """Note when a link wants to be ticked; returns whether it does. One look per packet, not one per face."""
        due = link.deadline()
        if due is None:
            return False
        self._busy[face.id] = None
        if self._soonest is None or due < self._soonest:
            self._soonest = due
        return True

    def _extend(self, face_id: int, packets: list[bytes]) -> None:
        if packets:
            self._queues.setdefault(face_id, []).extend(packets)
