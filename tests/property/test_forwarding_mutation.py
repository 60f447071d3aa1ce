"""Mutated packets through parser, link and forwarder: nothing may escape, nothing may grow.

CI runs a million of them against the compiled package, interpreted a tenth; `ROOST_MUTATIONS` sets the number.
"""

from __future__ import annotations

import os
import random
import sys

import pytest

from roost.forwarding.face import AD_HOC, MULTI_ACCESS, RELIABILITY, Arrived, FaceSpec
from roost.forwarding.forwarder import Forwarder
from roost.forwarding.settings import ForwarderSettings
from roost.machine import MS, SECOND, Rejected
from roost.naming import Name
from roost.naming.conventions import segment
from roost.wire import DigestSigner, LpPacket, encode_data, encode_interest, sign_interest
from roost.wire.link import Link

DEFAULT = 1_000_000 if os.environ.get("ROOST_RUN") == "compiled" else 100_000
MUTATIONS = int(os.environ.get("ROOST_MUTATIONS", str(DEFAULT)))
PARTS = 4
BATCH = 50
SETTINGS = ForwarderSettings(pit_limit=500, store_packets=200, dead_nonce_limit=500)
FACES = {
    300: FaceSpec("a", "a", local=True),
    301: FaceSpec("b", "b", local=False, mtu=1400),
    302: FaceSpec("c", "c", local=False, mtu=500, flags=RELIABILITY),
    303: FaceSpec("d", "d", local=False, link_type=MULTI_ACCESS, mtu=1400),
    304: FaceSpec("e", "e", local=False, link_type=AD_HOC, mtu=1400),
}


def corpus(draw: random.Random) -> list[bytes]:
    signer = DigestSigner()
    names = [Name.parse(uri) for uri in ("/p/a", "/p/a/b", "/localhost/x", "/localhop/nfd/y", "/q/seq=7", "/p")]
    packets: list[bytes] = []
    for name in names:
        nonce = draw.randbytes(4)
        packets += [
            encode_interest(name, nonce=nonce),
            encode_interest(name, nonce=nonce, can_be_prefix=True, must_be_fresh=True, hop_limit=3, lifetime_ms=50),
            encode_interest(name, hints=(Name.parse("/p"), Name.parse("/q")), lifetime_ms=400),
            encode_interest(name, nonce=nonce, parameters=b"parameters"),
            sign_interest(name, signer, nonce=nonce, signature_nonce=bytes(8), time_ms=1_700_000_000_000),
            encode_data(name, b"x" * 50, signer, freshness_ms=100, final_block=segment(3)),
            encode_data(name / segment(1), b"x" * 1200, signer, content_type=2),
        ]
        packets += [
            LpPacket(packets[-7], nack=150).encode(),
            LpPacket(packets[-7], pit_token=b"token", congestion_mark=1, next_hop_face=301).encode(),
            LpPacket(packets[-2], no_cache=True, incoming_face=7).encode(),
        ]
    link = Link(500, reliable=True)
    for packet in list(packets):
        packets += link.wrap([packet], 0)
    return packets


def mutate(draw: random.Random, packet: bytes, other: bytes) -> bytes:
    kind = draw.randrange(7)
    size = len(packet)
    at = draw.randrange(size)
    if kind == 0:
        return packet[:at] + bytes((packet[at] ^ (1 << draw.randrange(8)),)) + packet[at + 1 :]
    if kind == 1:
        return packet[:at]
    if kind == 2:
        return packet[:at] + draw.randbytes(draw.randint(1, 9)) + packet[at:]
    if kind == 3:
        return packet[:at] + packet[at + draw.randint(1, 9) :]
    if kind == 4:
        return packet[:at] + other[draw.randrange(len(other)) :]
    if kind == 5:
        return packet[:at] + bytes((draw.choice((0, 1, 252, 253, 254, 255)),)) + packet[at + 1 :]
    return packet


def fresh_nonce(draw: random.Random, packet: bytes) -> bytes:
    at = packet.find(b"\x0a\x04")
    return packet if at < 0 else packet[: at + 2] + draw.randbytes(4) + packet[at + 6 :]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_packet_breaks_the_forwarder_or_makes_it_grow(part: int) -> None:
    draw = random.Random(part)
    packets = corpus(draw)
    forwarder = Forwarder(SETTINGS, draw)
    now = 1_700_000_000 * SECOND
    forwarder.start(now)
    for face, spec in FACES.items():
        forwarder.open_face(face, spec, now)
    for uri, face in (("/p", 301), ("/p/a", 302), ("/q", 300), ("/localhost", 300), ("/p/a/b", 303)):
        forwarder.fib.set(Name.parse(uri), [(face, 0), (304, 1)], now)
    rejected = accepted = 0
    blocks: list[int] = []
    rounds = MUTATIONS // PARTS // BATCH
    for number in range(rounds):
        batch = []
        for _ in range(BATCH):
            packet = fresh_nonce(draw, draw.choice(packets))
            batch.append(mutate(draw, packet, draw.choice(packets)))
        effects = forwarder.receive(Arrived(draw.choice(list(FACES)), batch), now)
        refused = sum(isinstance(effect, Rejected) for effect in effects)
        rejected += refused
        accepted += BATCH - refused
        now += draw.randrange(5 * MS)
        forwarder.tick(now)
        assert len(forwarder.pit) <= SETTINGS.pit_limit
        assert len(forwarder.store) <= SETTINGS.store_packets
        assert len(forwarder.dead_nonces) <= SETTINGS.dead_nonce_limit
        if number % max(rounds // 10, 1) == max(rounds // 10, 1) - 1:
            now += 900_000 * SECOND  # everything pending expires
            for _ in range(200):
                now += SECOND
                forwarder.tick(now)
            assert len(forwarder.pit) == 0
            assert len(forwarder.dead_nonces) == 0
            assert forwarder.deadline() is None
            blocks.append(sys.getallocatedblocks())
    assert rejected > 0
    assert accepted > 0
    half = len(blocks) // 2
    grown = min(blocks[half:]) - min(blocks[1:half])
    assert grown < 2_000, f"{grown} more memory blocks in the second half than in the first"
