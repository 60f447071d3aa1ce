"""Trust under generated input: our schema walk against python-ndn's, and altered packets against the verifier."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ndn.app_support.light_versec import DEFAULT_USER_FNS, Checker, compile_lvs
from tests.trust_world import NOW, SCHEMA, STREAM, World, data, settle

from roost.errors import BadConfig, BadPacket
from roost.naming import Component, Name
from roost.trust import Accepted, Opener, Receiver, Recipient, Rejection, Schema, Sealed, Sealer, Verifier, generate
from roost.trust.access import KeyData
from roost.trust.generate import KINDS
from roost.trust.keys import PrivateKey, load_public
from roost.wire import Data, DigestSigner, make_data

# Components from a small alphabet, so that rules are hit often; typed ones, so that $eq_type has work.
WORDS = [
    "BigCompany",
    "Building1",
    "Building2",
    "Building3",
    "Water",
    "DepartmentA",
    "BMS",
    "Repo",
    "KEY",
    "Panel1",
    "x",
]
PARTS = st.sampled_from([*WORDS, "seq=1", "v=1", "seg=0", "32=CK", "32=for", "32=metadata", "...", "%00"])
NAMES = st.lists(PARTS, min_size=1, max_size=9).map(
    lambda parts: Name.parse("/" + "/".join(parts).replace("8=", "..."))
)
IDENTITIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)


@st.composite
def names_and_keys(draw: st.DrawFn) -> tuple[Name, Name]:
    """A name, and the certificate of an identity that is often a prefix of it."""
    name = draw(NAMES)
    related = draw(st.booleans())
    identity = name.prefix(draw(st.integers(0, len(name)))) if related else Name.of(*draw(IDENTITIES))
    return name, identity + Name.parse("/KEY/%01/issuer/v=1")


THEIRS = Checker(compile_lvs(SCHEMA.text), DEFAULT_USER_FNS)


@settings(max_examples=400, deadline=None)
@given(names_and_keys())
def test_the_building_schema_means_to_us_what_it_means_to_python_ndn(pair: tuple[Name, Name]) -> None:
    name, key = pair
    theirs = THEIRS.check([part.wire for part in name], [part.wire for part in key])
    assert (SCHEMA.rule_for(name, key) is not None) == theirs
    rules = {rule for found, _ in THEIRS.match([part.wire for part in name]) for rule in found if rule[1] != "_"}
    assert set(SCHEMA.rules_of(name)) == rules
    if theirs:
        assert SCHEMA.rule_for_key(name, key.prefix(-2)) is not None
        assert SCHEMA.keys_for(name)
    elif not SCHEMA.rules_of(name):
        assert "should follow" in SCHEMA.nearest(name)


TOKENS = ['"a"', '"b"', "x", "y", "_", '"KEY"']
RULES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4),
        st.sampled_from(["", ' & {x: "a"|"b"}', ' & {x: "a"}|{x: "b"}', ' & {x: $eq_type("v=0")}', " & {y: x}"]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50, deadline=None)  # compiling takes 0.1 s
@given(RULES, st.lists(st.sampled_from(["a", "b", "c", "KEY", "v=1"]), min_size=1, max_size=4), st.data())
def test_any_schema_lets_us_accept_only_what_python_ndn_accepts(
    rules: list[tuple[list[str], str, int]], parts: list[str], more: st.DataObject
) -> None:
    lines = ['#root: "r"/x/"KEY"']
    for number, (name, constraint, signer) in enumerate(rules):
        below = "#root" if signer == 0 or number == 0 else f"#k{min(signer, number) - 1}"
        lines.append(
            f"#k{number}: {'/'.join(name)}{constraint if 'x' in name and 'y' in (*name, 'y') else ''} <= {below}"
        )
    text = "\n".join(lines)
    try:
        schema = Schema(text)
    except BadConfig:  # never another kind of exception
        return
    checker = Checker(compile_lvs(text), DEFAULT_USER_FNS)
    key_parts = more.draw(
        st.one_of(st.just(["r", "a", "KEY"]), st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
    )
    asked, key = Name.parse("/" + "/".join(parts)), Name.parse("/" + "/".join(key_parts))
    if schema.rule_for(asked, key) is not None:
        assert checker.check([part.wire for part in asked], [part.wire for part in key])


WORLD = World()
PANEL = WORLD["/BigCompany/Building1/Electricity/Panel1"]
PACKET = data(f"{STREAM}/seq=1", PANEL)


def ready() -> Verifier:
    verifier = WORLD.verifier()
    assert isinstance(settle(verifier, PACKET, WORLD.certificates()), Accepted)
    return verifier


READY = ready()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(PACKET.wire) - 1), st.integers(1, 255))
def test_a_packet_with_any_byte_altered_is_never_accepted(position: int, flip: int) -> None:
    wire = bytearray(PACKET.wire)
    wire[position] ^= flip
    try:
        altered = Data.decode(bytes(wire))
    except BadPacket:
        return
    assert not isinstance(READY.check(altered, NOW), Accepted)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(PANEL.certificate.wire) - 1), st.integers(1, 255))
def test_a_certificate_with_any_byte_altered_makes_nobody_believed(position: int, flip: int) -> None:
    wire = bytearray(PANEL.certificate.wire)
    wire[position] ^= flip
    verifier = WORLD.verifier()
    verifier.learn(WORLD["/BigCompany/Building1"].certificate.data, NOW)
    try:
        certificate = Data.decode(bytes(wire))
    except BadPacket:
        return
    verifier.learn(certificate, NOW)
    assert not isinstance(verifier.check(PACKET, NOW), Accepted)


KEY = generate(Name.parse("/alice"), random.Random(8).randbytes)


def sealed_once(content: bytes) -> tuple[Sealed, KeyData]:
    sealer = Sealer(Name.parse("/s"), random.Random(9).randbytes)
    sealer.authorise(Recipient(KEY.public.spki))
    sealed = sealer.seal(Name.parse("/s/1"), content, NOW)
    return sealed, sealed.keys[0]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000))
def test_what_is_sealed_opens(content: bytes) -> None:
    sealed, key = sealed_once(content)
    opener = Opener([Receiver.of(KEY)])
    assert opener.learn(make_data(key.name, key.content, DigestSigner())) is None
    outcome = opener.open(Name.parse("/s/1"), sealed.content)
    assert getattr(outcome, "content", None) == content


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.integers(0, 150)), st.integers(1, 255))
def test_no_bytes_from_the_network_raise_out_of_the_opener(garbage: bytes | int, flip: int) -> None:
    sealed, key = sealed_once(b"secret")
    opener = Opener([Receiver.of(KEY)])
    if isinstance(garbage, bytes):
        content, wrapped = bytearray(garbage), bytearray(garbage)
    else:
        content, wrapped = bytearray(sealed.content), bytearray(key.content)
        content[garbage % len(content)] ^= flip
        wrapped[garbage % len(wrapped)] ^= flip
    refused = opener.learn(make_data(key.name, bytes(wrapped), DigestSigner()))
    assert refused is None or isinstance(refused, Rejection)
    assert getattr(opener.open(Name.parse("/s/1"), bytes(content)), "content", b"") != b"secret"
    opener.learn(make_data(key.name, key.content, DigestSigner()))
    assert getattr(opener.open(Name.parse("/s/1"), bytes(content)), "content", b"") != b"secret"


KEYS = [generate(Name.parse("/k"), random.Random(4).randbytes, kind) for kind in KINDS]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KEYS), st.lists(st.tuples(st.integers(0, 400), st.integers(1, 255)), min_size=1, max_size=3))
def test_damaged_keys_are_refused_or_verify_nothing(key: PrivateKey, flips: list[tuple[int, int]]) -> None:
    spki = bytearray(key.public.spki)
    for position, flip in flips:
        spki[position % len(spki)] ^= flip
    try:
        public = load_public(bytes(spki))
    except BadPacket:
        return
    if public.spki != key.public.spki:
        assert not public.verify(b"portion", key.sign(b"portion"))


@pytest.mark.parametrize("value", [b"", b".", b"..", b"a/b", b'"', b"\xff", b"=", b"\\"])
def test_components_survive_the_schema_text(value: bytes) -> None:
    from roost.trust.schema import quoted

    schema = Schema(f'#root: "r"/"KEY"/_/_/_\n#data: {quoted(Component(value))}/_ <= #root')
    assert schema.rule_for(Name.of(Component(value), "x"), Name.parse("/r/KEY/1/self/v=1")) == "#data"
