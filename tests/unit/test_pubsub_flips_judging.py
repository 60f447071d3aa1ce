"""Whose content is believed: the trust schema decides, by certificates that are here."""

from __future__ import annotations

import os
from random import Random

import pytest

from roost.hicn import decode, encode
from roost.machine import SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.hicn_binding import HicnFlips
from roost.pubsub.flips.hicn_effects import SendPacket
from roost.pubsub.flips.judging import SchemaJudge
from roost.pubsub.flips.port import Deliver, Registered
from roost.pubsub.flips.settings import SIGNED_SEGMENT_BYTES, FlipsSettings
from roost.sim import deployment
from roost.trust import Schema, Verifier, building_rules

NOW = 1_800_000_000 * SECOND
TOPIC = "pi1/room1/temp"  # below the group, as a stream of the panel pi1
SETTINGS = FlipsSettings(segment_bytes=SIGNED_SEGMENT_BYTES)


def acted(machine: HicnFlips, effects: list[Effect], now: int) -> list[Effect]:
    out: list[Effect] = []
    for effect in effects:
        if isinstance(effect, Save):
            out += acted(machine, machine.receive(Saved(effect.file, effect.ticket), now), now)
        else:
            out.append(effect)
    return out


@pytest.mark.parametrize(("panel", "believed"), [("pi1", True), ("pi2", False)])
def test_only_who_may_sign_the_stream_may_sign_the_topic(panel: str, believed: bool) -> None:
    identities = deployment.identities(os.urandom, NOW)
    held = identities[deployment.panel(panel).name]
    publisher = HicnFlips(Flips(SETTINGS, Random(1)), held.key)
    now = NOW
    told = acted(publisher, publisher.act(publisher.flips.register(TOPIC, 0, now), now), now)
    while not any(isinstance(each, Registered) for each in told):
        now = publisher.deadline() or now
        told = acted(publisher, publisher.tick(now), now)
    acted(publisher, publisher.act(publisher.flips.publish(TOPIC, b"21.5", now), now), now)

    anchor = identities[deployment.COMPANY.root.name].certificate
    verifier = Verifier(Schema(building_rules(deployment.COMPANY)), [anchor])
    certificates = [each.certificate for each in identities.values() if each.certificate != anchor]
    for certificate in certificates:
        verifier.learn(certificate.data, now)
    reader = HicnFlips(Flips(SETTINGS, Random(2)), judge=SchemaJudge(verifier, certificates, deployment.GROUP.name))
    (question,) = [each for each in reader.act(reader.flips.subscribe(TOPIC, now), now) if isinstance(each, SendPacket)]
    (answer,) = [
        each for each in publisher.receive(decode(encode(question.packet)), now) if isinstance(each, SendPacket)
    ]
    heard = reader.receive(decode(encode(answer.packet)), now)
    assert [each.signer for each in heard if isinstance(each, Deliver)] == ([str(held.key.name)] if believed else [])
    assert any(isinstance(each, Rejected) and "may sign" in each.reason for each in heard) == (not believed)
