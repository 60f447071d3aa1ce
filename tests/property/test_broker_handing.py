"""Retained messages on their way to slow and fast clients, while topics come, change and go.

What is retained at the SUBSCRIBE and stays so comes exactly once; of a topic that changes nothing older comes behind
something newer, and what came last is what is retained, or the word that nothing is.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import broker_packets as packets
from tests.broker_packets import props
from tests.broker_world import Client, World

from roost.broker.retained import Retained
from roost.broker.settings import DISK, BrokerSettings

TOPICS = [b"a", b"a/b", b"a/b/c", b"a/c", b"b", b"b/c", b"c/a", b"c/b", b"c/c", b"/c"]
FILTERS = [b"#", b"+/#", b"a/#", b"+/+", b"+/c"]
TOPIC, FILTER = st.sampled_from(TOPICS), st.sampled_from(FILTERS)
SETTINGS = BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0, max_queued=50, high_water_bytes=40)
SLOW = 1 << 30


def does_match(filter_: bytes, topic: bytes) -> bool:
    wanted, levels = filter_.split(b"/"), topic.split(b"/")
    if wanted[-1] == b"#":
        wanted.pop()
        levels = levels[: len(wanted)] if len(levels) >= len(wanted) else levels
    return len(wanted) == len(levels) and all(one in {b"+", other} for one, other in zip(wanted, levels, strict=True))


class Listener:
    """A client of QoS 1 with one filter, and what it has got."""

    def __init__(self, world: World, name: bytes, filter_: bytes, *, window: int, slow: bool) -> None:
        self.world = world
        self.name = name
        self.filter = filter_
        self.properties = props(session_expiry=1000, receive_maximum=window)
        self.got: list[tuple[bytes, int, bool]] = []  # topic, number, retained; nothing twice
        self.client: Client | None = self.come()
        if slow:
            self.set_pace(SLOW)
        self.client.send(packets.subscribe(1, (filter_, 1), version=5))

    def come(self) -> Client:
        self.client = self.world.connect(self.name, 5, clean=False, properties=self.properties, keep_alive=0)
        return self.client

    def set_pace(self, queued_bytes: int) -> None:
        if self.client is not None:
            self.world.run(self.world.broker.drained(self.client.link, queued_bytes, self.world.now))

    def read(self) -> bool:
        """Take what came and acknowledge it; whether there was something."""
        if self.client is None:
            return False
        heard = [each for each in self.client.seen() if each.kind == "PUBLISH"]
        for each in heard:
            said = (each.topic, int(each.payload.strip(b"-") or b"0"), each.retain)
            if not (each.dup and said in self.got):
                self.got.append(said)
        self.client.send(*[packets.puback(each.packet_id) for each in heard])
        return bool(heard)

    def lose(self) -> None:
        if self.client is not None:
            self.read()
            self.client.vanish()
            self.client = None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_everything_that_stays_comes_once_and_nothing_old_behind_something_new(data: st.DataObject) -> None:
    world = World(SETTINGS)
    speaker = world.connect(b"speaker", 5, keep_alive=0)
    retained: dict[bytes, int] = {}
    changed: list[tuple[int, bytes]] = []  # when, by the number of the message, and what
    listeners: list[tuple[Listener, dict[bytes, int], int]] = []  # with what was retained when it came, and when
    number = 1

    def publish(topic: bytes) -> None:
        nonlocal number
        number += 1
        speaker.publish(topic, b"%d" % number, retain=True, qos=1, packet_id=1)
        retained[topic] = number
        changed.append((number, topic))

    for topic in data.draw(st.lists(TOPIC, max_size=12, unique=True)):
        publish(topic)
    for _ in range(data.draw(st.integers(1, 25))):
        step = data.draw(
            st.sampled_from(["subscribe", "publish", "clear", "slow", "fast", "read", "lose", "come", "tick"])
        )
        if step == "subscribe" and len(listeners) < 4:
            filter_ = data.draw(FILTER)
            before = {topic: last for topic, last in retained.items() if does_match(filter_, topic)}
            name, window = b"ann%d" % len(listeners), data.draw(st.sampled_from([2, 50]))
            listener = Listener(world, name, filter_, window=window, slow=data.draw(st.booleans()))
            listeners.append((listener, before, number))
        elif step == "publish":
            publish(data.draw(TOPIC))
        elif step == "clear":
            topic = data.draw(TOPIC)
            speaker.publish(topic, b"", retain=True, qos=1, packet_id=1)
            retained.pop(topic, None)
            number += 1
            changed.append((number, topic))
        elif step == "tick":
            world.run(world.broker.tick(world.now))
        elif listeners:
            listener = data.draw(st.sampled_from(listeners))[0]
            if step in {"slow", "fast"}:
                listener.set_pace(SLOW if step == "slow" else 0)
            elif step == "read":
                listener.read()
            elif step == "lose":
                listener.lose()
            elif listener.client is None:
                listener.come()
    for listener, _, _ in listeners:
        if listener.client is None:
            listener.come()
        listener.set_pace(0)
    world.settle()
    while sum(listener.read() for listener, _, _ in listeners):
        world.settle()

    for listener, before, since in listeners:
        touched = {topic for when, topic in changed if when > since}
        shown = sorted(
            (topic, last) for topic, last, is_retained in listener.got if is_retained and topic not in touched
        )
        assert shown == sorted((topic, last) for topic, last in before.items() if topic not in touched)
        for topic in touched:
            numbers = [last for each, last, _ in listener.got if each == topic and last]
            assert numbers == sorted(set(numbers)), "an old state came behind a new one, or twice"


@settings(max_examples=100)
@given(
    st.lists(TOPIC, unique=True),
    FILTER,
    st.lists(st.tuples(TOPIC, st.booleans(), st.integers(1, 3)), max_size=20),
)
def test_way_that_rests_meets_everything_that_stays(
    topics: list[bytes], filter_: bytes, changes: list[tuple[bytes, bool, int]]
) -> None:
    retained: Retained[bytes] = Retained(100, 10_000)
    for topic in topics:
        retained.set(topic, b"x", 1)
    levels = filter_.split(b"/")
    path, entry, _ = retained.next(levels, [], 1, 0)
    met: list[bytes] = [] if entry is None else [entry.topic]
    touched = set()
    for topic, is_set, limit in changes:
        retained.set(topic, b"y" if is_set else None, 1)
        touched.add(topic)
        if path:
            path, entry, _ = retained.next(levels, path, limit, 0)
            met += [] if entry is None else [entry.topic]
    while path:
        path, entry, _ = retained.next(levels, path, 2, 0)
        met += [] if entry is None else [entry.topic]
    assert len(met) == len(set(met))
    stays = {topic for topic in topics if topic not in touched and does_match(filter_, topic)}
    assert stays <= set(met) <= {topic for topic in {*topics, *touched} if does_match(filter_, topic)}
