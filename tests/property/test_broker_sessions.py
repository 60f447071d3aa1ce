"""Sessions and QoS against a model: whatever is late, lost, taken over, expired or crashed, the promises hold.

`tests.mqtt_truth` says which: no acknowledged message of QoS 1 or 2 is lost for a session that lasts, QoS 2 comes once,
messages of a publisher come in order per topic and QoS, packet identifiers are unique in flight, the client's receive
maximum is kept, and CONNACK tells the truth about the session.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings as examples
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.mqtt_clients import Client, heal, settle
from tests.mqtt_house import House
from tests.mqtt_truth import FOR_EVER

from roost.broker.settings import DISCONNECT, DISK, DROP_OLDEST, RECEIVED, BrokerSettings

TOPICS = [b"a", b"a/b"]
FILTERS = [b"a", b"a/+", b"#"]
LASTING = BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0)
WHO = st.integers(0, 3)
QOS = st.integers(0, 2)
FEW = st.integers(1, 3)
EXPIRY_S = st.sampled_from([0, 30, FOR_EVER, FOR_EVER])


class Sessions(RuleBasedStateMachine):
    """Four clients, two of each version, and a disk that is as slow as it likes."""

    durability = DISK

    def __init__(self) -> None:
        super().__init__()
        self.house = House(replace(LASTING, durability=self.durability, max_inflight=3))
        self.clients = [
            Client(self.house, "old", 4),
            Client(self.house, "new", 5, receive_maximum=2, aliases=1),
            Client(self.house, "older", 4),
            Client(self.house, "newer", 5, receive_maximum=1),
        ]

    @initialize(qos=st.sampled_from([1, 2]))
    def begin(self, qos: int) -> None:
        """A publisher, and one session of each version that lasts and wants everything."""
        for who in (0, 1):
            self.ready(who).subscribe(b"#", qos)
        self.ready(2)
        self.settle()

    def ready(self, who: int) -> Client:
        """A client that is let in, if need be after waiting for the disk."""
        client = self.clients[who]
        if client.line is None or client.line.over:
            client.connect(clean=False)
        self.run(client)
        if not client.connected and client.line is not None:
            self.house.write()
            self.house.pull(client.line)
            client.read(1)
        return client

    def run(self, client: Client) -> None:
        if client.line is not None:
            self.house.push(client.line)

    @rule(who=WHO, clean=st.sampled_from([False, False, False, True]), expiry_s=EXPIRY_S)
    def come(self, who: int, clean: bool, expiry_s: int) -> None:
        """Also when it is here already: then the broker has not heard of the end of its old link."""
        self.clients[who].connect(clean=clean, expiry_s=expiry_s)
        self.run(self.clients[who])

    @rule(who=WHO, filter_=st.sampled_from(FILTERS), qos=QOS)
    def subscribe(self, who: int, filter_: bytes, qos: int) -> None:
        client = self.ready(who)
        client.subscribe(filter_, qos)
        self.run(client)

    @rule(who=WHO, filter_=st.sampled_from(FILTERS))
    def unsubscribe(self, who: int, filter_: bytes) -> None:
        client = self.ready(who)
        client.unsubscribe(filter_)
        self.run(client)

    @rule(who=WHO, topic=st.sampled_from(TOPICS), qos=QOS, count=FEW)
    def publish(self, who: int, topic: bytes, qos: int, count: int) -> None:
        client = self.ready(who)
        for _ in range(count):
            client.publish(topic, qos)
        self.run(client)

    @rule(who=WHO, count=FEW)
    def read(self, who: int, count: int) -> None:
        line = self.clients[who].line
        if line is not None:
            self.house.pull(line)
            self.clients[who].read(count)
            self.house.push(line)

    @rule(who=WHO, count=FEW)
    def answer(self, who: int, count: int) -> None:
        if self.clients[who].connected:
            self.clients[who].answer(count)
            self.run(self.clients[who])

    @rule(count=FEW)
    def write(self, count: int) -> None:
        self.house.write(count)

    @rule()
    def settle(self) -> None:
        settle(self.house, self.clients)

    @rule(who=WHO)
    def lose(self, who: int) -> None:
        client = self.clients[who]
        if client.line is not None:
            self.house.lose(client.line)
            client.connected = False

    @rule(who=WHO)
    def blink(self, who: int) -> None:
        """Lose the link and be back at once, with all that this sends again."""
        self.lose(who)
        self.ready(who)
        self.run(self.clients[who])

    @rule(who=WHO, expiry_s=st.one_of(st.none(), EXPIRY_S))
    def leave(self, who: int, expiry_s: int | None) -> None:
        client = self.ready(who)
        client.disconnect(expiry_s)
        self.run(client)
        assert client.line is not None
        self.house.lose(client.line)

    @rule(seconds=st.sampled_from([1, 20, 40]))
    def wait(self, seconds: int) -> None:
        self.house.wait(seconds)

    @rule(written=st.integers(0, 4), power=st.booleans())
    def crash(self, written: int, power: bool) -> None:
        if self.durability == DISK:
            self.house.crash(written, power=power)
            for client in self.clients:
                client.connected = False

    @invariant()
    def bounds_hold(self) -> None:
        for what, (size, most) in self.house.broker.sizes().items():
            assert size <= most, f"{size} {what}, where {most} are allowed"

    def teardown(self) -> None:
        heal(self.house, self.clients, TOPICS)
        for client in self.clients:
            due = self.house.truth.of(client.name).required
            assert not due, f"{client.name} never got {sorted(due)}, which were acknowledged"


class InMemory(Sessions):
    """The same without waiting for the disk; a crash may then cost what it has not written."""

    durability = RECEIVED


Sessions.TestCase.settings = examples(max_examples=150, stateful_step_count=40, deadline=None)
InMemory.TestCase.settings = examples(max_examples=40, stateful_step_count=40, deadline=None)
test_promises_hold_when_acknowledged_means_on_disk = Sessions.TestCase
test_promises_hold_when_acknowledged_means_received = InMemory.TestCase


# -- stories that broke a promise once


def prepared(settings: BrokerSettings) -> tuple[House, Client, Client]:
    """A broker, somebody who publishes, and somebody whose session lasts 30 seconds without a link."""
    house = House(settings)
    talker, listener = Client(house, "talker", 4), Client(house, "listener", 5)
    talker.connect(clean=True)
    listener.connect(clean=False, expiry_s=30)
    settle(house, [talker, listener])
    listener.subscribe(b"a", 2)
    settle(house, [talker, listener])
    return house, talker, listener


def test_link_that_ends_before_its_connack_gets_none() -> None:
    """CONNACK waits for the disk to forget the old session; the client does not wait so long."""
    house, _, listener = prepared(LASTING)
    listener.connect(clean=True)
    assert listener.line is not None
    house.push(listener.line)
    house.lose(listener.line)
    house.write()


def test_delivery_of_qos_2_that_began_is_not_dropped_for_a_full_queue() -> None:
    """Its identifier is in use at the client until PUBREL [MQTT-4.3.3-5]: another message under it would be lost."""
    house, talker, listener = prepared(replace(LASTING, max_queued=1, overflow=DROP_OLDEST))
    first = talker.publish(b"a", 2)
    settle(house, [talker])
    assert listener.line is not None
    house.pull(listener.line)
    listener.read()
    assert list(listener.incoming.values()) == [first]
    house.lose(listener.line)
    talker.publish(b"a", 2)
    settle(house, [talker])
    listener.connect(clean=False)
    settle(house, [talker, listener])
    assert not listener.incoming


def test_who_comes_back_to_a_full_queue_gets_something_out_of_it() -> None:
    """Hanging up at the next message, before anything could be acknowledged, would keep it away for ever."""
    house, talker, listener = prepared(replace(LASTING, max_queued=2, max_inflight=1, overflow=DISCONNECT))
    assert listener.line is not None
    house.lose(listener.line)
    for _ in range(20):
        if listener.line.over:
            for _ in range(3):
                talker.publish(b"a", 1)
                settle(house, [talker])
            listener.connect(clean=False)
        house.push(listener.line)
        for _ in range(2):
            talker.publish(b"a", 1)
            settle(house, [talker])
        house.pull(listener.line)
        listener.read()
        listener.answer()
        house.push(listener.line)
    got = [number for name, number in house.truth.arrivals if name == "listener"]
    assert len(got) > 1, f"in 20 attempts it got no further than {got}"


def test_session_that_goes_on_just_before_a_crash_lasts_as_long_as_one_that_was_never_away() -> None:
    """Its time counts from the loss of its last link, not from that of the one before (section 3.1.2.11.2)."""
    house, _, listener = prepared(LASTING)
    assert listener.line is not None
    house.lose(listener.line)
    house.write()
    house.wait(25)
    listener.connect(clean=False, expiry_s=30)
    house.push(listener.line)
    house.write()
    house.pull(listener.line)
    assert listener.read()
    house.crash(0)
    house.wait(10)
    listener.connect(clean=False, expiry_s=30)
    settle(house, [listener])
    assert house.truth.of("listener").filters


def test_second_clean_start_is_not_confirmed_before_the_first_is_on_disk() -> None:
    """A session that its client was told is gone would be back after a crash [MQTT-3.1.2-4]."""
    house, _, listener = prepared(LASTING)
    for _ in range(2):
        listener.connect(clean=True, expiry_s=0)
        assert listener.line is not None
        house.push(listener.line)
        house.pull(listener.line)
    told = listener.read()
    house.crash(0)
    listener.connect(clean=False)
    settle(house, [listener])
    assert not told, "it was told of a new session, which the disk did not know of"
