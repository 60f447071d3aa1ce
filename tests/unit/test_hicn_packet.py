"""hICN packets: the vectors captured on the wire, names, lifetimes, checksums, and what is refused."""

from __future__ import annotations

import pytest

from roost.errors import BadName, BadPacket
from roost.hicn import Data, Form, HicnName, Interest, Prefix, decode, encode
from roost.hicn.checksum import NOT_COMPUTED, checksum, checksum_holds
from roost.hicn.head import MAX_PACKET_BYTES, read_head
from roost.hicn.label import label_at, next_label, relabelled
from roost.hicn.lifetime import MAX_LIFETIME_MS, kept_lifetime, split_lifetime
from roost.hicn.manifest import SuffixList, decode_suffixes
from roost.hicn.packet import MAX_PAYLOAD_BYTES

TOPIC = bytes.fromhex("abcd19477aeddb566a81c6962284bc15")  # of home/temp
NOBODY = "00" * 16


def interest_bytes(rest: str) -> bytes:
    return bytes.fromhex("6000000000" + rest.partition(" ")[0] + "06fe" + NOBODY + TOPIC.hex() + rest.partition(" ")[2])


def data_bytes(rest: str) -> bytes:
    return bytes.fromhex("6000000000" + rest.partition(" ")[0] + "06fe" + TOPIC.hex() + NOBODY + rest.partition(" ")[2])


CONTENT_REP_PAYLOAD = bytes.fromhex("01000000 00000065 0000018bcfe57b88 32312e35")
VECTORS = [
    (
        Interest(HicnName(TOPIC, 100), 2000),
        interest_bytes("14 80000080 00000064 00000000 5002 0000 fc23 07d0"),
    ),
    (
        Interest(HicnName(TOPIC, 0), 2000, b"home/temp"),
        interest_bytes("1d 80000080 00000000 00000000 5002 0000 21c8 07d0 686f6d652f74656d70"),
    ),
    (
        Data(HicnName(TOPIC, 0), b"", 0),
        data_bytes("14 80000080 00000000 00000000 5042 0000 0418 0000"),
    ),
    (
        Interest(HicnName(TOPIC, 1_700_000_000), 2000),
        interest_bytes("14 80000080 6553f100 00000000 5002 0000 a633 07d0"),
    ),
    (
        Data(HicnName(TOPIC, 100), CONTENT_REP_PAYLOAD),
        data_bytes("28 80000080 00000064 00000000 5042 0000 918a c350" + CONTENT_REP_PAYLOAD.hex()),
    ),
]
ONE_HOP_ON = data_bytes("16 80000080 00000064 00000001 5042 0000 d7f7 c350 6869")
ASKED = encode(Interest(HicnName(TOPIC, 100)))
ANSWER = encode(Data(HicnName(TOPIC, 100), b"hi"))
COMPACT_ASKED = encode(Interest(HicnName(TOPIC, 100), form=Form.COMPACT))


@pytest.mark.parametrize(("packet", "wire"), VECTORS)
def test_a_packet_is_the_bytes_seen_on_the_wire(packet: Interest | Data, wire: bytes) -> None:
    assert encode(packet) == wire
    assert decode(wire) == packet


def test_a_label_set_on_the_way_makes_the_checksum_stale_and_the_packet_no_worse() -> None:
    assert decode(ONE_HOP_ON) == Data(HicnName(TOPIC, 100), b"hi", path_label=1)
    assert checksum(ONE_HOP_ON) != int.from_bytes(ONE_HOP_ON[56:58], "big")
    assert checksum_holds(ONE_HOP_ON)
    assert relabelled(ANSWER, 0, compact=False) == ANSWER


def test_our_own_label_corrects_the_checksum_with_it() -> None:
    moved = relabelled(ANSWER, next_label(label_at(ANSWER, compact=False), 257), compact=False)
    assert moved == encode(Data(HicnName(TOPIC, 100), b"hi", path_label=1))
    again = relabelled(moved, next_label(1, 3), compact=False)
    assert again == encode(Data(HicnName(TOPIC, 100), b"hi", path_label=1))
    assert next_label(0x80, 0) == 1


