"""A message that came from an MQTT server, as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from paho.mqtt.client import MQTTMessage

from roost.cli._mqtt_properties import KNOWN, attribute_of

Value = int | str | bytes | tuple[str, str]

_NAMES: Final = {attribute_of(name): name for name in KNOWN}


@dataclass(frozen=True, slots=True)
class Message:
    """A message; the properties in the order of the packet, each as often as it is there."""

    topic: bytes
    payload: bytes
    qos: int
    retain: bool
    packet_id: int
    properties: tuple[tuple[str, Value], ...] = ()

    def first(self, name: str) -> Value | None:
        """The property of this name, the first one if there are several."""
        return next((value for known, value in self.properties if known == name), None)


def message_of(arrived: MQTTMessage) -> Message:
    """Take over what paho has received; it keeps repeated properties together, behind the first of them."""
    properties: list[tuple[str, Value]] = []
    for name, value in vars(arrived.properties).items() if arrived.properties is not None else ():
        if name in _NAMES:
            properties += [(_NAMES[name], item) for item in (value if isinstance(value, list) else [value])]
    return Message(
        arrived.topic.encode(), bytes(arrived.payload), arrived.qos, arrived.retain, arrived.mid, tuple(properties)
    )
