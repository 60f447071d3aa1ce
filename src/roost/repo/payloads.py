"""Where the parts of payloads are that do not fit a packet: in a stream of their own, beside that of their readings.

    <group>/<panel>/hall/camera                       readings, of which some say that their payload is elsewhere
    <group>/<panel>/$roost/payload/hall/camera        the parts of all their payloads, in order

So parts are readings like any others to those who sign, check, keep, copy, compare and repair them. Their time is that
of their reading, and their payload (of format 42) its number, in 8 bytes, then a piece of what is cut. Only retention
has to know them: parts go when their reading has gone (`roost.pubsub.repos.pruning`). How a reading says where its
parts are is in `roost.wire.elsewhere`, how they are made and joined in `roost.broker.large`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming.component import Component
from roost.naming.name import Name
from roost.wire.data import decode_data
from roost.wire.reading import decode_reading

PLACE: Final = Name.of(Component.text("$roost"), Component.text("payload"))
NUMBER_BYTES: Final = 8


def parts_of(stream: Name, panel_at: int) -> Name:
    """The stream of the parts that belong to readings of a stream; the name of its panel ends before `panel_at`."""
    return stream.prefix(panel_at) + PLACE + stream.suffix(panel_at)


def owner_of(stream: Name, panel_at: int) -> Name | None:
    """The stream of the readings whose parts a stream has; None if it is none of parts."""
    begin = panel_at + len(PLACE)
    if len(stream) <= begin or PLACE.value not in stream.value or stream.prefix(begin).suffix(panel_at) != PLACE:
        return None
    return stream.prefix(panel_at) + stream.suffix(begin)


def part_payload(number: int, piece: bytes) -> bytes:
    """What a part of reading `number` holds."""
    return number.to_bytes(NUMBER_BYTES, "big") + piece


def read_part(wire: bytes) -> tuple[int, bytes]:
    """The number of the reading that a part belongs to, and its piece; raises `BadPacket`."""
    payload = decode_reading(decode_data(wire).content).payload
    if len(payload) < NUMBER_BYTES:
        raise BadPacket(f"a part of a payload has at least {NUMBER_BYTES} bytes, not {len(payload)}")
    return int.from_bytes(payload[:NUMBER_BYTES], "big"), payload[NUMBER_BYTES:]
