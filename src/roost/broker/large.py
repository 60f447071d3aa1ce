"""Large payloads: those of messages that do not fit a packet are cut into parts, beside their readings, and joined.

    message ──fits──▶ reading with its payload
            └ not ──▶ parts, signed, in front of ──▶ reading without it, that says where they are, how many, and SHA-256

A message is one reading all the same: it has one number, is one row of history, waits, is copied and acknowledged as
one. Parts are written in front of their reading, in the same write; elsewhere they may come behind it, and who hands it
on waits for them (`roost.broker.succession`). What is joined is what the digest says, or nothing.

The reading of a sealed message is sealed and has a key in it that is for nothing else: its parts are the payload
encrypted with that (AES-256-GCM, whose nonce may be zero for a key that is used once). Where parts are is in
`roost.repo.payloads`, how a reading says so in `roost.wire.elsewhere`.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from roost.broker.announcement import RESERVED
from roost.broker.message import Message
from roost.errors import BadPacket, RoostError
from roost.naming.name import Name
from roost.pubsub.panels.dispatch import MAX_READING_BYTES
from roost.pubsub.repos.repo import Repo
from roost.repo.payloads import PLACE, parts_of, read_part
from roost.trust.building import MAX_PARTS
from roost.wire.elsewhere import ENCODED_BYTES, Elsewhere

MAX_PAYLOAD_BYTES: Final = 1 << 20
PART_PACKET_BYTES: Final = 7168  # of a part with all around it: repos hand out so much in one answer
MIN_PIECE_BYTES: Final = 1024  # else there would be very many parts
MAX_PIECES: Final = MAX_PAYLOAD_BYTES // MIN_PIECE_BYTES + 1
MAX_LEVELS: Final = MAX_PARTS - len(PLACE)  # of a topic: the stream of its parts has so many more
AROUND_BYTES: Final = 500  # of a reading: signature with its key's name, and the heads of elements
TAG_BYTES: Final = 16
_NONCE: Final = bytes(12)


class PartsMissing(RoostError):
    """Parts of a payload are not here, or not yet."""


def is_large(name_bytes: int, message: Message) -> bool:
    """Whether a message does not fit a packet, at a panel whose name has so many bytes."""
    return _head_bytes(name_bytes, message) + len(message.payload) > MAX_READING_BYTES


def why_too_large(name_bytes: int, message: Message) -> str:
    """Why a message can be no reading, not even with its payload in parts; empty if it can."""
    if not is_large(name_bytes, message):
        return ""
    if message.topic.startswith(RESERVED):
        return f"what nodes tell each other is one packet of {MAX_READING_BYTES} bytes at most, all included"
    if len(message.payload) > MAX_PAYLOAD_BYTES:
        return f"a message of a group has {MAX_PAYLOAD_BYTES} bytes of payload at most: make it smaller"
    if (
        _head_bytes(name_bytes, message) + ENCODED_BYTES > MAX_READING_BYTES
        or _piece_bytes(name_bytes, message) < MIN_PIECE_BYTES
    ):
        return (
            f"all of a message but its payload has to fit one packet of {MAX_READING_BYTES} bytes, and its topic a "
            "part of it: make topic and properties smaller"
        )
    levels = message.topic.count(b"/") + 1
    if levels > MAX_LEVELS:
        return (
            f"a message that does not fit one packet of {MAX_READING_BYTES} bytes has a topic of {MAX_LEVELS} levels "
            f"at most, this one has {levels}: make one of them smaller"
        )
    return ""


def cut(name_bytes: int, message: Message, key: bytes) -> list[bytes]:
    """The pieces of a payload, encrypted if there is a key."""
    whole = AESGCM(key).encrypt(_NONCE, message.payload, None) if key else message.payload
    size_bytes = _piece_bytes(name_bytes, message)
    return [whole[low : low + size_bytes] for low in range(0, len(whole), size_bytes)]


def elsewhere(first: int, count: int, payload: bytes, key: bytes) -> Elsewhere:
    """What the reading says of its parts."""
    return Elsewhere(first, count, len(payload), sha256(payload).digest(), key)


class Joining:
    """Joins the parts that a repo has; so many components have the names of panels in it."""

    def __init__(self, repo: Repo, panel_at: int) -> None:
        self.refused = 0  # payloads that are not what their reading says
        self._store: Final = repo.store
        self._holdings: Final = repo.shelf.holdings
        self._panel_at: Final = panel_at

    def payload_of(self, stream: Name, number: int, said: Elsewhere) -> bytes:
        """The payload of a reading; raises `PartsMissing`, and `BadPacket` if its parts make another one."""
        if said.size_bytes > MAX_PAYLOAD_BYTES or said.count > MAX_PIECES:
            self.refused += 1
            size = f"{said.size_bytes} in {said.count}"
            raise BadPacket(f"a payload has {MAX_PAYLOAD_BYTES} bytes at most, in {MAX_PIECES} parts, not {size}")
        parts = parts_of(stream, self._panel_at)
        last = said.first + said.count - 1
        row = self._holdings.of(parts)
        if not all(row.is_held(number) for number in range(said.first, last + 1)):  # seen before all are read in vain
            raise PartsMissing("not all parts of the payload are here")
        found = self._store.range(parts, said.first, last, said.count)
        if len(found) < said.count:
            raise PartsMissing(f"{said.count - len(found)} parts of the payload are damaged on the disk")
        try:
            return _joined([wire for _, wire in found], number, said)
        except BadPacket:
            self.refused += 1
            raise


class Summing:
    """Says of a payload in parts how large it is, for who only looks."""

    def payload_of(self, _stream: Name, _number: int, said: Elsewhere) -> bytes:
        """A text in its place."""
        return summary(said.size_bytes)


class Leaving:
    """Leaves payloads where they are, for who may not need them: messages come without them."""

    def __init__(self) -> None:
        self.number = 0  # of the last reading whose payload was left

    def payload_of(self, _stream: Name, number: int, _said: Elsewhere) -> bytes:
        """Nothing in its place."""
        self.number = number
        return b""


def summary(size_bytes: int) -> bytes:
    """What is shown in place of a payload."""
    return b"a payload of %d bytes, which are not shown" % size_bytes


def _joined(wires: list[bytes], number: int, said: Elsewhere) -> bytes:
    pieces: list[bytes] = []
    for wire in wires:
        owner, piece = read_part(wire)
        if owner != number:
            raise BadPacket(f"a part belongs to reading {owner}, not to {number}")
        pieces.append(piece)
    whole = b"".join(pieces)
    if said.key:
        try:
            whole = AESGCM(said.key).decrypt(_NONCE, whole, None)
        except InvalidTag:
            raise BadPacket("the parts of a sealed payload do not open with its key") from None
    if len(whole) != said.size_bytes or sha256(whole).digest() != said.digest:
        raise BadPacket("the parts make another payload than their reading says")
    return whole


def _head_bytes(name_bytes: int, message: Message) -> int:
    """A message as a reading, but for its payload."""
    size_bytes = name_bytes + 2 * len(message.topic) + len(message.kept) + len(message.lineage)
    return size_bytes + len(message.publisher) + AROUND_BYTES


def _piece_bytes(name_bytes: int, message: Message) -> int:
    return PART_PACKET_BYTES - name_bytes - 2 * len(message.topic) - len(PLACE.value) - AROUND_BYTES
