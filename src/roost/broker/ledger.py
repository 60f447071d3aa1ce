"""The broker's rows: what a restart must find again, gathered over one call and handed out as one `Keep`.

    s | client                 a session: user, expiry, when its link was lost, will
    f | client | filter        a subscription of it
    q | client | number        a message of QoS 1 or 2 on its way to a persistent session, and how far it is
    i | client | packet id     a QoS 2 identifier of a client, used and not released
    r | topic                  a retained message
    h | client | filter        a past that a session is getting, and how far
    p | stream                 how far a stream of a group was handed on
    b                          when this broker first had groups
    d | topic                  an RBPS document that was changed, or taken back, at run time, here or at another node
    m | name                   a macro: its definition, and where it stands

The later of two changes to a row in one call wins. A call that changed rows has a ticket; what must not leave before
the rows are safe waits for that ticket. What the disk refuses is tried again until something newer stands for it, so
that memory and disk agree in the end; until then nothing newer counts as safe. How rows are written is in
`roost.broker.rows`, what is in them in `message_rows` and `session_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.broker.effects import Keep
from roost.broker.message import Message
from roost.broker.message_rows import delivery_value, identifier_value, retained_value
from roost.broker.rows import number_value, seal
from roost.broker.session import Delivery, Session
from roost.broker.session_rows import filter_value, recall_value, session_value
from roost.broker.since import Since
from roost.machine.contract import SECOND, Effect

SESSION: Final = b"s"
FILTER: Final = b"f"
DELIVERY: Final = b"q"
IDENTIFIER: Final = b"i"
RETAINED: Final = b"r"
RECALL: Final = b"h"
POSITION: Final = b"p"
BEGAN: Final = b"b"
DOCUMENT: Final = b"d"
MACRO: Final = b"m"
RETRY: Final = SECOND
FAR: Final = 1 << 60  # a ticket that is not known yet


def session_key(client: bytes) -> bytes:
    """The key of a session's row."""
    return SESSION + len(client).to_bytes(2, "big") + client


def filter_key(client: bytes, filter_: bytes) -> bytes:
    """The key of a subscription's row."""
    return FILTER + len(client).to_bytes(2, "big") + client + filter_


def delivery_key(client: bytes, number: int) -> bytes:
    """The key of a delivery's row: those of a client stand in the order of their numbers."""
    return DELIVERY + len(client).to_bytes(2, "big") + client + number.to_bytes(8, "big")


def identifier_key(client: bytes, packet_id: int) -> bytes:
    """The key of an identifier's row."""
    return IDENTIFIER + len(client).to_bytes(2, "big") + client + packet_id.to_bytes(2, "big")


def recall_key(client: bytes, filter_: bytes) -> bytes:
    """The key of a recall's row."""
    return RECALL + len(client).to_bytes(2, "big") + client + filter_


