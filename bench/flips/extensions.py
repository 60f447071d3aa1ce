"""What our answers to two of the paper's open problems bring, in virtual time, so that figures are the same anywhere.

`adaptive`: content that is late counts as lost, instead of when the Interest expires (2 s); mean and 90th percentile of
the delay at 1, 5 and 10 % loss each way. `event_driven`: bursts of eight events at unknown times; with 8 questions out
at once, each asked again before it expires and, once a later content is there, after a round trip; beside one question
at a time. The peer is FLIPS as the paper has it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from random import Random
from typing import Final

from tests.flips_world import FlipsWorld

from bench.figure import Figure
from roost.machine import SECOND
from roost.pubsub.flips.port import Deliver
from roost.pubsub.flips.settings import Following

TOPIC: Final = "home/temp"
CONTENTS: Final = 400
PAPER: Final = "paper"


def delays_ms(loss: float, following: Following, interval_ms: int, burst: int, seed: int) -> tuple[list[float], float]:
    """How long contents take to one subscriber two links away, and Interests on a link for each."""
    world = FlipsWorld(seed, loss)
    source, middle, place = world.place(), world.place(), world.place()
    world.link(middle, source)
    world.link(place, middle)
    publisher, reader = world.member(source), world.member(place)
    draw = Random(seed)
    world.register(publisher, TOPIC, interval_ms)
    world.run(8)
    world.publish(publisher, TOPIC, b"first")
    world.subscribe(reader, TOPIC, following)
    world.run(5)
    begun: list[int] = []
    before = len(world.crossings)
    got = len(reader.contents())
    while len(begun) < CONTENTS:
        for _ in range(burst):
            begun.append(world.now)
            world.publish(publisher, TOPIC, b"%d" % world.now)
        world.run(interval_ms / 1000 if interval_ms else draw.uniform(0.5, 20))
    world.run(120)
    arrived = [time for time, each in zip(reader.times, reader.told, strict=True) if isinstance(each, Deliver)][got:]
    delays = [(there - begin) * 1000 / SECOND for begin, there in zip(begun, arrived, strict=True)]
    return delays, (len(world.crossings) - before) / 2 / CONTENTS


def tenth(delays: list[float]) -> float:
    return statistics.quantiles(delays, n=10)[-1]


def run() -> Iterator[Figure]:
    for percent in (1, 5, 10):
        plain, sent = delays_ms(percent / 100, Following(patient=True), 1000, 1, 1)
        ours, ours_sent = delays_ms(percent / 100, Following(patient=True, adaptive=True), 1000, 1, 1)
        yield Figure(f"adaptive.loss_{percent}.mean", statistics.mean(ours), "ms", PAPER, statistics.mean(plain))
        yield Figure(f"adaptive.loss_{percent}.p90", tenth(ours), "ms", PAPER, tenth(plain))
        yield Figure(f"adaptive.loss_{percent}.packets", ours_sent, "packets/link", PAPER, sent)
    for percent in (0, 10):
        plain, sent = delays_ms(percent / 100, Following(patient=True), 0, 8, 2)
        low = Following(patient=True, pipeline=8, overlap_ms=500, adaptive=True)
        ours, ours_sent = delays_ms(percent / 100, low, 0, 8, 2)
        yield Figure(f"event_driven.loss_{percent}.mean", statistics.mean(ours), "ms", PAPER, statistics.mean(plain))
        yield Figure(f"event_driven.loss_{percent}.p90", tenth(ours), "ms", PAPER, tenth(plain))
        yield Figure(f"event_driven.loss_{percent}.packets", ours_sent, "packets/link", PAPER, sent)
