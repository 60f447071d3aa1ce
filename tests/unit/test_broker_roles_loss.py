"""Equation 3 at the broker: what is lost while roles are looked up if nothing is held, and that nothing is if it is."""

from __future__ import annotations

from math import exp, floor, sqrt
from random import Random
from statistics import fmean, stdev

import pytest
from tests import broker_packets as packets
from tests.roles_world import RAW, STREAM, brought, enter, house

DRAWS = 5000  # as the recipe has it
FEW = 400


def lost(*, hold: bool, mean_items: float, draws: int) -> list[int]:
    """Per subscription, how many readings did not come, of those that were published during look-ups of random length.

    One reading a period, the first of them a whole period after the SUBSCRIBE.
    """
    chance = Random(11)
    world = house(source=None, hold=hold)
    sensor = world.connect(b"sensor")
    counts: list[int] = []
    for draw in range(draws):
        client = enter(world, f"user{draw}")
        client.send(packets.subscribe(1, RAW, version=5))
        sent = floor(chance.expovariate(1 / mean_items))
        for number in range(sent):
            sensor.publish(STREAM, b"%d" % number)
        world.answer("customer")
        sensor.publish(STREAM, b"last")
        came = [payload for _, payload in brought(client)]
        assert came == ([b"%d" % number for number in range(sent)] if hold else []) + [b"last"]
        counts.append(sent + 1 - len(came))
        client.disconnect()
    return counts


@pytest.mark.parametrize(("mean_items", "draws"), [(0.5, FEW), (2, DRAWS), (10, FEW)])
def test_as_many_are_lost_as_equation_3_says_and_none_if_they_are_held(mean_items: float, draws: int) -> None:
    counts = lost(hold=False, mean_items=mean_items, draws=draws)
    expected = 1 / (1 - exp(-1 / mean_items)) - 1
    assert abs(fmean(counts) - expected) < 3 * stdev(counts) / sqrt(draws)
    assert not any(lost(hold=True, mean_items=mean_items, draws=FEW))
