"""Names, components and their URI form [ndn-packets §1, §3]."""

from __future__ import annotations

from itertools import pairwise

import pytest

from roost.errors import BadName, BadPacket
from roost.naming import Component, Name, as_name, join
from roost.naming.component import IMPLICIT_DIGEST, KEYWORD, SEQUENCE
from roost.naming.conventions import keyword, offset, segment, sequence, timestamp, version
from roost.naming.number import nni, read_nni, read_var, var

VECTOR_URI = "/A/32=kw/seg=0/off=255/v=256/t=1736266473123000/seq=65536/.../....."
VECTOR = "072708014120026b773201003401ff36020100380800062b200a5dacb83a0400010000080008022e2e"
DIGEST = "00" * 31 + "ff"


def test_the_vector_of_all_conventions_both_ways() -> None:
    name = Name.parse(VECTOR_URI)
    assert name.wire.hex() == VECTOR
    assert str(Name.decode(bytes.fromhex(VECTOR)[2:])) == VECTOR_URI
    built = Name.of(
        "A",
        keyword("kw"),
        segment(0),
        offset(255),
        version(256),
        timestamp(1736266473123000),
        sequence(65536),
        Component(b""),
        "..",
    )
    assert built == name
    assert len(name) == 9


@pytest.mark.parametrize(
    ("uri", "wire"),
    [
        ("/", "0700"),
        ("/a", "0703080161"),
        ("/8=a", "0703080161"),
        ("ndn:/a/", "0703080161"),
        ("/%00%FF", "0704080200ff"),
        ("/a%3Db", "0705080361 3d62".replace(" ", "")),
        ("/....", "070308012e"),
        ("/65535=x", "0705fdffff0178"),
        (f"/sha256digest={DIGEST}", f"07220120{DIGEST}"),
        (f"/params-sha256={DIGEST}", f"07220220{DIGEST}"),
        ("/seq=18446744073709551615", "070a3a08ffffffffffffffff"),
        ("/58=%00%05", "07043a020005"),
        ("/\u00e9", "07040802c3a9"),
    ],
    ids=lambda value: value[:30],
)
def test_uri_to_wire(uri: str, wire: str) -> None:
    assert Name.parse(uri).wire.hex() == wire
    assert Name.parse(str(Name.parse(uri))) == Name.parse(uri)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("a/b", "starts with '/'"),
        ("", "starts with '/'"),
        ("//", "empty component"),
        ("/a//b", "empty component"),
        ("/.", "at least three"),
        ("/..", "at least three"),
        ("/a=b", "not a component type"),
        ("/08=a", "not a component type"),
        ("/0=a", "not a component type"),
        ("/65536=a", "1..65535"),
        ("/seq=", "decimal number"),
        ("/seq=01", "decimal number"),
        ("/seq=-1", "decimal number"),
        ("/seq=\u0665", "decimal number"),
        ("/seq=18446744073709551616", "8 bytes"),
        ("/%4", "two hexadecimal"),
        ("/%zz", "two hexadecimal"),
        ("/sha256digest=00", "64 hexadecimal"),
        ("/1=abc", "32 bytes"),
        ("/a\ud800", "surrogate"),
        ("/a%20\udfff", "surrogate"),
    ],
    ids=ascii,
)
def test_a_bad_uri_is_refused_with_the_reason(uri: str, reason: str) -> None:
    with pytest.raises(BadName, match=reason):
        Name.parse(uri)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("08", "cut off"),
        ("0802aa", "longer than its name"),
        ("0000", "outside 1..65535"),
        ("fe0001000000", "outside 1..65535"),
        ("0101aa", "32 bytes"),
        ("0200", "32 bytes"),
        ("fd000800", "shortest form"),
        ("08fd0001aa", "shortest form"),
        ("08fd00", "cut off"),
        ("fd", "cut off"),
        ("08ffffffffffffffffff", "longer than its name"),
        ("08ff7fffffffffffffff", "longer than its name"),
        ("08ff7ffffffffffffff6", "longer than its name"),
        ("ff7fffffffffffffff00", "outside 1..65535"),
    ],
    ids=str,
)
def test_a_bad_wire_name_is_refused_with_the_reason(value: str, reason: str) -> None:
    with pytest.raises(BadPacket, match=reason):
        Name.decode(bytes.fromhex(value))


