"""What a consumer tells its application: readings as they arrive, and gaps that will never be filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from roost.errors import BadName, BadPacket
from roost.machine import Effect
from roost.naming import Name
from roost.wire import Data
from roost.wire.certificate import key_name_of
from roost.wire.envelope import SEALED
from roost.wire.reading import Reading, decode_reading
from roost.wire.senml import Quality, Scalar, Value
from roost.wire.values import values_of

_SEALED: Final = bytes((SEALED,))


@dataclass(frozen=True, slots=True)
class Arrival:
    """A verified reading.

    `reading` is None if its content is no reading envelope, `values` is empty if its payload has none
    (`roost.wire.values`). What is `sealed` is encrypted (`roost.trust.access`), and no key here opens it; what was
    opened is as any other.
    """

    stream: Name
    number: int
    data: Data
    arrival_time: int  # ns since 1970
    signer: Name  # whose key signed it
    reading: Reading | None = None
    values: tuple[Value, ...] = ()
    sealed: bool = False

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
    """Take a reading apart as far as that can be done; it was verified before."""
    reading, values = _parts(data.content)
    return Arrival(stream, number, data, now, _signer(data), reading, values, data.content[:1] == _SEALED)


def unsealed(arrival: Arrival, content: bytes) -> Arrival:
    """A sealed reading with the plain content that was found in it."""
    reading, values = _parts(content)
    return replace(arrival, reading=reading, values=values, sealed=False)


def _parts(content: bytes) -> tuple[Reading | None, tuple[Value, ...]]:
    reading: Reading | None = None
    values: tuple[Value, ...] = ()
    try:
        reading = decode_reading(content)
        if reading.elsewhere is not None:  # the payload beside it is empty, and no value
            return reading, ()
        values = tuple(values_of(reading.format, reading.payload))
    except BadPacket:
        pass  # what its panel signed is delivered all the same: to leave it out would be a silent gap
    return reading, values


def _signer(data: Data) -> Name:
    locator = data.signature.key_name
    if locator is None:
        return Name()
    try:
        return key_name_of(locator).prefix(-2)
    except BadName:
        return locator