def test_a_checksum_that_nobody_computed_stays_uncomputed() -> None:
    bare = ANSWER[:56] + NOT_COMPUTED.to_bytes(2, "big") + ANSWER[58:]
    assert checksum_holds(bare)
    assert relabelled(bare, 7, compact=False)[56:58] == b"\xff\xff"


def test_damage_in_name_or_payload_breaks_the_checksum() -> None:
    for at in (9, 30, 45, 59, 61):
        damaged = bytearray(ANSWER)
        damaged[at] ^= 4
        assert not checksum_holds(bytes(damaged))


def test_the_compact_form_has_32_bytes() -> None:
    assert len(COMPACT_ASKED) == 32
    assert bytes.fromhex("90040000000007d0" + TOPIC.hex() + "0000006400000000") == COMPACT_ASKED
    data = Data(HicnName(TOPIC, 100), b"hi", 4_000_000_000, 9, last=True, manifest=True, form=Form.COMPACT)
    wire = encode(data)
    assert wire == bytes.fromhex("900a0002ee6b2800" + TOPIC.hex() + "0000006400000009") + b"hi"
    assert decode(wire) == data
    assert label_at(relabelled(wire, 200, compact=True), compact=True) == 200


@pytest.mark.parametrize(
    ("lifetime_ms", "parts"),
    [(0, (0, 0)), (2000, (0x7D0, 0)), (50_000, (0xC350, 0)), (600_000, (37_500, 4)), (MAX_LIFETIME_MS, (0xFFFF, 15))],
)
def test_lifetimes_are_mantissa_and_scale(lifetime_ms: int, parts: tuple[int, int]) -> None:
    assert split_lifetime(lifetime_ms) == parts
    assert kept_lifetime(lifetime_ms) == lifetime_ms


def test_a_long_lifetime_loses_low_bits_and_one_beyond_all_is_refused() -> None:
    assert kept_lifetime(65_537) == 65_536
    with pytest.raises(BadPacket, match="lifetime"):
        encode(Interest(HicnName(TOPIC, 1), MAX_LIFETIME_MS + 1))
    with pytest.raises(BadPacket, match="lifetime"):
        encode(Interest(HicnName(TOPIC, 1), 1 << 32, form=Form.COMPACT))


def test_names_and_prefixes_as_text() -> None:
    name = HicnName.parse("abcd::1|100")
    assert (str(name), name.suffix, name.key[-4:]) == ("abcd::1|100", 100, b"\0\0\0d")
    assert HicnName.from_key(name.key) == name
    assert str(HicnName.parse("abcd::1")) == "abcd::1|0"
    prefix = Prefix.parse("abcd::/16")
    assert str(prefix) == "abcd::/16"
    assert prefix.covers(name.prefix)
    assert not Prefix.parse("abcd::/17").covers(b"\xab\xcd\x80" + bytes(13))
    assert Prefix.parse("abcd::1").length == 128
    assert Prefix.parse("::/0").covers(name.prefix)