def test_canonical_order_is_type_then_length_then_bytes() -> None:
    ordered = ["/", f"/sha256digest={DIGEST}", "/...", "/z", "/z/a", "/one", "/two", "/32=a", "/seq=1", "/seq=256"]
    names = [Name.parse(uri) for uri in ordered]
    assert sorted(set(names)) == names
    assert all(low < high and low <= high and high > low and high >= low for low, high in pairwise(names))
    components = [name.at(0) for name in names if len(name) == 1]
    assert sorted(set(components)) == components


def test_parts_of_a_name() -> None:
    name = Name.parse("/a/b/seq=3")
    assert name.at(-1).number() == 3
    assert name[0] == Component(b"a")
    assert [str(part) for part in name] == ["a", "b", "seq=3"]
    assert name.prefix(2) == name.prefix(-1) == Name.parse("/a/b")
    assert name.prefix(9) == name
    assert name.suffix(1) == Name.parse("/b/seq=3")
    assert name.suffix(-1) == Name.parse("/seq=3")
    assert name.starts_with(Name.parse("/a"))
    assert not name.starts_with(Name.parse("/a/bb"))
    assert not Name.parse("/ab").starts_with(Name.parse("/a"))
    assert Name.parse("/a") + Name.parse("/b") / sequence(3) == name
    assert join([Name.parse("/a"), Name(), Name.parse("/b/seq=3")]) == name
    assert as_name("/a") == as_name(Name.parse("/a"))
    assert len({name, Name.parse("/a/b/seq=3")}) == 1
    assert not Name()
    with pytest.raises(IndexError, match="3 components"):
        name.at(3)


def test_a_component_checks_its_type_and_number() -> None:
    assert Component.numbered(5, SEQUENCE) == sequence(5)
    assert str(Component(b"metadata", KEYWORD)) == "32=metadata"
    with pytest.raises(BadName, match="negative"):
        sequence(-1)
    with pytest.raises(BadName, match="does not carry a number"):
        Component(b"abc").number()
    with pytest.raises(BadName, match=r"1\.\.65535"):
        Component(b"", 0)
    with pytest.raises(BadName, match="32 bytes"):
        Component(b"", IMPLICIT_DIGEST)
    with pytest.raises(BadName, match="surrogate"):
        Component.text("\ud800")


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (252, "fc"),
        (253, "fd00fd"),
        (1024, "fd0400"),
        (65535, "fdffff"),
        (65536, "fe00010000"),
        (2**32 - 1, "feffffffff"),
        (2**32, "ff0000000100000000"),
    ],
)
def test_variable_size_numbers(number: int, encoded: str) -> None:
    wire = bytes.fromhex(encoded)
    assert var(number) == wire
    assert read_var(wire, 0, len(wire)) == (number, len(wire))
    for cut in range(len(wire)):
        with pytest.raises(BadPacket):
            read_var(wire, 0, cut)


@pytest.mark.parametrize("wire", ["fd00fc", "fe0000ffff", "ff00000000ffffffff"])
def test_a_variable_size_number_is_the_shortest(wire: str) -> None:
    with pytest.raises(BadPacket, match="shortest"):
        read_var(bytes.fromhex(wire), 0, 9)


def test_non_negative_integers() -> None:
    for number, size in [(0, 1), (255, 1), (256, 2), (65535, 2), (65536, 4), (2**32, 8), (2**64 - 1, 8)]:
        assert len(nni(number)) == size
        assert read_nni(nni(number), 0, size) == number
    for size in (0, 3, 5, 6, 7, 9):
        with pytest.raises(BadPacket, match="1, 2, 4 or 8"):
            read_nni(bytes(9), 0, size)
    with pytest.raises(BadPacket, match="8 bytes"):
        nni(2**64)
