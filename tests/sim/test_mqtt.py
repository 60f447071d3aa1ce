"""MQTT over bad networks: bytes that stop anywhere, links cut or half open, crashes, a disk that takes its time.

One seed is one story of some clients of both versions; it is told the same way every time. When a seed breaks a promise
of `tests.mqtt_truth`, ROOST_SIM_N=1 and ROOST_SIM_SEED=<seed> play it alone. ROOST_SIM_N sets how many are played.
"""

from __future__ import annotations

import os
from collections import Counter
from hashlib import blake2b
from random import Random

import pytest
from tests.mqtt_clients import Client, heal
from tests.mqtt_house import House
from tests.mqtt_truth import FOR_EVER

from roost.broker.settings import DISCONNECT, DISK, DROP_NEWEST, DROP_OLDEST, BrokerSettings
from roost.sim.draws import draws

SEED = int(os.environ.get("ROOST_SIM_SEED", "1"))
RUNS = int(os.environ.get("ROOST_SIM_N", "0")) or 120
PARTS = min(6, RUNS)
STEPS = 600
KEEP_ALIVE_S = 4
PING_AFTER_S = 1
TOPICS = [b"hall/1/temperature", b"hall/2/temperature", b"hall/1/door", b"roof"]
FILTERS = [b"hall/+/temperature", b"hall/1/#", b"#", b"roof", b"hall/1/door"]


class Person:
    """A client, and what it is inclined to do."""

    def __init__(self, house: House, chance: Random, number: int) -> None:
        self.chance = chance
        version = chance.choice([4, 5])
        maximum = chance.choice([1, 2, 10, 65_535]) if version == 5 else 65_535
        self.client = Client(house, f"client {number}", version, maximum, chance.choice([0, 0, 1, 3]))
        self.house = house
        self.clean = chance.choice([0.0, 0.0, 0.1, 1.0])
        self.expiry_s = chance.choice([FOR_EVER, FOR_EVER, 10, 0])
        self.spoke = 0

    def act(self) -> None:
        """Do one thing, if there is something to do."""
        client, chance, house = self.client, self.chance, self.house
        line = client.line
        if line is None or (line.over and not line.air):
            if chance.random() < 0.3:
                clean = chance.random() < self.clean
                client.connect(clean=clean, expiry_s=self.expiry_s, keep_alive=KEEP_ALIVE_S)
            return
        client.read(chance.randint(0, 4))
        if not client.connected:
            return
        client.answer(chance.randint(0, 4))
        what = chance.random()
        if what < 0.30:
            for _ in range(chance.choice([1, 1, 1, 5])):
                client.publish(chance.choice(TOPICS), chance.randint(0, 2))
        elif what < 0.36:
            client.subscribe(chance.choice(FILTERS), chance.randint(0, 2))
        elif what < 0.37:
            client.unsubscribe(chance.choice(FILTERS))
        elif what < 0.38:
            client.disconnect(chance.choice([None, self.expiry_s]))
        elif house.now > self.spoke + PING_AFTER_S * 10**9:
            client.ping()
        else:
            return
        self.spoke = house.now


