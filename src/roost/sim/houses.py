"""The stations of a building: repos, panels and consumers, each a whole node with one machine living inside.

world.add("repo1", repo_house("repo1"))                   a repo with a store on its simulated disk
world.add("pi1", panel_house("pi1", ["repo2", "repo1"]))  a panel; it asks repo2 first
world.add("c1", consumer_house(["+/+/temp"], ["repo1"]))  a consumer, which takes and acknowledges what comes
world.wires([("pi1", "repo2"), ("pi1", "repo1"), …])

Everyone routes the group to the repos it is wired to, the nearest first, and repos know the way to each other and to
panels. Signatures are codes with secrets that everybody has: what is tested is the protocol, not the trust. The names
are those of `roost.sim.deployment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from roost.forwarding.endpoint import Endpoint
from roost.forwarding.face import Arrived, FaceSpec
from roost.forwarding.strategy import STRATEGY_PREFIX
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name
from roost.naming.building import numbered
from roost.node import Node, NodeSettings
from roost.pubsub.consumers.arrival import Deliver, Missing
from roost.pubsub.consumers.consumer import Consumer, ConsumerSettings
from roost.pubsub.consumers.policy import Policy
from roost.pubsub.consumers.wishes import Wish
from roost.pubsub.panels.collector import Module
from roost.pubsub.panels.panel import Panel, PanelSettings, Published, make_panel
from roost.pubsub.repos.repo import Repo, RepoSettings
from roost.pubsub.resident import Part, Resident
from roost.repo.store import Batch, Write, Written
from roost.repo.store_log import LoggedStore, encode_batch
from roost.sim.deployment import GROUP, MODULES
from roost.sim.happened import Violation
from roost.sim.station import Boot, Build
from roost.trust.acceptance import ACCEPT_ANY
from roost.trust.secret import HmacKey

LOG: Final = "store"
PLACE: Final = "place"
OUTBOX: Final = "outbox"
_URI: Final = "sim://"
_FAIL_OVER: Final = STRATEGY_PREFIX / "fail-over"
_MULTICAST: Final = STRATEGY_PREFIX / "multicast"

Inside = TypeVar("Inside", bound=Part)
Routes = Callable[[str], Sequence[tuple[Name, int]]]  # by neighbour: what to route to it, and at what cost


def key_of(name: Name) -> HmacKey:
    """The key of somebody, as everybody knows it."""
    return HmacKey(name / "KEY" / "1", b"simulated secret")


class House(Generic[Inside]):
    """A node and who lives in it."""

    def __init__(self, boot: Boot, part: Inside, routes: Routes) -> None:
        self.part: Final = part
        self.node: Final = Node(NodeSettings(), boot.randomness)
        self.resident: Final = Resident(part, Endpoint(key_of(Name.of(boot.name)), boot.randomness))
        self._routes: Final = routes

    def act(self, effects: list[Effect], now: int) -> list[Effect]:
        """Carry out what a command to the part returned."""
        return self.out(self.node.act(self.resident, self.resident.settle(effects, now), now), now)

    def out(self, effects: list[Effect], now: int) -> list[Effect]:  # noqa: ARG002  for those who have more to do
        """Do what the driver of a real house would do, and pass the rest."""
        return effects

    def sizes(self) -> dict[str, tuple[int, int]]:
        return self.resident.sizes()

    def start(self, now: int) -> list[Effect]:
        effects = self.node.start(now)
        strategies = self.node.forwarder.strategies
        for prefix, strategy in (
            (GROUP.name, _FAIL_OVER),
            (GROUP.subscriptions, _FAIL_OVER),
            (GROUP.replication, _MULTICAST),
        ):
            strategies.set(prefix, strategy)
        effects += self.node.attach(self.resident, now)
        face = next(iter(self.node.applications))
        for prefix in self.part.routes:
            effects += self.node.add_route(prefix, face, 0, now, inherited=False)
        return self.out(effects, now)

    def free_face_id(self) -> int:
        return self.node.free_face_id()

    def open_face(self, face: int, spec: FaceSpec, now: int) -> list[Effect]:
        effects = self.node.open_face(face, spec, now)
        for prefix, cost in self._routes(spec.remote_uri.removeprefix(_URI)):
            effects += self.node.add_route(prefix, face, cost, now)
        return self.out(effects, now)

    def close_face(self, face: int, now: int) -> list[Effect]:
        return self.out(self.node.close_face(face, now), now)

    def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
        return self.out(self.node.receive(event, now), now)

    def tick(self, now: int) -> list[Effect]:
        return self.out(self.node.tick(now), now)

    def deadline(self) -> int | None:
        return self.node.deadline()


class RepoHouse(House[Repo]):
    """A repo; its store is a log on the simulated disk, so that crashes do to it what they do to files."""

    def __init__(
        self, boot: Boot, part: Repo, store: LoggedStore, found: bytes, beyond: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(boot, part, lambda neighbour: _repo_routes(neighbour, beyond.get(neighbour, ())))
        self.store: Final = store
        self._torn: bytes | None = found[: store.size] if store.size < len(found) else None
        self._batches: Final[dict[int, Batch]] = {}  # under way; bound: the shelf has one

    def receive(self, event: Arrived | Saved, now: int) -> list[Effect]:
        if isinstance(event, Saved) and event.file == LOG:
            self.store.apply(self._batches.pop(event.ticket))
            return self.out(self.node.receive(Written(self.part.shelf.name, event.ticket), now), now)
        return super().receive(event, now)

    def out(self, effects: list[Effect], now: int) -> list[Effect]:
        return [self._saving(effect) if isinstance(effect, Write) else effect for effect in super().out(effects, now)]

    def _saving(self, effect: Write) -> Save:
        self._batches[effect.ticket] = effect.batch
        data, torn, self._torn = encode_batch(effect.batch), self._torn, None
        return Save(LOG, effect.ticket, data if torn is None else torn + data, replace=torn is not None)


class ConsumerHouse(House[Consumer]):
    """A consumer whose application takes what comes, and has dealt with it at once."""

    def out(self, effects: list[Effect], now: int) -> list[Effect]:
        out: list[Effect] = []
        while effects:
            acts: list[Effect] = []
            for effect in effects:
                if isinstance(effect, Deliver):
                    acts += self.part.acknowledge(effect.arrival.stream, effect.arrival.number, now)
                    acts += self.part.take(1, now)
                elif isinstance(effect, Missing):
                    acts += self.part.acknowledge(effect.stream, effect.high, now)
            out += effects
            effects = self.node.act(self.resident, self.resident.settle(acts, now), now) if acts else []
        return out


class PanelHouse(House[Panel]):
    """A panel; every reading that is on its disk is entered into `published`, by name, and stays what it is there."""

    def __init__(
        self, boot: Boot, part: Panel, routes: Routes, published: dict[bytes, bytes], modules: Sequence[Module]
    ) -> None:
        super().__init__(boot, part, routes)
        self._published: Final = published
        for packet in part.outbox.kept():
            self._enter(packet.value, packet.wire)
        for module in modules:
            part.collector.add(module, boot.now)

    def out(self, effects: list[Effect], now: int) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Published):
                value = numbered(effect.stream, effect.number).value
                self._enter(value, self.part.outbox.get(value) or b"")
        return super().out(effects, now)

    def _enter(self, value: bytes, wire: bytes) -> None:
        if self._published.setdefault(value, wire) != wire:
            raise Violation(f"{Name(value)} was published before, and is another reading now")


def repo_house(
    name: str, settings: RepoSettings | None = None, beyond: Mapping[str, Sequence[str]] | None = None
) -> Build:
    """Build a repo; `beyond` says which other repos it reaches through which neighbour."""

    def build(boot: Boot) -> RepoHouse:
        place = GROUP.repo(name)
        found = boot.disk.get(LOG, b"")
        store = LoggedStore(found)
        key = key_of(place.name)
        part = Repo(place, store, ACCEPT_ANY, key, boot.randomness, boot.now, settings=settings or RepoSettings())
        return RepoHouse(boot, part, store, found, beyond or {})

    return build


def panel_house(
    name: str,
    repos: Sequence[str],
    settings: PanelSettings | None = None,
    *,
    published: dict[bytes, bytes] | None = None,
    modules: Sequence[Module] = (),
) -> Build:
    """Build a panel that reaches the group's repos, the first one first, and asks modules it is wired to."""
    entered = {} if published is None else published

    def build(boot: Boot) -> PanelHouse:
        place = GROUP.panel(name)
        key = key_of(place.name)
        part = make_panel(
            place,
            ACCEPT_ANY,
            lambda _, __: key,
            key,
            boot.randomness,
            found=boot.disk.get(OUTBOX, b""),
            file=OUTBOX,
            settings=settings or PanelSettings(),
        )
        return PanelHouse(boot, part, _to(repos), entered, modules)

    return build


