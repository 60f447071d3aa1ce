"""A panel: publishes streams, and has each reading on its own disk first and at a repo then [NDN-PS §III-C].

    publish ──▶ number, signature ──▶ outbox ──Saved──▶ Published ──▶ batches to a repo ──receipt──▶ Acknowledged

- Numbers are dense from 1 in each stream. A panel whose disk is new or damaged asks the repos first which of its
  numbers they have (`panels.recollection`); until then `publish` raises `Backpressure`.
- What is on the disk is sent until a repo has confirmed it (`panels.dispatch`). What repos refuse is told, and set
  aside in the outbox until the next start: each is a hole in its stream, which every consumer of it waits for.
- What is not confirmed, and the last few that are, it also serves by name, for repos that fetch from producers.

The face is its driver's, and so is the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.errors import BadPacket, InvalidInput
from roost.forwarding.endpoint_effects import Asked, Delivered, Failed
from roost.machine import SECOND, Effect, Randomness, earliest
from roost.machine.disk import Saved
from roost.naming import Name, building
from roost.naming.building import numbered
from roost.pubsub.asking import Asking
from roost.pubsub.commanding import Commander
from roost.pubsub.credentials import Credentials
from roost.pubsub.panels.collector import Collector
from roost.pubsub.panels.dispatch import MAX_READING_BYTES, WINDOW, Dispatch, Inserting
from roost.pubsub.panels.outbox import MAX_BYTES, MAX_ENTRIES, MAX_STREAMS, Outbox
from roost.pubsub.panels.outbox_log import Packet
from roost.pubsub.panels.recollection import Asker, AskLatest, Recollection
from roost.pubsub.resident import Event
from roost.repo.catalogue import Description, catalogue_of
from roost.sync.port import Reply
from roost.trust.acceptance import Checker
from roost.wire import Data, Interest, Signer, encode_data
from roost.wire.reading import Reading

MAX_RECENT: Final = 256
SIGNER_AGE: Final = SECOND  # the choice of a key is kept this long: certificates end, and new ones come

SignerFor: TypeAlias = Callable[[Name, int], Signer]


@dataclass(frozen=True, slots=True)
class PanelSettings:
    """How much it keeps, how fresh its readings are, and on how many repos a reading is to be before it counts."""

    copies: int = 1
    freshness_ms: int = 1000
    window: int = WINDOW
    max_entries: int = MAX_ENTRIES
    max_bytes: int = MAX_BYTES
    max_streams: int = MAX_STREAMS


@dataclass(frozen=True, slots=True)
class Published(Effect):
    """A reading is on the panel's disk: it will not be lost, nor its number given again."""

    stream: Name
    number: int


@dataclass(frozen=True, slots=True)
class Acknowledged(Effect):
    """Readings low to high of a stream are at a repo, on its disk."""

    stream: Name
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Refused(Effect):
    """A repo does not take a reading; it is set aside."""

    stream: Name
    number: int
    reason: str


