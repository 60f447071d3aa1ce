"""Checking what was fetched: certificates fetched once, asked for again another way, troubles told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import pytest
from tests.trust_world import BUILDING1, NOW, PANEL1, READING, STREAM, World, data

from roost.errors import Disconnected, Nacked, RoostError, Untrusted
from roost.host.verification import MAX_CERTIFICATES, Verification
from roost.machine import SECOND
from roost.naming import Name
from roost.trust import Rejection, Verdict, Verifier, Wanted, certify
from roost.wire import Data, Interest
from roost.wire.certificate import Certificate


@pytest.fixture(scope="module")
def world() -> World:
    return World()


class Network:
    """Serves certificates, and counts what it is asked."""

    def __init__(self, certificates: Iterable[Certificate], failure: Callable[[str], RoostError] = Nacked) -> None:
        self.certificates = list(certificates)
        self.failure = failure
        self.asked: list[Name] = []

    async def fetch(self, name: Name) -> Data:
        self.asked.append(name)
        await asyncio.sleep(0)
        for certificate in self.certificates:
            if certificate.name.starts_with(name):
                return certificate.data
        raise self.failure("no route")

    def verification(self, verifier: Verifier, now: int = NOW) -> Verification:
        return Verification(verifier, lambda: now, self.fetch)


def test_when_the_named_certificate_is_gone_another_one_of_the_key_will_do(world: World) -> None:
    old, key = world[PANEL1], world[PANEL1].key
    renewed = certify(world[BUILDING1], key.name, key.public.spki, NOW + SECOND)
    network = Network([renewed, world[BUILDING1].certificate])
    verifier = world.verifier()
    accepted = asyncio.run(network.verification(verifier).check(data(READING, old)))
    assert accepted.chain[0] == renewed.name
    assert network.asked == [old.certificate.name, key.name, world[BUILDING1].certificate.name]


def test_many_packets_of_one_signer_fetch_its_certificates_once(world: World) -> None:
    network = Network(world.certificates())

    async def check() -> None:
        verification = network.verification(world.verifier())
        packets = [data(f"{STREAM}/seq={number}", world[PANEL1]) for number in range(1, 20)]
        await asyncio.gather(*[verification.check(packet) for packet in packets])
        assert not verification._fetching

    asyncio.run(check())
    assert network.asked == [world[PANEL1].certificate.name, world[BUILDING1].certificate.name]


def test_one_who_waits_and_is_cancelled_takes_nothing_from_the_others(world: World) -> None:
    network = Network(world.certificates())

    async def check() -> None:
        verification = network.verification(world.verifier())
        tasks = [asyncio.ensure_future(verification.check(data(READING, world[PANEL1]))) for _ in range(2)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        assert (await tasks[1]).rule == "#reading"

    asyncio.run(check())


def test_what_could_not_be_fetched_is_told_with_the_reason(world: World) -> None:
    network = Network([])
    with pytest.raises(Untrusted, match=r"cannot be verified: .*could not be fetched.*: no route\)"):
        asyncio.run(network.verification(world.verifier()).check(data(READING, world[PANEL1])))
    assert network.asked == [world[PANEL1].certificate.name, world[PANEL1].key.name]


def test_that_our_own_face_is_down_is_not_held_against_the_certificate(world: World) -> None:
    network = Network([], Disconnected)
    verifier = world.verifier()
    with pytest.raises(Untrusted, match=r"could not be fetched.*no route"):
        asyncio.run(network.verification(verifier).check(data(READING, world[PANEL1])))
    network.certificates = world.certificates()
    assert asyncio.run(network.verification(verifier).check(data(READING, world[PANEL1]))).rule == "#reading"


def test_a_stale_certificate_is_refused_as_such(world: World) -> None:
    panel = world.made(PANEL1, world[BUILDING1], lifetime=SECOND)
    network = Network([panel.certificate, world[BUILDING1].certificate])
    later = network.verification(world.verifier(), NOW + 60 * SECOND)
    with pytest.raises(Untrusted, match="the certificate ended at") as caught:
        asyncio.run(later.check(data(READING, panel)))
    assert "could not be fetched" not in str(caught.value)


def test_a_verifier_that_never_has_enough_is_left(world: World) -> None:
    class Greedy:
        wants = 0

        def check(self, packet: Data | Interest, now: int, *, repeatable: bool = False) -> Verdict:  # noqa: ARG002
            self.wants += 1
            return Wanted(world[PANEL1].key.name)

        def learn(self, packet: Data, now: int) -> Rejection | None:  # noqa: ARG002
            return None

        def missing(self, name: Name, now: int) -> None: ...

    greedy, network = Greedy(), Network(world.certificates())
    with pytest.raises(Untrusted, match="may be a loop"):
        asyncio.run(Verification(greedy, lambda: NOW, network.fetch).check(data(READING, world[PANEL1])))
    assert greedy.wants == MAX_CERTIFICATES
    with pytest.raises(Untrusted, match=r"could not be fetched.*no route"):
        asyncio.run(Verification(greedy, lambda: NOW, Network([]).fetch).check(data(READING, world[PANEL1])))
