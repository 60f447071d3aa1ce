"""A panel with real keys, a disk that can crash, and a repo that verifies: the panel's surroundings in tests."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.trust_world import NOW, PANEL1, SCHEMA, World, settle

from roost.forwarding.endpoint_effects import Asked
from roost.machine import SECOND, Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.panels.dispatch import Inserted
from roost.pubsub.panels.panel import Acknowledged, Panel, PanelSettings, Published, Refused
from roost.pubsub.panels.recollection import Told
from roost.repo.batch import Receipt
from roost.sync.port import Reply
from roost.trust import Accepted, KeyChain
from roost.wire import Data, Interest, encode_interest
from roost.wire.reading import TEXT, Reading

WORLD = World()
KEYS = KeyChain(SCHEMA, [WORLD[PANEL1]])
NAME = Name.parse(PANEL1)
VOLTAGE, CURRENT = NAME / "Heater" / "Voltage", NAME / "Heater" / "Current"


def reading(text: str) -> Reading:
    return Reading(NOW, TEXT, text.encode())


class FakeRepo:
    """Commands that wait for an answer, and what was kept; it believes what the schema lets the panel sign."""

    def __init__(self) -> None:
        self.waiting: list[tuple[list[Data], Inserted]] = []
        self.asked: list[Told] = []
        self.copies: list[int] = []
        self.kept: dict[Name, bytes] = {}
        self.left_house: dict[Name, bytes] = {}
        self._verifier = WORLD.verifier()

    def insert_batch(self, packets: list[Data], then: Inserted, now: int, *, copies: int = 1) -> list[Effect]:
        assert now >= NOW
        for data in packets:
            assert self.left_house.setdefault(data.name, data.wire) == data.wire, "a number was given twice"
        self.copies.append(copies)
        self.waiting.append((packets, then))
        return []

    def ask_latest(self, prefix: Name, then: Told, now: int) -> list[Effect]:
        assert prefix == NAME
        assert now >= NOW
        self.asked.append(then)
        return []

    def latest(self) -> dict[Name, int]:
        found: dict[Name, int] = {}
        for name in self.kept:
            stream = name.prefix(-1)
            found[stream] = max(found.get(stream, 0), name.at(-1).number())
        return found

    def keep(self, packets: list[Data]) -> Receipt:
        refused: list[tuple[int, str]] = []
        for index, data in enumerate(packets):
            verdict = settle(self._verifier, data, WORLD.certificates())
            if not isinstance(verdict, Accepted):
                refused.append((index, str(verdict)))
            elif self.kept.setdefault(data.name, data.wire) != data.wire:
                refused.append((index, "conflict"))
        return Receipt(206 if refused else 200, len(packets) - len(refused), tuple(refused))


class House:
    """A panel over its restarts: the disk stays, and so does the repo."""

    def __init__(self, settings: PanelSettings = PanelSettings(), repo: FakeRepo | None = None) -> None:  # noqa: B008
        self.repo = repo or FakeRepo()
        self.disk = b""
        self.unsaved: list[Save] = []
        self.told: list[Effect] = []
        self.now = NOW
        self._settings = settings
        self.panel = self.build()

    def build(self) -> Panel:
        asking = Asking(WORLD.verifier(), NAME)
        self.panel = Panel(
            NAME,
            asking,
            self.repo,
            self.repo.ask_latest,
            KEYS.signer_for,
            random.Random(1),
            found=self.disk,
            settings=self._settings,
            certificates=[WORLD[PANEL1].certificate.data],
        )
        return self.panel

    def do(self, effects: list[Effect]) -> list[Effect]:
        """Carry out what came of a call, but for saves, which wait for `save`."""
        self.unsaved += [effect for effect in effects if isinstance(effect, Save)]
        rest = [effect for effect in effects if not isinstance(effect, Save)]
        self.told += rest
        return rest

    def start(self, numbers: Mapping[Name, int] | None = None) -> None:
        """Start, and answer what a new panel asks."""
        self.do(self.panel.start(self.now))
        self.answer_latest(numbers or {})

    def answer_latest(self, numbers: Mapping[Name, int] | None) -> None:
        asked, self.repo.asked[:] = list(self.repo.asked), []
        for then in asked:
            self.do(then(numbers, "" if numbers is not None else "nobody answered", self.now))

    def publish(self, *texts: str, stream: Name = VOLTAGE) -> None:
        self.do(self.panel.publish_many([(stream, reading(text)) for text in texts], self.now))

    def save(self) -> None:
        """Have all saves carried out."""
        while self.unsaved:
            self.save_one()

    def save_one(self) -> None:
        save = self.unsaved.pop(0)
        self.apply(save)
        self.do(self.panel.receive(Saved(save.file, save.ticket), self.now))

    def apply(self, save: Save, size: int | None = None) -> None:
        """Write a save, or the first part of it."""
        if not save.replace:
            self.disk += save.data[:size]
        elif size is None:
            self.disk = save.data

    def answer(self, count: int = 1000) -> None:
        """Have the repo keep what was sent, and what is sent because of that."""
        while self.repo.waiting and count:
            packets, then = self.repo.waiting.pop(0)
            self.do(then(self.repo.keep(packets), "", self.now))
            count -= 1

    def fail(self, receipt: Receipt | None = None) -> None:
        """Have what was sent so far not taken."""
        waiting, self.repo.waiting[:] = list(self.repo.waiting), []
        for _, then in waiting:
            self.do(then(receipt, "timed out", self.now))

    def wait(self, ns: int) -> None:
        """Let time pass, calling `tick` when it is wanted."""
        end = self.now + ns
        while (deadline := self.panel.deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.do(self.panel.tick(self.now))
        self.now = end

    def crash(self) -> None:
        self.unsaved.clear()
        self.repo.waiting.clear()
        self.repo.asked.clear()
        self.build()

    def settle(self) -> None:
        """Let everything come to rest, with a repo that answers."""
        self.start(self.repo.latest())
        for _ in range(12):
            self.save()
            self.answer()
            self.answer_latest(self.repo.latest())
            self.wait(2 * SECOND)
        assert not self.unsaved
        assert not self.repo.waiting

    def ask(self, name: Name, *, can_be_prefix: bool = False) -> Data | None:
        """Send an Interest."""
        interest = Interest.decode(encode_interest(name, can_be_prefix=can_be_prefix))
        replies = self.panel.receive(Asked(NAME, interest, b"t"), self.now)
        if not replies:
            return None
        (reply,) = replies
        assert isinstance(reply, Reply)
        assert reply.token == b"t"
        return Data.decode(reply.packet)

    def published(self) -> list[tuple[Name, int]]:
        return [(effect.stream, effect.number) for effect in self.told if isinstance(effect, Published)]

    def acknowledged(self) -> list[tuple[Name, int, int]]:
        return [(each.stream, each.low, each.high) for each in self.told if isinstance(each, Acknowledged)]

    def refused(self) -> list[tuple[Name, int]]:
        return [(effect.stream, effect.number) for effect in self.told if isinstance(effect, Refused)]

    def text_of(self, stream: Name, number: int) -> str:
        return Reading.decode(Data.decode(self.repo.kept[numbered(stream, number)]).content).payload.decode()
