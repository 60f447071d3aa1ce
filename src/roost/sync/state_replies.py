"""Replies whose content is a sync state: as much of it as fits, encoded, compressed, kept [PSync §4]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from roost.errors import BadConfig, BadPacket
from roost.machine import Randomness
from roost.naming import Name
from roost.sync.compression import compress, compressed_at_most
from roost.sync.presets import FullPreset, PartialPreset
from roost.sync.replies import Replies
from roost.sync.sync_state import encode_state
from roost.wire import Signer

_OVERHEAD_BYTES: Final = 16  # of an element beside its stream: header and number; and once of the state itself


class StateReplies(Replies):
    """The replies of a member with this preset; the bounds are the preset's."""

    def __init__(
        self, signer: Signer, randomness: Randomness, preset: FullPreset | PartialPreset, longest: Name
    ) -> None:
        """Take the longest name a reply can have, to find out at once if it cannot."""
        packets = (preset.max_reply_packets, preset.max_kept_packets)
        super().__init__(signer, randomness, preset.segment_bytes, *packets)
        self._method: Final = preset.content_compression
        self._max_bytes: Final = preset.max_reply_bytes
        try:
            self.check_name(longest)
        except BadPacket as error:
            raise BadConfig(f"{error}: use a shorter prefix, or a smaller IBLT") from None

    def check_name(self, name: Name) -> None:
        """Raise `BadPacket` if a reply of this name cannot have any content."""
        if not self.room_bytes(name):
            raise BadPacket(f"a name of {len(name.value)} bytes leaves no room for a reply")

    def state_bytes(self, name: Name) -> int:
        """How large a state a reply of this name can have, whatever compression makes of it."""
        room = self.room_bytes(name)
        return max(0, min(self._max_bytes, 2 * room - compressed_at_most(room, self._method)))

    def segment_bytes(self, name: Name) -> int:
        """How much content a reply of this name can have in one segment."""
        return self.room_bytes(name) // self.max_packets

    def content(self, name: Name, entries: Iterable[tuple[Name, int]], carried: Sequence[bytes] = ()) -> bytes:
        """Write the first of these elements, as many as fit, and packets behind them.

        They are in canonical order, as in C++, which compresses best.
        """
        state = encode_state(sorted(within(entries, self.state_bytes(name))))
        return compress(b"".join([state, *carried]), self._method)


def room_for(streams: int, names_bytes: int) -> int:
    """How many bytes a state of so many streams takes, at most."""
    return names_bytes + (streams + 1) * _OVERHEAD_BYTES


def within(entries: Iterable[tuple[Name, int]], max_bytes: int) -> list[tuple[Name, int]]:
    """The first of these elements, as many as a state of `max_bytes` can hold."""
    found: list[tuple[Name, int]] = []
    left = max_bytes - _OVERHEAD_BYTES
    for entry in entries:
        left -= len(entry[0].value) + _OVERHEAD_BYTES
        if left < 0:
            break
        found.append(entry)
    return found
