"""Delegations: the names in a ForwardingHint and in a Link object [NDN-packet-spec, interest and link].

A Link is a signed Data of ContentType 1 whose Content lists the prefixes under which something can be reached, best
first. The old Delegation element (31, with a preference) is tolerated on decode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.errors import BadPacket
from roost.naming.name import Name
from roost.wire import tlv
from roost.wire.data import LINK, Data, encode_data
from roost.wire.signature import Signer
from roost.wire.tlv import element, skip

MAX_DELEGATIONS: Final = 64  # ours: each costs a look-up


def decode_delegations(wire: bytes, low: int, high: int, where: str) -> list[Name]:
    """Read the names in `wire[low:high]`."""
    names: list[Name] = []
    position = low
    while position < high:
        at = position
        type_, start, position = element(wire, at, high)
        if type_ == tlv.OLD_DELEGATION:
            inner = [part for part in tlv.elements(wire, start, position) if part[0] == tlv.NAME]
            if len(inner) != 1:
                raise BadPacket("a delegation holds one Name")
            names.append(Name.decode(wire[inner[0][1] : inner[0][2]]))
        elif type_ == tlv.NAME:
            names.append(Name.decode(wire[start:position]))
        else:
            skip(type_, at, where)
        if len(names) > MAX_DELEGATIONS:
            raise BadPacket(f"{where} holds at most {MAX_DELEGATIONS} names")
    if not names:
        raise BadPacket(f"{where} holds at least one Name")
    return names


def encode_link(name: Name, delegations: Sequence[Name], signer: Signer, *, freshness_ms: int = 0) -> bytes:
    """Write a Link object."""
    if not 1 <= len(delegations) <= MAX_DELEGATIONS:
        raise BadPacket(f"a Link holds 1 to {MAX_DELEGATIONS} names, not {len(delegations)}")
    content = b"".join([delegation.wire for delegation in delegations])
    return encode_data(name, content, signer, freshness_ms=freshness_ms, content_type=LINK)


def decode_link(data: Data) -> list[Name]:
    """Read the delegations of a Link object."""
    if data.content_type != LINK:
        raise BadPacket(f"{data.name} has ContentType {data.content_type}; a Link has {LINK}")
    content = data.content
    return decode_delegations(content, 0, len(content), "a Link")
