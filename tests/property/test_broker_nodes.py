"""Sessions that move between the brokers of a group: what was acknowledged to a publisher reaches its subscriber."""

from __future__ import annotations

from collections import Counter

import pytest
from tests import broker_packets as packets
from tests.broker_world import Client
from tests.nodes_world import EXPIRY, Node, Publisher, Street, Subscriber

SEEDS = range(15)


class Story:
    """Two nodes, publishers at both, and one subscriber that wanders."""

    def __init__(self, seed: int, qos: int, *, is_spreading: bool = False) -> None:
        self.street = Street(seed, is_spreading=is_spreading)
        self.random = self.street.random
        self.qos = qos
        self.total = 0
        self.at = 0
        self.subscriber = Subscriber()
        self.subscriber.come(self.here, (b"a/#", qos))
        self.street.settle()

    @property
    def here(self) -> Node:
        return self.street.nodes[self.at]

    def publish(self) -> None:
        """Publish at any node that lives; it is acknowledged, because its repo has it."""
        node = self.random.choice(self.street.alive())
        topic = b"a/%d" % self.random.randrange(2)
        speaker = node.connect(b"speaker%d" % self.total, 5, clean=True)
        speaker.publish(topic, b"%d" % self.total, qos=self.qos, packet_id=1)
        node.insert_all()
        assert speaker.kinds() == [["PUBACK"], ["PUBREC"]][self.qos - 1]
        self.total += 1

    def some(self) -> None:
        """A while of everyday life."""
        for _ in range(self.random.randrange(1, 25)):
            what = self.random.randrange(10)
            if what < 3:
                self.publish()
            elif what < 8:
                self.street.step()
            elif what == 8:
                self.subscriber.act()
            else:
                self.street.wait(self.random.random())

    def move_cleanly(self) -> None:
        self.subscriber.leave()
        self.street.settle()
        self.at = 1 - self.at
        assert self.subscriber.come(self.here)

    def take_over(self) -> None:
        self.at = 1 - self.at
        self.subscriber.come(self.here)

    def lose_the_node(self) -> None:
        self.here.die()
        self.take_over()

    def find_the_node(self) -> None:
        for node in self.street.nodes:
            if not node.is_alive:
                node.rise()

    def finish(self) -> Counter[int]:
        self.find_the_node()
        for _ in range(5):
            self.street.settle()
            if self.subscriber.link is None or self.subscriber.link.closed:
                self.subscriber.come(self.here)
            while self.subscriber.act():
                pass
        return Counter(int(payload) for payload in self.subscriber.got)


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_moves_cleanly_gets_everything_once_and_in_order(seed: int, qos: int) -> None:
    story = Story(seed, qos)
    for _ in range(4):
        story.some()
        story.move_cleanly()
    counts = story.finish()
    assert set(counts) == set(range(story.total))
    assert set(counts.values()) <= {1}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_is_torn_between_nodes_loses_nothing(seed: int) -> None:
    story = Story(seed, 1)
    for _ in range(6):
        story.some()
        what = story.random.randrange(4)
        if what == 0 and len(story.street.alive()) == 2:
            story.lose_the_node()
        elif what == 1:
            story.find_the_node()
        elif what == 2 and len(story.street.alive()) == 2:
            story.take_over()
        elif len(story.street.alive()) == 2:
            story.move_cleanly()
    assert set(story.finish()) == set(range(story.total))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_client_is_at_one_node_in_the_end_however_late_they_hear(seed: int) -> None:
    story = Story(seed, 1)
    for _ in range(5):
        story.take_over()
        story.some()
    story.street.settle()
    links = [node.broker.core.sessions[b"sub"].link is not None for node in story.street.nodes]
    assert links.count(True) == 1
    assert links[story.at]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clean_start_at_another_node_is_a_new_session_everywhere(seed: int) -> None:
    story = Story(seed, 1)
    story.some()
    story.subscriber.leave()
    story.street.wait(1)
    story.at = 1
    assert not story.subscriber.come(story.here, (b"b/#", 1), clean=True)
    story.street.settle()
    sessions = [node.broker.core.sessions[b"sub"] for node in story.street.nodes]
    assert [list(session.subscriptions) for session in sessions] == [[b"b/#"], [b"b/#"]]
    assert sessions[0].born == sessions[1].born


@pytest.mark.parametrize("seed", range(5))
def test_a_session_expires_at_every_node(seed: int) -> None:
    story = Story(seed, 1)
    story.some()
    story.subscriber.leave()
    story.street.settle()
    story.street.wait(10_001)
    story.street.settle()
    assert [b"sub" in node.broker.core.sessions for node in story.street.nodes] == [False, False]