@pytest.mark.parametrize(
    "text", ["", "abcd::1|", "abcd::1|x", "abcd::1|-1", "abcd::1|4294967295", "fe80::1%eth0|1", "::1|5", "10.0.0.1|1"]
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(BadName):
        HicnName.parse(text)


@pytest.mark.parametrize("text", ["abcd::1/16", "abcd::/129", "abcd::/", "abcd::/x", "nonsense/3"])
def test_what_is_no_prefix(text: str) -> None:
    with pytest.raises(BadName):
        Prefix.parse(text)


def test_an_interest_with_a_list_asks_for_the_suffixes_whose_bits_are_set() -> None:
    listed = SuffixList((7, 9, 11), 0b101)
    wire = encode(Interest(HicnName(TOPIC, 7), manifest=listed))
    assert len(wire) == 60 + 40 + 4 * 3
    assert decode(wire) == Interest(HicnName(TOPIC, 7), manifest=listed)
    assert read_head(wire).wanted == [HicnName(TOPIC, 7).key, HicnName(TOPIC, 11).key]
    everything = SuffixList.of(*range(256))
    assert decode_suffixes(everything.encode()) == everything
    assert everything.encode()[8:16] == b"\xff" * 8


def test_bits_of_the_list_count_from_the_low_end_of_each_word() -> None:
    payload = SuffixList(tuple(range(66)), 1 | 1 << 65).encode()
    assert payload[8:40] == bytes.fromhex("0000000000000001 0000000000000002") + bytes(16)


def urgent(payload: bytes, suffix: int = 100) -> bytes:
    wire = bytearray(encode(Interest(HicnName(TOPIC, suffix), payload=payload)))
    wire[53] |= 0x20
    return bytes(wire)


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"home/temp", "at least 40 bytes"),
        (b"", "at least 40 bytes"),
        (b"\xff" * 64, "1 to 256"),
        (bytes(64), "1 to 256"),
        ((256).to_bytes(4, "big") + bytes(60), "1064 bytes"),
        (SuffixList.of(100, 101).encode() + b"\0", "48 bytes"),
        (SuffixList.of(101).encode(), "the packet's own"),
        (SuffixList.of(100).encode()[:8] + bytes(32) + b"\0\0\0\x64", "at least one"),
        (SuffixList.of(100).encode()[:8] + b"\xff" * 32 + b"\0\0\0\x64", "beyond its end"),
        (SuffixList((100, 1), 1).encode()[:-4] + b"\xff" * 4, "suffix"),
    ],
)
def test_the_urgent_packet_that_killed_a_forwarder_is_refused(payload: bytes, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        read_head(urgent(payload))


def test_urgent_data_is_just_data_with_a_manifest() -> None:
    wire = encode(Data(HicnName(TOPIC, 1), b"home/temp", manifest=True))
    packet = decode(wire)
    assert isinstance(packet, Data)
    assert packet.manifest


def changed(wire: bytes, at: int, *values: int) -> bytes:
    return wire[:at] + bytes(values) + wire[at + len(values) :]


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (b"", "starts with"),
        (b"\x00", "starts with"),
        (b"\x45" + bytes(60), "starts with"),
        (b"\x91" + bytes(60), "starts with"),
        (b"\xc0" + bytes(60), "starts with"),
        (b"\x60", "60 bytes"),
        (ASKED[:59], "60 bytes"),
        (ASKED + b"x", "announces 20 bytes, 21 follow"),
        (changed(ASKED, 5, 21), "announces 21 bytes, 20 follow"),
        (changed(ASKED, 6, 17), r"TCP \(6\), not 17"),
        (changed(ASKED, 52, 0x60), "5 words, not 6"),
        (changed(ASKED, 44, 255, 255, 255, 255), "0xffffffff"),
        (changed(ASKED, 24, *bytes(12)), "IPv4 name"),
        (b"\x90", "32 bytes"),
        (COMPACT_ASKED[:31], "32 bytes"),
        (COMPACT_ASKED + b"x", "announces 0 bytes, 1 follow"),
        (changed(COMPACT_ASKED, 1, 0x06), "at least 40 bytes"),
        (changed(COMPACT_ASKED, 1, 0x05), "signature block"),
        (changed(ASKED, 53, 0x12), "signature block"),
        (b"\x60" + bytes(MAX_PACKET_BYTES), "at most 1500 bytes"),
    ],
)
def test_what_is_not_a_packet_is_refused_with_a_reason(wire: bytes, why: str) -> None:
    with pytest.raises(BadPacket, match=why):
        decode(wire)


def test_what_cannot_be_written_is_refused() -> None:
    name = HicnName(TOPIC, 1)
    assert len(encode(Data(name, bytes(MAX_PAYLOAD_BYTES)))) == MAX_PACKET_BYTES
    for bad in (
        Data(name, bytes(MAX_PAYLOAD_BYTES + 1)),
        Data(name, path_label=256),
        Data(name, locator=b"x"),
        Data(name, hop_limit=256),
        Data(name, locator=TOPIC, form=Form.COMPACT),
        Interest(name, payload=b"x", manifest=SuffixList.of(1)),
        Interest(name, manifest=SuffixList.of(2)),
    ):
        with pytest.raises(BadPacket):
            encode(bad)
    with pytest.raises(BadPacket):
        SuffixList.of(*range(257))
    with pytest.raises(BadPacket):
        SuffixList.of(-1)