class Panel:
    """The machine; `name` is the panel's, `found` the log of its outbox as it is on the disk."""

    def __init__(
        self,
        name: Name,
        asking: Asking,
        commander: Inserting,
        ask_latest: Asker,
        signer_for: SignerFor,
        randomness: Randomness,
        *,
        found: bytes = b"",
        file: str = "outbox",
        settings: PanelSettings = PanelSettings(),  # noqa: B008  it is frozen
        certificates: Sequence[Data] = (),
    ) -> None:
        self.name: Final = name
        self.outbox: Final = Outbox(
            file,
            found,
            max_entries=settings.max_entries,
            max_bytes=settings.max_bytes,
            max_streams=settings.max_streams,
        )
        self.collector: Final = Collector(asking, self.publish, randomness)
        self.dispatch: Final = Dispatch(
            commander, randomness, self._confirmed, self._refused, copies=settings.copies, window=settings.window
        )
        self.acknowledged = 0
        self.refused = 0
        self._asking: Final = asking
        self._recollection: Final = Recollection(name, self.outbox, ask_latest, randomness)
        self._signer_for: Final = signer_for
        self._settings: Final = settings
        self._credentials: Final = Credentials(certificates)
        self._signers: Final[dict[Name, tuple[Signer, int]]] = {}  # by stream, until when; bound: max_streams
        self._newest: Final[dict[Name, bytes]] = {}  # by stream, its last reading on the disk; bound: as above
        self._recent: Final[dict[bytes, bytes]] = {}  # confirmed, by name; bound: MAX_RECENT
        self._on_disk(self.outbox.kept())

    @property
    def prefixes(self) -> tuple[Name, ...]:
        """Under which Interests are ours: our streams, and keys that others need to believe us."""
        keys = [key for key in self._credentials.prefixes() if not key.starts_with(self.name)]
        return (self.name, *keys)

    @property
    def routes(self) -> tuple[Name, ...]:
        """What to register, so that they come."""
        return self.prefixes

    # -- commands

    def publish(self, stream: Name, reading: Reading, now: int) -> list[Effect]:
        """Publish a reading; `Published` tells its number when it is on the disk."""
        return self.publish_many([(stream, reading)], now)

    def publish_many(self, readings: Sequence[tuple[Name, Reading]], now: int) -> list[Effect]:
        """Publish readings, all or none, with one save."""
        self.outbox.check([stream for stream, _ in readings])
        given: dict[Name, int] = {}
        packets: list[Packet] = []
        for stream, reading in readings:
            number = (given.get(stream) or self.outbox.highest(stream)) + 1
            given[stream] = number
            packets.append(self._signed(stream, number, reading, now))
        return self.outbox.add(packets)

    def describe(self, description: Description, now: int) -> list[Effect]:
        """Tell the group what a stream of ours is."""
        if description.panel != self.name:
            raise InvalidInput(f"{description.stream} is not a stream of {self.name}, which cannot describe it")
        return self.publish(catalogue_of(self.name), description.reading(now), now)

    def retry_refused(self, now: int) -> list[Effect]:
        """Send what was refused once more, after somebody mended what was wrong."""
        self.dispatch.add(self.outbox.take_back(now))
        return self.dispatch.send(now)

    # -- the machine's verbs

    def start(self, now: int) -> list[Effect]:
        """Begin, or begin again: the network is back, so nothing has to wait longer."""
        self.dispatch.add(self.outbox.take_back(now))
        return self._recollection.start(now) + self.collector.start(now) + self.dispatch.start(now)

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Take in an Interest, an answer, or that something is on the disk."""
        if isinstance(event, Asked):
            return self._answer(event)
        if isinstance(event, (Delivered, Failed)):
            return self._asking.receive(event, now)
        return self._saved(event, now) if isinstance(event, Saved) else []

    def tick(self, now: int) -> list[Effect]:
        """Let time pass."""
        effects = self.outbox.tick(now) + self.collector.tick(now) + self._recollection.tick(now)
        return effects + self.dispatch.send(now)

    def deadline(self) -> int | None:
        """When the queue, the disk, the repos or a module want attention."""
        parts = (self.dispatch, self.outbox, self.collector, self._recollection)
        return earliest(*[part.deadline() for part in parts])

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How full the tables are: now, and at most."""
        return {
            "outbox": (len(self.outbox), self.outbox.max_entries),
            "outbox bytes": (self.outbox.held_bytes, self.outbox.max_bytes),
            "refused": (len(self.outbox.refused()), self.outbox.max_refused),
            "streams": (self.outbox.streams, self.outbox.max_streams),
            "asked": (len(self._asking), self._asking.max_asked),
            "modules": (len(self.collector), self.collector.max_modules),
        }

    # -- readings

    def _signed(self, stream: Name, number: int, reading: Reading, now: int) -> Packet:
        if not stream.starts_with(self.name) or stream == self.name:
            raise InvalidInput(f"{stream} is not a stream of {self.name}, which cannot publish it")
        name = numbered(stream, number)
        signer, until = self._signers.get(stream, (None, 0))
        if signer is None or until <= now:
            signer = self._signer_for(name, now)
            if len(self._signers) >= self.outbox.max_streams:
                self._signers.clear()
            self._signers[stream] = (signer, now + SIGNER_AGE)
        wire = encode_data(name, reading.encode(), signer, freshness_ms=self._settings.freshness_ms)
        if len(wire) > MAX_READING_BYTES:
            raise BadPacket(f"{name} has {len(wire)} bytes, a reading has at most {MAX_READING_BYTES}: make it smaller")
        return Packet(stream, number, name.value, wire)

    def _saved(self, event: Saved, now: int) -> list[Effect]:
        through, effects = self.outbox.saved(event)
        self._on_disk(through)
        effects += [Published(packet.stream, packet.number) for packet in through]
        return effects + self.dispatch.send(now)

    def _on_disk(self, packets: list[Packet]) -> None:
        self.dispatch.add(packets)
        for packet in packets:
            self._newest[packet.stream] = packet.value

    def _answer(self, asked: Asked) -> list[Effect]:
        wire = self._find(asked.interest)
        return [] if wire is None else [Reply(wire, asked.token)]

    def _find(self, interest: Interest) -> bytes | None:
        name = interest.name
        value = name.value
        if interest.can_be_prefix:
            value = self._newest.get(name, value)
        found = self.outbox.get(value) or self._recent.get(value)
        if found is None and (certificate := self._credentials.answer(interest)) is not None:
            found = certificate.wire
        return found

    # -- what a repo says

    def _confirmed(self, packets: list[Packet], now: int) -> list[Effect]:
        self.acknowledged += len(packets)
        for packet in packets:
            if len(self._recent) >= MAX_RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[packet.value] = packet.wire
        return [Acknowledged(*run) for run in self.outbox.forget(packets, now)]

    def _refused(self, packet: Packet, reason: str, now: int) -> list[Effect]:
        self.refused += 1
        self.outbox.refuse(packet, reason, now)
        return [Refused(packet.stream, packet.number, reason)]


def make_panel(
    place: building.Panel,
    verifier: Checker,
    signer_for: SignerFor,
    commands: Signer,
    randomness: Randomness,
    *,
    found: bytes = b"",
    file: str = "outbox",
    settings: PanelSettings = PanelSettings(),  # noqa: B008  it is frozen
    certificates: Sequence[Data] = (),
) -> Panel:
    """Make a panel that has any repo of its group keep its readings; `commands` signs what it tells them."""
    group = place.group
    asking = Asking(verifier, place.name)
    commander = Commander(asking, commands, randomness, group.name, group.service)
    ask_latest = AskLatest(asking, group.service)
    return Panel(
        place.name,
        asking,
        commander,
        ask_latest,
        signer_for,
        randomness,
        found=found,
        file=file,
        settings=settings,
        certificates=certificates,
    )
