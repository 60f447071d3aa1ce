"""The FLIPS machine between two or more of its kind: a bus without forwarders, with loss where a test wants it."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import BadPacket, BadTopic
from roost.machine import MS, SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.pubsub.flips import payload as layout
from roost.pubsub.flips import ring
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.identifiers import FIRST_SUBSCRIPTION, subscription_number, topic_hash
from roost.pubsub.flips.payload import ContentReply, decode_content
from roost.pubsub.flips.port import (
    Collided,
    DataArrived,
    Deliver,
    InterestArrived,
    Registered,
    SendData,
    SendInterest,
    SubscriptionEnded,
    WentStale,
)
from roost.pubsub.flips.settings import Delivery, FlipsSettings, Following

START = 1_700_000_000 * SECOND
TOPIC = "home/temp"


class Bus:
    """Machines that hear each other at once; packets are lost by chance, disks are quick."""

    def __init__(self, loss: float = 0.0, settings: FlipsSettings | None = None) -> None:
        self.now = START
        self.loss = loss
        self.settings = settings or FlipsSettings()
        self.machines: list[Flips] = []
        self.told: list[tuple[int, Effect]] = []
        self.sent: list[Effect] = []
        self.disks: dict[int, bytes] = {}
        self._draw = Random(7)

    def add(self, found: bytes = b"") -> int:
        self.machines.append(Flips(self.settings, Random(len(self.machines)), found))
        self.disks[len(self.machines) - 1] = found
        return len(self.machines) - 1

    def act(self, who: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Save):
                self.disks[who] = effect.data if effect.replace else self.disks[who] + effect.data
                self.act(who, self.machines[who].receive(Saved(effect.file, effect.ticket), self.now))
            elif isinstance(effect, (SendInterest, SendData)):
                self.sent.append(effect)
                for other, machine in enumerate(self.machines):
                    if other != who and self._draw.random() >= self.loss:
                        self.act(other, machine.receive(_heard(effect), self.now))
            else:
                self.told.append((who, effect))

    def run(self, seconds: float) -> None:
        end = self.now + int(seconds * SECOND)
        while True:
            due = [each for machine in self.machines if (each := machine.deadline()) is not None]
            if not due or min(due) > end:
                break
            self.now = max(self.now, min(due))
            for who, machine in enumerate(self.machines):
                if (deadline := machine.deadline()) is not None and deadline <= self.now:
                    self.act(who, machine.tick(self.now))
        self.now = end

    def register(self, who: int, interval_ms: int = 1000, topic: str = TOPIC) -> None:
        self.act(who, self.machines[who].register(topic, interval_ms, self.now))
        self.run(8)

    def publish(self, who: int, content: bytes, topic: str = TOPIC) -> None:
        self.act(who, self.machines[who].publish(topic, content, self.now))

    def subscribe(self, who: int, following: Following | None = None) -> None:
        self.act(who, self.machines[who].subscribe(TOPIC, self.now, following))

    def contents(self, who: int) -> list[bytes]:
        return [each.content for name, each in self.told if name == who and isinstance(each, Deliver)]


def _heard(effect: SendInterest | SendData) -> InterestArrived | DataArrived:
    if isinstance(effect, SendInterest):
        return InterestArrived(effect.hash, effect.number, effect.lifetime_ms, effect.payload)
    return DataArrived(effect.hash, effect.number, effect.payload)


def test_hashes_of_topics() -> None:
    assert topic_hash("a").hex() == "abcd75b9c0f1b6a831c399e269772661"
    assert topic_hash(TOPIC).hex() == "abcd19477aeddb566a81c6962284bc15"
    assert topic_hash("bms/b1/elec/p1/heater/voltage").hex() == "abcd54769d444f2c8c3c4a95272b784d"
    assert topic_hash("température").hex() == "abcdfb928bc0223e177bfcf1d6b1d7ef"
    with pytest.raises(BadTopic):
        topic_hash("")


def test_ring_wraps_into_content_only() -> None:  # E2, E3
    assert ring.at(ring.SIZE - 1) == 1_500_000_000
    assert ring.at(ring.SIZE) == 100
    assert ring.step(1_500_000_000) == 100
    assert ring.distance(1_500_000_000, 100) == 1
    assert ring.distance(100, 1_500_000_000) == -1


def test_clock_that_is_not_set_stays_out_of_content() -> None:
    assert subscription_number(5 * SECOND, 2 * SECOND) == FIRST_SUBSCRIPTION + 3
    assert subscription_number(START, START) == 1_700_000_000


def test_payload_vector() -> None:
    wire = bytes.fromhex("01000000000000650000018bcfe57b8832312e35")
    assert decode_content(wire) == ContentReply(0, 0, 101, 1_700_000_005_000, b"21.5")
    assert decode_content(wire).encode() == wire


@pytest.mark.parametrize("wire", ["", "01", "02" + "00" * 15, "01f0" + "00" * 14, "0100000000000001" + "00" * 8])
def test_bad_payloads_are_refused(wire: str) -> None:
    with pytest.raises(BadPacket):
        decode_content(bytes.fromhex(wire))


def test_registration_probes_twice_and_is_ready() -> None:
    bus = Bus()
    bus.register(bus.add())
    assert [each for _, each in bus.told if isinstance(each, Registered)] == [Registered(TOPIC, 0)]
    assert len(bus.sent) == 2


@pytest.mark.parametrize(("bits", "other", "reason"), [(112, TOPIC, layout.SAME_TOPIC), (0, "x", layout.OTHER_TOPIC)])
def test_second_registrant_fails_cleanly(bits: int, other: str, reason: int) -> None:  # E1, E9, E11, E12
    bus = Bus(settings=FlipsSettings(hash_bits=bits))
    first, second = bus.add(), bus.add()
    bus.register(first)
    bus.register(second, topic=other)
    collided = [each for who, each in bus.told if isinstance(each, Collided) and who == second]
    assert [each.reason for each in collided] == [reason]
    assert not bus.machines[second].publishing.table
    assert bus.machines[first].publishing.table
    assert all(each.lifetime_ms == 0 for each in bus.sent if isinstance(each, SendData))


def test_simultaneous_registration_of_colliding_topics() -> None:  # E10
    bus = Bus(settings=FlipsSettings(hash_bits=0))
    first, second = bus.add(), bus.add()
    bus.act(first, bus.machines[first].register("a", 0, bus.now))
    bus.act(second, bus.machines[second].register("b", 0, bus.now))
    bus.run(10)
    assert not any(isinstance(each, Registered) for _, each in bus.told)
    assert sum(isinstance(each, Collided) for _, each in bus.told) == 2


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.05, 0.1])
@pytest.mark.parametrize("adaptive", [False, True])
def test_everything_is_delivered_once_and_in_order(loss: float, adaptive: bool) -> None:  # E5
    bus = Bus(loss)
    publisher = bus.add()
    bus.register(publisher)
    followers = [bus.add() for _ in range(3)]
    for who in followers:
        bus.subscribe(who, Following(patient=True, adaptive=adaptive))
    bus.run(15)
    for number in range(100):
        bus.publish(publisher, b"%d" % number)
        bus.run(1)
    bus.run(60)
    for who in followers:
        assert bus.contents(who) == [b"%d" % number for number in range(100)]


def test_one_request_per_content_without_loss() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher, 5000)
    bus.publish(publisher, b"first")
    who = bus.add()
    bus.sent.clear()
    bus.subscribe(who)
    for number in range(100):
        bus.run(5)
        bus.publish(publisher, b"%d" % number)
    asked = sum(isinstance(each, SendInterest) for each in bus.sent)
    assert len(bus.contents(who)) == 101
    assert asked == 101


def test_subscriber_crosses_the_wrap() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.machines[publisher].store.shelf(TOPIC).counter = ring.SIZE - 2
    bus.register(publisher)
    who = bus.add()
    bus.subscribe(who)
    for number in range(5):
        bus.publish(publisher, b"%d" % number)
        bus.run(1)
    found = [each.high for _, each in bus.told if isinstance(each, Deliver)]
    assert found == [1_499_999_999, 1_500_000_000, 100, 101, 102]


def test_large_content_goes_in_segments() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher, 0)
    who, late = bus.add(), bus.add()
    bus.subscribe(who)
    content = bytes(range(256)) * 40
    bus.publish(publisher, content)
    bus.subscribe(late)
    bus.run(1)
    assert bus.contents(who) == [content]
    assert bus.contents(late) == [content]


def test_restart_reuses_no_name() -> None:  # E14
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher)
    who = bus.add()
    bus.subscribe(who, Following(patient=True))
    bus.publish(publisher, b"before")
    bus.machines[publisher] = Flips(bus.settings, Random(9), bus.disks[publisher])
    bus.register(publisher)
    bus.publish(publisher, b"after")
    bus.run(60)
    assert bus.contents(who) == [b"before", b"after"]
    names: dict[tuple[bytes, int], bytes] = {}
    for each in bus.sent:
        if isinstance(each, SendData) and 100 <= each.number <= 1_500_000_000:
            assert names.setdefault((each.hash, each.number), each.payload) == each.payload


def test_subscription_without_publisher_ends_after_five_requests() -> None:  # E4
    bus = Bus()
    bus.subscribe(bus.add())
    bus.run(30)
    assert len(bus.sent) == 5
    assert any(isinstance(each, SubscriptionEnded) for _, each in bus.told)


def test_silence_is_told() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher)
    bus.publish(publisher, b"x")
    bus.subscribe(bus.add())
    bus.run(10)
    assert any(isinstance(each, WentStale) for _, each in bus.told)


def test_latest_delivery_passes_over_what_it_missed() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher)
    who = bus.add()
    bus.subscribe(who, Following(delivery=Delivery.LATEST, after=99))
    bus.run(1)
    for number in range(3):
        bus.publish(publisher, b"%d" % number)
    late = bus.add()
    bus.subscribe(late, Following(delivery=Delivery.LATEST, after=99))
    bus.run(1)
    assert bus.contents(late) == [b"2"]


def test_malformed_data_is_rejected_and_asked_again() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher)
    bus.publish(publisher, b"x")
    who = bus.add()
    bus.subscribe(who)
    bus.run(1)
    number = next(iter(bus.machines[who].subscribing.table[topic_hash(TOPIC)].questions))
    effects = bus.machines[who].receive(DataArrived(topic_hash(TOPIC), number, b"\x02"), bus.now)
    assert any(isinstance(each, Rejected) for each in effects)
    bus.publish(publisher, b"y")
    assert bus.contents(who) == [b"x", b"y"]


def test_waiting_interests_are_bounded() -> None:  # E7
    bus = Bus(settings=FlipsSettings(cached_interests=3))
    publisher = bus.add()
    bus.register(publisher)
    for number in range(100, 110):
        bus.machines[publisher].receive(InterestArrived(topic_hash(TOPIC), number, 2000), bus.now)
    cache = bus.machines[publisher].publishing.cache
    assert (len(cache), cache.dropped) == (3, 7)
    cache.expire(bus.now + 2000 * MS)
    assert len(cache) == 0


@pytest.mark.parametrize("skew_s", [-10, -2, 2, 10])
def test_clocks_apart_lose_nothing_and_are_found_out(skew_s: int) -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher, 5000)
    who = bus.add()
    apart = bus.machines[who] = Skewed(bus.settings, skew_s * SECOND)
    bus.subscribe(who)
    for number in range(60):
        bus.publish(publisher, b"%d" % number)
        bus.run(5)
    assert bus.contents(who) == [b"%d" % number for number in range(60)]
    row = apart.subscribing.table[topic_hash(TOPIC)]
    assert min(row.offsets) == pytest.approx(skew_s * SECOND, abs=SECOND)


class Skewed(Flips):
    """A machine whose clock is ahead, or behind."""

    def __init__(self, settings: FlipsSettings, ahead: int) -> None:
        super().__init__(settings, Random(3))
        self._ahead = ahead

    def subscribe(self, topic: str, now: int, following: Following | None = None) -> list[Effect]:
        return super().subscribe(topic, now + self._ahead, following)

    def receive(self, event: InterestArrived | DataArrived | Saved, now: int) -> list[Effect]:
        return super().receive(event, now + self._ahead)

    def tick(self, now: int) -> list[Effect]:
        return super().tick(now + self._ahead)

    def deadline(self) -> int | None:
        due = super().deadline()
        return None if due is None else due - self._ahead


def _mean_delay_s(following: Following) -> float:
    """How long after its publication content comes, at 10 % loss in each direction."""
    bus = Bus(0.1)
    publisher = bus.add()
    bus.register(publisher, 5000)
    who = bus.add()
    bus.subscribe(who, following)
    bus.run(20)
    published: list[int] = []
    for number in range(200):
        published.append(bus.now)
        bus.publish(publisher, b"%d" % number)
        for _ in range(100):
            bus.run(0.05)
            bus.told += [(-1, Arrived(bus.now))] * (len(bus.contents(who)) - sum(name == -1 for name, _ in bus.told))
    arrived = [each.at for _, each in bus.told if isinstance(each, Arrived)]
    assert len(arrived) >= 199
    return sum(at - since for at, since in zip(arrived, published, strict=False)) / len(arrived) / SECOND


class Arrived(Effect):
    def __init__(self, at: int) -> None:
        self.at = at


def test_adaptive_time_out_makes_loss_cheap() -> None:
    assert _mean_delay_s(Following(patient=True, adaptive=True)) < _mean_delay_s(Following(patient=True)) / 2


def test_a_store_with_flipped_bits_is_not_believed_and_passes_over_numbers() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher)
    bus.publish(publisher, b"x")
    bus.publish(publisher, b"y")
    found = bytearray(bus.disks[publisher])
    found[-1] ^= 1
    store = Flips(bus.settings, Random(1), bytes(found)).store
    assert store.damaged
    assert store.shelf(TOPIC).counter == 1001
    assert not store.shelf(TOPIC).gaps  # somebody may have heard of what stood there