class Street:
    """One story."""

    def __init__(self, seed: int, settings: BrokerSettings) -> None:
        self.chance = draws(seed, "mqtt", "street")
        self.house = House(settings, seed)
        people = self.chance.randint(2, 5)
        self.people = [Person(self.house, draws(seed, "mqtt", "person", each), each) for each in range(people)]
        self.trouble = self.chance.choice([0.01, 0.03, 0.1])
        self.disk_chance = self.chance.choice([0.05, 0.3, 1.0])
        self.happened: Counter[str] = Counter()

    @property
    def clients(self) -> list[Client]:
        return [person.client for person in self.people]

    def play(self) -> None:
        for _ in range(STEPS):
            self.house.wait(self.chance.expovariate(1 / 0.02))
            person = self.chance.choice(self.people)
            person.act()
            self._carry()
            if self.chance.random() < self.disk_chance:
                self.house.write(self.chance.randint(1, 5))
            if self.chance.random() < self.trouble:
                self._trouble(person)
            for what, (size, most) in self.house.broker.sizes().items():
                assert size <= most, f"{size} {what}, where {most} are allowed"
        heal(self.house, self.clients, TOPICS)

    def _carry(self) -> None:
        """Some bytes go up and some come down, not always whole packets."""
        for person in self.people:
            line = person.client.line
            if line is not None:
                self.house.push(line, self.chance.choice([0, 1, 7, 50, 5000]))
                self.house.pull(line, self.chance.choice([0, 1, 7, 50, 5000]))

    def _trouble(self, person: Person) -> None:
        client, chance = person.client, self.chance
        what = chance.choice(["cut", "cut", "cut", "half open", "crash", "power", "long night"])
        line = client.line
        if what == "cut" and line is not None:  # what is under way is lost in both directions, also half a packet
            line.up.clear()
            line.air.clear()
            self.house.lose(line)
        elif what == "half open" and line is not None and client.connected:  # the broker hears nothing, for ever
            client.abandon()
        elif what in {"crash", "power"}:
            self.house.crash(chance.randint(0, 5), power=what == "power")
            for each in self.clients:
                if each.line is not None and chance.random() < 0.5:  # else what was sent before still arrives
                    each.line.air.clear()
        elif what == "long night":
            self.house.wait(chance.choice([1, 7, 15]))
        else:
            return
        self.happened[what] += 1

    def digest(self) -> str:
        """All that the broker did, in few bytes."""
        truth = self.house.truth
        facts = repr((sorted(truth.arrivals.items()), sorted(self.house.rows.items()), self.house.now))
        return blake2b(facts.encode(), digest_size=8).hexdigest()


def played(seed: int, settings: BrokerSettings) -> Street:
    street = Street(seed, settings)
    try:
        street.play()
    except AssertionError as error:
        again = f"ROOST_SIM_N=1 ROOST_SIM_SEED={seed}"
        raise AssertionError(
            f"seed {seed}, after {dict(street.happened)}: {error}; to see it again: {again}"
        ) from error
    return street


def roomy() -> BrokerSettings:
    return BrokerSettings(persistent=True, durability=DISK, max_inflight=5, sys_interval_s=0)


def crowded(overflow: int) -> BrokerSettings:
    return BrokerSettings(
        persistent=True, durability=DISK, max_inflight=3, sys_interval_s=0, max_queued=5, overflow=overflow
    )


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_acknowledged_is_lost_and_nothing_of_qos_2_doubled(part: int) -> None:
    happened: Counter[str] = Counter()
    for seed in range(SEED + part, SEED + RUNS, PARTS):
        street = played(seed, roomy())
        happened += street.happened
        happened[f"QoS 2 of {street.house.truth.crashes > 0}"] += sum(
            qos == [2] for qos in street.house.truth.arrivals.values()
        )
        for client in street.clients:
            due = street.house.truth.of(client.name).required
            assert not due, f"seed {seed}: {client.name} never got {sorted(due)}, which were acknowledged"
    if RUNS >= 120:
        assert all(happened[what] for what in ("cut", "half open", "crash", "power")), happened
        assert happened["QoS 2 of True"], "no message of QoS 2 arrived in a story with a crash"


@pytest.mark.parametrize("overflow", [DROP_OLDEST, DROP_NEWEST, DISCONNECT])
def test_full_queues_stay_within_their_bounds_and_what_they_drop_is_counted(overflow: int) -> None:
    missing = 0
    for seed in range(SEED, SEED + max(RUNS // 6, 1)):
        street = played(seed, crowded(overflow))
        missing += sum(len(street.house.truth.of(client.name).required) for client in street.clients)
    assert missing or RUNS < 120, "the queues were never full"


def test_story_is_told_the_same_way_twice() -> None:
    assert played(SEED, roomy()).digest() == played(SEED, roomy()).digest()
