"""A panel for people: `async with group.panel("Panel1") as panel`, then `await panel.publish("Heater/Voltage", 229.5)`.

`publish` returns the reading's number once it is on the panel's own disk: from then on it will not be lost, and the
panel sends it until a repo has it. `flush` waits for that. When the outbox is full, `publish` waits until there is
room, those who called first going first. What repos refuse for good is in the log, in `refused`, and raised by `flush`.

The machine is `roost.pubsub.panels.panel`; its outbox is one file, which one process has at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import Backpressure, BadName, BadTopic, InvalidInput, NoKey, Refused
from roost.host.residence import Residence, Way
from roost.host.serving import REGISTER_S
from roost.machine import MS, Effect, Note
from roost.naming import Name, NameLike, as_name, building
from roost.naming.building import numbered
from roost.naming.topic import topic_of_name
from roost.pubsub.consumers.arrival import Arrival
from roost.pubsub.panels import panel as machine
from roost.pubsub.panels.collector import Module
from roost.pubsub.panels.dispatch import MIN_PAUSE, UNCONFIRMED
from roost.pubsub.panels.panel import Acknowledged, Panel, PanelSettings, Published, make_panel
from roost.pubsub.panels.recollection import UNSETTLED
from roost.repo.catalogue import Description, catalogue_of
from roost.trust.building import MAX_PARTS
from roost.wire.lineage import InputRange, Lineage
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Quality, Scalar, Value, encode_values

_REFUSED: Final = 403
_EXAMPLE: Final = Name.parse("/Heater/Voltage")
_WILDCARDS: Final = (b"+", b"#")

Input: TypeAlias = NameLike | Arrival | InputRange
Readable: TypeAlias = Scalar | Reading


class RunningPanel(Residence[Panel]):
    """A panel on a face; made by `StreamGroup.panel`."""

    def __init__(self, way: Way, place: building.Panel, path: Path | None, settings: PanelSettings) -> None:
        self._place: Final = place
        self._signers: Final = way.signers
        self._on_disk: Final[dict[Name, int]] = {}  # by stream, the highest number; bound: the outbox's max_streams
        self._in_turn: Final = asyncio.Lock()  # so that who waits for room first gets it first
        self._untold = 0  # refusals that no `flush` has raised

        def make(found: bytes) -> Panel:
            # Commands are signed as readings are: this home may also have the key of a repo, or of the group.
            commands = way.signers(numbered(catalogue_of(place.name), 1), way.session.clock())
            randomness = way.session.randomness
            return make_panel(place, way.verifier, way.signers, commands, randomness, found=found, settings=settings)

        super().__init__(way, make, path)

    @property
    def name(self) -> Name:
        """The panel's name."""
        return self._place.name

    @property
    def waiting(self) -> int:
        """How many readings no repo has confirmed yet."""
        return len(self.part.outbox)

    def refused(self) -> list[tuple[Name, str]]:
        """The readings that repos refuse, each with the rule that failed; `retry_refused` sends them again."""
        return self.part.outbox.refused()

    def retry_refused(self) -> None:
        """Send what was refused once more, after somebody has mended what was wrong."""
        self.act(self.part.retry_refused)

    # -- publishing

    async def publish(
        self,
        stream: NameLike,
        value: Readable,
        *,
        unit: str = "",
        quality: Quality = Quality.GOOD,
        time_ns: int | None = None,
        inputs: Sequence[Input] = (),
        program: bytes = b"",
        job: str = "",
    ) -> int:
        """Publish a value, or a `Reading` as it is; returns its number once it is on this panel's disk.

        The stream is relative to the panel (`Heater/Voltage`) or a whole name. `time_ns` is when it was measured, by
        default now. A reading that was computed names its `inputs`, one by one or by ranges, the SHA-256 of the
        `program`, and the `job` that ran it.
        """
        reading = self.reading(
            value, unit=unit, quality=quality, time_ns=time_ns, inputs=inputs, program=program, job=job
        )
        (number,) = await self.publish_many([(stream, reading)])
        return number

    async def publish_many(self, readings: Iterable[tuple[NameLike, Readable]]) -> list[int]:
        """Publish many at once, all or none, with one write to the disk; returns their numbers."""
        wanted = [(self.stream(stream), self.reading(value)) for stream, value in readings]
        numbers: list[int] = []

        def publish(now: int) -> list[Effect]:
            highest = {stream: self.part.outbox.highest(stream) for stream, _ in wanted}
            effects = self.part.publish_many(wanted, now)
            for stream, _ in wanted:
                highest[stream] += 1
                numbers.append(highest[stream])
            return effects

        try:
            await self._done(publish)
        except NoKey as error:
            raise self._explained(error, [stream for stream, _ in wanted]) from None
        if wanted:
            await self._is_on_disk(wanted[-1][0], numbers[-1])  # one write has them all
        return numbers

    async def describe(
        self, stream: NameLike, *, unit: str = "", brick: str = "", interval_ms: int = 0, label: str = ""
    ) -> None:
        """Say what a stream is, in the group's catalogue; returns once that is on this panel's disk."""
        description = Description(self.stream(stream), unit, brick, interval_ms, label)
        await self._done(lambda now: self.part.describe(description, now))
        catalogue = catalogue_of(self.name)
        await self._is_on_disk(catalogue, self.part.outbox.highest(catalogue))

    async def flush(self) -> None:
        """Wait until no reading waits for a repo; raises `Refused` if repos have refused some since the last time."""
        await self.until(lambda: not self.waiting)
        count, self._untold = self._untold, 0
        if count:
            name, reason = self.refused()[-1]
            raise Refused(f"repos refused {count} readings, the last one {name}: {reason}", _REFUSED)

    async def finish(self) -> None:
        """Have on the disk what repos have confirmed, so that the next run does not send it again."""
        if not self.closed:
            self.act(lambda _: self.part.outbox.flush())

    def collect(self, module: NameLike, device: str, metrics: Sequence[str], interval_ms: int) -> None:
        """Ask a sensor module for its metrics every so often, and publish what it says as a device of this panel."""
        for metric in metrics:
            self.stream(self.name / device / metric)
        polled = Module(as_name(module), self.name / device, tuple(metrics), interval_ms)

        def add(now: int) -> list[Effect]:
            self.part.collector.add(polled, now)
            return []

        self.act(add)

    def stream(self, stream: NameLike) -> Name:
        """The whole name of a stream of this panel; it has to have a topic, or no filter would ever find it."""
        name = below(self.name, stream)
        try:
            topic_of_name(name)
        except BadTopic as error:
            raise BadTopic(f"{name} cannot be subscribed to by a filter: {error}") from None
        return name

    def reading(
        self,
        value: Readable,
        *,
        unit: str = "",
        quality: Quality = Quality.GOOD,
        time_ns: int | None = None,
        inputs: Sequence[Input] = (),
        program: bytes = b"",
        job: str = "",
    ) -> Reading:
        """Make the reading that `publish` publishes: the value in SenML, for `publish_many`."""
        if isinstance(value, Reading):
            return value
        if not isinstance(value, (int, float, str, bytes)):
            raise InvalidInput(f"a value is a number, text, bool or bytes, not {type(value).__name__}")
        if not isinstance(unit, str):
            raise InvalidInput(f"a unit is text, not {type(unit).__name__}")
        return Reading(
            self._session.clock() if time_ns is None else time_ns,
            SENML_CBOR,
            encode_values([Value(value, unit, quality)]),
            _lineage(inputs, program, job) if inputs or program else None,
        )

    # -- inside

    async def before_start(self) -> None:
        """Let repos be able to ask us for certificates before they are sent anything."""
        for route in self.part.routes:
            await self._session.registered(route, REGISTER_S)

    def note(self, effect: Effect) -> bool:
        """Take in what the panel tells."""
        if isinstance(effect, Published):
            self._on_disk[effect.stream] = effect.number
        elif isinstance(effect, machine.Refused):
            self._untold += 1
            self._session.journal.warn("repos refuse %s/seq=%d: %s", effect.stream, effect.number, effect.reason)
        elif isinstance(effect, Note):  # that numbers can be given now is one
            self._pass_on(effect)
        else:
            return isinstance(effect, Acknowledged)
        return True

    def _pass_on(self, note: Note) -> None:
        """Log a note; what keeps `publish` or `flush` waiting, but for a first hitch, is for people to read."""
        facts = dict(note.facts)
        if note.event == UNCONFIRMED and int(facts["pause_ms"]) * MS > MIN_PAUSE:
            self._session.journal.warn("%s: %d readings wait for a repo: %s", self.name, self.waiting, facts["reason"])
        elif note.event == UNSETTLED:
            asked = "%s: which numbers were given is not certain, and no repo says so: %s"
            self._session.journal.warn(asked, self.name, facts["reason"])
        else:
            self._session.journal.write(note, self._session.clock())

    async def _done(self, command: Callable[[int], list[Effect]]) -> None:
        """Give a command; as long as there is no room for it, wait for some."""
        async with self._in_turn:
            while True:
                try:
                    self.act(command)
                except Backpressure as full:
                    if not full.retry_after_ms:
                        raise
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(full.retry_after_ms / 1000):
                            await self.told()
                else:
                    return

    def _explained(self, error: NoKey, streams: Iterable[Name]) -> NoKey:
        """Add how deep streams are here, if that is what is wrong with one of them."""
        if all(len(_EXAMPLE) <= len(stream) - len(self.name) <= MAX_PARTS for stream in streams):
            return error
        try:
            self._signers(numbered(self.name + _EXAMPLE, 1), self._session.clock())
        except NoKey:
            return error
        parts = f"{len(_EXAMPLE)} to {MAX_PARTS} parts"
        return NoKey(f"a stream has {parts} below its panel here, such as Heater/Voltage: {error}")

    async def _is_on_disk(self, stream: Name, number: int) -> None:
        await self.until(lambda: self._on_disk.get(stream, 0) >= number)


def _lineage(inputs: Sequence[Input], program: bytes, job: str) -> Lineage:
    names: list[Name] = []
    ranges: list[InputRange] = []
    for each in inputs:
        if isinstance(each, InputRange):
            ranges.append(each)
        else:
            names.append(each.data.name if isinstance(each, Arrival) else as_name(each))
    return Lineage(tuple(names), program, tuple(ranges), job)


def below(prefix: Name, stream: NameLike) -> Name:
    """A stream by its whole name, or relative to a prefix: `Heater/Voltage`."""
    if isinstance(stream, str) and not stream.startswith("/"):
        name = Name.parse(f"/{stream}")
        if any(component.value in _WILDCARDS for component in name):
            raise BadName(f"{stream!r} names no single stream: wildcards are for `subscribe`")
        return prefix + name
    return as_name(stream)
