"""Brokers with macros: one alone with plain topics, and several nodes of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.broker_world import World
from tests.nodes_world import Node, Street, panel_of

from roost.broker.macros.catch_up import PIECE
from roost.broker.macros.macros import Macros
from roost.broker.macros.past import MacroPast
from roost.broker.message import Message
from roost.broker.settings import DISK, BrokerSettings
from roost.naming import Name
from roost.process.definition import Definition, definition_of
from roost.process.engine import Engine
from roost.process.javascript import JavaScript
from roost.process.python_code import Python
from roost.process.runner import untimed
from roost.wire.lineage import Lineage, read_lineage

ENGINES: dict[str, Engine] = {"javascript": JavaScript(), "python": Python()}


def macro(name: str, code: str, **more: object) -> Definition:
    return definition_of({"name": name, "code": code, **more})


class Alone(World):
    """A broker with plain topics and a disk."""

    def __init__(self, run_ns: int = 0) -> None:
        self.run_ns = run_ns  # that a run takes, if they are timed
        self.stopwatch = 0
        settings = BrokerSettings(persistent=True, durability=DISK, sys_interval_s=0)
        super().__init__(settings, macros=self._macros)

    def _macros(self) -> Macros:
        past = MacroPast()
        past.retained = lambda filter_: [each for _, each in self.broker.core.retained.matching(filter_, self.now)]
        return Macros(ENGINES, past, stopwatch=self._read_stopwatch)

    def _read_stopwatch(self) -> int:
        self.stopwatch += self.run_ns
        return self.stopwatch

    def define(self, *definitions: Definition) -> None:
        for each in definitions:
            self.run(self.broker.define_macro(each, self.now))


def on_node(node: Node, *, stopwatch: Callable[[], int] = untimed, engines: Mapping[str, Engine] = ENGINES) -> Macros:
    past = MacroPast()
    past.history = lambda: node.broker.core.history
    panel, alone = Name(panel_of(node.number)), node.street.count == 1
    macros = Macros(engines, past, tree=0, panel=panel, alone=alone, stopwatch=stopwatch)
    macros.last_number = lambda stream: len(node.streams.get(stream, ()))
    assert isinstance(node.street, MacroStreet)
    macros.piece = node.street.piece
    return macros


class MacroStreet(Street):
    """Nodes of a group that run macros, and catch up in pieces."""

    def __init__(self, seed: int, count: int = 2, piece: int = PIECE, make: Callable[[Node], Macros] = on_node) -> None:
        self.piece = piece
        super().__init__(seed, count, make, is_beating=True)

    def macros(self, number: int) -> Macros:
        macros = self.nodes[number - 1].broker.core.macros
        assert macros is not None
        return macros

    def define(self, number: int, *definitions: Definition) -> None:
        node = self.nodes[number - 1]
        for each in definitions:
            node.run(node.broker.define_macro(each, node.now))

    def runners(self, name: str) -> list[int]:
        return [node.number for node in self.alive() if self.macros(node.number).runs(name)]

    def results(self, name: str) -> list[Message]:
        """What nodes that live have of a macro's results, by time."""
        held: dict[bytes, list[Message]] = {}
        for node in self.alive():
            for stream, messages in node.streams.items():
                if messages[0].topic == f"Noctua/{name}".encode() and len(messages) > len(held.get(stream, ())):
                    held[stream] = messages
        return sorted([each for messages in held.values() for each in messages], key=lambda each: each.time)


def lineage_of(message: Message) -> Lineage:
    return read_lineage(message.lineage)
