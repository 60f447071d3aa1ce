"""TCP bulk insert: Data packets back to back on a stream, taken apart [repo.md §4]. The socket is `roost.host`'s.

Whoever connects writes Data and closes; nothing is answered. As in ndn-python-repo, the first element that is no Data
ends the stream, and so does one that is too large or malformed: behind it, nothing says where the next one begins.

Both peers store what comes as it is, and are safe on loopback only. Here the owner verifies every Data against the
trust schema before it is put on the shelf, cause `BULK`, as with everything else that is stored.
"""

from __future__ import annotations

from roost.errors import BadPacket
from roost.wire import MAX_PACKET_BYTES, Data
from roost.wire.data import decode_data
from roost.wire.tlv import DATA


class BulkStream:
    """One connection; `trouble` says why to close it, empty while there is no reason to."""

    __slots__ = ("_buffer", "taken", "trouble")

    def __init__(self) -> None:
        self.taken = 0
        self.trouble = ""
        self._buffer = b""  # bound: one packet, and what came with it

    def feed(self, chunk: bytes) -> list[Data]:
        """Take in bytes; returns the Data that are complete."""
        if self.trouble:
            return []
        buffer = self._buffer + chunk
        found: list[Data] = []
        position = 0
        try:
            while position < len(buffer):
                end = _end_of(buffer, position)
                if end < 0:
                    break
                found.append(decode_data(buffer[position:end]))
                position = end
        except BadPacket as error:
            self.trouble = str(error)
        self._buffer = b"" if self.trouble else buffer[position:]
        self.taken += len(found)
        return found

    def ended(self) -> str:
        """The peer has closed; says what is wrong with that, empty if nothing is."""
        if not self.trouble and self._buffer:
            self.trouble = f"the stream ended within a packet, of which {len(self._buffer)} bytes had come"
        return self.trouble


def _end_of(buffer: bytes, position: int) -> int:
    """Where the Data at `position` ends, -1 while too little of it is there to tell."""
    if buffer[position] != DATA:
        raise BadPacket(f"element {buffer[position]} is no Data, and nothing else is inserted")
    head = buffer[position + 1 : position + 4]
    if not head or (head[0] == 253 and len(head) < 3):
        return -1
    if head[0] > 253:
        raise BadPacket(f"a Data of more than 65535 bytes, the limit is {MAX_PACKET_BYTES}")
    end = position + 2 + head[0] if head[0] < 253 else position + 4 + int.from_bytes(head[1:], "big")
    if end - position > MAX_PACKET_BYTES:
        raise BadPacket(f"a Data of {end - position} bytes, the limit is {MAX_PACKET_BYTES}")
    return end if end <= len(buffer) else -1
