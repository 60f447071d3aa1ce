"""The verifier beyond the matrix: caches and their bounds, locators, loops, policy, forgeries, renewal."""

import random
from dataclasses import replace

import pytest
from tests.trust_world import (
    BUILDING1,
    NOW,
    PANEL1,
    READING,
    ROOT,
    SCHEMA,
    STREAM,
    World,
    data,
    interest,
    rule_of,
    settle,
)

from roost.errors import BadConfig, Untrusted
from roost.machine import MS, SECOND
from roost.naming import Name
from roost.trust import Accepted, HmacKey, Policy, Rejection, ReplayRules, Schema, Verifier, Wanted, generate, self_sign
from roost.trust.certificates import PER_KEY, CertificateStore
from roost.trust.generate import KINDS, Kind
from roost.trust.identity import certify
from roost.trust.keys import located
from roost.trust.verifier import MISSING_FOR
from roost.wire import (
    Data,
    DigestSigner,
    Interest,
    NullSigner,
    Signer,
    encode_data,
    encode_interest,
    make_data,
    sign_interest,
)
from roost.wire.certificate import Certificate, encode_certificate
from roost.wire.signature import locator_of_digest


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def rejection(verdict: object) -> Rejection:
    assert isinstance(verdict, Rejection), verdict
    return verdict


def test_certificates_are_wanted_one_by_one_and_never_again(world: World) -> None:
    verifier = world.verifier()
    asked = []
    packet = data(READING, world[PANEL1])
    while isinstance(verdict := verifier.check(packet, NOW), Wanted):
        asked.append(verdict.name)
        found = next(held for held in world.certificates() if held.name.starts_with(verdict.name))
        assert verifier.learn(found.data, NOW) is None
    assert asked == [world[PANEL1].certificate.name, world[BUILDING1].certificate.name]
    assert verifier.counters.chains_reused == 0
    for number in range(2, 12):
        assert rule_of(verifier.check(data(f"{STREAM}/seq={number}", world[PANEL1]), NOW)) == "#reading"
    assert verifier.counters.chains_reused == 10
    assert verifier.counters.accepted == 11
    assert verifier.counters.wanted == 2


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_key(kind: Kind) -> None:
    world = World(kind=kind) if kind != "rsa" else None
    if world is None:  # RSA keys take long to make, so one of them under an ECDSA world
        world = World()
        key = generate(Name.parse(PANEL1), random.Random(3).randbytes, "rsa")
        made = certify(world[BUILDING1], key.name, key.public.spki, NOW)
        packet = data(READING, located(key, made.name))
        assert rule_of(settle(world.verifier(), packet, [*world.certificates(), made])) == "#reading"
        return
    assert rule_of(settle(world.verifier(), data(READING, world[PANEL1]), world.certificates())) == "#reading"


def test_a_batch_means_the_same_as_one_at_a_time(world: World) -> None:
    packets = [data(f"{STREAM}/seq={number}", world[PANEL1]) for number in range(1, 5)]
    packets.append(data("/BigCompany/Building1/Electricity/Panel2/A/B/seq=1", world[PANEL1]))
    one, other = world.verifier(), world.verifier()
    for verifier in (one, other):
        settle(verifier, packets[0], world.certificates())
    assert one.check_all(packets, NOW) == [other.check(packet, NOW) for packet in packets]


@pytest.mark.parametrize("cut", [0, -1, -2], ids=["certificate", "without version", "key"])
def test_a_locator_names_a_key_or_a_certificate(world: World, cut: int) -> None:
    full = world[PANEL1].certificate.name
    locator = full.prefix(cut) if cut else full
    packet = data(READING, located(world[PANEL1].key, locator))
    assert rule_of(settle(world.verifier(), packet, world.certificates())) == "#reading"


