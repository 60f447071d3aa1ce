"""What a member of a State Vector Sync group says, when it is to say something: all of its vector, or what fits.

An Interest is made once per state of the vector: as nothing in it depends on the time, it can be sent again as it is.
When to speak is `roost.sync.svs`'s, what to choose `roost.sync.svs_window`'s. Behind the vector may stand what a
`rider` adds to each Interest that is made, as far as the packet has room: the mapping of SVS-PS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.errors import BadConfig
from roost.machine import Effect, Note
from roost.naming import Name
from roost.sync.port import Express
from roost.sync.state_vector import StateVector
from roost.sync.svs_interest import build, name_value, room_for_vector
from roost.sync.svs_settings import SvsSettings
from roost.sync.svs_window import encode_window, select, select_recent
from roost.sync.vector_format import Heard
from roost.wire import Interest, Signer

_HEAD_BYTES: Final = 4  # of a StateVector
_LEAST_ROOM: Final = 252  # for entries
_KEYS_IN_ROOM: Final = 8


class Teller:
    """Speaks for a vector, and knows what it said last."""

    def __init__(self, prefix: Name, settings: SvsSettings, signer: Signer) -> None:
        self.prefix: Final = prefix
        self.room: Final = min(settings.max_vector_bytes, room_for_vector(prefix, signer)) - _HEAD_BYTES
        if self.room < _LEAST_ROOM:
            raise BadConfig(f"{prefix}: its name and that of the key leave no room for a vector in an Interest")
        self.max_key_bytes: Final = self.room // _KEYS_IN_ROOM
        self.rider: Callable[[int], bytes] = _nobody  # returns whole elements, of no more bytes than it is told
        self.sent = 0
        self.cut = 0  # sent without the entries that did not fit
        self.window: tuple[bytes, bytes | None] = (b"", None)  # that was sent last
        self._version: Final = settings.version
        self._windows: Final = settings.large_vectors
        self._lifetime_ms: Final = settings.lifetime_ms
        self._packet_room: Final = room_for_vector(prefix, signer)
        self._signer: Final = signer if settings.version == 3 or settings.signed else None
        self._after = b""  # where the last window, sent or heard, ended
        self._wire = b""  # the last Interest
        self._name = b""
        self._revision = -1  # of the vector, in it

    def fits(self, vector: StateVector) -> bool:
        """Whether one Interest can tell all of it."""
        return vector.size_bytes <= self.room

    def tell(self, vector: StateVector, own: dict[bytes, None], lacking: dict[bytes, None]) -> list[Effect]:
        """Say what we know, and take out of `lacking` what that tells."""
        self.sent += 1
        if self.fits(vector):
            lacking.clear()
            if self._revision != vector.revision:
                self._make(vector, vector.encode(vector.order))
            self.window = (b"", None)
            return [Express(0, self._wire)]
        if self._windows:
            selection = select(vector, reversed(own), lacking, self._after, self.room)
            self.window = (selection.after, selection.upto)
            self._pass(selection.after, selection.upto)
            self._make(vector, vector.encode(selection.keys) + encode_window(selection, self._version))
        else:
            self.cut += 1
            selection = select_recent(vector, reversed(own), lacking, self.room)
            self._make(vector, vector.encode(selection.keys))
        for key in selection.keys:
            lacking.pop(key, None)
        return [Express(0, self._wire), *self._notes(vector)]

    def said(self, interest: Interest, vector: StateVector) -> bool:
        """Whether this is what we said last, and our vector has not changed since."""
        return interest.value == self._name and self._revision == vector.revision

    def follow(self, heard: Heard) -> None:
        """Begin our next window where this one ended."""
        self._pass(heard.after, heard.upto)

    def move_to(self, after: bytes) -> None:
        """Begin our next window behind this key."""
        self._after = after

    def _pass(self, after: bytes, upto: bytes | None) -> None:
        if upto != after:  # it is not empty
            self._after = upto or b""

    def _make(self, vector: StateVector, content: bytes) -> None:
        content += self.rider(self._packet_room - len(content))
        self._wire = build(self.prefix, self._version, content, self._lifetime_ms, self._signer)
        self._name = name_value(self._wire)
        self._revision = vector.revision

    def _notes(self, vector: StateVector) -> list[Effect]:
        if self.cut != 1:
            return []
        return [Note("vector cut", (("prefix", str(self.prefix)), ("streams", len(vector.order))))]


def _nobody(room: int) -> bytes:  # noqa: ARG001  a rider's shape
    return b""
