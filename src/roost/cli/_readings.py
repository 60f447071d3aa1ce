"""Readings as people and programs read them: what `roost sub` and `roost stream` print of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from roost.pubsub.consumers.arrival import Arrival

COLUMNS: Final = ("stream", "number", "time", "value", "unit", "quality")  # of CSV


def line_of(reading: Arrival) -> str:
    """One line for people."""
    unit = f" {reading.unit}" if reading.unit else ""
    quality = quality_of(reading)
    said = "" if quality == "good" else f" ({quality})"
    return f"{time_of(reading.event_time) or '-'} {reading.stream} {reading.number} {value_of(reading)}{unit}{said}"


def told(reading: Arrival) -> dict[str, object]:
    """All that is told of it in JSON."""
    return {
        "stream": str(reading.stream),
        "number": reading.number,
        "time": time_of(reading.event_time),
        "time_ns": reading.event_time,
        "value": value_of(reading),
        "unit": reading.unit,
        "quality": quality_of(reading),
        "signer": str(reading.signer),
        "lateness_ms": reading.lateness_ns // 1_000_000,
    }


def row_of(reading: Arrival) -> list[object]:
    """A row of CSV."""
    from roost.cli._macro_show import iso

    said = told(reading) | {"time": iso(reading.event_time) if reading.event_time else ""}  # to the nanosecond
    return [said[column] for column in COLUMNS]


def quality_of(reading: Arrival) -> str:
    """How far it can be relied on, or that no key here opens it."""
    return "sealed" if reading.sealed else reading.quality.name.lower()


def time_of(time_ns: int) -> str | None:
    """When it was measured, in UTC; None if it does not say, or no calendar has it."""
    from datetime import UTC, datetime

    milliseconds = time_ns // 1_000_000
    try:
        moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (ValueError, OverflowError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z" if milliseconds else None


def value_of(reading: Arrival) -> object:
    """The value; bytes, and payloads that are no SenML, in hex; of one that is in parts, how large it is."""
    if reading.values:
        value = reading.value
        return value.hex() if isinstance(value, bytes) else value
    if reading.reading is None:
        return ""
    elsewhere = reading.reading.elsewhere
    return reading.reading.payload.hex() if elsewhere is None else f"a payload of {elsewhere.size_bytes} bytes in parts"
