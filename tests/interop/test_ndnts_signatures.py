"""Signatures and certificates: made by NDNts and judged by our verifier, made by us and judged by NDNts."""

from __future__ import annotations

import secrets
import time

import pytest
from tests.interop.processes import Node, Peer, PeerFailed, opened

from roost.errors import Untrusted
from roost.host import ACCEPT_ANY, connect
from roost.host.serving import Handler
from roost.naming import Name
from roost.trust import KINDS, HmacKey, Identity, KeyChain, Kind, Policy, Schema, Verifier, certify, generate, self_sign
from roost.wire import Data, Interest, make_data
from roost.wire.certificate import Certificate
from roost.wire.signature import ED25519, HMAC_SHA256, SHA256_ECDSA, SHA256_RSA, Signer

SCHEMA = Schema("""
#KEY: "KEY"/_/_/_
#anchor: "interop"/#KEY
#site: "interop"/site/#KEY <= #anchor
#direct: "interop"/"direct"/_/_ <= #anchor
#reading: "interop"/site/_ <= #site
""")
SECRET = bytes(range(32))
TYPES = {"ecdsa": SHA256_ECDSA, "ed25519": ED25519, "rsa": SHA256_RSA, "hmac": HMAC_SHA256}


def certificate_of(made: dict[str, str]) -> Certificate:
    return Certificate.decode(bytes.fromhex(made["certificate"]))


def identity(name: str, kind: Kind = "ecdsa", issuer: Identity | None = None) -> Identity:
    key = generate(Name.parse(name), secrets.token_bytes, kind)
    if issuer is None:
        return self_sign(key, time.time_ns())
    return Identity(key, certify(issuer, key.name, key.public.spki, time.time_ns()))


# -- NDNts signs, we judge


@pytest.mark.parametrize("kind", KINDS)
async def test_we_verify_what_ndnts_signs(node: Node, ndnts: Peer, kind: str) -> None:
    producer = await opened(ndnts, node.uris["unix"])
    anchor = await ndnts.ask("make_key", key=kind, kind=kind, subject="/interop")
    prefix = f"/interop/direct/{kind}"
    await ndnts.ask("produce", face=producer, prefix=prefix, content=b"signed".hex(), key=kind)
    async with connect(node.uris["tcp"], verifier=Verifier(SCHEMA, [certificate_of(anchor)])) as face:
        data = await face.fetch(f"{prefix}/1")
    assert (data.content, data.signature.type) == (b"signed", TYPES[kind])
    assert str(data.signature.key_name) == str(Name.parse(anchor["name"]))


@pytest.mark.parametrize("kind", KINDS)
async def test_we_refuse_what_another_key_of_ndnts_signs(node: Node, ndnts: Peer, kind: str) -> None:
    producer = await opened(ndnts, node.uris["unix"])
    anchor = await ndnts.ask("make_key", key=f"anchor {kind}", kind=kind, subject="/interop")
    await ndnts.ask("make_key", key=f"stranger {kind}", kind=kind, subject="/interop")
    prefix = f"/interop/direct/stranger-{kind}"
    await ndnts.ask("produce", face=producer, prefix=prefix, content="00", key=f"stranger {kind}")
    async with connect(node.uris["tcp"], verifier=Verifier(SCHEMA, [certificate_of(anchor)])) as face:
        with pytest.raises(Untrusted):
            await face.fetch(f"{prefix}/1")


async def test_we_verify_the_hmac_of_ndnts_and_refuse_it_under_another_secret(node: Node, ndnts: Peer) -> None:
    producer = await opened(ndnts, node.uris["unix"])
    made = await ndnts.ask("make_key", key="hmac", kind="hmac", subject="/interop/hmac", secret=SECRET.hex())
    await ndnts.ask("produce", face=producer, prefix="/hmac", content="00", key="hmac")
    anchor = identity("/interop").certificate
    for secret, accepted in ((SECRET, True), (SECRET[::-1], False)):
        policy = Policy(secrets=((Name.parse("/hmac"), HmacKey(Name.parse(made["name"]), secret)),))
        async with connect(node.uris["tcp"], verifier=Verifier(SCHEMA, [anchor], policy)) as face:
            if accepted:
                assert (await face.fetch("/hmac/1")).signature.type == HMAC_SHA256
            else:
                with pytest.raises(Untrusted):
                    await face.fetch("/hmac/1")


@pytest.mark.parametrize("kind", KINDS)
def test_we_read_the_certificate_of_ndnts(ndnts: Peer, kind: str) -> None:
    made = ndnts.call("make_key", key=f"read {kind}", kind=kind, subject="/interop")
    certificate = certificate_of(made)
    assert str(certificate.identity) == "/interop"
    assert certificate.is_self_signed
    assert certificate.valid_at(time.time_ns())