@pytest.mark.parametrize("seed", SEEDS)
def test_members_of_a_share_at_two_nodes_get_each_message_once(seed: int) -> None:
    street = Street(seed)
    workers = [node.connect(b"worker%d" % node.number, 5, clean=True) for node in street.nodes]
    for worker in workers:
        worker.subscribe((b"$share/s/a/#", 1))
    street.settle()
    speakers = [node.connect(b"speaker%d" % node.number, 5) for node in street.nodes]
    for number in range(10):
        street.random.choice(speakers).publish(b"a/x", b"%d" % number, qos=1, packet_id=number + 1)
        street.step()
    street.settle()
    got = Counter(payload for worker in workers for payload in worker.payloads())
    assert set(got.values()) == {1}
    assert len(got) == 10


@pytest.mark.parametrize("seed", SEEDS)
def test_a_subscription_is_good_from_its_suback_on_wherever_something_is_published(seed: int) -> None:
    street = Street(seed)
    here, there = street.nodes
    subscriber = Subscriber()
    subscriber.come(here)
    street.settle()
    assert subscriber.link is not None
    there.connect(b"early", 5).publish(b"a/x", b"before", qos=1, packet_id=1)
    street.settle()
    street.wait(5)
    subscriber.link.subscribe((b"a/#", 1))
    speaker = there.connect(b"speaker", 5)
    for number in range(3):
        speaker.publish(b"a/x", b"%d" % number, qos=1, packet_id=number + 1)
    there.insert_all()
    for _ in range(street.random.randrange(8)):
        street.step()
    street.settle()
    here.die()  # before its client has seen any of them
    assert subscriber.come(there)
    while subscriber.act():
        pass
    assert subscriber.got == [b"0", b"1", b"2"]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_past_and_then_the_present_come_once_and_in_order_whatever_is_lost_meanwhile(
    seed: int, version: int
) -> None:
    street = Street(seed, 1)
    (node,) = street.nodes
    chance = street.random
    subscriber = Subscriber(version)
    total = 0

    def publish(count: int) -> None:
        nonlocal total
        speaker = node.connect(b"speaker", 5)
        for _ in range(count):
            speaker.publish(b"a/%d" % (total % 3), b"%d" % total, qos=2, packet_id=total + 1)
            total += 1
        node.insert_all()

    publish(chance.randrange(100, 200))
    street.settle()
    subscriber.come(node, (b"$since/1/a/#", 2))
    for _ in range(60):
        what = chance.randrange(12)
        if what < 3:
            publish(chance.randrange(1, 8))
        elif what < 8:
            street.step()
        elif what < 10:
            subscriber.act()
        elif what == 10:
            assert subscriber.link is not None
            subscriber.link.vanish()
            subscriber.come(node)
        else:
            node.die()
            node.rise()
            subscriber.come(node)
    street.settle()
    while subscriber.act():
        street.settle()
    numbers = [int(payload) for payload in subscriber.got]
    assert sorted(numbers) == list(range(total))
    for topic in range(3):
        assert [number for number in numbers if number % 3 == topic] == list(range(topic, total, 3))


class Speech:
    """One publisher that wanders over nodes, and listeners at all of them."""

    def __init__(self, seed: int, version: int) -> None:
        self.street = Street(seed, 4)
        self.random = self.street.random
        self.total = 0
        self.at = 0
        self.publisher = Publisher(version)
        self.publisher.come(self.street.nodes[0])
        self.listeners = [node.connect(b"listener%d" % node.number, 5, keep_alive=0) for node in self.street.nodes]
        for listener in self.listeners:
            listener.subscribe((b"a/#", 0))
        self.street.settle()

    def some(self) -> None:
        """Publish and answer, up to any point of the exchange."""
        for _ in range(self.random.randrange(1, 12)):
            what = self.random.randrange(10)
            if what < 3:
                self.publisher.publish(b"a/%d" % self.random.randrange(2), b"%d" % self.total)
                self.total += 1
            elif what < 5:
                self.publisher.hear()
            elif what < 6:
                self.publisher.answer()
            elif what < 9:
                self.street.step()
            else:
                self.street.wait(self.random.random() / 5)

    def move(self) -> None:
        """Go to the next node; what is a reading is one everywhere, what is not goes down with its node."""
        before = self.street.nodes[self.at]
        if self.random.randrange(2):
            while self.street.step():
                pass
        while self.street.move():
            pass
        if before.inserts or self.random.randrange(2):
            before.die()
        elif self.random.randrange(2):
            before.clients[self.publisher.link.link].vanish()  # type: ignore[union-attr]
        self.at = self.random.choice([node.number - 1 for node in self.street.alive() if node is not before])
        self.publisher.come(self.street.nodes[self.at])

    def finish(self) -> None:
        for _ in range(5):
            self.street.settle()
            self.publisher.hear()
            self.publisher.answer()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("seed", range(40))
def test_a_publisher_that_loses_its_node_at_any_point_is_heard_exactly_once_everywhere(seed: int, version: int) -> None:
    speech = Speech(seed, version)
    while len(speech.street.alive()) > 2:
        speech.some()
        speech.move()
    speech.some()
    speech.finish()
    assert speech.publisher.unfinished == {}
    for node in speech.street.alive():
        counts = Counter(int(payload) for payload in speech.listeners[node.number - 1].payloads())
        assert counts == Counter(range(speech.total))


