"""What repos know of a panel's numbers, and a panel with its real commander: only what repos sign is believed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from tests.panel_world import CURRENT, KEYS, NAME, VOLTAGE, WORLD, reading
from tests.trust_world import COMPANY, NOW, PANEL1

from roost.errors import Backpressure
from roost.forwarding.endpoint_effects import TIMED_OUT, Delivered, Failed
from roost.machine import MS, SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.conventions import segment, version
from roost.pubsub.asking import Asking
from roost.pubsub.commanding import Commander
from roost.pubsub.membership import Ask
from roost.pubsub.panels.panel import Acknowledged, Panel
from roost.pubsub.panels.recollection import AskLatest
from roost.repo.batch import Receipt
from roost.repo.question import ASK, Latest, Streams, decode_question, encode_streams
from roost.trust import Identity
from roost.wire import Interest, make_data

GROUP = COMPANY.group("Building1", "Electricity")
REPO1 = WORLD["/BigCompany/Building1/Electricity/Repo/Repo1"]
Numbers = Mapping[Name, int] | None


class Network:
    """An Asking with the world's trust, whose Interests the test answers; certificates are there."""

    def __init__(self) -> None:
        self.asking = Asking(WORLD.verifier(), NAME)
        self.asked: list[tuple[int, Interest]] = []
        self.told: list[Effect] = []
        self.now = NOW

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if not isinstance(effect, Ask):
                self.told.append(effect)
                continue
            interest = Interest.decode(effect.question.encoded())
            found = [each for each in WORLD.certificates() if each.name.starts_with(interest.name)]
            if found:
                self.do(self.asking.receive(Delivered(effect.ticket, found[0].data, congested=False), self.now))
            else:
                self.asked.append((effect.ticket, interest))

    def answer(self, content: bytes, *below: int, signer: Identity = REPO1) -> None:
        """Answer the oldest Interest with a Data below its name: a version, and perhaps a segment."""
        ticket, interest = self.asked.pop(0)
        name = interest.name / version(below[0])
        name = name / segment(below[1]) if len(below) > 1 else name
        data = make_data(name, content, signer.signer, freshness_ms=10)
        self.do(self.asking.receive(Delivered(ticket, data, congested=False), self.now))

    def fail(self) -> None:
        ticket, interest = self.asked.pop(0)
        self.do(self.asking.receive(Failed(ticket, TIMED_OUT, f"{interest.name}: nobody"), self.now))


def asking() -> tuple[Network, list[tuple[Numbers, str]]]:
    network = Network()
    heard: list[tuple[Numbers, str]] = []

    def then(numbers: Numbers, why: str, _: int) -> list[Effect]:
        heard.append((None if numbers is None else dict(numbers), why))
        return []

    network.do(AskLatest(network.asking, GROUP.service)(NAME, then, NOW))
    return network, heard


def question_of(network: Network) -> Latest:
    name = network.asked[0][1].name
    assert name.prefix(-1) == GROUP.service / ASK
    question = decode_question(name.at(-1))
    assert isinstance(question, Latest)
    return question


def test_all_pages_are_asked_for_and_put_together() -> None:
    network, heard = asking()
    assert question_of(network) == Latest(NAME)
    network.answer(encode_streams(Streams(((CURRENT, 7),), more=True)), 1, 0)
    assert question_of(network) == Latest(NAME, CURRENT)
    assert heard == []
    network.answer(encode_streams(Streams(((VOLTAGE, 9), (Name.parse("/zzzBigCompany/else"), 3)))), 1, 0)
    assert heard == [({CURRENT: 7, VOLTAGE: 9}, "")]


def test_what_no_repo_signed_says_nothing() -> None:
    network, heard = asking()
    network.answer(encode_streams(Streams(((VOLTAGE, 9),))), 1, 0, signer=WORLD[PANEL1])
    assert heard[0][0] is None
    assert [type(effect) for effect in network.told] == [Rejected]


def test_nonsense_and_silence_say_nothing() -> None:
    network, heard = asking()
    network.answer(b"nonsense", 1, 0)
    assert heard[0][0] is None
    assert isinstance(network.told[0], Rejected)
    network, heard = asking()
    network.fail()
    assert [(numbers, why.endswith(": nobody")) for numbers, why in heard] == [(None, True)]


class Whole:
    """A panel with its real commander, on a network of the test's."""

    def __init__(self) -> None:
        self.network = Network()
        asking = self.network.asking
        commander = Commander(asking, WORLD[PANEL1].signer, Random(5), GROUP.name, GROUP.service, tries=1)
        latest = AskLatest(asking, GROUP.service)
        self.panel = Panel(NAME, asking, commander, latest, KEYS.signer_for, Random(6))

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Save):
                self.do(self.panel.receive(Saved(effect.file, effect.ticket), self.network.now))
            else:
                self.network.do([effect])

    def settle(self) -> None:
        """Carry out the saves that answers brought about."""
        told, self.network.told[:] = list(self.network.told), []
        self.do(told)

    def acknowledged(self) -> list[Effect]:
        return [effect for effect in self.network.told if isinstance(effect, Acknowledged)]


def test_a_panel_forgets_a_reading_only_when_a_repo_has_signed_the_receipt() -> None:
    whole = Whole()
    network = whole.network
    whole.do(whole.panel.start(NOW))
    with pytest.raises(Backpressure):
        whole.panel.publish(VOLTAGE, reading("1"), NOW)
    network.answer(encode_streams(Streams(((VOLTAGE, 41),))), 1, 0)
    whole.settle()
    whole.do(whole.panel.publish(VOLTAGE, reading("1"), NOW))
    receipt = Receipt(200, 1).encode()
    first = network.asked[0][1]
    network.answer(receipt, 1, signer=WORLD[PANEL1])
    assert any(isinstance(effect, Rejected) for effect in network.told)
    assert whole.acknowledged() == []
    assert len(whole.panel.outbox) == 1
    network.now += SECOND
    whole.do(whole.panel.tick(network.now))
    again = network.asked[0][1]
    assert again.name.prefix(-1) == first.name.prefix(-1)
    assert again.name != first.name  # signed anew
    network.answer(receipt, NOW // MS)
    assert whole.acknowledged() == [Acknowledged(VOLTAGE, 42, 42)]
    assert len(whole.panel.outbox) == 0
