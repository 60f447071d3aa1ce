"""The FLIPS machine between two or more of its kind: a bus without forwarders, with loss where a test wants it."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import BadConfig, BadPacket, BadTopic, InvalidInput
from roost.machine import MS, SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.pubsub.flips import payload as layout
from roost.pubsub.flips import ring
from roost.pubsub.flips.content_store import ContentStore
from roost.pubsub.flips.flips import Flips
from roost.pubsub.flips.identifiers import FIRST_SUBSCRIPTION, subscription_number, topic_hash
from roost.pubsub.flips.interest_cache import MAX_ASKERS, InterestCache
from roost.pubsub.flips.payload import ContentReply, decode_content
from roost.pubsub.flips.port import (
    BegunAnew,
    Collided,
    DataArrived,
    Deliver,
    InterestArrived,
    Missed,
    Registered,
    Revived,
    SendData,
    SendInterest,
    Subscribed,
    SubscriptionEnded,
    WentStale,
)
from roost.pubsub.flips.settings import WINDOW, Delivery, FlipsSettings, Following

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


@pytest.mark.parametrize(
    "wire",
    [
        "",
        "01",
        "02" + "00" * 15,
        "01f0" + "00" * 14,
        "0110000000000065" + "00" * 8,  # GONE, which goes with EMPTY
        "0100000000000001" + "00" * 8,
    ],
)
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


def test_a_publisher_that_was_dead_before_is_silent_too() -> None:
    bus = Bus()
    who = bus.add()
    bus.subscribe(who, Following(patient=True))
    bus.run(300)
    assert [type(each) for _, each in bus.told] == [WentStale]
    publisher = bus.add()
    bus.register(publisher)
    bus.publish(publisher, b"x")
    bus.run(120)
    assert [type(each) for name, each in bus.told if name == who][1:4] == [Subscribed, Revived, Deliver]


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


@pytest.mark.parametrize("ours_first", [True, False])
def test_who_follows_its_own_topic_takes_nothing_from_others(ours_first: bool) -> None:
    bus = Bus()
    publisher, other = bus.add(), bus.add()
    bus.register(publisher)
    bus.publish(publisher, b"0")
    for who in (publisher, other) if ours_first else (other, publisher):
        bus.subscribe(who)
    for number in range(1, 20):
        bus.run(1)
        bus.publish(publisher, b"%d" % number)
        assert len(bus.contents(publisher)) == len(bus.contents(other)) == number + 1


def test_askers_of_one_name_are_bounded() -> None:
    cache = InterestCache(10)
    for token in range(MAX_ASKERS + 2):
        cache.keep(InterestArrived(b"h", 100, 2000, token=token), 0)
    cache.keep(InterestArrived(b"h", 100, 3000, token=5), 0)
    assert (len(cache), cache.dropped) == (1, 2)
    assert cache.take(b"h", 100, 2500 * MS) == [5]
    assert cache.take(b"h", 100, 0) == []


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


@pytest.mark.parametrize("delivery", list(Delivery))
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("interval_ms", [0, 1000])
def test_a_publisher_that_lost_its_store_is_followed_from_its_new_number_on(
    delivery: Delivery, running: bool, interval_ms: int
) -> None:
    bus = Bus()
    publisher, who = bus.add(), bus.add()
    bus.register(publisher, interval_ms)
    following = Following(delivery=delivery, patient=True, adaptive=True)
    if running:
        bus.subscribe(who, following)
    for number in range(100):
        bus.publish(publisher, b"%d" % number)
        bus.run(1)
    bus.machines[publisher] = Flips(bus.settings, Random(9))
    bus.register(publisher, interval_ms)
    bus.publish(publisher, b"new")
    bus.run(1)
    if not running:  # as `into_group` goes on behind what is in the group
        bus.subscribe(who, Following(delivery=delivery, patient=True, adaptive=True, after=199))
    before = len(bus.contents(who))
    for number in range(70 if interval_ms else 150):
        bus.publish(publisher, b"new %d" % number)
        bus.run(1)
    anew = [each for _, each in bus.told if isinstance(each, BegunAnew)]
    assert [each.place for each in anew] == [200]
    got = bus.contents(who)[before:]
    last = 69 if interval_ms else 149
    assert len(got) >= 20
    assert got == [b"new %d" % number for number in range(last - len(got) + 1, last + 1)]


@pytest.mark.parametrize("skew_s", [-86_400, -3600, -2, 0, 2, 3600, 86_400])
def test_with_any_clock_content_comes_when_it_is_published(skew_s: int) -> None:
    bus = Bus()
    publisher, who = bus.add(), bus.add()
    bus.register(publisher, 5000)
    bus.machines[who] = Skewed(bus.settings, skew_s * SECOND)
    bus.publish(publisher, b"0")
    bus.subscribe(who)
    bus.sent.clear()
    for number in range(1, 60):
        bus.run(5)
        bus.publish(publisher, b"%d" % number)
        bus.run(0.1)
        assert len(bus.contents(who)) >= number + (number > 2)  # the first may take until the question is renewed
    assert sum(isinstance(each, SendInterest) for each in bus.sent) < 75  # until clocks are known, some in vain


def test_contents_that_were_close_once_do_not_hide_the_clock() -> None:
    bus = Bus()
    publisher, who = bus.add(), bus.add()
    bus.register(publisher, 100)
    bus.subscribe(who)
    for _ in range(3):
        bus.run(0.003)
        bus.publish(publisher, b"close")
    for _ in range(10):
        bus.run(0.1)
        bus.publish(publisher, b"x")
    row = bus.machines[who].subscribing.table[topic_hash(TOPIC)]
    assert row.knows_clock
    assert row.ask_at is not None
    assert not row.questions


@pytest.mark.parametrize(("whose", "set_by_s"), [("publisher", 7200), ("publisher", -7200), ("subscriber", 7200)])
def test_a_clock_that_is_set_costs_no_content_and_not_more_than_one_delay(whose: str, set_by_s: int) -> None:
    bus = Bus()
    publisher, who = bus.add(), bus.add()
    clocks = {"publisher": Skewed(bus.settings, 0), "subscriber": Skewed(bus.settings, 0)}
    bus.machines[publisher], bus.machines[who] = clocks.values()
    bus.register(publisher, 5000)
    bus.publish(publisher, b"0")
    bus.subscribe(who)
    late = 0
    for number in range(1, 60):
        bus.run(5)
        if number == 20:
            clocks[whose].ahead = set_by_s * SECOND
            bus.run(0.001)
        bus.publish(publisher, b"%d" % number)
        bus.run(0.1)
        late += len(bus.contents(who)) < number + 1
    assert len(bus.contents(who)) == 60
    assert late <= 1


class Skewed(Flips):
    """A machine whose clock is ahead, or behind."""

    def __init__(self, settings: FlipsSettings, ahead: int) -> None:
        super().__init__(settings, Random(3))
        self.ahead = ahead

    def subscribe(self, topic: str, now: int, following: Following | None = None) -> list[Effect]:
        return super().subscribe(topic, now + self.ahead, following)

    def register(self, topic: str, interval_ms: int, now: int) -> list[Effect]:
        return super().register(topic, interval_ms, now + self.ahead)

    def publish(self, topic: str, content: bytes, now: int) -> list[Effect]:
        return super().publish(topic, content, now + self.ahead)

    def receive(self, event: InterestArrived | DataArrived | Saved, now: int) -> list[Effect]:
        return super().receive(event, now + self.ahead)

    def tick(self, now: int) -> list[Effect]:
        return super().tick(now + self.ahead)

    def deadline(self) -> int | None:
        due = super().deadline()
        return None if due is None else due - self.ahead


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


def test_small_contents_do_not_have_the_file_written_anew_each_time() -> None:
    store = ContentStore("f", b"", 1000, 64 << 20, 1000)
    topics = ["bms/b1/elec/p1/heater/voltage", "bms/b1/elec/p2/heater/voltage"]
    saves = [store.add(topic, [bytes(20)]) for _ in range(40_000) for topic in topics]
    written = sum(len(save.data) for save in saves)
    assert sum(save.replace for save in saves) < 20
    assert written < 2 * 80_000 * 72


def test_of_topics_at_rest_only_so_many_keep_their_contents_but_all_their_numbers() -> None:
    store = ContentStore("f", b"", 100, 1 << 20, 1000, max_topics=3)
    saves = []
    for number in range(10):
        saves += [store.open(f"t{number}"), store.add(f"t{number}", [b"x"]), store.close(f"t{number}")]
    assert [len(shelf.items) for shelf in store.shelves.values()] == [0] * 7 + [1] * 3
    assert {shelf.counter for shelf in store.shelves.values()} == {1}
    again = ContentStore("f", b"".join(save.data for save in saves), 100, 1 << 20, 1000, max_topics=3)
    assert sum(len(shelf.items) for shelf in again.shelves.values()) == 3
    assert {shelf.counter for shelf in again.shelves.values()} == {1}


def test_of_a_topic_that_was_never_ours_nothing_is_kept() -> None:
    bus = Bus()
    first, second = bus.add(), bus.add()
    bus.register(first)
    bus.register(second)
    assert not bus.machines[second].store.shelves


def test_numbers_that_were_passed_over_are_known_when_the_file_is_written_anew() -> None:
    def reopened(found: bytes) -> ContentStore:
        return ContentStore("f", found, 10, 1 << 20, 1000)

    found = b""
    for _ in range(3):  # lives that end without goodbye
        store = reopened(found)
        found += store.open(TOPIC).data + store.add(TOPIC, [b"x"] * 20).data
    anew = reopened(found + b"cut off").close(TOPIC)
    assert anew.replace
    for each in (reopened(found), reopened(anew.data)):
        shelf = each.shelf(TOPIC)
        assert (list(shelf.items), shelf.counter) == ([*range(2050, 2060)], 3060)
        assert shelf.gaps == [(20, 1019), (1040, 2039), (2060, 3059)]
        assert [shelf.unused(each) for each in (-1, 19, 20, 1019, 1020, 2059)] == [0, None, 1020, 1020, None, None]
        assert [shelf.behind_gone(counter, 3060) for counter in (0, 1020, 2040)] == [20, 1040, 2050]


def test_a_topic_that_never_had_content_has_nothing_that_is_gone() -> None:
    found = ContentStore("f", b"", 10, 1 << 20, 1000).open(TOPIC).data
    for _ in range(2):
        found += ContentStore("f", found, 10, 1 << 20, 1000).open(TOPIC).data
    assert ContentStore("f", found, 10, 1 << 20, 1000).shelf(TOPIC).gaps == [(0, 2999)]


def test_content_behind_a_hole_that_damage_left_is_found() -> None:
    store = ContentStore("f", b"", 10_000, 1 << 20, 1000)
    found = store.open(TOPIC).data + store.add(TOPIC, [b"x"] * 20).data
    store = ContentStore("f", found[:-1] + b"y", 10_000, 1 << 20, 5000)
    assert store.damaged
    store.add(TOPIC, [b"z"])
    shelf = store.shelf(TOPIC)
    assert list(shelf.items) == [*range(19), 5019]
    behind = [19]
    while behind[-1] not in shelf.items:
        behind.append(shelf.behind_gone(behind[-1], shelf.counter))
    assert behind == [19, 1043, 2067, 3091, 4115, 5019]


def test_content_that_is_never_answered_is_passed_over_whichever_question_expires_first() -> None:
    for seed in range(8):
        machine = Flips(FlipsSettings(), Random(seed))
        now = START
        effects = machine.subscribe(TOPIC, now, Following(after=110))
        missed: list[Missed] = []
        while not missed:
            for effect in list(effects):
                if isinstance(effect, SendInterest) and effect.number >= FIRST_SUBSCRIPTION:
                    reply = ContentReply(layout.ALIAS, 0, 300, now // MS + 1000, b"x")
                    effects += machine.receive(DataArrived(effect.hash, effect.number, reply.encode()), now)
            missed = [each for each in effects if isinstance(each, Missed)]
            due = machine.deadline()
            assert due is not None
            assert due < START + 60 * SECOND, seed
            now = max(now, due)
            effects = machine.tick(now)
        assert missed == [Missed(TOPIC, 111, 111)]


def test_a_second_place_in_a_topic_is_refused_instead_of_forgotten() -> None:
    bus = Bus()
    publisher, who = bus.add(), bus.add()
    bus.register(publisher)
    for number in range(3):
        bus.publish(publisher, b"%d" % number)
    bus.subscribe(who, Following(after=0))
    bus.subscribe(who, Following(after=102))
    bus.subscribe(who)
    with pytest.raises(InvalidInput, match="is followed here already, from 103 on"):
        bus.subscribe(who, Following(after=0))
    assert bus.contents(who) == [b"0", b"1", b"2"]


def test_who_was_held_asks_again_and_notices_silence_though_questions_are_out() -> None:
    bus = Bus()
    publisher, who = bus.add(), bus.add()
    bus.register(publisher)
    bus.publish(publisher, b"x")
    bus.subscribe(who)
    bus.run(0.1)
    row = bus.machines[who].subscribing.table[topic_hash(TOPIC)]
    assert row.questions
    for held in (True, False):
        bus.act(who, bus.machines[who].hold(TOPIC, bus.now, held=held))
        assert (row.stale_at is None) == held
    bus.run(10)
    assert any(isinstance(each, WentStale) for _, each in bus.told)


@pytest.mark.parametrize("number", [-1, 1_500_000_001])
def test_a_place_that_is_no_number_of_content_is_refused(number: int) -> None:
    with pytest.raises(BadConfig, match="is no number of content: those are 100 to 1500000000"):
        Following(after=number)


def test_between_probes_others_have_to_be_heard() -> None:
    with pytest.raises(BadConfig, match="probe_lifetime_ms=2000: between two probes, probe_timeout_ms=2000 apart"):
        FlipsSettings(probe_lifetime_ms=2000)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"segment_bytes": 100}, "makes 10486 packets of segment_bytes=100, but 4096 are the most"),
        ({"store_items": 700}, "makes 763 packets of segment_bytes=1376, but 700 are the most"),
        ({"store_bytes": 1 << 20}, "store_bytes=1048576 is less than one content of max_content_bytes=1048576"),
    ],
)
def test_the_largest_content_has_to_be_kept_and_taken_whole(settings: dict[str, int], why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        FlipsSettings(**settings)  # type: ignore[arg-type]


def test_who_follows_its_own_topic_gets_all_of_it_however_much_there_is() -> None:
    bus = Bus()
    publisher = bus.add()
    bus.register(publisher, interval_ms=0)
    count = bus.settings.store_items
    for number in range(count):
        bus.publish(publisher, b"%d" % number)
    bus.subscribe(publisher, Following(after=99))
    bus.run(1)
    assert bus.contents(publisher) == [b"%d" % number for number in range(count)]


def test_a_publisher_that_jumps_about_leaves_no_more_questions_than_the_window() -> None:
    bus = Bus()
    who = bus.add()
    bus.subscribe(who, Following(patient=True, pipeline=WINDOW))
    row = bus.machines[who].subscribing.table[topic_hash(TOPIC)]
    reply = ContentReply(layout.EMPTY | layout.EVENT_DRIVEN, 0, 5000, 0, b"")
    bus.machines[who].receive(DataArrived(row.hash, next(iter(row.begun)), reply.encode()), bus.now)
    for number in (4000, 3000, 100, 1_499_999_990):
        assert row.next_number is not None
        reply = ContentReply(layout.EMPTY | layout.EVENT_DRIVEN, 0, number, 0, b"")
        bus.machines[who].receive(DataArrived(row.hash, row.next_number, reply.encode()), bus.now)
        assert row.next_number == number
        assert len(row.questions) == WINDOW