class Ledger:
    """What changed since the last `take`; bounded by what one call can bring about."""

    def __init__(self, active: bool) -> None:  # noqa: FBT001  whether there is a disk
        self.active: Final = active
        self.ticket = 1  # of the next Keep
        self.kept = 0  # the highest that is safe
        self.retry = 0  # when what could not be written is tried again, 0 for nothing to try
        self._changes: dict[bytes, bytes | None] = {}
        self._sync = False
        self._again = False
        self._blocked = 0  # the ticket that brings what was refused, FAR until there is one, 0 when nothing was
        self._issued: dict[int, dict[bytes, bytes | None]] = {}  # not answered yet, by ticket; bound: as the driver's
        self._failed: dict[bytes, bytes | None] = {}  # to be written again; bound: a value per row

    # -- changes; without a disk nothing is written and nothing waits

    def save_session(self, session: Session, sync: bool) -> int:  # noqa: FBT001  a C call
        """Write a session's row, and those of its subscriptions that changed; returns what to wait for."""
        self._save_filters(session, sync)
        return self._change(session_key(session.client), session_value(session), sync)

    def _save_filters(self, session: Session, sync: bool) -> None:  # noqa: FBT001  a C call
        for filter_ in session.touched:
            options = session.subscriptions.get(filter_)
            value = None if options is None else filter_value(options)
            self._change(filter_key(session.client, filter_), value, sync)
        session.touched = []

    def save_delivery(self, session: Session, delivery: Delivery, sync: bool) -> int:  # noqa: FBT001  a C call
        """Write a delivery's row; returns what to wait for."""
        delivery.stored = self.active
        return self._change(delivery_key(session.client, delivery.number), delivery_value(delivery), sync)

    def forget_delivery(self, session: Session, delivery: Delivery) -> None:
        """Delete a delivery's row, if it has one; nobody waits for that."""
        if delivery.stored:
            delivery.stored = False
            self._change(delivery_key(session.client, delivery.number), None, sync=False)

    def save_identifier(self, session: Session, packet_id: int, message: Message | None) -> int:
        """Write that a QoS 2 identifier is used; the message stands with it while a group does not have it."""
        if self.active:
            session.incoming_stored[packet_id] = True
        return self._change(identifier_key(session.client, packet_id), identifier_value(message), sync=True)

    def forget_identifier(self, session: Session, packet_id: int) -> int:
        """Delete an identifier's row; returns what to wait for, 0 when there was none."""
        if session.incoming_stored.pop(packet_id, False):
            return self._change(identifier_key(session.client, packet_id), None, sync=True)
        return 0

    def save_retained(self, message: Message, owner: bytes, sync: bool) -> int:  # noqa: FBT001  a C call
        """Write a retained message; returns what to wait for."""
        return self._change(RETAINED + message.topic, retained_value(message, owner), sync)

    def forget_retained(self, topic: bytes, sync: bool) -> int:  # noqa: FBT001  a C call
        """Delete a retained message's row; returns what to wait for."""
        return self._change(RETAINED + topic, None, sync)

    def save_recall(
        self, client: bytes, filter_: bytes, since: Since, places: dict[bytes, int], *, is_over: bool = False
    ) -> None:
        """Write how far a past is delivered; nobody waits for that."""
        self._change(recall_key(client, filter_), recall_value(since, places, is_over=is_over), sync=False)

    def forget_recall(self, client: bytes, filter_: bytes) -> None:
        """Delete a recall's row."""
        self._change(recall_key(client, filter_), None, sync=False)

    def save_position(self, stream: bytes, number: int) -> None:
        """Write how far a stream was handed on, with what became of its messages."""
        self._change(POSITION + stream, number_value(number), sync=False)

    def save_beginning(self, began: int) -> None:
        """Write when this broker first had groups."""
        self._change(BEGAN, number_value(began), sync=True)

    def save_macro(self, name: str, record: bytes, sync: bool) -> int:  # noqa: FBT001  a C call
        """Write what is known of a macro; returns what to wait for."""
        return self._change(MACRO + name.encode(), seal(record), sync)

    def save_document(self, topic: bytes, value: bytes | None) -> None:
        """Write a document that was changed, or (None) that it is the file's again."""
        self._change(DOCUMENT + topic, value, sync=True)

    def forget_session(self, session: Session, sync: bool) -> int:  # noqa: FBT001  a C call
        """Delete everything of a session; returns what to wait for."""
        for delivery in session.inflight.values():
            self.forget_delivery(session, delivery)
        for delivery in session.again:
            self.forget_delivery(session, delivery)
        for delivery in session.queue:
            self.forget_delivery(session, delivery)
        for packet_id in list(session.incoming_stored):
            self.forget_identifier(session, packet_id)
        if session.abroad is not None:
            for replay in session.abroad.replays:
                self.forget_recall(session.client, replay.recall.filter)
        self._save_filters(session, sync)  # which are no more
        return self._change(session_key(session.client), None, sync)

    def forget_keys(self, keys: Iterable[bytes]) -> None:
        """Delete rows that a restart found without owner or damaged."""
        for key in keys:
            self._change(key, None, sync=False)

    def _change(self, key: bytes, value: bytes | None, sync: bool) -> int:  # noqa: FBT001  a C call
        if not self.active:
            return 0
        self._changes[key] = value
        if sync:
            self._sync = True
        return self.ticket

    # -- the disk

    def safe(self, ticket: int) -> bool:
        """Whether what waits for this may go."""
        return ticket <= self.kept

    def keep(self, ticket: int) -> None:
        """The rows of a ticket, and of all before it that were not refused, are written."""
        for written in [issued for issued in self._issued if issued <= ticket]:
            del self._issued[written]
        if ticket >= self._blocked:
            self._blocked = 0
            self.kept = max(self.kept, ticket)

    def fail(self, ticket: int, now: int) -> None:
        """The rows of a ticket could not be written: try again, later, those that nothing newer stands for.

        Until they are written nothing counts as safe that was changed since.
        """
        failed = self._issued.pop(ticket, {})
        newer = [self._changes, *self._issued.values()]  # those before it were answered
        for key, value in failed.items():
            if not any(key in changes for changes in newer):
                self._failed[key] = value
        self._blocked = FAR
        self.retry = now + RETRY

    def try_again(self) -> None:
        """Have the next Keep bring what could not be written; there may be nothing left of it but the wish."""
        self.retry = 0
        self._again = True

    def barrier(self) -> int:
        """The ticket after which everything that was changed so far is safe."""
        return self.ticket if self._blocked == FAR or self._changes else self.ticket - 1

    def take(self) -> list[Effect]:
        """Hand out the changes of this call."""
        if not self._changes and not self._again:
            return []
        if self._blocked == FAR:
            self._changes = {**self._failed, **self._changes}
            self._failed = {}
            self._blocked = self.ticket
            self._again = False
            self._sync = True
            self.retry = 0
        puts = [(key, value) for key, value in self._changes.items() if value is not None]
        deletes = [key for key, value in self._changes.items() if value is None]
        keep = Keep(self.ticket, puts, deletes, self._sync)
        self._issued[self.ticket] = self._changes
        self.ticket += 1
        self._changes = {}
        self._sync = False
        return [keep]
