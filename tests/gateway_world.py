"""A panel of MQTT messages beside a repo, as pure objects: what one inserts the other keeps, if its disk lets it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from roost.broker.effects import Inserted
from roost.broker.insertion import Insertion
from roost.broker.message import Message
from roost.broker.sealing import Sealing
from roost.broker.sealing_opening import Opening
from roost.broker.succession import Succession
from roost.machine import SECOND, Effect
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.pubsub.repos.repo import Repo, RepoSettings
from roost.repo.cause import REPLICATION
from roost.repo.memory import MemoryStore
from roost.repo.shelf_effects import Kept
from roost.repo.store import Unwritten, Write, Written
from roost.trust import Receiver
from roost.trust.acceptance import ACCEPT_ANY
from roost.wire import Data, DigestSigner, make_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

GROUP = Group.at(Name.parse("/Campus/Hall/Mqtt"))
START = 1_790_000_000 * SECOND


def posted(topic: str, payload: str, time: int = START, *, qos: int = 1, retain: bool = False) -> Message:
    return Message(topic.encode(), payload.encode(), qos, retain, b"", 0, b"client", time)


class Beside:
    """One node's part in the group."""

    def __init__(
        self,
        store: MemoryStore | None = None,
        panel: str = "Gate1",
        *,
        alone: bool = True,
        sealing: Sealing | None = None,
        receivers: Sequence[Receiver] = (),
    ) -> None:
        self.now = START
        self.store = store or MemoryStore()
        self.writes: list[Write] = []  # not on the disk yet
        self.written: list[Write] = []
        self.inserted: list[Inserted] = []
        self.messages: list[Message] = []
        self.positions: dict[bytes, int] = {}
        self.past: list[dict[bytes, int]] = []
        self.disk_full = False
        self.repo = Repo(
            GROUP.repo("Repo1"),
            self.store,
            ACCEPT_ANY,
            DigestSigner(),
            Random(1),
            self.now,
            settings=RepoSettings(tells=True),
        )
        self.do(self.repo.start(self.now))
        self.save()
        self.opening = Opening(self.store, receivers)
        self.insertion = Insertion(
            GROUP.panel(panel),
            self.repo,
            lambda _, __: DigestSigner(),
            alone=alone,
            sealing=sealing,
            opens=self.opening,
        )
        self.succession = Succession(GROUP, self.repo, START, {}, opening=self.opening)

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Write):
                self.writes.append(effect)
            elif isinstance(effect, Inserted):
                self.inserted.append(effect)
            elif isinstance(effect, Kept):
                news = self.succession.stored(effect, self.now)
                self.messages += news.messages
                self.positions |= news.positions
                if news.positions:
                    self.past.append(news.past)

    def save(self) -> None:
        """Have all that is to be written on the disk, or refused by it."""
        while self.writes:
            write = self.writes.pop(0)
            if self.disk_full:
                self.do(self.repo.receive(Unwritten(write.store, write.ticket, "the disk is full"), self.now))
            else:
                self.store.write([write.batch])
                self.written.append(write)
                self.do(self.repo.receive(Written(write.store, write.ticket), self.now))

    def insert(self, ticket: int, *messages: Message, copies: int = 1) -> None:
        self.do(self.insertion.insert(ticket, messages, copies, self.now))

    def go_on(self) -> None:
        """Have signed all that can be at once."""
        while (due := self.insertion.deadline()) is not None and due <= self.now:
            self.wait(0)

    def wait(self, ns: int) -> None:
        self.now += ns
        self.do(self.insertion.tick(self.now))
        self.do(self.repo.tick(self.now))

    def seen(self) -> list[tuple[str, str]]:
        return [(message.topic.decode(), message.payload.decode()) for message in self.messages]

    def numbers(self, topic: str, panel: str = "Gate1") -> list[tuple[int, int]]:
        stream = GROUP.panel(panel).name + Name.parse("/" + topic)
        return self.repo.shelf.holdings.of(stream).held


def replicate(beside: Beside, stream: str, number: int, *values: Value, time: int = START) -> None:
    """Have the reading of a sensor come from another repo."""
    content = Reading(time, SENML_CBOR, encode_values(list(values))).encode()
    bring(beside, make_data(numbered(GROUP.name + Name.parse(stream), number), content, DigestSigner()))


def bring(beside: Beside, *packets: Data) -> None:
    """Have packets come from another repo."""
    beside.do(beside.repo.shelf.put(packets, REPLICATION, lambda _, __: [], beside.now))
    beside.save()
