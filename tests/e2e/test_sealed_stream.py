"""Content encryption end to end: a panel seals, a real node carries, those who may read do, the others are told.

Readings, wrapped content keys and certificates are all fetched as named data over a Unix socket and verified up from
the anchor [NDN-PS §III-B].
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from roost.errors import NoKey, TimedOut, Untrusted
from roost.host import ACCEPT_ANY, Face, Listen, SealedReader, SealedStream, connect, running
from roost.naming import Name
from roost.naming.building import Company
from roost.node import Node, NodeSettings
from roost.trust import (
    Identity,
    KeyChain,
    PrivateKey,
    Receiver,
    Recipient,
    Sealer,
    Verifier,
    building_schema,
    certify,
    generate,
    self_sign,
)
from roost.trust.access import key_data_name, parse_sealed
from roost.wire import DigestSigner

COMPANY = Company(Name.parse("/Co"), frozenset({"B1"}))
GROUP = COMPANY.group("B1", "Power")
VOLTAGE = GROUP.stream("P1", "Heater", "Voltage")
STREAM = VOLTAGE.name
SCHEMA = building_schema(COMPANY)


class Place:
    """The panel and two consumers, each on a face of its own to one node; consumers know only the anchor."""

    def __init__(self, panel: Face, alice: Face, bob: Face, uri: str) -> None:
        self.alice_key, self.bob_key = (generate(Name.of("Co", who), os.urandom) for who in ("Alice", "Bob"))
        self.alice = SealedReader(alice, [Receiver.of(self.alice_key)])
        self.bob = SealedReader(bob, [Receiver.of(self.bob_key)])
        self.panel = panel
        self.bob_face = bob
        self.uri = uri


def at(path: Path, test: Callable[[Place], Awaitable[None]]) -> None:
    now = time.time_ns()
    anchor = self_sign(generate(COMPANY.root.name, os.urandom), now)
    building = issued(anchor, COMPANY.building("B1").name, now)
    keychain = KeyChain(SCHEMA, [building, issued(building, GROUP.panel("P1").name, now)])

    def consumer() -> Verifier:
        return Verifier(SCHEMA, [anchor.certificate])

    async def main() -> None:
        async with (
            asyncio.timeout(30),
            running(Node(NodeSettings(), random.Random(1)), Listen(path / "n.sock")) as listening,
            connect(listening.uris[0], signer=keychain, verifier=consumer()) as panel,
            connect(listening.uris[0], signer=DigestSigner(), verifier=consumer()) as alice,
            connect(listening.uris[0], signer=DigestSigner(), verifier=consumer()) as bob,
        ):
            await test(Place(panel, alice, bob, listening.uris[0]))

    asyncio.run(main())


def issued(issuer: Identity, name: Name, now: int) -> Identity:
    key = generate(name, os.urandom)
    return Identity(key, certify(issuer, key.name, key.public.spki, now))


def recipient(key: PrivateKey) -> Recipient:
    return Recipient(key.public.spki)


def test_who_is_authorised_reads_and_who_is_not_is_told_by_the_publisher(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        sealed = SealedStream(place.panel, STREAM)
        sealed.authorise(recipient(place.alice_key))
        async with place.panel.serve(STREAM, sealed.answer):
            for number in range(1, 6):
                sealed.publish(VOLTAGE.reading(number), b"23%d V" % number)
            readings = [place.alice.fetch(VOLTAGE.reading(number)) for number in range(1, 6)]
            assert await asyncio.gather(*readings) == [b"231 V", b"232 V", b"233 V", b"234 V", b"235 V"]
            on_the_wire = await place.bob_face.fetch(VOLTAGE.reading(1))  # anyone may have it
            assert b"231" not in on_the_wire.wire
            with pytest.raises(NoKey, match=r"seq=1 cannot be read: .*its publisher says .* may not read.*authorise"):
                await place.bob.fetch(VOLTAGE.reading(1))
            sealed.authorise(recipient(place.bob_key))  # from the current key on; the refusal is in no cache's way
            assert await place.bob.fetch(VOLTAGE.reading(1)) == b"231 V"

    at(tmp_path, test)


def test_the_key_of_another_consumer_is_of_no_use(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        sealed = SealedStream(place.panel, STREAM)
        sealed.authorise(recipient(place.alice_key))
        async with place.panel.serve(STREAM, sealed.answer):
            data = sealed.publish(VOLTAGE.reading(1), b"230 V")
            content_key = parse_sealed(data.content)[2]
            wrapped = await place.bob_face.fetch(key_data_name(content_key, recipient(place.alice_key).digest))
            assert "not here" in str(place.bob.opener.learn(wrapped))
            with pytest.raises(NoKey):
                await place.bob.open(data)

    at(tmp_path, test)


def test_after_a_revocation_new_readings_are_closed_to_the_revoked_and_open_to_the_others(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        sealed = SealedStream(place.panel, STREAM)
        for key in (place.alice_key, place.bob_key):
            sealed.authorise(recipient(key))
        async with place.panel.serve(STREAM, sealed.answer):
            before = sealed.publish(VOLTAGE.reading(1), b"old")
            assert [await reader.fetch(VOLTAGE.reading(1)) for reader in (place.alice, place.bob)] == [b"old", b"old"]
            assert sealed.revoke(recipient(place.bob_key).digest)
            after = sealed.publish(VOLTAGE.reading(2), b"new")
            assert parse_sealed(before.content)[2] != parse_sealed(after.content)[2]
            assert await place.alice.fetch(VOLTAGE.reading(2)) == b"new"
            with pytest.raises(NoKey):
                await place.bob.fetch(VOLTAGE.reading(2))
            assert await place.bob.fetch(VOLTAGE.reading(1)) == b"old", "what it could read it can still read"

    at(tmp_path, test)


def test_readers_follow_the_rotation_of_the_key(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        sealed = SealedStream(place.panel, Sealer(STREAM, os.urandom, readings=2))
        sealed.authorise(recipient(place.alice_key))
        async with place.panel.serve(STREAM, sealed.answer):
            keys = set()
            for number in range(1, 6):
                keys.add(parse_sealed(sealed.publish(VOLTAGE.reading(number), bytes([number])).content)[2])
                assert await place.alice.fetch(VOLTAGE.reading(number)) == bytes([number])
            assert len(keys) == 3

    at(tmp_path, test)


def test_a_content_key_that_the_panel_did_not_sign_is_not_learned(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        sealed = SealedStream(place.panel, STREAM)
        reading = sealed.publish(VOLTAGE.reading(1), b"230 V")  # nobody is authorised: nobody serves a key for Alice
        async with connect(place.uri, signer=DigestSigner(), verifier=ACCEPT_ANY) as forger:
            wanted = key_data_name(parse_sealed(reading.content)[2], recipient(place.alice_key).digest)
            wrapped = recipient(place.alice_key).wrap(bytes(32), wanted, os.urandom)
            async with forger.serve(wanted, lambda _: wrapped):
                with pytest.raises(NoKey, match="digest"):
                    await place.alice.open(reading)

    at(tmp_path, test)


def test_content_that_is_not_sealed_or_was_altered_does_not_open(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        async with place.panel.serve(STREAM, lambda _: b"plain"):
            with pytest.raises(Untrusted, match="is not sealed content"):
                await place.alice.fetch(VOLTAGE.reading(1))

    at(tmp_path, test)


def test_what_is_kept_is_bounded_and_the_newest_reading_is_at_hand(tmp_path: Path) -> None:
    async def test(place: Place) -> None:
        sealed = SealedStream(place.panel, STREAM, max_readings=2)
        sealed.authorise(recipient(place.alice_key))
        async with place.panel.serve(STREAM, sealed.answer):
            _, _, last = [sealed.publish(VOLTAGE.reading(number), bytes([number])) for number in range(1, 4)]
            newest = await place.bob_face.fetch(STREAM, can_be_prefix=True, must_be_fresh=True)
            assert newest.name == VOLTAGE.reading(3)
            assert (await place.bob_face.fetch(last.full_name)).wire == last.wire
            assert sealed.forgotten == 1
            with pytest.raises(TimedOut):
                await place.alice.fetch(VOLTAGE.reading(1), lifetime_ms=50, tries=1)

    at(tmp_path, test)
