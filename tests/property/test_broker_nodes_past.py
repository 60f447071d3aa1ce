"""Sessions that move between the brokers of a group in the middle of a past: all of it comes, in order, once.

Every reading has a number of its own; a client subscribes to some topics since the beginning and takes a few messages
at a time, while more are published at all nodes, and it goes from node to node.
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests import broker_packets as packets
from tests.nodes_world import INSTANT_S, Node, Street, Subscriber

SEEDS = range(20)
FILTERS = (b"a/#", b"b/#")
TOPICS = (b"a/0", b"a/1", b"b/0")


class Reader:
    """Three nodes, publishers at all of them, and one subscriber that asks for the past and wanders."""

    def __init__(self, seed: int, qos: int, *, is_spreading: bool = False, version: int = 5) -> None:
        self.street = Street(seed, 3, is_spreading=is_spreading)
        self.random = self.street.random
        self.qos = qos
        self.published: dict[tuple[int, bytes], list[int]] = {}  # by node and topic
        self.total = 0
        for _ in range(self.random.randrange(100, 250)):
            self.publish()
        self.street.settle()
        self.here = self.random.choice(self.street.nodes)
        self.subscriber = Subscriber(version)
        self.subscriber.come(self.here)
        assert self.subscriber.link is not None
        asked = [(b"$since/1/" + filter_, qos) for filter_ in FILTERS]
        self.subscriber.link.send(packets.subscribe(1, *asked, version=version))
        self.street.live(1)

    @property
    def got(self) -> list[int]:
        return [int(payload) for payload in self.subscriber.got]

    def publish(self) -> None:
        """Publish at any node that lives; it is acknowledged, because its repo has it."""
        node = self.random.choice(self.street.alive())
        topic = self.random.choice(TOPICS)
        self.street.wait(INSTANT_S)
        speaker = node.connect(b"speaker", 5, clean=True)
        speaker.publish(topic, b"%d" % self.total, qos=self.qos, packet_id=1)
        node.insert_all()
        self.published.setdefault((node.number, topic), []).append(self.total)
        self.total += 1

    def some(self) -> None:
        """A while of everyday life: as a rule the past is longer than that."""
        for _ in range(self.random.randrange(1, 25)):
            what = self.random.randrange(12)
            if what < 3:
                self.publish()
            elif what < 8:
                self.street.step()
            elif what < 11:
                self.subscriber.act()
            else:
                self.street.wait(self.random.random())

    def leave(self) -> None:
        """Say goodbye, whatever is under way."""
        if self.subscriber.link is not None and not self.subscriber.link.closed:
            self.subscriber.link.disconnect()

    def come(self, node: Node) -> None:
        self.here = node
        self.subscriber.come(node)

    def elsewhere(self) -> Node:
        return self.random.choice([node for node in self.street.alive() if node is not self.here])

    def finish(self) -> None:
        for node in self.street.nodes:
            if not node.is_alive:
                node.rise()
        for _ in range(5):
            self.street.settle()
            if self.subscriber.link is None or self.subscriber.link.closed:
                self.come(self.here)
            while self.subscriber.act():
                pass

    def assert_all_came_once_and_in_order(self) -> None:
        counts = Counter(self.got)
        assert set(counts) == set(range(self.total))
        assert set(counts.values()) == {1}
        for published in self.published.values():
            assert [number for number in self.got if number in set(published)] == published


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_past_goes_on_at_every_node_that_its_client_moves_to(seed: int, qos: int) -> None:
    reader = Reader(seed, qos, version=reader_version(seed))
    for _ in range(6):
        reader.some()
        reader.leave()
        reader.street.settle()
        reader.come(reader.elsewhere())
    reader.finish()
    reader.assert_all_came_once_and_in_order()


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_past_goes_on_for_a_client_that_moves_at_any_moment(seed: int, qos: int) -> None:
    reader = Reader(seed, qos, is_spreading=True)
    for _ in range(8):
        reader.some()
        if reader.random.randrange(2):
            reader.leave()
        reader.come(reader.elsewhere())
    reader.finish()
    reader.assert_all_came_once_and_in_order()


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_past_loses_nothing_whichever_nodes_die_and_repeats_what_came_in_their_last_moment_only(
    seed: int, qos: int
) -> None:
    reader = Reader(seed, qos, is_spreading=True)
    last_moment: set[int] = set()
    for _ in range(6):
        reader.some()
        before = len(reader.got)
        reader.street.live(1)  # in which its node tells what it has taken so far
        reader.subscriber.act()
        what = reader.random.randrange(4)
        if what < 2 and len(reader.street.alive()) > 1:
            last_moment.update(reader.got[before:])
            reader.here.die()
            reader.come(reader.elsewhere())
        elif what == 2 and len(reader.street.alive()) < 3:
            reader.random.choice([node for node in reader.street.nodes if not node.is_alive]).rise()
        elif len(reader.street.alive()) > 1:
            reader.come(reader.elsewhere())
    reader.finish()
    counts = Counter(reader.got)
    assert set(counts) == set(range(reader.total))
    assert {number for number, count in counts.items() if count > 1} <= last_moment


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_past_loses_nothing_when_a_client_is_torn_between_nodes_that_die(seed: int, qos: int) -> None:
    reader = Reader(seed, qos)
    for _ in range(10):
        reader.some()
        what = reader.random.randrange(5)
        alive = len(reader.street.alive())
        if what == 0 and alive > 1:
            reader.here.die()
            reader.come(reader.elsewhere())
        elif what == 1 and alive < 3:
            reader.random.choice([node for node in reader.street.nodes if not node.is_alive]).rise()
        elif what == 2:
            reader.here.die()
            reader.here.rise()
            reader.come(reader.here)
        elif alive > 1:
            if what == 3:
                reader.leave()
            reader.come(reader.elsewhere())
    reader.finish()
    assert set(reader.got) == set(range(reader.total))


def reader_version(seed: int) -> int:
    """Clients of both versions, in turn."""
    return 4 + seed % 2
