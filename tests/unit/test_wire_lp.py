"""NDNLPv2 link packets [ndn-packets §8]."""

from __future__ import annotations

from roost.naming import Name
from roost.wire import Interest, LpPacket, decode_lp
from roost.wire.lp import NO_ROUTE, nack

NACK_OF_NFD = "6420fd032005fd0321019650150513070b08026e6f0805726f7574650a0401020304"

FIELDS = (
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


def test_the_nack_of_nfd_both_ways() -> None:
    lp = decode_lp(bytes.fromhex(NACK_OF_NFD))
    assert lp.nack == NO_ROUTE
    interest = Interest.decode(lp.fragment)
    assert interest.name == Name.parse("/no/route")
    assert nack(interest.wire, NO_ROUTE).hex() == NACK_OF_NFD


def test_a_nack_without_reason() -> None:
    wire = bytes.fromhex("6407fd032000500105")
    assert decode_lp(wire).nack == 0
    assert LpPacket(b"\x05", nack=0).encode() == wire


def test_the_reply_of_nfd_with_token_and_incoming_face() -> None:
    fragment = bytes.fromhex("06b5") + bytes(0xB5)
    lp = LpPacket(fragment, pit_token=bytes.fromhex("aabbccdd"), incoming_face=1)
    assert lp.encode().hex().startswith("64c46204aabbccddfd032c010150b706b5")
    again = decode_lp(lp.encode())
    assert (again.pit_token, again.incoming_face, again.fragment) == (b"\xaa\xbb\xcc\xdd", 1, fragment)


def test_every_header_in_order_there_and_back() -> None:
    lp = LpPacket(
        b"\x05\x00", pit_token=b"t", nack=100, congestion_mark=1, incoming_face=256, next_hop_face=7, no_cache=True
    )
    lp.sequence = 2**64 - 1
    lp.frag_index = 1
    lp.frag_count = 300
    lp.acks = [1, 2]
    lp.tx_sequence = 0
    lp.non_discovery = True
    lp.announcement = b"\x06\x00"
    wire = lp.encode()
    again = decode_lp(wire)
    assert all(getattr(again, field) == getattr(lp, field) for field in FIELDS)
    assert again.encode() == wire


def test_the_cache_policy_that_is_not_known_is_none() -> None:
    assert not decode_lp(bytes.fromhex("6409fd033405fd03350102")).no_cache
    assert decode_lp(bytes.fromhex("6409fd033405fd03350101")).no_cache
