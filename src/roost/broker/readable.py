"""Readings of a group as MQTT messages: what came over MQTT as it came, what sensors say as text that devices can read.

| reading        | topic                        | payload                       | user properties of MQTT 5       |
| -------------- | ---------------------------- | ----------------------------- | ------------------------------- |
| with a posting | what stands behind its panel | as it came                    | as they came                    |
| of a sensor    | the name of its stream       | its first value as text; JSON | `time`; `unit` and `quality`    |
|                |                              | if it has several             | where there is one              |

`time` is in nanoseconds since 1970. What is sealed is what was sealed, for who has something that opens it. To others
it is no message, as what is no reading at all. So it is with a payload that does not fit a packet
(`roost.broker.large`): it comes whole, to who has something that joins its parts.
"""

from __future__ import annotations

import json
from typing import Final, Protocol

from roost.broker.message import Message
from roost.broker.packets.properties import user_property
from roost.errors import BadPacket, BadTopic
from roost.machine import SECOND
from roost.naming.name import Name
from roost.naming.topic import topic_of_name
from roost.wire.data import decode_data
from roost.wire.elsewhere import Elsewhere
from roost.wire.envelope import SEALED
from roost.wire.reading import Reading, decode_reading
from roost.wire.senml import Quality, Value
from roost.wire.values import values_of

SENSOR_QOS: Final = 2  # so that it is what the subscriber asked for


class Opens(Protocol):
    """What opens sealed readings."""

    def open(self, name: Name, content: bytes) -> bytes:
        """The plain content; raises `NoKey` while there is no key to it, `BadPacket` if it cannot be opened."""
        ...


class Joins(Protocol):
    """What knows payloads that do not fit a packet."""

    def payload_of(self, stream: Name, number: int, said: Elsewhere) -> bytes:
        """The payload of a reading; raises `PartsMissing`, and `BadPacket` if its parts make another one."""
        ...


def message_of(
    parts: int, stream: Name, number: int, wire: bytes, opens: Opens | None = None, joins: Joins | None = None
) -> Message | None:
    """The message that a packet of a stream is, None if it is none; so many parts has the name of the group.

    Raises `NoKey` if it is sealed, and there is something that opens it but no key; and `PartsMissing` if its payload
    is elsewhere, and there is something that joins it but not all to be joined.
    """
    try:
        packet = decode_data(wire)
        content = packet.content
        if opens is not None and is_sealed(content):
            content = opens.open(packet.name, content)
        reading = decode_reading(content)
        origin = (0, stream.value, number)
        if reading.posting is None:
            if reading.elsewhere is not None:
                return None  # only messages are cut
            return _of_sensor(reading, stream, origin)
        posting = reading.posting
        payload = reading.payload
        if reading.elsewhere is not None:
            if joins is None:
                return None
            payload = joins.payload_of(stream, number, reading.elsewhere)
        topic = topic_of_name(stream.suffix(parts + 1)).encode()
    except (BadPacket, BadTopic):
        return None
    expires = 0 if posting.expiry_s < 0 else reading.time + max(1, posting.expiry_s * SECOND)
    return Message(
        topic,
        payload,
        posting.qos,
        posting.retain,
        posting.properties,
        expires,
        posting.client,
        reading.time,
        origin,
        posting.packet_id,
        b"" if reading.lineage is None else reading.lineage.encode(),
    )


def is_sealed(content: bytes) -> bool:
    """Whether the content of a packet begins as sealed content does."""
    return len(content) > 0 and content[0] == SEALED


def _of_sensor(reading: Reading, stream: Name, origin: tuple[int, bytes, int]) -> Message:
    topic = topic_of_name(stream).encode()
    kept = time_property(reading.time)
    try:
        values = values_of(reading.format, reading.payload)
    except BadPacket:
        values = []
    payload = reading.payload
    if values:
        payload = text_of(values)
        if values[0].unit:
            kept += user_property(b"unit", values[0].unit.encode())
        if values[0].quality != Quality.GOOD:
            kept += user_property(b"quality", values[0].quality.name.lower().encode())
    return Message(topic, payload, SENSOR_QOS, False, kept, 0, b"", reading.time, origin)  # noqa: FBT003  a C call


def text_of(values: list[Value]) -> bytes:
    """Values as devices read them: one as it is written, several as a JSON object by their names."""
    if len(values) == 1:
        value = values[0].value
        if isinstance(value, bytes):
            return value
        return value.encode() if isinstance(value, str) else json.dumps(value).encode()
    said = {
        value.name or "value": value.value.hex() if isinstance(value.value, bytes) else value.value for value in values
    }
    return json.dumps(said, ensure_ascii=False).encode()


def time_property(time: int) -> bytes:
    """When it was measured, as a User Property."""
    return user_property(b"time", b"%d" % time)
