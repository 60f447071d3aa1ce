"""What a client has beside a connection: subscriptions, messages on their way to it, and identifiers it has used.

MQTT 5.0 and 3.1.1, section 4.1. A session is *persistent* when it outlives its link (Session Expiry Interval above 0,
or Clean Session 0). Its outgoing messages of QoS 1 and 2 are numbered 1, 2, 3 …; the packet identifier follows from
the number, so that it is the same after a restart. A message whose identifier is still in flight waits.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from roost.broker.abroad import Abroad
from roost.broker.filters import Options
from roost.broker.link import Link
from roost.broker.message import Message
from roost.broker.packets.connect import Will

QUEUED: Final = 0
SENT: Final = 1
RECEIVED: Final = 2  # PUBREC came, PUBREL waits for the disk
RELEASED: Final = 3  # PUBREL went out

MAX_PACKET_ID: Final = 65_535


class Delivery:
    """A message on its way to one session."""

    def __init__(self, message: Message, qos: int, retain: bool, identifiers: list[int] | None) -> None:  # noqa: FBT001
        self.message: Final = message
        self.qos: Final = qos
        self.retain: Final = retain
        self.identifiers: Final = identifiers
        self.number = 0  # 0 for QoS 0
        self.state = QUEUED
        self.ticket = 0  # not to be sent before this is kept
        self.stored = False  # it has a row
        self.durable = False  # its steps are forced to the disk
        self.shared: tuple[bytes, bytes] | None = None  # the shared subscription that it came by


_NOTHING: Final[deque[Delivery]] = deque(maxlen=0)  # most sessions have nothing waiting, and a deque is 700 bytes


class Session:
    """One client's session; bounded by settings.max_sessions."""

    def __init__(self, client: bytes, number: int, user: bytes) -> None:
        self.client: Final = client
        self.number: Final = number
        self.user = user
        self.link: Link | None = None
        self.subscriptions: dict[bytes, Options] = {}  # by the whole filter; bound: settings.max_filters
        self.filter_bytes = 0  # of all of them; bound: settings.max_filter_bytes
        self.touched: list[bytes] = []  # filters whose rows are to be written or deleted; bound: those of one call
        self.expiry_s = 0
        self.ended = 0  # when its link was lost, 0 while it has one
        self.armed = 0  # when its timer fires, 0 for not
        self.stored = False  # it has a row
        self.gone = False
        self.charged = False  # counted among those of its user
        self.born = 0  # when it began: another session of the same client is another one
        self.abroad: Abroad | None = None

        self.will: Will | None = None
        self.will_due = 0  # 0 while the link is up

        self.next_number = 1
        self.inflight: dict[int, Delivery] = {}  # by packet id, in the order of sending; bound: the link's quota
        self.again: list[Delivery] = []  # sent by an earlier link, to be sent again; bound: what it had in flight
        self.queue: deque[Delivery] = _NOTHING  # bound: settings.max_queued and max_queued_bytes
        self.held_bytes = 0  # of all three
        self.queued_bytes = 0  # of the queue alone
        self.waiting = 0  # how many in the queue are of QoS 0: later ones must not overtake them
        self.dropped = 0
        self.incoming: dict[int, int] = {}  # QoS 2 ids of the client → ticket; bound: settings.receive_maximum
        self.incoming_stored: dict[int, bool] = {}  # those of them that have a row

    @property
    def persistent(self) -> bool:
        """Whether it outlives its link."""
        return self.expiry_s > 0

    @property
    def here_since(self) -> int:
        """When its client came to this node, if it is here."""
        return self.born if self.abroad is None else max(self.born, self.abroad.began)

    def groups(self) -> Abroad:
        """What it has to do with groups."""
        if self.abroad is None:
            self.abroad = Abroad()
        return self.abroad

    def put(self, delivery: Delivery) -> None:
        """Have something wait behind all others."""
        if self.queue is _NOTHING:
            self.queue = deque()
        self.queue.append(delivery)

    def number_next(self) -> int:
        """Give out the next number."""
        number = self.next_number
        self.next_number = number + 1
        return number


def packet_id_of(number: int) -> int:
    """The packet identifier of a numbered delivery: never 0 [MQTT-2.2.1-4]."""
    return (number - 1) % MAX_PACKET_ID + 1
