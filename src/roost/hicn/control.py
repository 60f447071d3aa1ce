"""Control messages of hicn-light, as a client writes them and a forwarder reads them.

They travel as packets do, and start with 0xC0: command, number of records (u16, 1), sequence (u32), then the body, all
little-endian as hicn-light's hosts have them. The reply is the header with 0xC2 (done) or 0xC3 (refused) in front.

    route add          8   face (16), address (16), cost (u16), family (10), prefix length
    route remove       9   face (16), address (16), family, prefix length
    connection remove  5   face (16)
    strategy set      15   address (16), family, prefix length, strategy, count, 180 bytes of zero
    cache clear       13   what is sent there, hicn-light's struct has one unused pointer: ignored

The face is `SELF`, zero-padded: the one the message came by; others cannot be named here. `HicnForwarder` obeys local
faces only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import pack, unpack_from
from typing import Final

from roost.errors import BadName, BadPacket
from roost.hicn.name import Prefix
from roost.hicn.strategy import StrategyKind

COMMAND: Final = 0xC0
DONE: Final = 0xC2
REFUSED: Final = 0xC3
_HEADER_BYTES: Final = 8
_SELF: Final = b"SELF".ljust(16, b"\0")
_INET6: Final = 10
_STRATEGY_REST_BYTES: Final = 181  # a count of related prefixes, none, and their room


class Verb(IntEnum):
    """What can be asked for."""

    REMOVE_CONNECTION = 5
    ADD_ROUTE = 8
    REMOVE_ROUTE = 9
    CLEAR_CACHE = 13
    SET_STRATEGY = 15


_BODY_BYTES: Final = {Verb.REMOVE_CONNECTION: 16, Verb.ADD_ROUTE: 36, Verb.REMOVE_ROUTE: 34, Verb.SET_STRATEGY: 200}


@dataclass(frozen=True, slots=True)
class Control:
    """A command about the face that it comes by; `prefix` is that of a route or a strategy."""

    verb: Verb
    sequence: int
    prefix: Prefix | None = None
    cost: int = 1
    strategy: StrategyKind | None = None

    def encode(self) -> bytes:
        """Write the message."""
        if not (0 <= self.sequence < 1 << 32 and 0 <= self.cost <= 0xFFFF):
            raise BadPacket("the sequence of a control message has 32 bits, the cost of a route 16")
        header = pack("<BBHI", COMMAND, self.verb, 1, self.sequence)
        if self.verb is Verb.REMOVE_CONNECTION:
            return header + _SELF
        if self.verb is Verb.CLEAR_CACHE:
            return header
        if self.prefix is None:
            raise BadPacket("a route or a strategy has a prefix")
        ending = pack("<BB", _INET6, self.prefix.length)
        if self.verb is Verb.SET_STRATEGY:
            if self.strategy is None:
                raise BadPacket("name the strategy to set")
            return header + self.prefix.address + ending + bytes([self.strategy]) + bytes(_STRATEGY_REST_BYTES)
        cost = pack("<H", self.cost) if self.verb is Verb.ADD_ROUTE else b""
        return header + _SELF + self.prefix.address + cost + ending


def decode_control(wire: bytes) -> Control:
    """Read a command; `BadPacket` says what is wrong with it, or that it is none we know."""
    if len(wire) < _HEADER_BYTES or wire[0] != COMMAND:
        raise BadPacket(f"a control message starts with 0xc0 and has {_HEADER_BYTES} bytes at least")
    _, number, records, sequence = unpack_from("<BBHI", wire)
    try:
        verb = Verb(number)
    except ValueError:
        raise BadPacket(f"command {number} is not known") from None
    if verb is Verb.CLEAR_CACHE:
        return Control(verb, sequence)
    if records != 1 or len(wire) != _HEADER_BYTES + _BODY_BYTES[verb]:
        raise BadPacket(f"command {number} has one record of {_BODY_BYTES[verb]} bytes")
    if verb is Verb.SET_STRATEGY:
        return Control(verb, sequence, _prefix(wire[8:24], *wire[24:26]), strategy=_strategy(wire[26]))
    if wire[8:24] != _SELF:
        raise BadPacket("the face of a command is SELF")
    if verb is Verb.REMOVE_CONNECTION:
        return Control(verb, sequence)
    cost = unpack_from("<H", wire, 40)[0] if verb is Verb.ADD_ROUTE else 1
    return Control(verb, sequence, _prefix(wire[24:40], *wire[-2:]), cost)


def _prefix(address: bytes, family: int, length: int) -> Prefix:
    if family != _INET6:
        raise BadPacket(f"the address family of a prefix is IPv6 (10), not {family}")
    try:
        return Prefix(address, length)
    except BadName as error:
        raise BadPacket(str(error)) from None


def _strategy(number: int) -> StrategyKind:
    try:
        return StrategyKind(number)
    except ValueError:
        raise BadPacket(f"strategy {number} is not one of this forwarder's") from None


def reply(wire: bytes, *, done: bool) -> bytes:
    """Answer a control message: its header, with another first byte."""
    return bytes([DONE if done else REFUSED]) + wire[1:_HEADER_BYTES]


def read_reply(wire: bytes) -> tuple[int, bool]:
    """Read an answer: the sequence of the command, and whether it was done."""
    if len(wire) != _HEADER_BYTES or wire[0] not in {DONE, REFUSED}:
        raise BadPacket("a reply to a control message has 8 bytes and starts with 0xc2 or 0xc3")
    return int.from_bytes(wire[4:8], "little"), wire[0] == DONE
