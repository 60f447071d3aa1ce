"""NDNLPv2 link packets: headers in ascending order, the fragment last [NDNLPv2].

A bare Interest or Data is a link packet without headers. This module is the codec only; fragments, acknowledgements
and their timers are in `roost.wire.link`.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming.number import nni, read_nni, var
from roost.wire.tlv import FRAGMENT, LP_PACKET, element, skip, tlv

SEQUENCE: Final = 81
FRAG_INDEX: Final = 82
FRAG_COUNT: Final = 83
PIT_TOKEN: Final = 98
NACK: Final = 800
NACK_REASON: Final = 801
INCOMING_FACE: Final = 812
NEXT_HOP_FACE: Final = 816
CACHE_POLICY: Final = 820
CACHE_POLICY_TYPE: Final = 821
CONGESTION_MARK: Final = 832
ACK: Final = 836
TX_SEQUENCE: Final = 840
NON_DISCOVERY: Final = 844
PREFIX_ANNOUNCEMENT: Final = 848

NO_REASON: Final = 0
CONGESTION: Final = 50
DUPLICATE: Final = 100
NO_ROUTE: Final = 150
REASON_NAMES: Final[dict[int, str]] = {
    NO_REASON: "no reason given",
    CONGESTION: "congestion",
    DUPLICATE: "duplicate (the Interest came back to where it had been)",
    NO_ROUTE: "no route",
}

MAX_TOKEN_BYTES: Final = 32
NO_CACHE: Final = 1
SEQUENCE_BYTES: Final = 8


class LpPacket:
    """One link packet; absent numbers are -1, absent bytes empty, `nack` is the reason or -1."""

    __slots__ = (
        "acks",
        "announcement",
        "congestion_mark",
        "frag_count",
        "frag_index",
        "fragment",
        "incoming_face",
        "nack",
        "next_hop_face",
        "no_cache",
        "non_discovery",
        "pit_token",
        "sequence",
        "tx_sequence",
    )

    def __init__(
        self,
        fragment: bytes = b"",
        *,
        pit_token: bytes = b"",
        nack: int = -1,
        congestion_mark: int = 0,
        incoming_face: int = -1,
        next_hop_face: int = -1,
        no_cache: bool = False,
    ) -> None:
        self.fragment = fragment
        self.sequence = -1
        self.frag_index = 0
        self.frag_count = 1
        self.pit_token = pit_token
        self.nack = nack
        self.incoming_face = incoming_face
        self.next_hop_face = next_hop_face
        self.no_cache = no_cache
        self.congestion_mark = congestion_mark
        self.acks: list[int] = []
        self.tx_sequence = -1
        self.non_discovery = False
        self.announcement = b""

    def encode(self) -> bytes:
        """Write the link packet, a header only where it says something."""
        out: list[bytes] = []
        if self.sequence >= 0:
            out.append(b"\x51\x08" + self.sequence.to_bytes(8, "big"))
        if self.frag_count > 1:
            out.append(tlv(FRAG_INDEX, nni(self.frag_index)) + tlv(FRAG_COUNT, nni(self.frag_count)))
        if self.pit_token:
            out.append(b"\x62" + var(len(self.pit_token)) + self.pit_token)
        if self.nack >= 0:
            out.append(tlv(NACK, tlv(NACK_REASON, nni(self.nack)) if self.nack else b""))
        if self.incoming_face >= 0:
            out.append(tlv(INCOMING_FACE, nni(self.incoming_face)))
        if self.next_hop_face >= 0:
            out.append(tlv(NEXT_HOP_FACE, nni(self.next_hop_face)))
        if self.no_cache:
            out.append(tlv(CACHE_POLICY, tlv(CACHE_POLICY_TYPE, nni(NO_CACHE))))
        if self.congestion_mark:
            out.append(tlv(CONGESTION_MARK, nni(self.congestion_mark)))
        out.extend([tlv(ACK, ack.to_bytes(8, "big")) for ack in self.acks])
        if self.tx_sequence >= 0:
            out.append(tlv(TX_SEQUENCE, self.tx_sequence.to_bytes(8, "big")))
        if self.non_discovery:
            out.append(tlv(NON_DISCOVERY, b""))
        if self.announcement:
            out.append(tlv(PREFIX_ANNOUNCEMENT, self.announcement))
        if self.fragment:
            out.append(b"\x50" + var(len(self.fragment)) + self.fragment)
        body = b"".join(out)
        return b"\x64" + var(len(body)) + body


def decode_lp(wire: bytes) -> LpPacket:
    """Check and open an LpPacket (type 100); raises `BadPacket` with the reason."""
    type_, position, end = element(wire, 0, len(wire))
    if type_ != LP_PACKET:
        raise BadPacket(f"element {LP_PACKET} was expected, this is {type_}")
    if end != len(wire):
        raise BadPacket(f"{len(wire) - end} bytes follow the link packet")
    lp = LpPacket()
    last = 0
    while position < end:
        type_, low, position = element(wire, position, end)
        if type_ == FRAGMENT:
            if low == position:
                raise BadPacket("the fragment of a link packet is empty")
            if position != end:
                raise BadPacket("the fragment is not the last field of the link packet")
            lp.fragment = wire[low:position]
            break
        if type_ < last or (type_ == last and type_ != ACK):
            raise BadPacket(f"link header {type_} is repeated or out of order")
        last = type_
        _header(lp, type_, wire, low, position)
    if lp.frag_index >= lp.frag_count:
        raise BadPacket(f"fragment {lp.frag_index} of {lp.frag_count} cannot be")
    if lp.frag_count > 1 and lp.sequence < 0:
        raise BadPacket("a fragment has a Sequence, this one has none")
    return lp


def _header(lp: LpPacket, type_: int, wire: bytes, low: int, high: int) -> None:
    if type_ == PIT_TOKEN:
        if not 1 <= high - low <= MAX_TOKEN_BYTES:
            raise BadPacket(f"a PIT token has 1 to {MAX_TOKEN_BYTES} bytes, this one has {high - low}")
        lp.pit_token = wire[low:high]
    elif type_ == SEQUENCE:
        lp.sequence = _fixed(wire, low, high)
    elif type_ == FRAG_INDEX:
        lp.frag_index = read_nni(wire, low, high)
    elif type_ == FRAG_COUNT:
        lp.frag_count = read_nni(wire, low, high)
    elif type_ == NACK:
        lp.nack = _inner_number(wire, low, high, NACK_REASON) if low < high else NO_REASON
    elif type_ == INCOMING_FACE:
        lp.incoming_face = read_nni(wire, low, high)
    elif type_ == NEXT_HOP_FACE:
        lp.next_hop_face = read_nni(wire, low, high)
    elif type_ == CACHE_POLICY:
        if low == high:
            raise BadPacket("CachePolicy is empty, it holds a CachePolicyType")
        lp.no_cache = _inner_number(wire, low, high, CACHE_POLICY_TYPE) == NO_CACHE
    elif type_ == CONGESTION_MARK:
        lp.congestion_mark = read_nni(wire, low, high)
    elif type_ == ACK:
        lp.acks.append(_fixed(wire, low, high))
    elif type_ == TX_SEQUENCE:
        lp.tx_sequence = _fixed(wire, low, high)
    elif type_ == NON_DISCOVERY:
        if low != high:
            raise BadPacket("NonDiscovery is a flag and has no value")
        lp.non_discovery = True
    elif type_ == PREFIX_ANNOUNCEMENT:
        if low == high:
            raise BadPacket("PrefixAnnouncement is empty, it holds a Data")
        lp.announcement = wire[low:high]
    elif not (800 <= type_ <= 959 and type_ & 3 == 0):
        raise BadPacket(f"unknown link header {type_} may not be ignored")


def _fixed(wire: bytes, low: int, high: int) -> int:
    if high - low != SEQUENCE_BYTES:
        raise BadPacket(f"a link sequence number has {SEQUENCE_BYTES} bytes, this one has {high - low}")
    return int.from_bytes(wire[low:high], "big")


def _inner_number(wire: bytes, low: int, high: int, expected: int) -> int:
    """Read the number that a header holds as its first element; what follows it obeys the critical-bit rule."""
    type_, start, position = element(wire, low, high)
    if type_ != expected:
        raise BadPacket(f"element {expected} was expected inside a link header, this is {type_}")
    number = read_nni(wire, start, position)
    while position < high:
        at = position
        type_, _, position = element(wire, at, high)
        skip(type_, at, "a link header")
    return number


def nack(interest: bytes, reason: int) -> bytes:
    """Write a Nack of the Interest `interest`."""
    return LpPacket(interest, nack=reason).encode()
