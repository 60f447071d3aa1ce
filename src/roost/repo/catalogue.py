"""What a group's streams are: unit, Brick class, sampling interval; each described by its panel, in a stream like any.

    <group>/<panel>/catalogue/streams/seq=<n>     one description, content format 60 (application/cbor)

    {"class": "Voltage_Sensor", "interval_ms": 1000, "label": "…", "stream": "/…/Heater/Voltage", "unit": "V"}

The map has these keys and no others, in deterministic CBOR (RFC 8949 §4.2.1). All but the stream may be left out; an
interval of 0 means that readings come when something happens. The panel is not in it: it is the one that publishes,
and it can describe its own streams only. The newest description of a stream wins. Units and Brick classes are not
checked against their registries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import cbor2

from roost.errors import BadName, BadPacket
from roost.naming import Name
from roost.naming.component import SEQUENCE
from roost.wire.reading import Reading

CBOR: Final = 60  # application/cbor in the CoAP Content-Formats registry
MAX_STREAMS: Final = 100_000
MAX_TEXT: Final = 255
MAX_INTERVAL_MS: Final = 1 << 40
_KEYS: Final = frozenset({"class", "interval_ms", "label", "stream", "unit"})
_BELOW_PANEL: Final = 2  # a stream is <panel>/<device>/<metric>


def catalogue_of(panel: Name) -> Name:
    """The stream in which a panel describes its streams."""
    return panel / "catalogue" / "streams"


@dataclass(frozen=True, slots=True)
class Description:
    """What a stream is; `brick` is a Brick class, `interval_ms` what is between two readings, 0 if that varies."""

    stream: Name
    unit: str = ""
    brick: str = ""
    interval_ms: int = 0
    label: str = ""

    def __post_init__(self) -> None:
        if len(self.stream) <= _BELOW_PANEL:
            raise BadPacket(f"{self.stream} is too short for a stream: a panel, a device and a metric are in it")
        for key, text in (("unit", self.unit), ("class", self.brick), ("label", self.label)):
            if len(text) > MAX_TEXT:
                raise BadPacket(f"the {key} of {self.stream} has {len(text)} characters, the limit is {MAX_TEXT}")
        if self.brick and not (self.brick.isascii() and self.brick.isidentifier()):
            raise BadPacket(f"{self.brick!r} is no Brick class: one is written like Voltage_Sensor")
        if not 0 <= self.interval_ms <= MAX_INTERVAL_MS:
            raise BadPacket(f"{self.stream}: an interval is 0 to {MAX_INTERVAL_MS} ms, not {self.interval_ms}")

    @property
    def panel(self) -> Name:
        """Whose stream it is."""
        return self.stream.prefix(-_BELOW_PANEL)

    def encode(self) -> bytes:
        """Write the map; equal descriptions are equal bytes."""
        found = {"class": self.brick, "interval_ms": self.interval_ms, "label": self.label, "unit": self.unit}
        return cbor2.dumps(
            {"stream": str(self.stream)} | {key: each for key, each in found.items() if each}, canonical=True
        )

    def reading(self, now: int) -> Reading:
        """The reading that tells it."""
        return Reading(now, CBOR, self.encode())

    @staticmethod
    def decode(payload: bytes) -> Description:
        """Check and read a map; raises `BadPacket` with the reason."""
        found = _map(payload)
        unknown = [key for key in found if key not in _KEYS]
        if unknown:
            raise BadPacket(f"a description has no key {str(unknown[0])[:MAX_TEXT]!r}")
        interval = found.get("interval_ms", 0)
        if isinstance(interval, bool) or not isinstance(interval, int):
            raise BadPacket("the interval of a description is an integer")
        try:
            stream = Name.parse(_text(found, "stream"))
        except BadName as error:
            raise BadPacket(f"the stream of a description is no name: {error}") from None
        return Description(stream, _text(found, "unit"), _text(found, "class"), interval, _text(found, "label"))


class Catalogue:
    """The descriptions of a group's streams, by stream."""

    def __init__(self, group: Name, max_streams: int = MAX_STREAMS) -> None:
        self.group: Final = group
        self.max_streams: Final = max_streams
        self.overflowed = 0
        self._known: Final[dict[Name, tuple[int, Description]]] = {}  # with the number that told it; bound: max_streams

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"<Catalogue of {self.group}, {len(self)} streams>"

    def __iter__(self) -> Iterator[Description]:
        return iter([description for _, description in self._known.values()])

    def get(self, stream: Name) -> Description | None:
        """What a stream is, if somebody said so."""
        known = self._known.get(stream)
        return None if known is None else known[1]

    def concerns(self, name: Name) -> bool:
        """Whether a reading of this name is a description."""
        if len(name) != len(self.group) + 4 or not name.starts_with(self.group) or name.at(-1).type != SEQUENCE:
            return False
        return name.prefix(-1) == catalogue_of(name.prefix(-3))

    def take(self, name: Name, content: bytes) -> str:
        """Take in a verified reading that is a description; returns why it is refused, empty if it is not."""
        try:
            reading = Reading.decode(content)
            if reading.format != CBOR:
                return f"{name}: a description has content format {CBOR}, not {reading.format}"
            description = Description.decode(reading.payload)
        except BadPacket as error:
            return f"{name}: {error}"
        if description.panel != name.prefix(-3):
            return f"{name} describes {description.stream}, which is not a stream of its panel"
        number = name.at(-1).number()
        known = self._known.get(description.stream)
        if known is None and len(self._known) >= self.max_streams:
            self.overflowed += 1
            return f"{name}: {self.max_streams} streams are described, which is the limit"
        if known is None or known[0] < number:
            self._known[description.stream] = (number, description)
        return ""


def _map(payload: bytes) -> dict[Any, Any]:
    stream = BytesIO(payload)
    try:
        found = cbor2.load(stream, max_depth=2, allow_duplicate_keys=False)
    except (cbor2.CBORError, ValueError, OverflowError, RecursionError) as error:
        raise BadPacket(f"the description is not CBOR: {error}") from None
    if stream.tell() != len(payload):
        raise BadPacket(f"{len(payload) - stream.tell()} bytes follow the description")
    if not isinstance(found, dict):
        raise BadPacket("a description is a map")
    return found


def _text(found: dict[Any, Any], key: str) -> str:
    text = found.get(key, "")
    if not isinstance(text, str):
        raise BadPacket(f"the {key} of a description is text")
    return text
