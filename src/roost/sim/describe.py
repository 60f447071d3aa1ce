"""What happened, in words: effects, faults and packets, each in one bounded line.

The words are the same in every process: no addresses, no hashes, nothing in an order of its own. So they also stand for
an effect in the hash of the trace.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Final
from zlib import crc32

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.wire import Data, Interest, LpPacket, decode_lp
from roost.wire.lp import REASON_NAMES
from roost.wire.tlv import DATA, INTEREST, LP_PACKET

MAX_TEXT: Final = 300
_SHOWN_BYTES: Final = 40
_PLAIN_BYTES: Final = 24  # of a component that is no text, before it is cut
_BEGINNING_BYTES: Final = 4


def describe(what: object) -> str:
    """Write an effect or a fault: its name, and its fields."""
    if not is_dataclass(what) or isinstance(what, type):
        return _value(what)
    parts = [f"{field.name}={_value(getattr(what, field.name))}" for field in fields(what)]
    return _cut(" ".join([type(what).__name__, *parts]))


def _value(value: object) -> str:
    if isinstance(value, Enum):
        return value.name or str(value.value)
    if value is None or isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Name):
        return _name(value)
    if isinstance(value, Component):
        return _component(value)
    if isinstance(value, (bytes, bytearray)):
        return _bytes(bytes(value))
    if isinstance(value, (Interest, Data)):
        return f"{type(value).__name__} {_name(value.name)}"
    if type(value).__str__ is not object.__str__ and not isinstance(value, (tuple, list, dict, set, frozenset)):
        return str(value)
    if isinstance(value, tuple) and type(value).__str__ is not tuple.__str__:
        return str(value)  # such as a Stream, which knows how it is written
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{_value(key)}: {_value(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(_value, value))) + "}"
    return describe(value) if is_dataclass(value) else type(value).__name__


def packet_summary(packet: bytes) -> str:
    """Write a packet: what it is, its name and its size."""
    try:
        words = _packet(packet)
    except BadPacket:
        words = _bytes(packet)
    return f"{_cut(words)} ({len(packet)} bytes)"


def _packet(packet: bytes) -> str:
    kind = packet[0] if packet else 0
    if kind == INTEREST:
        return f"Interest {_name(Interest.decode(packet).name)}"
    if kind == DATA:
        return f"Data {_name(Data.decode(packet).name)}"
    return _link_packet(decode_lp(packet)) if kind == LP_PACKET else _bytes(packet)


def _link_packet(lp: LpPacket) -> str:
    if lp.frag_count > 1:
        return f"fragment {lp.frag_index + 1} of {lp.frag_count}"
    if not lp.fragment:
        return f"{len(lp.acks)} acknowledgements" if lp.acks else "an empty link packet"
    words = _packet(lp.fragment)
    return words if lp.nack < 0 else f"Nack ({_reason(lp.nack)}) of {words}"


def _reason(nack: int) -> str:
    return REASON_NAMES.get(nack, str(nack)).partition(" (")[0]


def _name(name: Name) -> str:
    return "/" + "/".join([_component(component) for component in name])


def _component(component: Component) -> str:
    """Write a component; sketches and the like are cut to their beginning, size and checksum."""
    text = str(component)
    value = component.value
    if len(value) <= _PLAIN_BYTES or "%" not in text:
        return text
    return f"{Component(value[:_BEGINNING_BYTES], component.type)}…({len(value)} bytes, CRC {crc32(value):08x})"


def _bytes(value: bytes) -> str:
    """Printable bytes as they are, others in hexadecimal; what is cut keeps its checksum."""
    shown = value[:_SHOWN_BYTES]
    text = f'"{shown.decode()}"' if shown.isascii() and shown.decode("ascii", "replace").isprintable() else shown.hex()
    return text if len(value) <= _SHOWN_BYTES else f"{text}… CRC {crc32(value):08x}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… CRC {crc32(text.encode()):08x}"
