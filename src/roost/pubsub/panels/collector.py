"""Sensor modules that only answer Interests: asked on a schedule, verified, published for [NDN-PS §IV].

    every interval: <module>/<metric> for each metric (CanBePrefix, MustBeFresh) ──verified──▶ publish(stream, reading)

- Modules begin at different points of their interval, so that they do not answer all at once.
- If the Data holds a reading envelope, its event time counts; else the Data is the payload and the time is now. Lineage
  is left out: a module measures, and must not say that its value replaces others.
- A module that answers nothing in `SLEEPY` rounds sleeps: it is asked less and less often, down to `MAX_STRETCH` times
  its interval, until it answers. Both are noted.
- The packet that came last time is not published again: a cache had it, or the module has nothing new.

What a module may be called and who signs for it is the verifier's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from roost.errors import Backpressure, BadConfig, BadPacket, RoostError
from roost.forwarding.pending import Question
from roost.machine import MS, Effect, Note, Randomness
from roost.machine.timetable import Timetable
from roost.naming import Name
from roost.pubsub.asking import Asking
from roost.wire import Data
from roost.wire.reading import OCTET_STREAM, TEXT, Reading

MAX_MODULES: Final = 1024
MAX_METRICS: Final = 32
MIN_INTERVAL_MS: Final = 100
SLEEPY: Final = 3
MAX_STRETCH: Final = 16

Publish: TypeAlias = Callable[[Name, Reading, int], list[Effect]]


@dataclass(frozen=True, slots=True)
class Module:
    """One module: where it answers, the device it measures (`<panel>/<device>`), what, and how often."""

    prefix: Name
    device: Name
    metrics: tuple[str, ...]
    interval_ms: int = 10_000
    lifetime_ms: int = 2000

    def __post_init__(self) -> None:
        if not 1 <= len(self.metrics) <= MAX_METRICS or len(set(self.metrics)) < len(self.metrics):
            raise BadConfig(f"{self.prefix}: a module has 1 to {MAX_METRICS} different metrics")
        if self.interval_ms < MIN_INTERVAL_MS or self.lifetime_ms <= 0:
            raise BadConfig(f"{self.prefix}: ask a module every {MIN_INTERVAL_MS} ms at most, with a lifetime above 0")


class _Polled:
    """A module and how it has been answering."""

    __slots__ = ("due", "heard", "last", "misses", "module", "waiting")

    def __init__(self, module: Module, due: int) -> None:
        self.module: Final = module
        self.due = due
        self.waiting = 0  # metrics asked in this round and not answered yet
        self.heard = False  # anything, in this round
        self.misses = 0  # rounds in a row without any answer
        self.last: Final[dict[str, bytes]] = {}  # by metric, the digest of the last packet; bound: MAX_METRICS

    @property
    def asleep(self) -> bool:
        return self.misses >= SLEEPY


class Collector:
    """Asks modules and publishes for them through `publish`, which may raise `Backpressure`."""

    def __init__(
        self, asking: Asking, publish: Publish, randomness: Randomness, *, max_modules: int = MAX_MODULES
    ) -> None:
        self.max_modules: Final = max_modules
        self.collected = 0
        self.repeated = 0  # packets that came last time too
        self.missed = 0  # answers that did not come, or are not believed
        self.unpublished = 0
        self._asking: Final = asking
        self._publish: Final = publish
        self._randomness: Final = randomness
        self._polled: Final[list[_Polled]] = []  # bound: max_modules
        self._times: Final = Timetable()

    def __len__(self) -> int:
        return len(self._polled)

    def add(self, module: Module, now: int) -> None:
        """Ask a module from now on, beginning somewhere in its interval."""
        if len(self._polled) >= self.max_modules:
            raise Backpressure(f"{module.prefix} cannot be collected: {self.max_modules} modules are the limit", 0)
        due = now + self._randomness.randint(0, module.interval_ms - 1) * MS
        self._times.set(len(self._polled), due)
        self._polled.append(_Polled(module, due))

    def asleep(self) -> list[Name]:
        """The modules that do not answer."""
        return [polled.module.prefix for polled in self._polled if polled.asleep]

    def start(self, now: int) -> list[Effect]:
        """Ask those that slept as if they did not: perhaps it was the network that was away."""
        for index, polled in enumerate(self._polled):
            if polled.asleep and not polled.waiting:
                polled.due = min(polled.due, now + self._randomness.randint(0, polled.module.interval_ms - 1) * MS)
                self._times.set(index, polled.due)
        return []

    def tick(self, now: int) -> list[Effect]:
        """Ask those whose time has come."""
        effects: list[Effect] = []
        for index in self._times.overdue(now):
            effects += self._ask(index, now)
        return effects

    def deadline(self) -> int | None:
        """When the next one is to be asked."""
        return self._times.deadline()

    def _ask(self, index: int, now: int) -> list[Effect]:
        polled = self._polled[index]
        module = polled.module
        polled.waiting = len(module.metrics)
        polled.heard = False
        effects: list[Effect] = []
        for metric in module.metrics:
            question = Question(
                module.prefix / metric, can_be_prefix=True, must_be_fresh=True, lifetime_ms=module.lifetime_ms
            )
            effects += self._asking.fetch(question, self._then(index, metric), now)
        return effects

    def _then(self, index: int, metric: str) -> Callable[[Data | None, str, int], list[Effect]]:
        def then(data: Data | None, _: str, now: int) -> list[Effect]:
            polled = self._polled[index]
            polled.waiting -= 1
            effects: list[Effect] = []
            if data is None:
                self.missed += 1
            else:
                polled.heard = True
                effects += self._take(polled, metric, data, now)
            return effects if polled.waiting else effects + self._round_over(index, now)

        return then

    def _take(self, polled: _Polled, metric: str, data: Data, now: int) -> list[Effect]:
        if polled.last.get(metric) == data.implicit_digest:
            self.repeated += 1
            return []
        try:
            effects = self._publish(polled.module.device / metric, _reading(data.content, now), now)
        except RoostError as error:  # the outbox is full, there is no key, or the reading is too large
            self.unpublished += 1
            return [Note("reading not published", (("module", str(polled.module.prefix)), ("reason", str(error))))]
        polled.last[metric] = data.implicit_digest
        self.collected += 1
        return effects

    def _round_over(self, index: int, now: int) -> list[Effect]:
        """Say when to ask next: in the rhythm that the module began with, as far as it keeps up."""
        polled = self._polled[index]
        slept = polled.asleep
        polled.misses = 0 if polled.heard else polled.misses + 1
        stretch = min(MAX_STRETCH, 1 << min(polled.misses - SLEEPY + 1, 10)) if polled.asleep else 1
        interval = polled.module.interval_ms * MS
        rounds = max(stretch, -(-(now - polled.due + 1) // interval))
        polled.due += rounds * interval
        self._times.set(index, polled.due)
        if slept == polled.asleep:
            return []
        event = "module asleep" if polled.asleep else "module awake"
        return [Note(event, (("module", str(polled.module.prefix)),))]


def _reading(content: bytes, now: int) -> Reading:
    """The reading in a module's Data: an envelope, or just the payload."""
    try:
        reading = Reading.decode(content)
    except BadPacket:
        try:
            content.decode()
        except UnicodeDecodeError:
            return Reading(now, OCTET_STREAM, content)
        return Reading(now, TEXT, content)
    return Reading(reading.time or now, reading.format, reading.payload)
