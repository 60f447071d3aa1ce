"""Macros that take time, in the broker: one read brings more than a call has time for, and everything else goes on."""

from __future__ import annotations

import pytest
from tests import broker_packets as packets
from tests.broker_macros_world import Alone, MacroStreet, macro, on_node
from tests.nodes_world import Node, panel_of

from roost.broker.macros.macros import BUDGET, Macros
from roost.machine.contract import MS
from roost.process.backlog import LONG

RUN = 19 * MS


def test_a_read_of_many_messages_for_a_slow_macro_does_not_hold_everybody_up() -> None:
    world = Alone(RUN)
    world.define(macro("slow", "Noctua.topic('a')"))
    ann, bob = world.connect(b"ann"), world.connect(b"bob")
    bob.subscribe(b"Noctua/slow")
    before = world.stopwatch
    ann.send(b"".join(packets.publish(b"a", b"%d" % n) for n in range(100)))
    spent = [(world.stopwatch - before) / 2]  # it is read twice a run
    bob.send(packets.pingreq())
    assert bob.kinds()[-1] == "PINGRESP"
    got = 2
    while world.broker.deadline() == 0:
        before = world.stopwatch
        world.run(world.broker.tick(world.now))
        spent.append((world.stopwatch - before) / 2)
        got += len(bob.payloads())
    assert max(spent) <= BUDGET + RUN
    assert got == 100
    assert world.broker.core.macros.counts() == [("macros/waiting", 0), ("macros/left_out", 0)]  # type: ignore[union-attr]


def test_results_come_in_order_and_what_waits_is_counted() -> None:
    world = Alone(RUN)
    world.define(macro("slow", "Noctua.topic('a')"))
    ann = world.connect(b"ann")
    ann.subscribe(b"Noctua/slow")
    ann.send(b"".join(packets.publish(b"a", b"%d" % n) for n in range(10)))
    assert world.broker.counts()["macros/waiting"] == 8
    ann.publish(b"a", b"10")
    assert world.broker.counts()["macros/waiting"] == 9
    while world.broker.deadline() == 0:
        world.run(world.broker.tick(world.now))
    assert ann.payloads() == [b"%d" % n for n in range(11)]


def test_a_driver_is_told_to_read_no_more_when_much_waits() -> None:
    world = Alone(RUN)
    world.define(macro("slow", "Noctua.topic('a')"))
    ann = world.connect(b"ann")
    macros = world.broker.core.macros
    assert macros is not None
    assert not macros.is_late()
    ann.send(b"".join(packets.publish(b"a", b"1") for _ in range(LONG + 2)))
    assert macros.is_late()


class Timed:
    """What makes the macros of a node, where runs take time."""

    def __init__(self) -> None:
        self.stopwatch = 0

    def __call__(self, node: Node) -> Macros:
        return on_node(node, stopwatch=self._read)

    def _read(self) -> int:
        self.stopwatch += RUN
        return self.stopwatch


def backlog_of(street: MacroStreet, count: int) -> None:
    """Have readings of a group come, so many in one call."""
    node = street.nodes[0]
    ann = node.connect(b"ann")
    for n in range(count):
        ann.publish(b"hall/a", b"%d" % n)
    node.settle()
    node.insert_all()
    stream = panel_of(1) + b"\x08\x04hall\x08\x01a"
    messages = node.streams[stream]
    node.handed[stream] = len(messages)
    node.run(node.broker.stored(messages[-count:], {stream: len(messages)}, node.now))


def test_an_update_holds_from_the_first_reading_that_waits_and_says_so() -> None:
    street = MacroStreet(1, 1, make=Timed())
    street.live(5)
    street.define(1, macro("slow", "Noctua.topic('hall/a')"))
    backlog_of(street, 10)
    assert len(street.macros(1).processor.backlog) == 8
    street.define(1, macro("slow", "100 + Noctua.topic('hall/a')"))
    record = street.macros(1).known["slow"].record
    assert list(record.effective.values()) == [2]
    street.live(2)
    assert [int(each.payload) for each in street.results("slow")] == [0, 1, *range(102, 110)]


@pytest.mark.parametrize("ticks", [0, 3])
def test_what_waited_when_a_node_crashed_has_its_results_once(ticks: int) -> None:
    street = MacroStreet(1, 1, make=Timed())
    street.live(5)
    street.define(1, macro("slow", "Noctua.topic('hall/a')"))
    backlog_of(street, 20)
    for _ in range(ticks):
        street.nodes[0].run(street.nodes[0].broker.tick(street.now))
    street.nodes[0].insert_all()
    street.nodes[0].die()
    street.nodes[0].rise()
    street.live(10)
    assert [int(each.payload) for each in street.results("slow")] == list(range(20))
