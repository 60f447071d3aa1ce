"""Many macros that a node takes up: each is loaded once, a few in a call, and then they catch up together."""

from __future__ import annotations

import pytest
from tests.broker_macros_world import ENGINES, MacroStreet, macro, on_node
from tests.nodes_world import Node

from roost.broker.macros.catch_up import AT_ONCE
from roost.broker.macros.macros import Macros
from roost.machine import SECOND
from roost.process.engine import Engine, Limits, Program

MANY = 35


class Counted:
    """JavaScript; what was loaded is counted."""

    language = "javascript"

    def __init__(self) -> None:
        self.loads: list[str] = []

    def load(self, code: str, limits: Limits) -> Program:
        self.loads.append(code)
        return ENGINES["javascript"].load(code, limits)


class Loading:
    """What makes the macros of nodes, whose loads are counted."""

    def __init__(self) -> None:
        self.engines: dict[int, Counted] = {}

    def __call__(self, node: Node) -> Macros:
        counted = self.engines[node.number] = Counted()
        engines: dict[str, Engine] = {"javascript": counted}
        return on_node(node, engines=engines)


def street_of(count: int) -> tuple[MacroStreet, Loading]:
    loading = Loading()
    street = MacroStreet(1, count, make=loading)
    street.live(5)
    for number in range(MANY):
        street.define(1, macro(f"m{number:02}", f"{number} + Noctua.topic('hall/a')"))
    street.define(1, macro("sum", "Noctua.topic('Noctua/m00') + Noctua.topic('Noctua/m34')"))
    street.live(5)
    return street, loading


def tick_until_taken_up(street: MacroStreet, node: Node, counted: Counted) -> list[int]:
    """Let time pass until a node begins to take macros up, and tick until it has; how many each tick loads."""
    found = [0]
    while street.macros(node.number).catching is None:
        found = [tick(street, node, counted, seconds=1)]
    while street.macros(node.number).catching is not None:
        node.insert_all()
        found.append(tick(street, node, counted))
    return found


def tick(street: MacroStreet, node: Node, counted: Counted, seconds: int = 0) -> int:
    before = len(counted.loads)
    node.now = street.now = street.now + seconds * SECOND
    node.run(node.broker.tick(node.now))
    return len(counted.loads) - before


def test_a_macro_is_loaded_once_to_be_defined() -> None:
    street, loading = street_of(1)
    assert len(loading.engines[1].loads) == MANY + 1
    street.define(1, macro("m00", "Noctua.topic('hall/b')"))
    assert len(loading.engines[1].loads) == MANY + 2


def test_a_takeover_of_many_loads_a_few_of_them_in_a_call_and_each_once() -> None:
    street, loading = street_of(2)
    street.nodes[0].die()
    counted = loading.engines[2]
    counted.loads.clear()
    ann = street.nodes[1].connect(b"ann")
    ann.publish(b"hall/a", b"1")
    while street.step():
        pass
    each = tick_until_taken_up(street, street.nodes[1], counted)
    assert max(each) == AT_ONCE
    assert sum(each) == len(set(counted.loads)) == MANY + 1
    street.live(3)
    assert street.runners("m00") == street.runners("sum") == [2]
    assert [each.payload for each in street.results("m34")] == [b"35"]


def test_a_restart_loads_each_once() -> None:
    street, loading = street_of(1)
    street.nodes[0].die()
    street.nodes[0].rise()
    street.live(5)
    assert len(loading.engines[1].loads) == MANY + 1
    assert street.runners("sum") == [1]


@pytest.mark.parametrize("what", ["deletion", "update", "nothing"])
def test_what_becomes_of_a_macro_before_its_turn_counts(what: str) -> None:
    street, loading = street_of(2)
    street.nodes[0].die()
    node, macros = street.nodes[1], street.macros(2)
    while macros.catching is None:
        tick(street, node, loading.engines[2], seconds=1)
    assert macros.catching.names
    name = macros.catching.names[-1]
    assert not macros.find(name).is_taken_up
    if what == "deletion":
        node.run(node.broker.delete_macro(name, node.now))
    elif what == "update":
        node.run(node.broker.define_macro(macro(name, "-Noctua.topic('hall/a')"), node.now))
    street.live(5)
    node.connect(b"ann").publish(b"hall/a", b"5")
    street.live(2)
    if what == "update":
        assert [each.payload for each in street.results(name)] == [b"-5"]
    assert street.runners(name) == ([] if what == "deletion" else [2])
    assert len(street.results("m00")) == 1
    assert loading.engines[2].loads
