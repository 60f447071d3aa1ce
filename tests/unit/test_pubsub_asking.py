"""Questions with continuations: which certificate believes a packet, the one at hand or one that is asked for."""

from __future__ import annotations

from tests.trust_world import BUILDING1, NOW, PANEL1, READING, World, data

from roost.forwarding.endpoint_effects import TIMED_OUT, Delivered, Failed
from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.membership import Ask
from roost.trust import Identity, certify
from roost.wire import Data

LIFETIME = 1000 * SECOND


class Desk:
    """An `Asking` that has one certificate of Panel1 at hand; the test is the network."""

    def __init__(self, world: World, kept: Data) -> None:
        self.world = world
        self.kept = kept
        self.said: list[str] = []
        self.asked: list[Name] = []
        self.asking = Asking(world.verifier(), Name.parse(PANEL1), at_hand=self._at_hand)

    def check(self, packet: Data, served: list[Data], now: int) -> None:
        """Have a packet checked, with a network that serves some certificates."""

        def then(refusal: str, _: int) -> list[Effect]:
            self.said.append(refusal)
            return []

        effects = self.asking.check(packet, then, now)
        while effects:
            effect = effects.pop(0)
            if isinstance(effect, Ask):
                self.asked.append(effect.question.name)
                found = [each for each in served if each.name.starts_with(effect.question.name)]
                answer = Delivered(effect.ticket, found[0], congested=False) if found else _nobody(effect)
                effects += self.asking.receive(answer, now)

    def _at_hand(self, name: Name) -> Data | None:
        return self.kept if self.kept.name.starts_with(name) else None


def _nobody(ask: Ask) -> Failed:
    return Failed(ask.ticket, TIMED_OUT, f"{ask.question.name}: nobody")


def panel_of(world: World) -> Identity:
    return world.made(PANEL1, world[BUILDING1], lifetime=LIFETIME)


def test_a_certificate_at_hand_is_used_and_nobody_is_asked_for_it() -> None:
    world = World()
    panel = panel_of(world)
    desk = Desk(world, panel.certificate.data)
    desk.check(data(READING, panel), [each.data for each in world.certificates()], NOW)
    assert desk.said == [""]
    assert not [name for name in desk.asked if name.starts_with(Name.parse(PANEL1))]


def test_a_certificate_at_hand_that_has_ended_does_not_keep_its_successor_from_being_fetched() -> None:
    world = World()
    panel = panel_of(world)
    later = NOW + LIFETIME + SECOND
    renewed = certify(world[BUILDING1], panel.key.name, panel.key.public.spki, later)
    desk = Desk(world, panel.certificate.data)
    desk.check(data(READING, panel), [renewed.data, *[each.data for each in world.certificates()]], later)
    assert desk.said == [""]
    assert [name for name in desk.asked if renewed.name.starts_with(name)]