async def test_we_follow_a_chain_of_certificates_that_ndnts_serves(node: Node, ndnts: Peer) -> None:
    producer = await opened(ndnts, node.uris["ws"])
    anchor = await ndnts.ask("make_key", key="top", kind="ed25519", subject="/interop")
    await ndnts.ask("make_key", key="hall", kind="ecdsa", subject="/interop/hall")
    issued = await ndnts.ask("certify", key="hall", issuer="top")
    await ndnts.ask("serve_certificate", face=producer, key="hall")
    await ndnts.ask("produce", face=producer, prefix="/interop/hall/5", content="05", key="hall")
    verifier = Verifier(SCHEMA, [certificate_of(anchor)])
    async with connect(node.uris["udp"], verifier=verifier) as face:
        data = await face.fetch("/interop/hall/5")
        assert data.content == b"\x05"
        assert data.signature.key_name == certificate_of(issued).name
        assert verifier.counters.learned == 1
        # The key of the hall says nothing about the yard.
        await ndnts.ask("produce", face=producer, prefix="/interop/yard/5", content="05", key="hall")
        with pytest.raises(Untrusted, match="reading"):
            await face.fetch("/interop/yard/5")


# -- we sign, NDNts judges


def answer_with(signer: Signer, content: bytes = b"ours") -> Handler:
    def answer(interest: Interest) -> Data:
        return make_data(interest.name, content, signer, freshness_ms=1000)

    return answer


@pytest.mark.parametrize("kind", KINDS)
async def test_ndnts_verifies_what_we_sign(node: Node, ndnts: Peer, kind: Kind) -> None:
    consumer = await opened(ndnts, node.uris["tcp"])
    ours, other = identity("/ours", kind), identity("/ours", kind)
    verify = {"certificate": ours.certificate.wire.hex()}
    async with (
        connect(node.uris["unix"], verifier=ACCEPT_ANY) as face,
        face.serve(f"/signed/{kind}/right", answer_with(ours.signer)),
        face.serve(f"/signed/{kind}/wrong", answer_with(other.signer)),
    ):
        got = await ndnts.ask("consume", face=consumer, interest=f"/signed/{kind}/right/1", verify=verify)
        assert (got["signature_type"], bytes.fromhex(got["content"])) == (TYPES[kind], b"ours")
        assert str(Name.parse(got["key"])) == str(ours.certificate.name)
        with pytest.raises(PeerFailed, match="verify failed"):
            await ndnts.ask("consume", face=consumer, interest=f"/signed/{kind}/wrong/1", verify=verify)


async def test_ndnts_verifies_our_hmac_and_refuses_it_under_another_secret(node: Node, ndnts: Peer) -> None:
    consumer = await opened(ndnts, node.uris["tcp"])
    made = await ndnts.ask("make_key", key="shared", kind="hmac", subject="/interop/shared", secret=SECRET.hex())
    name = Name.parse(made["name"])
    async with (
        connect(node.uris["unix"], verifier=ACCEPT_ANY) as face,
        face.serve("/mac/right", answer_with(HmacKey(name, SECRET))),
        face.serve("/mac/wrong", answer_with(HmacKey(name, SECRET[::-1]))),
    ):
        got = await ndnts.ask("consume", face=consumer, interest="/mac/right/1", verify={"key": "shared"})
        assert got["signature_type"] == HMAC_SHA256
        with pytest.raises(PeerFailed, match="verify failed"):
            await ndnts.ask("consume", face=consumer, interest="/mac/wrong/1", verify={"key": "shared"})


@pytest.mark.parametrize("kind", KINDS)
async def test_ndnts_follows_a_chain_of_certificates_that_we_serve(node: Node, ndnts: Peer, kind: Kind) -> None:
    consumer = await opened(ndnts, node.uris["ws"])
    anchor = identity("/interop", kind)
    hall = identity(f"/interop/{kind}-hall", kind, anchor)
    name = f"/interop/{kind}-hall/1"
    keychain = KeyChain(SCHEMA, [hall])
    async with (
        connect(node.uris["unix"], verifier=ACCEPT_ANY, signer=keychain) as face,
        face.serve(name, lambda _: b"twenty"),
    ):
        got = await ndnts.ask("verify_chain", face=consumer, interest=name, anchor=anchor.certificate.wire.hex())
    assert bytes.fromhex(got["content"]) == b"twenty"
    assert [Name.parse(link) for link in got["chain"]] == [
        Name.parse(name),
        hall.certificate.name,
        anchor.certificate.name,
    ]
