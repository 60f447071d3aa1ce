"""How a row of the broker's ledger is written and read: a version byte, a checksum over key and body, the body.

A row that is damaged, or of a version that is not known, reads as `BadRow`: whoever loads counts it and goes on with
the rest. Keys are `roost.broker.ledger`'s.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from roost.broker.filters import Options
from roost.broker.message import Message
from roost.broker.packets.connect import Will
from roost.broker.packets.kept import Kept
from roost.broker.session import RELEASED, SENT, Delivery, Session
from roost.broker.since import Since
from roost.errors import InvalidInput

_VERSION: Final = 1
_HEAD_BYTES: Final = 5


class BadRow(InvalidInput):
    """A row that cannot be what was written."""


class _Reader:
    """Takes fields off a row's body."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "big")

    def blob(self, width: int) -> bytes:
        return self._take(self.number(width))

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._body):
            raise BadRow("the row ends too soon")
        taken = self._body[self._at : end]
        self._at = end
        return taken


def _blob(value: bytes, width: int) -> bytes:
    return len(value).to_bytes(width, "big") + value


def seal(body: bytes) -> bytes:
    """Put version and checksum before a body."""
    return bytes((_VERSION,)) + crc32(body).to_bytes(4, "big") + body


def _open(value: bytes) -> _Reader:
    if len(value) < _HEAD_BYTES or value[0] != _VERSION:
        raise BadRow("the row has no version that is known")
    body = value[_HEAD_BYTES:]
    if crc32(body) != int.from_bytes(value[1:_HEAD_BYTES], "big"):
        raise BadRow("the row does not agree with its checksum")
    return _Reader(body)


# -- messages


def _message(message: Message) -> bytes:
    origin = b"\x00"
    if message.origin is not None:
        tree, stream, number = message.origin
        origin = b"\x01" + tree.to_bytes(4, "big") + _blob(stream, 4) + number.to_bytes(8, "big")
    return b"".join(
        (
            _blob(message.topic, 2),
            _blob(message.payload, 4),
            bytes((message.qos << 1 | (1 if message.retain else 0),)),
            _blob(message.kept, 4),
            message.expires.to_bytes(8, "big"),
            _blob(message.publisher, 2),
            message.time.to_bytes(8, "big"),
            origin,
        )
    )


def _read_message(row: _Reader) -> Message:
    topic, payload, flags = row.blob(2), row.blob(4), row.number(1)
    kept, expires, publisher, time = row.blob(4), row.number(8), row.blob(2), row.number(8)
    origin = (row.number(4), row.blob(4), row.number(8)) if row.number(1) else None
    return Message(topic, payload, flags >> 1, flags & 1 == 1, kept, expires, publisher, time, origin)


def message_value(message: Message) -> bytes:
    """The row of a retained message."""
    return seal(_message(message))


def read_message(value: bytes) -> Message:
    """Read the row of a retained message."""
    return _read_message(_open(value))


def identifier_value(message: Message | None) -> bytes:
    """The row of a QoS 2 identifier, with the message while a group does not have it."""
    return seal(b"\x00" if message is None else b"\x01" + _message(message))


def read_identifier(value: bytes) -> Message | None:
    """Read the row of a QoS 2 identifier."""
    row = _open(value)
    return _read_message(row) if row.number(1) else None


# -- deliveries


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
        parts += [_blob(delivery.shared[0], 2), _blob(delivery.shared[1], 2)]
    if delivery.state <= SENT:
        parts.append(_message(delivery.message))
    return seal(b"".join(parts))


def read_delivery(value: bytes, number: int) -> Delivery:
    """Read the row of a delivery."""
    row = _open(value)
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


# -- sessions


def _options(options: Options) -> bytes:
    flags = options.qos | (4 if options.no_local else 0) | (8 if options.retain_as_published else 0)
    return bytes((flags,)) + options.identifier.to_bytes(4, "big")


def session_value(session: Session) -> bytes:
    """The row of a session."""
    parts = [
        _blob(session.user, 2),
        session.expiry_s.to_bytes(4, "big"),
        session.ended.to_bytes(8, "big"),
        session.born.to_bytes(8, "big"),
        bytes((_whereabouts(session),)),
        (0 if session.abroad is None else session.abroad.began).to_bytes(8, "big"),
        session.will_due.to_bytes(8, "big"),
    ]
    will = session.will
    if will is None:
        parts.append(b"\x00")
    else:
        parts += [
            b"\x01",
            _blob(will.topic, 2),
            _blob(will.payload, 4),
            bytes((will.qos << 1 | (1 if will.retain else 0),)),
            _blob(will.properties.kept, 4),
            int(will.properties.delay_s + 1).to_bytes(5, "big"),
            int(will.properties.expiry_s + 1).to_bytes(5, "big"),
        ]
    parts.append(len(session.subscriptions).to_bytes(4, "big"))
    for filter_, options in session.subscriptions.items():
        parts += [_blob(filter_, 2), _options(options), b"\x00" if options.shared is None else b"\x01"]
        if options.shared is not None:
            parts.append(_blob(options.shared, 2))
    return seal(b"".join(parts))


def read_session(value: bytes, client: bytes, number: int) -> Session:
    """Read the row of a session."""
    row = _open(value)
    session = Session(client, number, row.blob(2))
    session.expiry_s, session.ended, session.born = row.number(4), row.number(8), row.number(8)
    _find(session, row.number(1), row.number(8))
    session.will_due = row.number(8)
    if row.number(1):
        topic, payload, flags, kept = row.blob(2), row.blob(4), row.number(1), row.blob(4)
        properties = Kept()
        properties.kept = kept
        properties.delay_s = row.number(5) - 1
        properties.expiry_s = row.number(5) - 1
        session.will = Will(topic, payload, flags >> 1, flags & 1 == 1, properties)
    for _ in range(row.number(4)):
        filter_, flags, identifier = row.blob(2), row.number(1), row.number(4)
        shared = row.blob(2) if row.number(1) else None
        session.subscriptions[filter_] = Options(
            flags & 3,
            no_local=flags & 4 != 0,
            retain_as_published=flags & 8 != 0,
            identifier=identifier,
            shared=shared,
        )
    return session


def _whereabouts(session: Session) -> int:
    abroad = session.abroad
    if abroad is None:
        return 0
    return (1 if abroad.elsewhere else 0) | (2 if abroad.online else 0) | (4 if abroad.told else 0)


def _find(session: Session, whereabouts: int, began: int) -> None:
    if whereabouts or began:
        abroad = session.groups()
        abroad.began = began
        abroad.elsewhere = whereabouts & 1 != 0
        abroad.online = whereabouts & 2 != 0
        abroad.told = whereabouts & 4 != 0


# -- groups


def number_value(number: int) -> bytes:
    """The row of a number."""
    return seal(number.to_bytes(8, "big"))


def read_number(value: bytes) -> int:
    """Read the row of a number."""
    return _open(value).number(8)


def recall_value(since: Since, places: dict[bytes, int]) -> bytes:
    """The row of a recall."""
    parts = [since.time.to_bytes(8, "big"), since.number.to_bytes(8, "big"), len(places).to_bytes(4, "big")]
    for stream, number in places.items():
        parts += [_blob(stream, 2), number.to_bytes(8, "big")]
    return seal(b"".join(parts))


def read_recall(value: bytes) -> tuple[Since, dict[bytes, int]]:
    """Read the row of a recall."""
    row = _open(value)
    since = Since(row.number(8), row.number(8))
    places: dict[bytes, int] = {}
    for _ in range(row.number(4)):
        stream = row.blob(2)
        places[stream] = row.number(8)
    return since, places
