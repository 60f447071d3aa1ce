"""The rows of sessions: who and until when, a will, each subscription, and how far a past is delivered.

A subscription has a row of its own: a client that subscribes a thousand times has a thousand rows written, not half a
million lines of one row.
"""

from __future__ import annotations

from typing import Final

from roost.broker.filters import Options
from roost.broker.packets.connect import Will
from roost.broker.packets.fields import is_shared, split_shared
from roost.broker.packets.kept import Kept
from roost.broker.packets.reasons import Malformed
from roost.broker.rows import BadRow, Row, blob, seal, unseal
from roost.broker.session import Session
from roost.broker.since import Since

_OVER: Final = b"\x01"  # behind the places of a recall


def session_value(session: Session) -> bytes:
    """The row of a session, without its subscriptions."""
    parts = [
        blob(session.user, 2),
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
            blob(will.topic, 2),
            blob(will.payload, 4),
            bytes((will.qos << 1 | (1 if will.retain else 0),)),
            blob(will.properties.kept, 4),
            int(will.properties.delay_s + 1).to_bytes(5, "big"),
            int(will.properties.expiry_s + 1).to_bytes(5, "big"),
        ]
    return seal(b"".join(parts))


def read_session(value: bytes, client: bytes, number: int) -> tuple[Session, Will | None]:
    """Read the row of a session, and the will that is to be set."""
    row = unseal(value)
    session = Session(client, number, row.blob(2))
    session.expiry_s, session.ended, session.born = row.number(4), row.number(8), row.number(8)
    _find(session, row.number(1), row.number(8))
    session.will_due = row.number(8)
    return session, _read_will(row) if row.number(1) else None


def _read_will(row: Row) -> Will:
    topic, payload, flags = row.blob(2), row.blob(4), row.number(1)
    properties = Kept()
    properties.kept = row.blob(4)
    properties.delay_s = row.number(5) - 1
    properties.expiry_s = row.number(5) - 1
    return Will(topic, payload, flags >> 1, flags & 1 == 1, properties)


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


def filter_value(options: Options) -> bytes:
    """The row of a subscription; its key has the filter."""
    flags = options.qos | (4 if options.no_local else 0) | (8 if options.retain_as_published else 0)
    return seal(bytes((flags,)) + options.identifier.to_bytes(4, "big"))


def read_filter(value: bytes, filter_: bytes) -> tuple[bytes, Options]:
    """Read the row of a subscription: the filter without `$share/<name>/`, and the options."""
    row = unseal(value)
    flags, identifier = row.number(1), row.number(4)
    try:
        shared, bare = split_shared(filter_) if is_shared(filter_) else (None, filter_)
    except Malformed as error:
        raise BadRow(str(error)) from None
    options = Options(
        flags & 3,
        no_local=flags & 4 != 0,
        retain_as_published=flags & 8 != 0,
        identifier=identifier,
        shared=shared,
    )
    return bare, options


def recall_value(since: Since, places: dict[bytes, int], *, is_over: bool) -> bytes:
    """The row of a recall."""
    parts = [since.time.to_bytes(8, "big"), since.number.to_bytes(8, "big"), len(places).to_bytes(4, "big")]
    for stream, number in places.items():
        parts += [blob(stream, 2), number.to_bytes(8, "big")]
    parts.append(_OVER if is_over else b"")
    return seal(b"".join(parts))


def read_recall(value: bytes) -> tuple[Since, dict[bytes, int], bool]:
    """Read the row of a recall: since when, the next numbers, and whether it has caught up."""
    row = unseal(value)
    since = Since(row.number(8), row.number(8))
    places: dict[bytes, int] = {}
    for _ in range(row.number(4)):
        stream = row.blob(2)
        places[stream] = row.number(8)
    return since, places, row.rest() == _OVER
