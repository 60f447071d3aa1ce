"""Sensor modules as stations: they answer Interests for what they measure, and sleep in between [NDN-PS §IV].

    world.add("room1", module_house("room1", awake_ms=4000, period_ms=10_000))
    world.add("pi1", panel_house("pi1", ["repo1"], modules=[collected("pi1", "room1")]))
    world.wire("pi1", "room1")

A module has no disk, and no number that it remembers: what it measures says when, and that is all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.forwarding.endpoint_effects import Asked
from roost.machine import MS, SECOND, Effect
from roost.naming import Name
from roost.naming.conventions import timestamp
from roost.pubsub.panels.collector import Module
from roost.pubsub.resident import Event
from roost.sim.deployment import GROUP, MODULES, UNITS
from roost.sim.houses import House, key_of
from roost.sim.station import Boot, Build
from roost.sync.port import Reply
from roost.wire import Signer, encode_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

_FRESHNESS_MS: Final = 500


class SensorModule:
    """One module: answers while it is awake, the first `awake_ms` of every `period_ms`, and is silent else."""

    def __init__(self, name: Name, signer: Signer, awake_ms: int, period_ms: int) -> None:
        self.prefixes: Final = (name,)
        self.routes: Final = (name,)
        self.answered = 0
        self.slept_through = 0
        self._signer: Final = signer
        self._awake_ms: Final = awake_ms
        self._period_ms: Final = period_ms

    def start(self, now: int) -> list[Effect]:  # noqa: ARG002  the contract's
        """There is nothing to begin."""
        return []

    def receive(self, event: Event, now: int) -> list[Effect]:
        """Measure, if awake."""
        if not isinstance(event, Asked):
            return []
        if now // MS % self._period_ms >= self._awake_ms:
            self.slept_through += 1
            return []
        self.answered += 1
        name = event.interest.name
        value = Value(float(now // MS % 1000), UNITS.get(name.at(-1).value.decode(), ""))
        content = Reading(now, SENML_CBOR, encode_values([value])).encode()
        data = encode_data(name / timestamp(now // 1000), content, self._signer, freshness_ms=_FRESHNESS_MS)
        return [Reply(data, event.token)]

    def tick(self, now: int) -> list[Effect]:  # noqa: ARG002  the contract's
        """Nothing happens by itself."""
        return []

    def deadline(self) -> int | None:
        """Never."""
        return None

    def sizes(self) -> dict[str, tuple[int, int]]:
        """It has no tables."""
        return {}


def module_house(name: str, *, awake_ms: int = 1, period_ms: int = 1) -> Build:
    """Build a module, which by default never sleeps; nothing else is behind it, so it routes nothing."""

    def build(boot: Boot) -> House[SensorModule]:
        place = MODULES / name
        return House(boot, SensorModule(place, key_of(place), awake_ms, period_ms), lambda _: ())

    return build


def collected(panel: str, room: str, metrics: Sequence[str] = tuple(UNITS), interval_ms: int = 2000) -> Module:
    """A room's module, as its panel asks it."""
    return Module(MODULES / room, GROUP.panel(panel).name / room, tuple(metrics), interval_ms, SECOND // MS)