def test_a_locator_by_digest_works_once_the_certificate_is_known(world: World) -> None:
    key = world[PANEL1].key

    class ByDigest:
        signature_type = key.signature_type
        key_locator = locator_of_digest(key.public.digest)

        def sign(self, portion: bytes) -> bytes:
            return key.sign(portion)

    packet = data(READING, ByDigest())
    verifier = world.verifier()
    assert "KeyDigest" in rejection(verifier.check(packet, NOW)).reason
    assert verifier.learn(world[PANEL1].certificate.data, NOW) is None
    assert rule_of(settle(verifier, packet, world.certificates())) == "#reading"
    assert rule_of(verifier.check(packet, NOW)) == "#reading"
    assert verifier.counters.chains_reused == 1


def test_a_locator_that_names_no_key(world: World) -> None:
    packet = data(READING, located(world[PANEL1].key, Name.parse("/somewhere/else")))
    assert "names no key" in rejection(world.verifier().check(packet, NOW)).reason


def test_what_no_certificate_could_mend_is_refused_before_anything_is_fetched(world: World) -> None:
    verifier = world.verifier()
    for name in ("/BigCompany/Building1/Electricity/Panel2/A/B/seq=1", "/Other/name"):
        by_key = data(name, located(world[PANEL1].key, world[PANEL1].key.name))
        assert isinstance(verifier.check(by_key, NOW), Rejection)
        assert isinstance(verifier.check(data(name, world[PANEL1]), NOW), Rejection)
    assert verifier.counters.wanted == 0


def test_unsigned_null_and_digest_packets_are_refused(world: World) -> None:
    verifier = world.verifier()
    name = Name.parse(READING)
    unsigned = Interest.decode(encode_interest(name))
    assert "not signed" in rejection(verifier.check(unsigned, NOW)).reason
    assert "null" in rejection(verifier.check(make_data(name, b"", NullSigner()), NOW)).reason
    refused = rejection(verifier.check(make_data(name, b"", DigestSigner()), NOW))
    assert "digest" in refused.reason
    assert refused.rule == "#reading"
    assert PANEL1 in refused.fix


def test_digests_are_enough_where_the_policy_says_so(world: World) -> None:
    policy = Policy(digest_under=(Name.parse("/localhost"),))
    verifier = Verifier(SCHEMA, [world.anchor.certificate], policy)
    packet = make_data(Name.parse("/localhost/x"), b"abc", DigestSigner())
    assert verifier.check(packet, NOW) == Accepted("digest", ())
    altered = Data.decode(packet.wire.replace(b"abc", b"abd"))
    assert "altered" in rejection(verifier.check(altered, NOW)).reason
    assert isinstance(verifier.check(make_data(Name.parse("/local"), b"", DigestSigner()), NOW), Rejection)


def test_hmac_keys_are_good_for_their_prefix_only(world: World) -> None:
    key = HmacKey(Name.parse("/shared/KEY/1"), bytes(range(32)))
    policy = Policy(secrets=((Name.parse("/site"), key),))
    verifier = Verifier(SCHEMA, [world.anchor.certificate], policy)
    assert verifier.check(data("/site/a", key), NOW) == Accepted("hmac /site", (key.name,))
    assert "no HMAC key" in rejection(verifier.check(data("/other/a", key), NOW)).reason
    wrong = HmacKey(key.name, bytes(32))
    assert "does not match" in rejection(verifier.check(data("/site/a", wrong), NOW)).reason
    stranger = HmacKey(Name.parse("/stranger/KEY/1"), bytes(range(32)))
    assert "no HMAC key" in rejection(verifier.check(data("/site/a", stranger), NOW)).reason