def consumer_house(
    wishes: Sequence[Wish],
    repos: Sequence[str],
    policy: Policy | None = None,
    settings: ConsumerSettings | None = None,
) -> Build:
    """Build a consumer that reaches the group's repos, the first one first."""

    def build(boot: Boot) -> ConsumerHouse:
        found = boot.disk.get(PLACE, b"")
        part = Consumer(
            GROUP, wishes, ACCEPT_ANY, boot.randomness, saved=found, file=PLACE, policy=policy, settings=settings
        )
        return ConsumerHouse(boot, part, _to(repos))

    return build


def _to(repos: Sequence[str]) -> Routes:
    """Panels and consumers route the group to repos, the nearest first; panels also know the modules they ask."""

    def routes(neighbour: str) -> list[tuple[Name, int]]:
        if neighbour in repos:
            return [(GROUP.name, repos.index(neighbour) + 1)]
        return [(MODULES / neighbour, 1)] if neighbour.startswith("room") else []

    return routes


def _repo_routes(neighbour: str, beyond: Sequence[str]) -> list[tuple[Name, int]]:
    """A repo sends replication and what is for one repo to repos, and a panel what is the panel's."""
    if neighbour.startswith("repo"):
        return [(GROUP.replication, 1), *[(GROUP.repo(name).name, 1) for name in (neighbour, *beyond)]]
    return [(GROUP.panel(neighbour).name, 1)] if neighbour.startswith("pi") else []
