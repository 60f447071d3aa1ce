"""A repo's insertion and a producer's commander without a network: effects are carried by hand, the disk is a fake."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.trust_world import NOW, World

from roost.forwarding.endpoint_effects import TIMED_OUT, Asked, Delivered, Failed
from roost.forwarding.pending import Question
from roost.machine import Effect, Rejected
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.pubsub.commanding import Commander
from roost.pubsub.membership import Ask, Cancel
from roost.pubsub.repos.insertion import Insertion
from roost.pubsub.repos.shelf_port import Shelved
from roost.pubsub.repos.streaming import Copier
from roost.sync.port import Reply
from roost.trust.acceptance import Checker
from roost.wire import Data, Interest, Signer
from roost.wire.interest import decode_interest

GROUP = Name.parse("/BigCompany/Building1/Electricity")
SERVICE = Name.parse("/BigCompany/Building1/Electricity/32=repo")
REPO1 = Name.parse("/BigCompany/Building1/Electricity/Repo/Repo1")
PANEL1 = "/BigCompany/Building1/Electricity/Panel1"
PANEL2 = "/BigCompany/Building1/Electricity/Panel2"


class FakeShelf:
    """Keeps packets in a dictionary; answers when `write` is called, or at once if `quick`."""

    def __init__(self, *, quick: bool = True) -> None:
        self.quick = quick
        self.kept: dict[Name, Data] = {}
        self.puts: list[tuple[list[Data], int]] = []
        self.full = ""  # why nothing is kept
        self.refusals: dict[Name, str] = {}  # why these are not kept
        self._waiting: list[tuple[list[str], Shelved]] = []

    def put(self, packets: Sequence[Data], cause: int, then: Shelved, now: int) -> list[Effect]:
        self.puts.append((list(packets), cause))
        refusals = [self.full or self.refusals.get(data.name, "") for data in packets]
        self.kept.update({data.name: data for data, refusal in zip(packets, refusals, strict=True) if not refusal})
        return self._answer(refusals, then, now)

    @property
    def store(self) -> FakeShelf:
        return self

    def get(self, name: Name) -> bytes | None:
        kept = self.kept.get(name)
        return None if kept is None else kept.wire

    def drop(self, names: Sequence[Name], then: Shelved, now: int) -> list[Effect]:
        for name in names:
            del self.kept[name]
        refusals = [self.full] * len(names)
        return self._answer(refusals, then, now)

    def write(self, now: int = NOW) -> list[Effect]:
        effects: list[Effect] = []
        waiting, self._waiting = self._waiting, []
        for refusals, then in waiting:
            effects += then(refusals, now)
        return effects

    def _answer(self, refusals: list[str], then: Shelved, now: int) -> list[Effect]:
        if self.quick:
            return then(refusals, now)
        self._waiting.append((refusals, then))
        return []


class Face:
    """Carries what an `Asking` asks: certificates and `network` answer, the rest stays in `pending`."""

    def __init__(self, world: World, verifier: Checker | None = None) -> None:
        self.world = world
        self.asking = Asking(verifier or world.verifier(), GROUP)
        self.network: dict[Name, Data] = {}
        self.pending: dict[int, Question] = {}
        self.asked: list[Question] = []
        self.cancelled: list[int] = []
        self.replies: list[Data] = []
        self.rejected: list[Rejected] = []

    def settle(self, effects: list[Effect], now: int = NOW) -> None:
        while effects:
            following: list[Effect] = []
            for effect in effects:
                if isinstance(effect, Ask):
                    following += self._ask(effect, now)
                elif isinstance(effect, Cancel):
                    self.cancelled.append(effect.ticket)
                    self.pending.pop(effect.ticket, None)
                elif isinstance(effect, Reply):
                    self.replies.append(Data.decode(effect.packet))
                else:
                    assert isinstance(effect, Rejected), effect
                    self.rejected.append(effect)
            effects = following

    def _ask(self, effect: Ask, now: int) -> list[Effect]:
        decode_interest(effect.question.encoded())  # an endpoint does, and it has to be an Interest
        name = effect.question.name
        self.asked.append(effect.question)
        for certificate in self.world.certificates():
            if certificate.name.starts_with(name):
                return self.asking.receive(Delivered(effect.ticket, certificate.data, congested=False), now)
        if name in self.network:
            return self.asking.receive(Delivered(effect.ticket, self.network[name], congested=False), now)
        self.pending[effect.ticket] = effect.question
        return []

    def deliver(self, data: Data, now: int = NOW) -> None:
        """Answer whichever pending question wants this name, or a shorter one."""
        for ticket, question in list(self.pending.items()):
            wanted = decode_interest(question.encoded()).name
            if data.name.starts_with(wanted):
                del self.pending[ticket]
                self.settle(self.asking.receive(Delivered(ticket, data, congested=False), now), now)

    def time_out(self, now: int = NOW) -> None:
        for ticket in list(self.pending):
            if self.pending.pop(ticket, None) is not None:
                self.settle(self.asking.receive(Failed(ticket, TIMED_OUT, "nobody answered"), now), now)

    def sent(self) -> list[Interest]:
        """The commands that are pending."""
        return [decode_interest(question.encoded()) for question in self.pending.values()]


class RepoSide(Face):
    """A repo that is told things."""

    def __init__(
        self, world: World, *, quick: bool = True, copier: Copier | None = None, verifier: Checker | None = None
    ) -> None:
        super().__init__(world, verifier)
        self.shelf = FakeShelf(quick=quick)
        signer = world[str(REPO1)].signer
        self.insertion = Insertion(
            self.asking, self.shelf, signer, Random(1), GROUP, [SERVICE, REPO1], copier=copier, max_processes=8
        )

    def tell(self, interest: Interest, now: int = NOW) -> bool:
        """Hand in an Interest; whether it was a command."""
        effects = self.insertion.asked(Asked(SERVICE, interest, b"token"), now)
        if effects is None:
            return False
        self.settle(effects, now)
        return True

    def tick(self, now: int) -> None:
        self.settle(self.insertion.tick(now), now)


class ProducerSide(Face):
    """A producer that tells."""

    def __init__(self, world: World, signer: Signer, *, tries: int = 2, verifier: Checker | None = None) -> None:
        super().__init__(world, verifier)
        self.commander = Commander(self.asking, signer, Random(2), GROUP, SERVICE, tries=tries)

    def tick(self, now: int) -> None:
        self.settle(self.commander.tick(now), now)