def test_signed_interests_are_checked_and_not_accepted_twice(world: World) -> None:
    verifier = world.verifier()
    first = interest(READING, world[PANEL1])
    assert rule_of(settle(verifier, first, world.certificates())) == "#reading"
    assert rejection(verifier.check(first, NOW)).rule == "replay.time"
    later = interest(READING, world[PANEL1], time_ms=NOW // MS + 1, nonce=b"another")
    assert rule_of(verifier.check(later, NOW)) == "#reading"


def test_a_forged_interest_does_not_move_the_replay_state(world: World) -> None:
    verifier = world.verifier()
    assert isinstance(settle(verifier, interest(READING, world[PANEL1], NOW // MS - 5), world.certificates()), Accepted)
    stranger = located(World(seed=9)[PANEL1].key, world[PANEL1].certificate.name)
    forged = Interest.decode(
        sign_interest(Name.parse(READING), stranger, time_ms=NOW // MS + 50_000, signature_nonce=b"n")
    )
    assert isinstance(verifier.check(forged, NOW), Rejection)
    assert isinstance(verifier.check(interest(READING, world[PANEL1], nonce=b"n"), NOW), Accepted)


def test_certificates_that_sign_each_other_end_in_a_refusal() -> None:
    schema = Schema(
        '#KEY: "KEY"/_/_/_\n#root: "c"/"root"/#KEY\n#left: "c"/"a"/#KEY <= #root\n'
        '#key: "c"/x/#KEY & {x: "a"|"b"} <= #left\n#data: "c"/"data"/_ <= #key'
    )
    entropy = random.Random(5).randbytes
    root = self_sign(generate(Name.parse("/c/root"), entropy), NOW)
    one, two = generate(Name.parse("/c/a"), entropy), generate(Name.parse("/c/a"), entropy)

    def circle(subject: Name, spki: bytes, signer: Signer) -> Certificate:
        wire = encode_certificate(
            subject,
            spki,
            signer,
            version=1,
            not_before=NOW,
            not_after=NOW + SECOND * 1000,
        )
        return Certificate.decode(wire)

    first = circle(one.name, one.public.spki, two)
    second = circle(two.name, two.public.spki, one)
    verifier = Verifier(schema, [root.certificate])
    verdict = settle(verifier, data("/c/data/x", located(one, first.name)), [first, second])
    assert "circle" in rejection(verdict).reason


def test_a_chain_that_is_too_long_is_refused(world: World) -> None:
    packet = data(READING, world[PANEL1])
    enough, short = (Verifier(SCHEMA, [world.anchor.certificate], Policy(depth=depth)) for depth in (3, 2))
    assert isinstance(settle(enough, packet, world.certificates()), Accepted)
    assert "longer than 2" in rejection(settle(short, packet, world.certificates())).reason


def test_a_forged_certificate_does_not_stand_in_the_way_of_the_real_one(world: World) -> None:
    real = world[PANEL1]
    stranger = World(seed=4)[PANEL1].key
    fakes = []
    for version in range(PER_KEY + 2):
        wire = encode_certificate(
            real.key.name,
            stranger.public.spki,
            located(stranger, world[BUILDING1].certificate.name),
            version=10**14 + version,
            not_before=NOW,
            not_after=NOW + 10**6 * SECOND,
        )
        fakes.append(Certificate.decode(wire))
    verifier = world.verifier()
    packet = data(READING, located(real.key, real.key.name))
    for fake in fakes:
        assert verifier.learn(fake.data, NOW) is None
    others = [held for held in world.certificates() if held.key_name != real.key.name]
    assert "forged" in rejection(settle(verifier, packet, [*fakes, *others])).reason
    assert rule_of(settle(verifier, packet, world.certificates(), NOW + MISSING_FOR)) == "#reading"
    forged = data(READING, located(stranger, fakes[0].name))
    assert isinstance(settle(verifier, forged, fakes), Rejection)


def _claimed(world: World, signer: Signer, version: int = 5) -> Certificate:
    """A certificate for the name of Panel1's key and another's public key."""
    wire = encode_certificate(
        world[PANEL1].key.name,
        World(seed=4)[PANEL1].key.public.spki,
        signer,
        version=version,
        not_before=NOW,
        not_after=NOW + 10**6 * SECOND,
    )
    return Certificate.decode(wire)


@pytest.mark.parametrize("by", ["certificate", "key"])
@pytest.mark.parametrize("issuer", ["itself", "someone who may not", "nobody that can be found", "no key at all"])
def test_a_false_certificate_at_hand_does_not_keep_the_true_one_from_being_fetched(
    world: World, issuer: str, by: str
) -> None:
    stranger = World(seed=4)
    locator = {
        "itself": world[PANEL1].key.name,
        "someone who may not": stranger["/BigCompany/Building2"].certificate.name,
        "nobody that can be found": stranger[BUILDING1].certificate.name,
        "no key at all": Name.parse("/somewhere"),
    }[issuer]
    fake = _claimed(world, located(stranger[PANEL1].key, locator))
    real = world[PANEL1]
    packet = data(READING, real if by == "certificate" else located(real.key, real.key.name))
    verifier = world.verifier()
    assert verifier.learn(fake.data, NOW) is None
    assert rule_of(settle(verifier, packet, world.certificates())) == "#reading"
    forged = data(READING, located(stranger[PANEL1].key, fake.name))
    assert isinstance(settle(verifier, forged, [fake, *world.certificates()]), Rejection)


def test_where_only_false_certificates_are_served_they_are_asked_for_twice_and_refused(world: World) -> None:
    fake = _claimed(world, located(World(seed=4)[PANEL1].key, world[PANEL1].key.name))
    verifier = world.verifier()
    for _ in range(3):
        verdict = rejection(settle(verifier, data(READING, located(world[PANEL1].key, fake.name)), [fake]))
        assert "self-signed" in verdict.reason
    assert verifier.counters.wanted == 2


def test_data_outlives_its_certificate_when_the_key_is_certified_anew(world: World) -> None:
    panel = world.made(PANEL1, world[BUILDING1], lifetime=100 * SECOND)
    packet = data(READING, panel)
    verifier = world.verifier()
    served = [panel.certificate, *world.certificates()]
    assert rule_of(settle(verifier, packet, served)) == "#reading"
    later = NOW + 1000 * SECOND
    assert rejection(settle(verifier, packet, served, later)).rule == "validity"
    renewed = certify(world[BUILDING1], panel.key.name, panel.key.public.spki, later)
    much_later = later + 60 * SECOND  # that nobody served a newer one is forgotten by now
    assert rule_of(settle(verifier, packet, [renewed, *world.certificates()], much_later)) == "#reading"


def test_what_could_not_be_fetched_is_asked_for_again_later(world: World) -> None:
    verifier = world.verifier()
    packet = data(READING, world[PANEL1])
    assert "could not be fetched" in rejection(settle(verifier, packet, [])).reason
    assert isinstance(verifier.check(packet, NOW + 60 * SECOND), Wanted)
    assert rule_of(settle(verifier, packet, world.certificates(), NOW + 60 * SECOND)) == "#reading"


def test_another_anchor_than_ours_is_told_as_such_and_not_asked_for(world: World) -> None:
    verifier, foreign = world.verifier(), World(seed=666)
    packet = data(READING, foreign[PANEL1])
    while isinstance(verdict := verifier.check(packet, NOW), Wanted):
        assert not verdict.name.starts_with(Name.parse(ROOT))
        found = next(held for held in foreign.certificates() if held.name.starts_with(verdict.name))
        verifier.learn(found.data, NOW)
    assert "another trust anchor than ours" in rejection(verdict).reason
    assert not rejection(verdict).for_now
    verifier.learn(foreign.anchor.certificate.data, NOW)  # nor does it help whoever slips us theirs
    assert rejection(verifier.check(packet, NOW)) == verdict


def test_a_locator_that_names_a_self_signed_certificate_is_content_with_the_issued_one(world: World) -> None:
    panel = world[PANEL1]
    packet = data(READING, located(panel.key, self_sign(panel.key, NOW).certificate.name))
    assert rule_of(settle(world.verifier(), packet, world.certificates())) == "#reading"


def test_where_anyone_may_certify_keys_named_as_an_anchor_a_certificate_is_asked_for(world: World) -> None:
    schema = Schema(
        """
        #root: /"BigCompany"/"BMS"/"KEY"/_/"self"/_
        #other: /"BigCompany"/"BMS"/"KEY"/_/_/_ <= #root
        #any: /"BigCompany"/_/"KEY"/_/_/_ <= #other | #root
        """
    )
    packet = data(f"{BUILDING1}/KEY/k/i/v=1", World(seed=666).anchor)
    assert isinstance(world.verifier(schema).check(packet, NOW), Wanted)


def test_only_certificates_are_learned(world: World) -> None:
    verifier = world.verifier()
    assert "no certificate name" in rejection(verifier.learn(data(READING, world[PANEL1]), NOW)).reason
    expired = verifier.learn(world[PANEL1].certificate.data, NOW + 10**10 * SECOND)
    assert rejection(expired).rule == "validity"
    garbage = encode_certificate(
        world[PANEL1].key.name,
        b"no key",
        world[BUILDING1].signer,
        version=1,
        not_before=NOW,
        not_after=NOW + SECOND,
    )
    verifier = world.verifier()
    assert verifier.learn(Data.decode(garbage), NOW) is None
    packet = data(READING, located(world[PANEL1].key, world[PANEL1].key.name))
    verdict = verifier.check(packet, NOW)
    assert isinstance(verdict, Wanted)
    assert "SubjectPublicKeyInfo" in rejection(verdict.otherwise).reason
    assert "SubjectPublicKeyInfo" in rejection(settle(verifier, packet, [Certificate.decode(garbage)])).reason


def test_tables_are_bounded() -> None:
    world = World(seed=3)
    store = CertificateStore(limit=3)
    for certificate in world.certificates():
        store.put(certificate)
    assert len(store) == 3
    assert store.evicted == len(world.certificates()) - 3
    verifier = Verifier(SCHEMA, [world.anchor.certificate], Policy(certificates=2, chains=2))
    for panel in ("Panel1", "Panel2"):
        identity = f"/BigCompany/Building1/Electricity/{panel}"
        packet = data(f"{identity}/A/B/seq=1", world[identity])
        assert isinstance(settle(verifier, packet, world.certificates()), Accepted)
    assert isinstance(settle(verifier, data(READING, world[PANEL1]), world.certificates()), Accepted)
    for number in range(2000):
        verifier.missing(Name.of(str(number)), NOW)
    assert len(verifier._missing) == 1024
    assert len(verifier._chains) <= 2
    assert len(verifier._believed) <= 2


def test_settings_that_cannot_be_used(world: World) -> None:
    with pytest.raises(BadConfig, match="at least one trust anchor"):
        Verifier(SCHEMA, [])
    with pytest.raises(BadConfig, match="anchor rule"):
        Verifier(SCHEMA, [world[PANEL1].certificate])
    with pytest.raises(BadConfig, match="at least 1"):
        Policy(depth=0)


def test_a_rejection_is_also_an_error() -> None:
    made = Rejection("broken", "#rule", Name.parse("/k"), "mend it")
    assert str(made) == "broken [rule #rule] [key /k]; mend it"
    assert isinstance(made.error(), Untrusted)
    assert str(replace(made, rule="", key=None, fix="")) == "broken"


def test_replay_rules_reach_the_verifier(world: World) -> None:
    policy = Policy(replay=ReplayRules(time=False, nonce=False, sequence=False))
    verifier = Verifier(SCHEMA, [world.anchor.certificate], policy)
    packet = interest(READING, world[PANEL1])
    assert isinstance(settle(verifier, packet, world.certificates()), Accepted)
    assert isinstance(verifier.check(packet, NOW), Accepted)


def test_an_rsa_signature_under_an_ecdsa_certificate(world: World) -> None:
    key = generate(Name.parse(PANEL1), random.Random(3).randbytes, "ed25519")
    packet = data(READING, located(key, world[PANEL1].certificate.name))
    verdict = rejection(settle(world.verifier(), packet, world.certificates()))
    assert "Ed25519 signature" in verdict.reason
    assert "ECDSA key" in verdict.reason


def test_the_anchor_itself_is_accepted_while_it_is_valid(world: World) -> None:
    verifier = world.verifier()
    assert verifier.check(world[ROOT].certificate.data, NOW) == Accepted("anchor", (world[ROOT].certificate.name,))
    assert rejection(verifier.check(world[ROOT].certificate.data, NOW + 10**10 * SECOND)).rule == "validity"
    assert encode_data(Name.parse("/x"), b"", world[ROOT].signer)
