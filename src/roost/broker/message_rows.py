"""The rows of messages: retained ones, those on their way to a session, those that a QoS 2 identifier stands for."""

from __future__ import annotations

from roost.broker.message import Message
from roost.broker.rows import Row, blob, seal, unseal
from roost.broker.session import RELEASED, SENT, Delivery


def _message(message: Message) -> bytes:
    origin = b"\x00"
    if message.origin is not None:
        tree, stream, number = message.origin
        origin = b"\x01" + tree.to_bytes(4, "big") + blob(stream, 4) + number.to_bytes(8, "big")
    return b"".join(
        (
            blob(message.topic, 2),
            blob(message.payload, 4),
            bytes((message.qos << 1 | (1 if message.retain else 0) | (8 if message.stream else 0),)),
            blob(message.kept, 4),
            message.expires.to_bytes(8, "big"),
            blob(message.publisher, 2),
            message.time.to_bytes(8, "big"),
            message.packet_id.to_bytes(2, "big"),
            origin,
            blob(message.stream, 2) if message.stream else b"",
        )
    )


def _read_message(row: Row) -> Message:
    topic, payload, flags = row.blob(2), row.blob(4), row.number(1)
    kept, expires, publisher, time = row.blob(4), row.number(8), row.blob(2), row.number(8)
    packet_id = row.number(2)
    origin = (row.number(4), row.blob(4), row.number(8)) if row.number(1) else None
    stream = row.blob(2) if flags & 8 else b""
    qos, retain = flags >> 1 & 3, flags & 1 == 1
    return Message(topic, payload, qos, retain, kept, expires, publisher, time, origin, packet_id, stream=stream)


def retained_value(message: Message, owner: bytes) -> bytes:
    """The row of a retained message, with whose it is; nobody's name is empty."""
    return seal(_message(message) + owner)


def read_retained(value: bytes) -> tuple[Message, bytes]:
    """Read the row of a retained message."""
    row = unseal(value)
    return _read_message(row), row.rest()


def identifier_value(message: Message | None) -> bytes:
    """The row of a QoS 2 identifier, with the message while a group does not have it."""
    return seal(b"\x00" if message is None else b"\x01" + _message(message))


def read_identifier(value: bytes) -> Message | None:
    """Read the row of a QoS 2 identifier."""
    row = unseal(value)
    return _read_message(row) if row.number(1) else None


def delivery_value(delivery: Delivery) -> bytes:
    """The row of a delivery; one that was received keeps its message no longer."""
    identifiers = delivery.identifiers or []
    parts = [
        bytes(
            (
                delivery.state,
                delivery.qos,
                (1 if delivery.retain else 0)
                | (2 if delivery.durable else 0)
                | (4 if delivery.shared is not None else 0),
            )
        ),
        len(identifiers).to_bytes(2, "big"),
        *[identifier.to_bytes(4, "big") for identifier in identifiers],
    ]
    if delivery.shared is not None:
        parts += [blob(delivery.shared[0], 2), blob(delivery.shared[1], 2)]
    if delivery.state <= SENT:
        parts.append(_message(delivery.message))
    return seal(b"".join(parts))


def read_delivery(value: bytes, number: int) -> Delivery:
    """Read the row of a delivery."""
    row = unseal(value)
    state, qos, flags = row.number(1), row.number(1), row.number(1)
    identifiers = [row.number(4) for _ in range(row.number(2))]
    shared = (row.blob(2), row.blob(2)) if flags & 4 else None
    message = _read_message(row) if state <= SENT else Message(b"", b"", qos, retain=False)
    delivery = Delivery(message, qos, flags & 1 == 1, identifiers or None)
    delivery.number = number
    delivery.state = min(state, RELEASED)
    delivery.durable = flags & 2 != 0
    delivery.shared = shared
    delivery.stored = True
    return delivery
