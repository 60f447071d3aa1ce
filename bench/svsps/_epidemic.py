"""Epidemic routing on the battlefield, as a baseline: written here, for this simulator, and not anybody's product.

As in the paper's comparison, squads offer what they made themselves and the mule offers everything; all take everything
they are offered. Access points are switches. Who hears a neighbour's beacon sends it the list of what it has, at most
every 10 s and only after that has changed; the neighbour asks for what it lacks; bundles are acknowledged, and sent
again while the neighbour is heard. A frame is counted with 54 bytes of Ethernet, IP and TCP around it.

    beacon, every 3 s ▷ summary {id 24 bytes *} ▷ request {id *} ▷ bundle {id, 100 bytes of header, content} ▷ ack {id}
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.machine import SECOND, Effect

BEACON, SUMMARY, REQUEST, BUNDLE, ACK = range(5)
EVERYBODY = 255
AROUND_BYTES = 54
HEADER = bytes(100)
ID_BYTES = 24
MAX_IDS = 50  # in a frame
WINDOW = 16  # bundles to one neighbour that are not acknowledged
_FRAME = Struct(">BBB")  # to, from, kind


def id_of(who: int, number: int) -> bytes:
    return bytes([who]) + number.to_bytes(ID_BYTES - 1, "big")


class Switch:
    """Sends a frame to where its receiver was heard, or everywhere."""

    def __init__(self) -> None:
        self._faces: list[int] = []
        self._known: dict[int, int] = {}

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:  # noqa: ARG002  the contract's shape
        self._faces.append(face)
        return []

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  as above
        return []

    def receive(self, event: Arrived, now: int) -> list[Effect]:  # noqa: ARG002  as above
        out: dict[int, list[bytes]] = {}
        for packet in event.packets:
            to, sender, _ = _FRAME.unpack_from(packet)
            self._known[sender] = event.face
            face = self._known.get(to)
            for each in self._faces if face is None else [face]:
                if each != event.face:
                    out.setdefault(each, []).append(packet)
        return [Send(face, packets) for face, packets in out.items()]

    def tick(self, now: int) -> list[Effect]:  # noqa: ARG002  as above
        return []

    def deadline(self) -> int | None:
        return None


class _Neighbour:
    """What is known of somebody in reach."""

    def __init__(self) -> None:
        self.heard = 0
        self.told_at = -(10**18)
        self.told = -1  # how many we had when the last summary was answered
        self.telling = 0
        self.wanted: list[bytes] = []
        self.unacknowledged: dict[bytes, int] = {}  # when it was sent


class Epidemic:
    """A squad, or the mule, which relays."""

    def __init__(self, who: int, *, relays: bool) -> None:
        self.who = who
        self.relays = relays
        self.store: dict[bytes, bytes] = {}
        self.sent_bytes = 0
        self.sent_frames = 0
        self._face = -1
        self._next_beacon = 0
        self._neighbours: dict[int, _Neighbour] = {}

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:  # noqa: ARG002  the contract's shape
        self._face = face
        self._next_beacon = now
        return []

    def close_face(self, face: int, now: int) -> list[Effect]:  # noqa: ARG002  as above
        if face == self._face:
            self._face = -1
        return []

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  as above
        return []

    def publish(self, number: int, content: bytes, now: int) -> list[Effect]:  # noqa: ARG002  as above
        self.store[id_of(self.who, number)] = content
        return []

    def receive(self, event: Arrived, now: int) -> list[Effect]:
        frames: list[bytes] = []
        for packet in event.packets:
            to, sender, kind = _FRAME.unpack_from(packet)
            if to in {self.who, EVERYBODY}:
                frames += self._frame(sender, kind, packet[_FRAME.size :], now)
        return self._send(frames)

    def tick(self, now: int) -> list[Effect]:
        frames: list[bytes] = []
        if now >= self._next_beacon and self._face >= 0:
            self._next_beacon = now + 3 * SECOND
            frames.append(self._made(EVERYBODY, BEACON, bytes(20)))
        for who, other in self._neighbours.items():
            for key, sent in other.unacknowledged.items():
                if now - sent >= SECOND and now - other.heard < 6 * SECOND:
                    other.unacknowledged[key] = now
                    frames.append(self._made(who, BUNDLE, key + HEADER + self.store[key]))
        return self._send(frames)

    def deadline(self) -> int | None:
        resend = [sent + SECOND for other in self._neighbours.values() for sent in other.unacknowledged.values()]
        return min([self._next_beacon, *resend]) if self._face >= 0 else None

    def _frame(self, sender: int, kind: int, body: bytes, now: int) -> list[bytes]:
        other = self._neighbours.setdefault(sender, _Neighbour())
        other.heard = now
        if kind == BEACON:
            return self._tell(sender, other, now)
        if kind == SUMMARY:
            lacking = [key for key in _ids(body) if key not in self.store]
            return [self._made(sender, REQUEST, b"".join(lacking))]
        if kind == REQUEST:
            other.told = other.telling
            fresh = [key for key in _ids(body) if key not in other.unacknowledged and key not in other.wanted]
            other.wanted += [key for key in fresh if key in self.store]
            return self._bundles(sender, other, now)
        if kind == BUNDLE:
            self.store.setdefault(body[:ID_BYTES], body[ID_BYTES + len(HEADER) :])
            return [self._made(sender, ACK, body[:ID_BYTES])]
        other.unacknowledged.pop(body[:ID_BYTES], None)
        return self._bundles(sender, other, now)

    def _tell(self, who: int, other: _Neighbour, now: int) -> list[bytes]:
        offered = [key for key in self.store if self.relays or key[0] == self.who]
        if len(offered) == other.told or now - other.told_at < 10 * SECOND:
            return []
        other.told_at = now
        other.telling = len(offered)
        return [
            self._made(who, SUMMARY, b"".join(offered[low : low + MAX_IDS])) for low in range(0, len(offered), MAX_IDS)
        ]

    def _bundles(self, who: int, other: _Neighbour, now: int) -> list[bytes]:
        frames: list[bytes] = []
        while other.wanted and len(other.unacknowledged) < WINDOW:
            key = other.wanted.pop(0)
            other.unacknowledged[key] = now
            frames.append(self._made(who, BUNDLE, key + HEADER + self.store[key]))
        return frames

    def _made(self, to: int, kind: int, body: bytes) -> bytes:
        return _FRAME.pack(to, self.who, kind) + body

    def _send(self, frames: Sequence[bytes]) -> list[Effect]:
        if not frames or self._face < 0:
            return []
        self.sent_frames += len(frames)
        self.sent_bytes += sum(len(frame) + AROUND_BYTES for frame in frames)
        return [Send(self._face, list(frames))]


def _ids(body: bytes) -> list[bytes]:
    return [body[at : at + ID_BYTES] for at in range(0, len(body), ID_BYTES)]
