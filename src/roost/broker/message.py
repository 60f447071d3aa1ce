"""A message: what a PUBLISH carries once it is inside, with the encodings that its deliveries share.

A message is immutable; the same object stands in the queues of all who get it. The parts of a PUBLISH that are the
same for every receiver are encoded once per version and QoS and kept here for the rest of a call, so that a delivery is
a head, a packet identifier and a tail [MQTT-3.3.2]; a message that is held for longer has none of them. Properties that
are forwarded unaltered stay the bytes they came as (`kept`).
"""

from __future__ import annotations

from typing import Final

from roost.broker.packets.framing import var_int
from roost.broker.packets.publish import publish_v4, publish_v5, split_v4, split_v5
from roost.machine.contract import SECOND

OVERHEAD_BYTES: Final = 256  # what a message costs beside its topic, properties and payload, measured and rounded up
_EXPIRY: Final = 0x02
_SUBSCRIPTION_ID: Final = 0x0B
_ALIAS: Final = 0x23


class Message:
    """One message; `expires` is 0 when it never does, times are nanoseconds since 1970."""

    def __init__(
        self,
        topic: bytes,
        payload: bytes,
        qos: int,
        retain: bool,  # noqa: FBT001  a field of the packet
        kept: bytes = b"",
        expires: int = 0,
        publisher: bytes = b"",
        time: int = 0,
        origin: tuple[int, bytes, int] | None = None,
        packet_id: int = 0,
        lineage: bytes = b"",
        stream: bytes = b"",
    ) -> None:
        self.topic: Final = topic
        self.payload: Final = payload
        self.qos: Final = qos
        self.retain: Final = retain
        self.kept: Final = kept
        self.expires: Final = expires
        self.publisher: Final = publisher  # client id, for No Local; empty for the server's own
        self.time: Final = time
        self.origin: Final = origin  # (tree, stream, number) of what came out of a group
        self.packet_id: Final = packet_id  # its publisher's, if it may send it again at another node
        self.lineage: Final = lineage  # of a macro's result, the whole element of its reading; empty for all others
        self.stream: Final = stream  # the topic of what is given in place of this one; empty: it is itself
        self.size: Final = len(topic) + len(payload) + len(kept) + len(lineage) + OVERHEAD_BYTES
        self.shared = False  # there may be encodings, and `Core.encoded` has it
        self._plain_v4 = b""
        self._plain_v5 = b""
        self._shape_v4 = -1
        self._split_v4 = (b"", b"")
        self._shape_v5 = -1
        self._split_v5 = (b"", b"")

    def plain(self, version: int) -> bytes:
        """The packet at QoS 0, not retained, with nothing added."""
        if version == 5:
            if not self._plain_v5:
                self._plain_v5 = self.encode(5, 0, False, False, 0, b"")  # noqa: FBT003  a C call
            return self._plain_v5
        if not self._plain_v4:
            self._plain_v4 = self.encode(4, 0, False, False, 0, b"")  # noqa: FBT003  a C call
        return self._plain_v4

    def split(self, version: int, qos: int, retain: bool) -> tuple[bytes, bytes]:  # noqa: FBT001  a C call
        """What stands before the packet identifier and what behind it, with nothing added."""
        shape = qos << 1 | 1 if retain else qos << 1
        if version == 5:
            if self._shape_v5 != shape:
                self._split_v5 = split_v5(self.topic, self.payload, qos, retain, self.kept)
                self._shape_v5 = shape
            return self._split_v5
        if self._shape_v4 != shape:
            self._split_v4 = split_v4(self.topic, self.payload, qos, retain)
            self._shape_v4 = shape
        return self._split_v4

    def encode(self, version: int, qos: int, retain: bool, dup: bool, packet_id: int, added: bytes) -> bytes:  # noqa: FBT001
        """The whole packet; `added` are properties of this delivery, which 3.1.1 does not have."""
        if version == 5:
            return publish_v5(self.topic, self.payload, qos, retain, dup, packet_id, added + self.kept)
        return publish_v4(self.topic, self.payload, qos, retain, dup, packet_id)

    def encode_aliased(self, qos: int, retain: bool, dup: bool, packet_id: int, added: bytes) -> bytes:  # noqa: FBT001
        """The whole packet without its topic, for which an alias in `added` stands [MQTT-3.3.2-8]."""
        return publish_v5(b"", self.payload, qos, retain, dup, packet_id, added + self.kept)

    def forget(self) -> None:
        """Keep no encodings: a message may be held for long, and they are larger than it is."""
        self.shared = False
        self._plain_v4 = b""
        self._plain_v5 = b""
        if self._shape_v4 >= 0:
            self._shape_v4 = -1
            self._split_v4 = (b"", b"")
        if self._shape_v5 >= 0:
            self._shape_v5 = -1
            self._split_v5 = (b"", b"")

    def overdue(self, now: int) -> bool:
        """Whether its time is over [MQTT-3.3.2-5]."""
        return self.expires != 0 and self.expires <= now

    def remaining_s(self, now: int) -> int:
        """The seconds it has left, at least one [MQTT-3.3.2-6]."""
        return max(1, (self.expires - now + SECOND - 1) // SECOND)


def expiry_property(seconds: int) -> bytes:
    """The Message Expiry Interval as a property."""
    return bytes((_EXPIRY,)) + seconds.to_bytes(4, "big")


def alias_property(alias: int) -> bytes:
    """A Topic Alias as a property."""
    return bytes((_ALIAS, alias >> 8, alias & 0xFF))


def identifier_properties(identifiers: list[int]) -> bytes:
    """The Subscription Identifiers of a delivery [MQTT-3.3.4-3, 3.3.4-4]."""
    encoded = b""
    for identifier in identifiers:
        encoded += bytes((_SUBSCRIPTION_ID,)) + var_int(identifier)
    return encoded
