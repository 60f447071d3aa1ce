"""Packets under Hypothesis, against python-ndn in both directions, byte-equal where the format is canonical."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from ndn import encoding as peer
from ndn.encoding import ndnlp_v2
from ndn.security import DigestSha256Signer, HmacSha256Signer
from ndn.security import NullSigner as PeerNullSigner

from roost.naming import Component, Name
from roost.wire import (
    Data,
    DigestSigner,
    Interest,
    LpPacket,
    NullSigner,
    decode_lp,
    encode_data,
    encode_interest,
    sign_interest,
)
from roost.wire.certificate import Certificate, encode_certificate
from roost.wire.lineage import InputRange, Lineage, lineage_of
from roost.wire.reading import Reading
from roost.wire.segment import Joiner, split
from roost.wire.senml import Quality, Value, decode_values, encode_values

COMPONENTS = st.one_of(
    st.builds(Component, st.binary(max_size=12)),
    st.builds(Component, st.binary(max_size=12), st.integers(3, 0xFFFF)),
    st.builds(Component.numbered, st.integers(0, 2**64 - 1), st.sampled_from([50, 52, 54, 56, 58])),
)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=5).map(lambda parts: Name.of(*parts))
NUMBERS = st.integers(0, 2**64 - 1) | st.sampled_from([0, 255, 256, 65535, 65536, 2**32 - 1, 2**32])


def parts(name: Name) -> list[bytes]:
    return [part.wire for part in name]


def joined(name: list[memoryview]) -> bytes:
    return b"".join(bytes(part) for part in name)


INTERESTS = st.fixed_dictionaries(
    {
        "nonce": st.binary(min_size=4, max_size=4),
        "can_be_prefix": st.booleans(),
        "must_be_fresh": st.booleans(),
        "hints": st.lists(NAMES, max_size=2).map(tuple),
        "lifetime_ms": NUMBERS,
        "hop_limit": st.integers(-1, 255),
    }
)


def as_peer(fields: dict[str, object]) -> peer.InterestParam:
    hop_limit = fields["hop_limit"]
    lifetime = fields["lifetime_ms"]
    hints = fields["hints"]
    nonce = fields["nonce"]
    assert isinstance(hints, tuple)
    assert isinstance(nonce, bytes)
    return peer.InterestParam(
        can_be_prefix=fields["can_be_prefix"],
        must_be_fresh=fields["must_be_fresh"],
        nonce=int.from_bytes(nonce, "big"),
        lifetime=None if lifetime == 4000 else lifetime,
        hop_limit=None if hop_limit == -1 else hop_limit,
        forwarding_hint=[parts(hint) for hint in hints],
    )


@given(NAMES, INTERESTS, st.none() | st.binary(max_size=300))
def test_interests_are_byte_equal(name: Name, fields: dict[str, object], parameters: bytes | None) -> None:
    ours = encode_interest(name, parameters=parameters, **fields)  # type: ignore[arg-type]
    # python-ndn takes empty parameters for none.
    if parameters != b"":
        assert bytes(peer.make_interest(parts(name), as_peer(fields), parameters)) == ours
    interest = Interest.decode(ours)
    for field, value in fields.items():
        assert getattr(interest, field) == (list(value) if isinstance(value, tuple) else value)
    assert interest.parameters == parameters
    theirs, param, app_param, _ = peer.parse_interest(ours)
    assert joined(theirs) == interest.name.value
    assert app_param == parameters
    assert param.lifetime in {None, interest.lifetime_ms}


@given(NAMES, INTERESTS, st.binary(min_size=1, max_size=300), st.booleans())
def test_signed_interests_are_byte_equal(name: Name, fields: dict[str, object], parameters: bytes, null: bool) -> None:
    ours = sign_interest(name, NullSigner() if null else DigestSigner(), parameters=parameters, **fields)  # type: ignore[arg-type]
    signer = PeerNullSigner() if null else DigestSha256Signer()
    assert bytes(peer.make_interest(parts(name), as_peer(fields), parameters, signer)) == ours
    interest = Interest.decode(ours)
    theirs, _, _, pointers = peer.parse_interest(ours)
    assert joined(theirs) == interest.name.value
    assert b"".join(bytes(part) for part in pointers.signature_covered_part) == interest.signed_portion
    assert bytes(pointers.signature_value_buf) == interest.signature_value


@given(NAMES, st.binary(max_size=600), st.none() | NUMBERS, NUMBERS, st.none() | COMPONENTS)
def test_data_is_byte_equal(
    name: Name, content: bytes, freshness: int | None, content_type: int, final: Component | None
) -> None:
    freshness = freshness or None
    ours = encode_data(
        name, content, DigestSigner(), freshness_ms=freshness or 0, content_type=content_type, final_block=final
    )
    meta = peer.MetaInfo(content_type or None, freshness, None if final is None else final.wire)
    if freshness is None and not content_type and final is None:
        meta = None
    assert bytes(peer.make_data(parts(name), meta, content, DigestSha256Signer())) == ours
    data = Data.decode(ours)
    assert (data.name, data.content, data.content_type, data.final_block) == (name, content, content_type, final)
    theirs, info, their_content, pointers = peer.parse_data(ours)
    assert joined(theirs) == name.value
    assert bytes(their_content) == content
    assert info.freshness_period == freshness
    assert b"".join(bytes(part) for part in pointers.signature_covered_part) == data.signed_portion
    assert bytes(pointers.signature_value_buf) == data.signature_value


@given(NAMES, NAMES, st.binary(max_size=100))
def test_their_signed_data_is_read(name: Name, key: Name, content: bytes) -> None:
    wire = bytes(peer.make_data(parts(name), peer.MetaInfo(), content, HmacSha256Signer(parts(key), b"secret")))
    data = Data.decode(wire)
    assert data.signature.key_name == key
    assert data.content == content
    assert len(data.signature_value) == 32


@given(st.binary(min_size=1, max_size=100), st.binary(max_size=32), st.integers(-1, 200), st.booleans())
def test_link_packets_are_read_by_python_ndn(fragment: bytes, token: bytes, reason: int, no_cache: bool) -> None:
    lp = LpPacket(fragment, pit_token=token, nack=reason, no_cache=no_cache, congestion_mark=1)
    theirs = ndnlp_v2.parse_lp_packet_v2(lp.encode())
    assert bytes(theirs.fragment) == fragment
    assert bytes(theirs.pit_token or b"") == token
    assert (theirs.nack is None) == (reason < 0)
    if reason > 0:
        assert theirs.nack.nack_reason == reason
    again = decode_lp(lp.encode())
    assert (again.fragment, again.pit_token, again.nack, again.no_cache) == (fragment, token, reason, no_cache)
    assert again.encode() == lp.encode()


@given(st.binary(max_size=500), st.integers(1, 100), st.randoms(use_true_random=False))
def test_segments_join_to_what_was_split(content: bytes, size: int, random: object) -> None:
    name = Name.parse("/a/v=1")
    datas = [Data.decode(wire) for wire in split(name, content, DigestSigner(), segment_bytes=size)]
    random.shuffle(datas)  # type: ignore[attr-defined]
    joiner = Joiner(name)
    for index, data in enumerate(datas):
        assert not joiner.complete
        assert joiner.add(data)
        assert not joiner.add(data)
        assert len(joiner.missing()) == len(datas) - index - 1
    assert joiner.content() == content


RANGES = st.builds(
    lambda stream, low, more: InputRange(stream, low, low + more), NAMES, st.integers(1, 2**40), st.integers(0, 2**40)
)


def _apart(count: int) -> list[InputRange]:
    """So many ranges that do not touch: about as many as can be named."""
    return [InputRange(Name.of("a"), 2 * number + 1, 2 * number + 1) for number in range(count)]


DIGESTS = st.binary(min_size=32, max_size=32)
JOBS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LINEAGES = st.builds(
    Lineage, st.lists(NAMES, min_size=1, max_size=5).map(tuple), DIGESTS, st.lists(RANGES, max_size=5).map(tuple), JOBS
) | st.builds(
    lambda program, ranges, job: lineage_of(program, ranges=ranges, job=job),
    DIGESTS,
    st.lists(RANGES, min_size=1, max_size=5) | st.integers(250, 260).map(_apart),
    JOBS,
)


@given(
    NUMBERS,
    st.integers(0, 65535),
    st.binary(max_size=300),
    st.none() | LINEAGES,
)
def test_readings_round_trip(time: int, format_: int, payload: bytes, lineage: Lineage | None) -> None:
    reading = Reading(time, format_, payload, lineage)
    assert Reading.decode(reading.encode()) == reading


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.builds(
    Value,
    st.integers(-(2**63), 2**63 - 1) | FLOATS | TEXT | st.booleans() | st.binary(max_size=20),
    unit=TEXT,
    quality=st.sampled_from(Quality),
    name=TEXT,
    time_s=FLOATS | st.integers(-(2**40), 2**40),
    update_s=FLOATS,
    total=st.none() | FLOATS,
)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_values_round_trip_and_are_deterministic(values: list[Value]) -> None:
    wire = encode_values(values)
    again = decode_values(wire)
    assert again == values
    assert [type(value.value) for value in again] == [type(value.value) for value in values]
    assert encode_values(again) == wire


@given(NAMES, COMPONENTS, COMPONENTS, NUMBERS, st.dictionaries(TEXT, TEXT, max_size=3))
def test_certificates_round_trip(
    identity: Name, key_id: Component, issuer: Component, version: int, description: dict[str, str]
) -> None:
    key_name = identity / "KEY" / key_id
    wire = encode_certificate(
        key_name,
        b"key",
        DigestSigner(),
        version=version,
        not_before=0,
        not_after=10**18,
        issuer=issuer,
        description=description,
    )
    certificate = Certificate.decode(wire)
    assert (certificate.identity, certificate.key_name, certificate.issuer) == (identity, key_name, issuer)
    assert (certificate.version, certificate.description) == (version, description)
