"""Registrations from another machine: whoever the schema lets speak for a prefix gets it, nobody else gets anything."""

from __future__ import annotations

import random

import pytest

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.endpoint_effects import Asked
from roost.forwarding.face import Arrived, FaceSpec, Send
from roost.forwarding.registrar import REFUSED, REGISTERED, RegistrationChanged
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.node import Node, NodeSettings
from roost.node.introduction import INSIDE, Introduction, speaks_for
from roost.pubsub.credentials import Credentials
from roost.sim import deployment
from roost.trust import Identity, Verifier

NOW = 1_700_000_000 * SECOND
FAR = FaceSpec("tcp4://192.0.2.7:6363", "tcp4://192.0.2.1:6363", local=False)
GROUP = deployment.GROUP


class Far:
    """A program on another machine, on the other end of a wire without delay to a node."""

    def __init__(self, who: Identity | None, identities: dict[Name, Identity]) -> None:
        self.verifier = Verifier(deployment.schema(), [identities[deployment.COMPANY.root.name].certificate])
        randomness = random.Random(1)
        introduction = Introduction(self.verifier, randomness)
        self.node = Node(NodeSettings(policy=introduction), randomness)
        self.now = NOW
        self.changes: list[RegistrationChanged] = []
        self.answered = 0
        shown = [identity.certificate.data for identity in identities.values()] if who is not None else []
        self.credentials = Credentials(shown)
        self.endpoint = Endpoint((who or identities[GROUP.name]).signer, randomness)
        self.endpoint.serve(Name())
        self._carry(self.node.start(NOW))
        self._carry(self.node.attach(introduction, NOW, INSIDE))
        self._carry(self.node.open_face(300, FAR, NOW))
        self._carry(self.endpoint.connected(1, FAR, NOW))

    def register(self, prefix: Name) -> str:
        self._carry(self.endpoint.register(prefix, self.now))
        for _ in range(100):
            due = [at for at in (self.node.deadline(), self.endpoint.deadline()) if at is not None]
            if not due or (self.changes and self.changes[-1].state in {REGISTERED, REFUSED}):
                break
            self.now = max(self.now, min(due))
            self._carry(self.node.tick(self.now))
            self._carry(self.endpoint.tick(self.now))
        return self.changes[-1].state

    def _carry(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send) and effect.face == 300:
                self._carry(self.endpoint.receive(Arrived(1, effect.packets), self.now))
            elif isinstance(effect, Send):
                self._carry(self.node.receive(Arrived(300, effect.packets), self.now))
            elif isinstance(effect, Asked):
                shown = self.credentials.answer(effect.interest)
                if shown is not None:
                    self.answered += 1
                    self._carry(self.endpoint.reply([(shown.wire, effect.token)], self.now))
            elif isinstance(effect, RegistrationChanged):
                self.changes.append(effect)


@pytest.fixture(scope="module")
def identities() -> dict[Name, Identity]:
    return deployment.identities(random.Random(7).randbytes, NOW - MS)


def test_a_panel_registers_its_own_prefix_after_its_certificates_were_asked_for(
    identities: dict[Name, Identity],
) -> None:
    panel = deployment.panel("pi1").name
    far = Far(identities[panel], identities)
    assert far.register(panel) == REGISTERED
    assert far.answered == 2  # the panel's and the building's; the anchor is known
    assert far.node.forwarder.fib.lookup(panel.value, panel.cuts) == [(300, 0)]


def test_a_panel_cannot_have_another_panels_prefix(identities: dict[Name, Identity]) -> None:
    far = Far(identities[deployment.panel("pi1").name], identities)
    assert far.register(deployment.panel("pi2").name) == REFUSED
    assert "may register what is below it" in far.changes[-1].reason


def test_who_serves_for_two_registers_each_with_its_own_key(identities: dict[Name, Identity]) -> None:
    one, other = deployment.panel("pi1").name, deployment.panel("pi2").name
    far = Far(identities[one], identities)
    far.endpoint.registrar.signers[other] = identities[other].signer
    assert [far.register(prefix) for prefix in (one, other)] == [REGISTERED, REGISTERED]


def test_who_shows_no_certificate_is_refused(identities: dict[Name, Identity]) -> None:
    far = Far(None, identities)
    assert far.register(GROUP.name) == REFUSED


def test_a_key_of_another_company_with_the_same_names_is_refused(identities: dict[Name, Identity]) -> None:
    others = deployment.identities(random.Random(8).randbytes, NOW - MS)
    panel = deployment.panel("pi1").name
    far = Far(others[panel], identities)
    far.credentials = Credentials([identity.certificate.data for identity in others.values()])
    assert far.register(panel) == REFUSED


def test_who_speaks_for_what() -> None:
    panel, repo = deployment.panel("pi1").name, deployment.repo("repo1").name
    hall = Name.parse("/Campus/Hall")
    assert speaks_for(panel, panel / "room1")
    assert not speaks_for(panel, GROUP.name)
    assert speaks_for(repo, GROUP.name)
    assert speaks_for(repo, GROUP.service)
    assert not speaks_for(repo, hall)
    assert speaks_for(repo, hall / "KEY" / "1")
    assert not speaks_for(repo, Name.parse("/Campus/Other/KEY/1"))
    assert not speaks_for(Name(), GROUP.name)
