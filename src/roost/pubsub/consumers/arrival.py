"""What a consumer tells its application: readings as they arrive, and gaps that will never be filled."""

from __future__ import annotations

from dataclasses import dataclass

from roost.errors import BadName, BadPacket
from roost.machine import Effect
from roost.naming import Name
from roost.wire import Data
from roost.wire.certificate import key_name_of
from roost.wire.reading import Reading, decode_reading
from roost.wire.senml import Quality, Scalar, Value
from roost.wire.values import values_of


@dataclass(frozen=True, slots=True)
class Arrival:
    """A verified reading.

    `reading` is None if its content is no reading envelope (it may be encrypted, see `roost.trust.access`), `values` is
    empty if its payload has none (`roost.wire.values`).
    """

    stream: Name
    number: int
    data: Data
    arrival_time: int  # ns since 1970
    signer: Name  # whose key signed it
    reading: Reading | None = None
    values: tuple[Value, ...] = ()

    @property
    def event_time(self) -> int:
        """When it was measured, ns since 1970; 0 if it does not say."""
        return 0 if self.reading is None else self.reading.time

    @property
    def lateness_ns(self) -> int:
        """How long after it was measured it arrived; negative where the panel's clock is ahead."""
        return self.arrival_time - self.event_time if self.reading is not None else 0

    @property
    def value(self) -> Scalar | None:
        """The first value of it."""
        return self.values[0].value if self.values else None

    @property
    def unit(self) -> str:
        """The unit of the first value."""
        return self.values[0].unit if self.values else ""

    @property
    def quality(self) -> Quality:
        """How far the first value can be relied on."""
        return self.values[0].quality if self.values else Quality.GOOD


@dataclass(frozen=True, slots=True)
class Deliver(Effect):
    """Hand a reading to the application, which has room for it."""

    arrival: Arrival


@dataclass(frozen=True, slots=True)
class Missing(Effect):
    """Tell the application that a repo says these numbers, low to high, were dropped on purpose: they never come."""

    stream: Name
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Subscribed(Effect):
    """Tell the application that from here on nothing is missed, whatever happens: where it begins is on the disk."""

    streams: int


def arrival_of(stream: Name, number: int, data: Data, now: int) -> Arrival:
    """Open a reading as far as it can be opened; it was verified before."""
    reading: Reading | None = None
    values: tuple[Value, ...] = ()
    try:
        reading = decode_reading(data.content)
        values = tuple(values_of(reading.format, reading.payload))
    except BadPacket:
        pass  # what its panel signed is delivered all the same: to leave it out would be a silent gap
    return Arrival(stream, number, data, now, _signer(data), reading, values)


def _signer(data: Data) -> Name:
    locator = data.signature.key_name
    if locator is None:
        return Name()
    try:
        return key_name_of(locator).prefix(-2)
    except BadName:
        return locator
