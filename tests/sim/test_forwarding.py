"""Random networks of forwarders: loops, loss, retransmissions. `make sim N=… SEED=…` runs more of them."""

from __future__ import annotations

import os
import random

import pytest
from tests.fabric import Fabric

RUNS = int(os.environ.get("ROOST_SIM_N", "2000"))
SEED = int(os.environ.get("ROOST_SIM_SEED", "1"))
PARTS = 8


def campaign(seed: int) -> None:
    """One random network: routes that loop on purpose, consumers that retransmit, producers that answer."""
    draw = random.Random(seed)
    count = draw.randint(2, 7)
    fabric = Fabric(count, seed)
    edges = [(n, draw.randrange(n)) for n in range(1, count)]
    edges += [(draw.randrange(count), draw.randrange(count)) for _ in range(draw.randint(0, count))]
    mtu = draw.choice([0, 0, 150, 1400])
    wires = [
        (a, b, fabric.wire(a, b, delay_ms=draw.randint(1, 30), loss=draw.choice([0.0, 0.0, 0.2]), mtu=mtu))
        for a, b in edges
        if a != b
    ]
    multicast = draw.random() < 0.5
    if multicast:
        from roost.forwarding.strategy import STRATEGY_PREFIX
        from roost.naming import Name

        for forwarder in fabric.forwarders:
            forwarder.strategies.set(Name.parse("/p"), STRATEGY_PREFIX / "multicast")
    for a, b, (face_a, face_b) in wires:  # every node routes everywhere: loops guaranteed where there is a cycle
        fabric.route(a, "/p", face_a, draw.randint(0, 3))
        fabric.route(b, "/p", face_b, draw.randint(0, 3))
    producer = fabric.app(draw.randrange(count), "/p", freshness_ms=draw.choice([0, 100, 10_000]))
    consumers = [fabric.app(draw.randrange(count)) for _ in range(draw.randint(1, 3))]
    clock_ms = 0
    for _ in range(draw.randint(5, 40)):
        consumer = draw.choice(consumers)
        fabric.ask(
            consumer,
            f"/p/{draw.randrange(12)}",
            lifetime_ms=draw.choice([100, 400, 4000]),
            must_be_fresh=draw.random() < 0.3,
            can_be_prefix=draw.random() < 0.3,
            hop_limit=draw.choice([-1, -1, 2, 255]),
        )
        clock_ms += draw.choice([0, 1, 20, 300])
        fabric.run(clock_ms)
    fabric.run(clock_ms + 60_000)
    assert not fabric.rejected
    for (node, face, name, nonce), copies in fabric.copies.items():
        assert copies <= 1, (
            f"Interest {name!r} {nonce.hex()} left node {node} by face {face} {copies} times: a loop lives"
        )
    for forwarder in fabric.forwarders:
        assert len(forwarder.pit) == 0, "a pending Interest outlived its lifetime"
        assert forwarder.deadline() is None, "a timer is left"
        forwarder.tick(fabric.now)
        assert len(forwarder.dead_nonces) == 0, "a dead nonce outlived its time"
    assert len(producer.asked) <= sum(fabric.interests_in.values())


@pytest.mark.parametrize("part", range(PARTS))
def test_random_networks_keep_their_promises(part: int) -> None:
    for seed in range(SEED + part, SEED + RUNS, PARTS):
        try:
            campaign(seed)
        except Exception as error:
            raise AssertionError(f"replay with: make sim N=1 SEED={seed}") from error
