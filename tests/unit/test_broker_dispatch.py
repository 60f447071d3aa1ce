"""Packets that come before it is known who sends them, however the network cuts them."""

from __future__ import annotations

import random

import pytest
from tests.broker_packets import auth, connect, pingreq, props, publish, subscribe
from tests.broker_world import Client, World

from roost.broker.effects import Verdict

BEHIND = [
    subscribe(1, b"t", version=5),
    publish(b"t", b"first", qos=1, packet_id=2, version=5),
    pingreq(),
    publish(b"t", b"x" * 300, version=5),
]
ANSWERS = ["SUBACK", "PUBACK", "PINGRESP", "PUBLISH", "PUBLISH"]


def say(client: Client, data: bytes, cuts: list[int]) -> None:
    for low, high in zip([0, *cuts], [*cuts, len(data)], strict=True):
        client.send(data[low:high])


@pytest.mark.parametrize("seed", range(40))
def test_what_comes_before_the_answer_is_handled_in_order_and_unharmed(seed: int) -> None:
    dice = random.Random(seed)
    world = World()
    world.judge = lambda _: None
    client = world.open(5)
    data = connect(b"ann", version=5, user=b"ann", password=b"secret") + b"".join(BEHIND)
    size = len(data)
    cuts = sorted(dice.sample(range(1, size), dice.randrange(4)))
    at = dice.randrange(size - sum(map(len, BEHIND)), size + 1)  # how much is here when the answer comes
    say(client, data[:at], [cut for cut in cuts if cut < at])
    assert client.seen() == []
    world.run(world.broker.authenticated(client.link, Verdict(0, b"ann"), world.now))
    client.send(data[at:])
    found = client.seen()
    assert found[0].kind == "CONNACK"
    assert sorted(each.kind for each in found[1:]) == sorted(ANSWERS)
    assert [each.payload for each in found if each.kind == "PUBLISH"] == [b"first", b"x" * 300]
    assert world.broker.statistics().received == 1 + len(BEHIND)
    assert not world.rejected


def test_an_exchange_may_come_in_one_piece() -> None:
    world = World()
    verdicts = [Verdict(0x18, challenge=b"?"), Verdict(0, b"ann")]
    world.judge = lambda _: verdicts.pop(0)
    client = world.open(5)
    client.send(
        connect(b"ann", version=5, properties=props(auth_method=b"m")),
        auth(0x18, auth_method=b"m", auth_data=b"!"),
        pingreq(),
    )
    assert client.kinds() == ["AUTH", "CONNACK", "PINGRESP"]
