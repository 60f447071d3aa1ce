"""Mutated packets: valid ones, hurt at random. The same seed gives the same packets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from roost.naming import Component, Name
from roost.naming.conventions import segment
from roost.wire import DigestSigner, LpPacket, NullSigner, encode_data, encode_interest, sign_interest
from roost.wire.certificate import Certificate, encode_certificate
from roost.wire.link import Link
from roost.wire.lp import nack
from roost.wire.rdr import encode_discovery, encode_metadata
from roost.wire.reading import SENML_CBOR, Lineage, Reading
from roost.wire.safebag import SafeBag
from roost.wire.segment import split
from roost.wire.senml import Quality, Value, encode_values

_TELLING = (0, 1, 2, 5, 6, 7, 8, 21, 22, 23, 31, 32, 80, 81, 82, 83, 100, 128, 160, 252, 253, 254, 255)


def samples() -> list[bytes]:
    """One or more packets of every kind that Roost reads from the network."""
    name = Name.parse("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=5")
    signer = DigestSigner()
    interest = encode_interest(name, nonce=b"1234", hop_limit=9, lifetime_ms=1000, can_be_prefix=True)
    lineage = Lineage((name, Name.parse("/a/seq=1")), bytes(32))
    value = encode_values([Value(230.5, "V", quality=Quality.UNCERTAIN), Value("on"), Value(b"x", time_s=1)])
    reading = encode_data(name, Reading(1, SENML_CBOR, value, lineage).encode(), signer, freshness_ms=1000)
    certificate = encode_certificate(
        Name.parse("/a/KEY/k"), b"key", signer, version=1, not_before=0, not_after=10**18, description={"a": "b"}
    )
    full = LpPacket(reading, pit_token=b"token", congestion_mark=1, incoming_face=3, next_hop_face=4, no_cache=True)
    full.acks = [1, 2]
    full.sequence = full.tx_sequence = 7
    full.non_discovery = True
    full.announcement = certificate
    return [
        interest,
        encode_interest(name, hints=(Name.parse("/a"), Name.parse("/b")), must_be_fresh=True, parameters=b"abc"),
        sign_interest(name, signer, signature_nonce=b"12345678", time_ms=1, sequence=2, parameters=b"abc"),
        sign_interest(name, NullSigner()),
        encode_discovery(name),
        encode_data(name, b"hello", signer),
        encode_data(name, bytes(300), signer, content_type=6, final_block=Component(b"x")),
        reading,
        certificate,
        encode_metadata(name, name, signer, version_number=5, final_block=segment(3)),
        *split(name, bytes(50), signer, version_number=1, segment_bytes=20),
        SafeBag(Certificate.decode(certificate), b"secret").encode(),
        nack(interest, 150),
        full.encode(),
        LpPacket().encode(),
        *Link(150).wrap([reading], 0),
        *Link(150, reliable=True).wrap([interest, reading], 0),
    ]


def mutants(seed: int, count: int, originals: Sequence[bytes] | None = None) -> Iterator[bytes]:
    """`count` packets, each an original with one to four injuries."""
    random = Random(seed)
    healthy = list(originals if originals is not None else samples())
    for _ in range(count):
        packet = bytearray(random.choice(healthy))
        for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
            _hurt(packet, random, healthy)
        yield bytes(packet)


def _hurt(packet: bytearray, random: Random, healthy: list[bytes]) -> None:
    if not packet:
        packet += random.choice(healthy)
    at = random.randrange(len(packet))
    kind = random.randrange(8)
    if kind == 0:
        packet[at] ^= 1 << random.randrange(8)
    elif kind == 1:
        packet[at] = random.randrange(256)
    elif kind == 2:
        packet[at] = random.choice(_TELLING)
    elif kind == 3:
        packet[at] = (packet[at] + random.choice((-2, -1, 1, 2))) % 256
    elif kind == 4:
        del packet[at : at + random.choice((1, 1, 2, 4, 40))]
    elif kind == 5:
        packet[at:at] = bytes(random.choice(_TELLING) for _ in range(random.choice((1, 2, 9))))
    elif kind == 6:
        other = random.choice(healthy)
        start = random.randrange(len(other))
        packet[at:at] = other[start : start + random.randrange(1, 60)]
    else:
        del packet[at:]
