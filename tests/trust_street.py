"""Whole repos, panels and consumers with real keys under the building schema, and a network that can be made to lie.

Machines sit behind their endpoints (`Resident`), the street carries their packets: commands and questions for any repo
go to the nearest one, sync among repos to all of them, the rest to whom it names or hints at. Certificates are with the
network, except those that are `hidden`. Three hooks make it lie: `answer` (an answer of its own to an Interest),
`change` (another packet in place of a Data on its way), and `inject` (an Interest of its own).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from tests.trust_world import COMPANY, NOW, World

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import FIRST_FACE, Arrived, FaceSpec, Send
from roost.machine import MS, SECOND, Effect, Rejected
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import numbered
from roost.pubsub.consumers.arrival import Arrival, Deliver
from roost.pubsub.consumers.consumer import Consumer
from roost.pubsub.consumers.policy import Policy
from roost.pubsub.panels.panel import Panel, make_panel
from roost.pubsub.repos.repo import Repo, RepoSettings
from roost.pubsub.resident import DiskEvent, Part, Resident
from roost.repo.cause import REPLICATION
from roost.repo.memory import MemoryStore
from roost.repo.store import Unwritten, Write, Written
from roost.trust import Identity
from roost.wire import Data, Interest, Signer, make_data
from roost.wire.data import decode_data
from roost.wire.interest import decode_interest
from roost.wire.reading import TEXT, Reading
from roost.wire.tlv import INTEREST, LP_PACKET

GROUP = COMPANY.group("Building1", "Electricity")
Inside = TypeVar("Inside", bound=Part)
Kind = TypeVar("Kind", bound=Effect)
LOCAL = FaceSpec("internal://street", "internal://door", local=True)


def stream(panel: str, metric: str = "Voltage") -> Name:
    return GROUP.stream(panel, "Heater", metric).name


def reading(of: Name, number: int, by: Identity, text: str = "230") -> Data:
    return make_data(numbered(of, number), Reading(NOW, TEXT, text.encode()).encode(), by.signer)


@dataclass(frozen=True, slots=True)
class _Pending:
    who: str
    interest: Interest
    ends: int


class Street:
    """All machines, by the last component of their name."""

    def __init__(self, keys: World) -> None:
        self.keys = keys
        self.now = NOW
        self.nearest = "Repo1"
        self.hidden: set[Name] = set()  # identities whose certificates nobody serves
        self.full: set[str] = set()  # repos whose disk is full
        self.also: list[Data] = []  # certificates that are with the network beside the company's
        self.answer: Callable[[Interest], bytes | None] = lambda _: None
        self.change: Callable[[Data], bytes] = lambda data: data.wire
        self.seen: list[Interest] = []
        self.carried: list[Data] = []
        self._residents: dict[str, Resident[Any]] = {}
        self._stores: dict[str, MemoryStore] = {}
        self._told: dict[str, list[Effect]] = {}
        self._pending: list[_Pending] = []
        self._work: deque[tuple[str, Effect]] = deque()

    # -- who lives here

    def repo(self, name: str, signer: Signer | None = None, settings: RepoSettings | None = None) -> Repo:
        place = GROUP.repo(name)
        store = self._stores[name] = MemoryStore()
        by = signer or self.keys[str(place.name)].signer
        verifier, random = self.keys.verifier(), Random(name)
        part = Repo(place, store, verifier, by, random, self.now, settings=settings or RepoSettings())
        return self._enter(name, part)

    def panel(self, name: str, signer: Signer | None = None, commands: Signer | None = None) -> Panel:
        place = GROUP.panel(name)
        own = self.keys[str(place.name)].signer
        by = signer or own
        return self._enter(
            name, make_panel(place, self.keys.verifier(), lambda _, __: by, commands or own, Random(name))
        )

    def consumer(self, *wishes: Name, policy: Policy | None = None) -> Consumer:
        verifier = self.keys.verifier()
        part = Consumer(GROUP, wishes, verifier, Random("consumer"), saved=b"", file="place", policy=policy)
        return self._enter("consumer", part)

    def _enter(self, name: str, part: Inside) -> Inside:
        self._residents[name] = Resident(part, Endpoint(self.keys.anchor.signer, Random(name)))
        self._told[name] = []
        self.do(name, self._residents[name].open_face(FIRST_FACE, LOCAL, self.now))
        return part

    def leave(self, name: str) -> None:
        """Have somebody be gone."""
        del self._residents[name]

    # -- what happens

    def act(self, name: str, effects: list[Effect]) -> None:
        """Carry out what a command to a machine returned."""
        self.do(name, self._residents[name].settle(effects, self.now))

    def do(self, name: str, effects: Sequence[Effect]) -> None:
        self._work.extend([(name, effect) for effect in effects])
        while self._work:
            who, effect = self._work.popleft()
            if isinstance(effect, Send):
                for packet in effect.packets:
                    self._carry(who, packet)
            elif isinstance(effect, Write) and who in self.full:
                self._event(who, Unwritten(effect.store, effect.ticket, "no space left"))
            elif isinstance(effect, Write):
                self._stores[who].write([effect.batch])
                self._event(who, Written(effect.store, effect.ticket))
            elif isinstance(effect, Save):
                self._event(who, Saved(effect.file, effect.ticket))
            else:
                self._told[who].append(effect)

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass, at most so much; whether it came to what was waited for."""
        end = self.now + int(seconds * SECOND)
        while not until():
            deadlines = [resident.deadline() for resident in self._residents.values()]
            due = min([deadline for deadline in deadlines if deadline is not None], default=end)
            if due > end:
                self.now = end
                return until()
            self.now = max(self.now, due)
            for name, resident in self._residents.items():
                deadline = resident.deadline()
                if deadline is not None and deadline <= self.now:
                    self.do(name, resident.tick(self.now))
            self.now += 1
        return True

    def inject(self, name: str, interest: bytes) -> list[Data]:
        """Hand somebody an Interest; returns what it answers at once."""
        before = len(self.carried)
        self._arrive(name, interest)
        self.do(name, [])
        return self.carried[before:]

    def plant(self, name: str, *packets: Data) -> None:
        """Have a repo hold packets, verified or not, as one that is not to be trusted may."""
        part: Repo = self._residents[name].part
        effects = part.shelf.put(packets, REPLICATION, lambda _, __: [], self.now)
        self.act(name, part._settle(effects, self.now))

    def record(self, name: str, content: bytes) -> None:
        """Have a repo record something, true or not, and announce it."""
        part: Repo = self._residents[name].part
        record = numbered(part.name, part.shelf.holdings.highest(part.name) + 1)
        self.plant(name, make_data(record, content, self.keys[str(part.name)].signer))

    # -- what came of it

    def refusals(self, name: str) -> list[str]:
        return [effect.reason for effect in self._told[name] if isinstance(effect, Rejected)]

    def refused(self, name: str, *words: str) -> bool:
        """Whether a machine has refused something, with all of these words in the reason."""
        return any(all(word in reason for word in words) for reason in self.refusals(name))

    def told(self, name: str, kind: type[Kind]) -> list[Kind]:
        return [effect for effect in self._told[name] if isinstance(effect, kind)]

    def delivered(self) -> list[Arrival]:
        return [effect.arrival for effect in self.told("consumer", Deliver)]

    def stored(self, name: str, below: Name) -> list[Name]:
        return self._stores[name].scan(below, None, 10_000)

    # -- the network

    def _event(self, name: str, event: DiskEvent) -> None:
        self._work.extend([(name, effect) for effect in self._residents[name].receive(event, self.now)])

    def _arrive(self, name: str, packet: bytes) -> None:
        effects = self._residents[name].receive(Arrived(FIRST_FACE, [packet]), self.now)
        self._work.extend([(name, effect) for effect in effects])

    def _carry(self, who: str, packet: bytes) -> None:
        if packet[0] == LP_PACKET:  # somebody says that it has nothing: nobody else is asked here
            return
        if packet[0] != INTEREST:
            data = decode_data(packet)
            self.carried.append(data)
            self._bring(self.change(data))
            return
        interest = decode_interest(packet)
        self.seen.append(interest)
        self._pending = [each for each in self._pending if self.now < each.ends]
        self._pending.append(_Pending(who, interest, self.now + interest.lifetime_ms * MS))
        lie = self.answer(interest)
        if lie is not None:
            self._bring(lie)
            return
        for certificate in [*[held.data for held in self.keys.certificates()], *self.also]:
            if certificate.name.starts_with(interest.name) and certificate.name.prefix(-4) not in self.hidden:
                self._bring(certificate.wire)
                return
        for whom in self._towards(interest):
            if whom != who and whom in self._residents:
                self._arrive(whom, packet)

    def _bring(self, packet: bytes) -> None:
        data = decode_data(packet)
        name = data.name
        waiting, self._pending = self._pending, []
        for each in waiting:
            wanted = each.interest.name
            if name == wanted or (each.interest.can_be_prefix and name.starts_with(wanted)):
                self._arrive(each.who, packet)
            else:
                self._pending.append(each)

    def _towards(self, interest: Interest) -> list[str]:
        name = (interest.hints or [interest.name])[0]
        if name.starts_with(GROUP.replication):
            return [each for each in self._residents if each.startswith("Repo")]
        if name.starts_with(GROUP.service):
            return [self.nearest]
        if name.starts_with(GROUP.name / "Repo"):
            return [str(name.at(len(GROUP.name) + 1))]
        return [str(name.at(len(GROUP.name)))] if name.starts_with(GROUP.name) and len(name) > len(GROUP.name) else []