class Crew:
    """Three nodes with members of one shared subscription; one node always lives and is heard."""

    def __init__(self, seed: int, qos: int) -> None:
        self.street = Street(seed, 3)
        self.random = self.street.random
        self.qos = qos
        self.total = 0
        self.workers: dict[bytes, Client] = {}
        self.lasting: list[bytes] = []
        self.got: Counter[int] = Counter()
        self.safe = self.random.choice(self.street.nodes)
        for node in self.street.nodes:
            self.hire(node)
            if self.random.randrange(2):
                self.hire(node)
        self.street.live(1)

    def hire(self, node: Node) -> None:
        """Have one more member at a node: one that lasts, or one that ends with its link."""
        name = b"worker%d" % len(self.workers)
        lasts = self.random.randrange(3) == 0
        worker = node.connect(name, 5, properties=EXPIRY if lasts else b"", keep_alive=0)
        worker.subscribe((b"$share/s/a/#", self.qos))
        self.workers[name] = worker
        if lasts:
            self.lasting.append(name)

    def work(self) -> None:
        """Every member sees and acknowledges what came."""
        for worker in self.workers.values():
            while not worker.closed and worker.arrived:
                for packet in worker.seen():
                    if packet.kind == "PUBLISH":
                        self.got[int(packet.payload)] += 1
                        worker.send(
                            packets.puback(packet.packet_id) if packet.qos == 1 else packets.pubrec(packet.packet_id)
                        )
                    elif packet.kind == "PUBREL":
                        worker.send(packets.pubcomp(packet.packet_id))

    def publish(self) -> None:
        node = self.random.choice(self.street.alive())
        speaker = node.connect(b"speaker%d" % self.total, 5, clean=True)
        speaker.publish(b"a/%d" % self.random.randrange(2), b"%d" % self.total, qos=self.qos, packet_id=1)
        node.insert_all()
        self.total += 1

    def some(self) -> None:
        """A while of everyday life, and some mishaps."""
        others = [node for node in self.street.nodes if node is not self.safe]
        for _ in range(self.random.randrange(5, 40)):
            what = self.random.randrange(40)
            if what < 12:
                self.publish()
            elif what < 26:
                self.street.step()
            elif what < 30:
                self.work()
            elif what < 36:
                self.street.live(self.random.choice([0.25, 0.5, 3]))
            elif what == 36:
                self.random.choice([worker for worker in self.workers.values() if not worker.closed]).vanish()
            else:
                self.mishap(self.random.choice(others))
            if all(worker.closed or worker.world is not self.safe for worker in self.workers.values()):
                self.hire(self.safe)

    def mishap(self, node: Node) -> None:
        if not node.is_alive:
            node.rise()
            self.hire(node)
        elif self.random.randrange(2):
            node.is_cut_off = not node.is_cut_off
        else:
            node.die()

    def finish(self) -> None:
        """Work on until nobody has anything; who was away and lasts comes back."""
        self.street.live(10)
        for name in self.lasting:
            if self.workers[name].closed:
                self.workers[name] = self.safe.connect(name, 5, clean=False, properties=EXPIRY, keep_alive=0)
        for _ in range(10):
            self.street.live(1)
            self.work()

    def known(self) -> set[int]:
        """What came to the node that is always there."""
        return {int(m.payload) for held in self.safe.streams.values() for m in held if m.topic.startswith(b"a/")}


@pytest.mark.parametrize("seed", range(25))
def test_a_share_loses_nothing_of_qos_1_whichever_nodes_are_lost_or_cut_off(seed: int) -> None:
    crew = Crew(seed, 1)
    for _ in range(3):
        crew.some()
    crew.finish()
    assert crew.known() <= set(crew.got)
    for node in crew.street.nodes:
        node.is_cut_off = False
        if not node.is_alive:
            node.rise()
    crew.finish()
    assert set(crew.got) == set(range(crew.total))


class Restless(Story):
    """The same in a street where answers wait for the other nodes; none dies, and the client moves as it pleases."""

    def __init__(self, seed: int, qos: int) -> None:
        super().__init__(seed, qos, is_spreading=True)

    def move(self) -> None:
        """Go to the other node in whatever state, saying goodbye or not, and perhaps back again."""
        if self.random.random() < 1 / 2 and self.subscriber.link is not None and not self.subscriber.link.closed:
            self.subscriber.link.disconnect()
        self.at = 1 - self.at
        self.subscriber.come(self.here)

    def some(self) -> None:
        super().some()
        for _ in range(self.random.randrange(3)):  # it answers in the middle of everything
            self.subscriber.act()
            self.street.step()


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_client_that_moves_at_any_moment_has_each_message_of_qos_2_once_while_its_nodes_live(
    seed: int, qos: int
) -> None:
    story = Restless(seed, qos)
    for _ in range(8):
        story.some()
        story.move()
    counts = story.finish()
    assert set(counts) == set(range(story.total))
    assert qos == 1 or set(counts.values()) <= {1}
    assert not story.subscriber.unreleased
