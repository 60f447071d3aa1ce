"""The repo in use dies: how long until a reading is confirmed by another one, and until one is delivered from there.

Simulation: three repos linked pairwise, a panel and a consumer that both use the first and know the way to the second,
wires of 5 ms, ten readings a second. The first repo is killed at a moment drawn at random, and says nothing from then
on, as a machine without power does. Counted from the kill to the first confirmation, and the first delivery, of a
reading that was published after it; in seconds, and in lifetimes of the Interests that have to fail first: those of the
panel's commands, those of the consumer's sync. The same seeds give the same numbers on every run and every machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench.figure import Figure, progress
from roost.machine import MS, SECOND, Effect
from roost.naming.topic import TopicFilter
from roost.pubsub.commanding import LIFETIME_MS
from roost.pubsub.consumers.arrival import Deliver
from roost.pubsub.panels.panel import Acknowledged, Panel, Published
from roost.sim import Wire, World
from roost.sim.deployment import REPOS, streams
from roost.sim.houses import House, consumer_house, panel_house, repo_house
from roost.sync.presets import ROOST_PARTIAL
from roost.wire.reading import TEXT, Reading

SEEDS = range(1, 13)
SETTLE_S = 15
EVERY_MS = 100
GIVE_UP_S = 120
STREAM = streams("pi1")[0]


def run() -> Iterator[Figure]:
    confirmed: list[float] = []
    delivered: list[float] = []
    for seed in SEEDS:
        first, second = play(seed)
        progress(f"repo.fail_over seed {seed}: confirmed after {first:.2f} s, delivered after {second:.2f} s")
        confirmed.append(first)
        delivered.append(second)
    for name, times, lifetime_ms in (
        ("acknowledged", confirmed, LIFETIME_MS),
        ("delivered", delivered, ROOST_PARTIAL.sync_lifetime_ms),
    ):
        for kind, value in (("median", statistics.median(times)), ("worst", max(times))):
            yield Figure(f"fail_over_{name}_{kind}", value, "s")
            yield Figure(f"fail_over_{name}_{kind}_lifetimes", value * 1000 / lifetime_ms, "lifetimes")


def play(seed: int) -> tuple[float, float]:
    """Kill the repo in use once: seconds until the next confirmation, and until the next delivery."""
    world = World(seed)
    for name in REPOS:
        world.add(name, repo_house(name))
    world.add("pi1", panel_house("pi1", REPOS[:2]))
    world.add("c1", consumer_house([TopicFilter("pi1/#")], REPOS[:2]))
    pairs = [(a, b) for a in REPOS for b in REPOS if a < b]
    world.wires([*pairs, *((who, name) for who in ("pi1", "c1") for name in REPOS[:2])], Wire(delay_ms=5))
    world.run(for_=5 * SECOND)
    world.every(EVERY_MS * MS, lambda: _publish(world))
    world.run(for_=SETTLE_S * SECOND + world.draws("kill").randrange(4 * SECOND))
    killed = world.now
    before = max(each.what.number for each in world.history if isinstance(each.what, Published))
    world.crash(REPOS[0])
    while world.now < killed + GIVE_UP_S * SECOND:
        world.run(for_=SECOND)
        acknowledged = [time for time, _, _, what in world.history if _is_acknowledged(what, before)]
        delivered = [time for time, _, _, what in world.history if _is_delivered(what, before)]
        if acknowledged and delivered:
            return (acknowledged[0] - killed) / SECOND, (delivered[0] - killed) / SECOND
    raise AssertionError(f"seed {seed}: nothing goes on, {GIVE_UP_S} s after the kill")


def _publish(world: World) -> None:
    def publish(house: House[Panel], now: int) -> list[Effect]:
        return house.act(house.part.publish(STREAM, Reading(now, TEXT, b"21.5"), now), now)

    world.tell("pi1", publish, "publish")


def _is_acknowledged(what: object, before: int) -> bool:
    return isinstance(what, Acknowledged) and what.high > before + 1


def _is_delivered(what: object, before: int) -> bool:
    return isinstance(what, Deliver) and what.arrival.number > before + 1
