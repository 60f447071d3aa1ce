"""hICN packets under Hypothesis: round trips, the checksum rule, and injured packets through every reader."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.mutation import mutants

from roost.errors import BadPacket
from roost.hicn import Data, Form, HicnName, Interest, decode, encode
from roost.hicn.checksum import checksum, checksum_holds
from roost.hicn.head import read_head
from roost.hicn.label import label_at, next_label, relabelled
from roost.hicn.lifetime import MAX_LIFETIME_MS, kept_lifetime
from roost.hicn.manifest import SuffixList
from roost.hicn.name import MAX_SUFFIX
from roost.hicn.signature import Signature

MUTATIONS = int(os.environ.get("ROOST_MUTATIONS", "100000")) // 4
ADDRESSES = st.binary(min_size=16, max_size=16)
SUFFIXES = st.integers(0, MAX_SUFFIX)
NAMES = st.builds(HicnName, ADDRESSES.filter(lambda address: any(address[:12])), SUFFIXES)
LIFETIMES = st.integers(0, MAX_LIFETIME_MS).map(kept_lifetime)
SIGNATURES = st.none() | st.builds(
    lambda algorithm, time_ms, key_id, value, spare: Signature(
        algorithm, time_ms, key_id, value, (len(value) + 3) // 4 * 4 + 4 * spare
    ),
    st.integers(0, 255),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=32, max_size=32),
    st.binary(max_size=80),
    st.integers(0, 3),
)
PAYLOADS = st.binary(max_size=900)


@st.composite
def packets(draw: st.DrawFn) -> Interest | Data:
    name = draw(NAMES)
    form = draw(st.sampled_from(Form))
    on_ip = {} if form is Form.COMPACT else {"locator": draw(ADDRESSES), "hop_limit": draw(st.integers(0, 255))}
    rest: dict[str, Any] = {"lifetime_ms": draw(LIFETIMES), "form": form, "signature": draw(SIGNATURES), **on_ip}
    if draw(st.booleans()):
        rest |= {"manifest": draw(st.booleans()), "last": draw(st.booleans()), "path_label": draw(st.integers(0, 255))}
        return Data(name, draw(PAYLOADS), **rest)
    if draw(st.booleans()):
        suffixes = (name.suffix, *draw(st.lists(SUFFIXES, max_size=99)))
        asked = draw(st.integers(1, (1 << len(suffixes)) - 1))
        return Interest(name, manifest=SuffixList(suffixes, asked), **rest)
    return Interest(name, payload=draw(PAYLOADS), **rest)


@given(packets())
def test_what_is_written_is_read_and_its_checksum_holds(packet: Interest | Data) -> None:
    wire = encode(packet)
    assert decode(wire) == packet
    head = read_head(wire)
    assert (head.key, head.lifetime_ms, head.is_data) == (packet.name.key, packet.lifetime_ms, isinstance(packet, Data))
    if not head.compact:
        assert checksum_holds(wire)


@given(packets(), st.integers(0, 255))
def test_a_new_label_changes_nothing_else_and_keeps_the_checksum_right(packet: Interest | Data, face: int) -> None:
    if isinstance(packet, Interest):
        return
    compact = packet.form is Form.COMPACT
    wire = encode(packet)
    label = next_label(label_at(wire, compact=compact), face)
    moved = relabelled(wire, label, compact=compact)
    assert len(moved) == len(wire)
    assert label_at(moved, compact=compact) == label
    assert relabelled(moved, packet.path_label, compact=compact) == wire
    if not compact:
        assert int.from_bytes(moved[56:58], "big") == checksum(moved)


@given(packets(), st.integers(0, 1500))
def test_a_packet_that_was_cut_is_refused(packet: Interest | Data, length: int) -> None:
    wire = encode(packet)
    if length < len(wire):
        try:
            decode(wire[:length])
        except BadPacket:
            return
        raise AssertionError(f"{length} of {len(wire)} bytes were taken for a packet")


@given(NAMES)
def test_names_survive_text_and_key(name: HicnName) -> None:
    assert HicnName.parse(str(name)) == name
    assert HicnName.from_key(name.key) == name


def test_injured_packets_are_read_or_refused_and_nothing_else() -> None:
    name = HicnName.parse("abcd:1947::1|100")
    signature = Signature(9, 1, bytes(32), bytes(64), 64)
    originals = [
        encode(packet)
        for form in Form
        for packet in (
            Interest(name, form=form),
            Interest(name, payload=b"home/temp", form=form),
            Interest(name, manifest=SuffixList.of(100, 101, 102), form=form, signature=signature),
            Data(name, b"21.5", form=form),
            Data(name, b"21.5", form=form, signature=signature),
        )
    ]
    read = 0
    for wire in mutants(9, MUTATIONS, originals):
        try:
            packet = decode(wire)
        except BadPacket:
            continue
        read += 1
        again = encode(packet)
        assert len(again) == len(wire)
        assert decode(again) == packet
    assert 0 < read < MUTATIONS
