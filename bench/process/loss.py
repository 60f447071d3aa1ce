"""Figure 19 of the Noctua paper: what a subscriber loses while its roles are looked up; with ours it is nothing.

The broker's machine runs without sockets and clock. The look-up of each of 5,000 subscribers takes a time that is drawn
from an exponential distribution; readings come once a period, so its mean is told in periods (τρ). `fixed` has the
first reading a whole period after the SUBSCRIBE, beside equation 3; `random` has it anywhere in the first period,
beside τρ, which is the mean then. Both are with holding switched off, as the paper has it; `held` is what is lost in
the same runs with holding on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, floor
from random import Random
from typing import Final

from tests import broker_packets as packets
from tests.roles_world import RAW, STREAM, brought, enter, house

from bench.figure import Figure, progress

DRAWS: Final = 5000
MEANS: Final = (0.1, 0.5, 1, 2, 5, 10, 20, 50, 100)  # τρ
SEED: Final = 19

Draw = Callable[[Random, float], int]


def run() -> Iterator[Figure]:
    for mean in MEANS:
        progress(f"loss.{mean}")
        yield Figure(f"loss.fixed.{mean}", _mean(fixed, mean), "readings", "eq3", equation_3(mean))
        yield Figure(f"loss.random.{mean}", _mean(anywhere, mean), "readings", "mean", mean)
        held = [*lost(fixed, mean, hold=True), *lost(anywhere, mean, hold=True)]
        yield Figure(f"loss.held.{mean}", sum(held), "readings")


def equation_3(mean: float) -> float:
    """What the paper expects to be lost."""
    return 1 / (1 - exp(-1 / mean)) - 1


def fixed(chance: Random, mean: float) -> int:
    """How many readings come during a look-up, the first of them a period after its begin."""
    return floor(chance.expovariate(1 / mean))


def anywhere(chance: Random, mean: float) -> int:
    """The same, the first of them anywhere in the first period."""
    return floor(chance.expovariate(1 / mean) + chance.random())


def lost(draw: Draw, mean: float, *, hold: bool, draws: int = DRAWS) -> Iterator[int]:
    """How many readings each subscriber did not get of those that came during its look-up, and one more."""
    chance = Random(SEED)
    world = house(source=None, hold=hold)
    sensor = world.connect(b"sensor")
    for number in range(draws):
        client = enter(world, f"user{number}")
        client.send(packets.subscribe(1, RAW, version=5))
        sent = draw(chance, mean)
        if sent:
            sensor.send(packets.publish(STREAM, b"1") * sent)
        world.answer("customer")
        sensor.publish(STREAM, b"last")
        yield sent + 1 - len(brought(client))
        client.disconnect()


def _mean(draw: Draw, mean: float) -> float:
    return sum(lost(draw, mean, hold=False)) / DRAWS
