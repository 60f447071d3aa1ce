"""Mutated packets through every decoder: the only thing that may come out is `BadPacket`, and nothing may grow.

`ROOST_MUTATIONS` says how many, 100,000 unless told; they are spread over four tests, so over the cores.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from tests.mutation import mutants, samples

from roost.errors import BadPacket
from roost.machine import MS
from roost.naming import Name
from roost.wire import LpPacket, decode_lp
from roost.wire.certificate import Certificate
from roost.wire.data import Data, decode_data
from roost.wire.interest import Interest, decode_interest
from roost.wire.link import MAX_PARTIAL_BYTES, MAX_PARTIALS, Link
from roost.wire.rdr import decode_metadata
from roost.wire.reading import SENML_CBOR, decode_reading
from roost.wire.safebag import SafeBag
from roost.wire.segment import Joiner
from roost.wire.senml import decode_values

SHARDS = 4
COUNT = int(os.environ.get("ROOST_MUTATIONS", "100000")) // SHARDS


def read_interest(wire: bytes) -> None:
    look_at_interest(decode_interest(wire))


def look_at_interest(interest: Interest) -> None:
    """Everything that is read lazily must hold once decoding has succeeded."""
    assert len(interest.name) > 0
    assert Name.parse(str(interest.name)) == interest.name
    assert interest.has_hint == bool(interest.hints)
    assert (interest.signature is None) == (not interest.signature_value and interest._signature_at == 0)
    if interest.signature is not None:
        assert len(interest.signed_portion) > len(interest.parameters or b"")
    assert len(interest.signed_portion) < len(interest.wire)
    if not interest.nonce:
        assert decode_interest(interest.with_nonce(b"1234")).nonce == b"1234"
    if interest.hop_limit >= 0:
        assert decode_interest(interest.with_hop_limit(1)).hop_limit == 1
    if interest.has_hint:
        assert not decode_interest(interest.without_hint()).has_hint


def read_data(wire: bytes) -> None:
    look_at_data(decode_data(wire))


def look_at_data(data: Data) -> None:
    assert Name.parse(str(data.name)) == data.name
    assert data.signed_portion.startswith(data.name.wire)
    assert data.wire.count(data.signature_value)
    assert data.content in data.signed_portion
    for decode in (Certificate.decode, decode_metadata, Joiner(data.name.prefix(-1)).add):
        tolerate(decode, data)
    tolerate(read_content, data.content)


def read_content(content: bytes) -> None:
    reading = decode_reading(content)
    if reading.format == SENML_CBOR:
        tolerate(decode_values, reading.payload)


def tolerate(read: Callable[..., object], argument: object) -> bool:
    """Whether it was accepted; a refusal must say why, and anything else fails the test."""
    try:
        read(argument)
    except BadPacket as error:
        refusal = str(error)
    else:
        return True
    assert refusal
    return False


@pytest.mark.parametrize("shard", range(SHARDS))
def test_only_bad_packet_comes_out(shard: int) -> None:
    links = [Link(150), Link(150, reliable=True), Link(1400, multicast=True)]
    counted: Counter[str] = Counter()
    now = 0

    def read_lp(wire: bytes) -> None:
        lp = decode_lp(wire)
        assert decode_lp(lp.encode()).fragment == lp.fragment
        for link in links:
            tolerate(partial(through, link), lp)

    def through(link: Link, lp: LpPacket) -> None:
        whole = link.unwrap(lp, now)
        if whole is not None:
            assert whole.fragment
            tolerate(read_interest, whole.fragment)
            tolerate(read_data, whole.fragment)

    for wire in mutants(shard, COUNT):
        now += MS
        for reader in (read_interest, read_data, read_lp, SafeBag.decode, read_content, decode_values):
            counted[reader.__name__] += tolerate(reader, wire)
        for link in links:
            deadline = link.deadline()
            if deadline is not None and deadline <= now:
                link.tick(now)
    for link in links:
        assert len(link._reassembly) <= MAX_PARTIALS
        assert link._reassembly.size_bytes <= MAX_PARTIAL_BYTES
    # Some injuries do no harm, or the test would say nothing about what comes after decoding.
    assert counted["read_interest"] > COUNT // 1000
    assert counted["read_data"] > COUNT // 100
    assert counted["read_lp"] > COUNT // 100


def test_the_samples_are_healthy() -> None:
    readers = (read_interest, read_data, decode_lp, SafeBag.decode)
    assert all(sum(tolerate(read, wire) for read in readers) == 1 for wire in samples())


def test_mutants_repeat_from_their_seed() -> None:
    assert list(mutants(7, 50)) == list(mutants(7, 50)) != list(mutants(8, 50))
