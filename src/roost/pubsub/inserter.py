"""An inserter: has packets that are signed already kept by the repos of a group, each once, whoever tries how often.

    insert(packets) ──▶ batches to a repo (`panels.dispatch`) ──receipt──▶ kept
                                                             └─conflict──▶ what is kept is fetched and compared

Names come from elsewhere, and are to be a function of the data: then who tries again hands in the same packets, and
nothing is published twice. It is publish-if-absent:

- What a repo has byte by byte counts as kept.
- Where a repo has another packet of that name, that one is fetched and verified. If its Content is the same, another
  key signed the same value: it is present. If not, it is a conflict, for people to look at; nothing is overwritten.
- What retention has dropped since is counted, and not published again.

Each order is told when nothing of it waits (`roost.pubsub.orders`). Nothing is on a disk here: what is not told is to
be handed in again, which is harmless.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Note, Randomness
from roost.naming import Name, building
from roost.pubsub.asking import Asking
from roost.pubsub.commanding import Commander
from roost.pubsub.credentials import Credentials
from roost.pubsub.orders import MAX_WAITING, Fate, Orders
from roost.pubsub.panels.dispatch import WINDOW, Dispatch, Inserting
from roost.pubsub.panels.outbox_log import Packet
from roost.pubsub.resident import Event
from roost.repo.shelving import CONFLICT, DELETED
from roost.sync.port import Reply
from roost.trust.acceptance import Checker
from roost.wire import Data, Signer

MAX_COMPARED: Final = 64  # at the same time
COMPARE_TRIES: Final = 4
_LIFETIME_MS: Final = 2000
_DIFFERS: Final = "its content is not that of the packet which is kept under this name"


class Inserter:
    """The machine; `shown` are keys of ours whose certificates somebody else on the same face shows."""

    def __init__(
        self,
        name: Name,
        service: Name,
        asking: Asking,
        commander: Inserting,
        randomness: Randomness,
        *,
        copies: int = 1,
        window: int = WINDOW,
        certificates: Sequence[Data] = (),
        shown: Sequence[Name] = (),
    ) -> None:
        self.name: Final = name
        self.orders: Final = Orders()
        self.dispatch: Final = Dispatch(
            commander, randomness, self._confirmed, self._refused, copies=copies, window=window
        )
        self.conflicts = 0
        self._service: Final = service
        self._asking: Final = asking
        self._credentials: Final = Credentials(certificates)
        self._routes: Final = (*self._credentials.prefixes(), *shown)
        self._to_compare: Final[deque[Packet]] = deque()  # bound: MAX_WAITING
        self._comparing = 0  # bound: MAX_COMPARED

    @property
    def prefixes(self) -> Sequence[Name]:
        """Under which Interests are ours: the keys that others need to believe us."""
        return self._credentials.prefixes()

    @property
    def routes(self) -> Sequence[Name]:
        """What to register, so that they come."""
        return self._routes

    # -- commands

    def insert(self, packets: Sequence[Data], now: int) -> list[Effect]:
        """Have these kept; `orders.last` is then the number of the order that `Inserted` will tell."""
        self.dispatch.add(self.orders.add(packets))
        return self.orders.finished(self.orders.last) + self.dispatch.send(now)

    def abandon(self, order: int) -> int:
        """Give up what still waits of an order, which is told no more; returns how many packets that were."""
        count, alone = self.orders.abandon(order)
        self.dispatch.drop(alone)
        return count

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin, or begin again: the network is back, so nothing has to wait longer."""
        return self.dispatch.start(now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an answer, or an Interest for a certificate."""
        if isinstance(event, Asked):
            certificate = self._credentials.answer(event.interest)
            return [] if certificate is None else [Reply(certificate.wire, event.token)]
        return self._asking.receive(event, now) if isinstance(event, (Delivered, Failed)) else []

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        return self.dispatch.send(now)

    def deadline(self) -> int | None:
        """When there may be reason to send."""
        return self.dispatch.deadline()

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "waiting": (len(self.orders), MAX_WAITING),
            "compared": (self._comparing, MAX_COMPARED),
            "asked": (len(self._asking), self._asking.max_asked),
        }

    # -- what a repo says

    def _confirmed(self, packets: list[Packet], now: int) -> list[Effect]:  # noqa: ARG002  a collaborator's shape
        return self.orders.settle(packets, Fate.KEPT)

    def _refused(self, packet: Packet, reason: str, now: int) -> list[Effect]:
        if reason != CONFLICT:
            return self.orders.settle([packet], Fate.DROPPED if reason == DELETED else Fate.REFUSED, reason)
        self._to_compare.append(packet)
        return self._compare(now)

    def _compare(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        while self._to_compare and self._comparing < MAX_COMPARED:
            packet = self._to_compare.popleft()
            if self.orders.waits(packet):
                effects += self._fetch(packet, now)
        return effects

    def _fetch(self, packet: Packet, now: int) -> list[Effect]:
        def fetched(kept: Data | None, reason: str, now: int) -> list[Effect]:
            self._comparing -= 1
            return self._compared(packet, kept, reason) + self._compare(now)

        self._comparing += 1
        name = Name(packet.value)
        question = Question(name, lifetime_ms=_LIFETIME_MS, tries=COMPARE_TRIES, hints=(self._service,))
        return self._asking.fetch(question, fetched, now)

    def _compared(self, packet: Packet, kept: Data | None, reason: str) -> list[Effect]:
        if kept is None:
            refusal = f"{CONFLICT}; it could not be compared with this one: {reason}"
            return self.orders.settle([packet], Fate.REFUSED, refusal)
        if kept.content == Data.decode(packet.wire).content:
            return self.orders.settle([packet], Fate.PRESENT)
        self.conflicts += 1
        note = Note("conflict", (("name", str(kept.name)), ("reason", _DIFFERS)))
        return [note, *self.orders.settle([packet], Fate.CONFLICT, _DIFFERS)]


def make_inserter(
    place: building.Panel,
    verifier: Checker,
    commands: Signer,
    randomness: Randomness,
    *,
    copies: int = 1,
    window: int = WINDOW,
    certificates: Sequence[Data] = (),
    shown: Sequence[Name] = (),
) -> Inserter:
    """Make an inserter for the streams of a panel; `commands` signs what it tells the repos of its group."""
    group = place.group
    asking = Asking(verifier, place.name)
    commander = Commander(asking, commands, randomness, group.name, group.service)
    return Inserter(
        place.name,
        group.service,
        asking,
        commander,
        randomness,
        copies=copies,
        window=window,
        certificates=certificates,
        shown=shown,
    )
