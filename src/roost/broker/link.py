"""One network connection: what is known of it, and what waits to leave by it.

A link is OPENED until its CONNECT is in, WAITING while somebody finds out who it is, CONNECTED while it serves a
session, and CLOSED for ever after. `out` is emptied into one `Send` at the end of every call. `room` is how many bytes
may still go out before messages are queued instead: it is what the driver's buffer has left of the high-water mark.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from roost.broker.packets.connect import Connect
from roost.broker.packets.framing import Framer

if TYPE_CHECKING:  # a link and a session know each other
    from roost.broker.limits import Rate
    from roost.broker.routes import Route
    from roost.broker.session import Session

OPENED: Final = 0
WAITING: Final = 1
CONNECTED: Final = 2
CLOSED: Final = 3

MAX_ROUTES: Final = 1024
_SHOWN: Final = 64  # characters of a name


@dataclass(frozen=True)
class Peer:
    """Who is at the other end, as far as the network tells."""

    address: str = "127.0.0.1"
    transport: str = "tcp"  # or tls, ws, wss
    user: bytes | None = None  # from the certificate of a TLS client
    loopback: bool = True


class Held:
    """An acknowledgement that waits for the disk (`ticket`), for a group, or for one before it."""

    def __init__(self, kind: int, packet_id: int, chunk: bytes, ticket: int, entering: bool = False) -> None:  # noqa: FBT001, FBT002
        self.kind: Final = kind
        self.packet_id: Final = packet_id
        self.chunk = chunk
        self.ticket = ticket
        self.entering = entering  # its message is on its way into a group, or what it says to other nodes


class Link:
    """One connection; bounded by the limits on links."""

    def __init__(self, number: int, peer: Peer, max_packet_bytes: int, room: int, now: int) -> None:
        self.id: Final = number
        self.peer: Final = peer
        self.framer: Final = Framer(max_packet_bytes)
        self.state = OPENED
        self.version = 0
        self.client = b""
        self.user = b""
        self.entered = False  # counted among the links of its user
        self.session: Session | None = None
        self.rate: Rate | None = None
        self.limited = False

        self.out: list[bytes] = []
        self.dirty = False
        self.room = room
        self.mark = room  # what `room` was at the end of the last call
        self.congested = False
        self.behind = False  # it has not caught up with what waited for it when it came
        self.gate = 0  # the ticket that CONNACK waits for, and everything behind it
        self.vows = 0  # for how many other things it waits, of other nodes
        self.doomed = False  # it will be hung up at the end of this call
        self.hanging = False  # a Hangup is due

        self.heard = now
        self.armed = 0  # when its timer fires, 0 for not
        self.keep_alive = 0

        self.quota = 65_535  # what may be in flight to it [MQTT-3.3.4-9]
        self.max_packet_bytes = 0xFFFFFFFF
        self.explains = False  # it wants to hear why something is refused
        self.alias_maximum = 0  # what the client takes
        self.aliases: dict[bytes, int] = {}  # ours to it; bound: alias_maximum, settings.max_sent_aliases
        self.known: dict[int, bytes] = {}  # its to us; bound: settings.topic_alias_maximum

        self.connect: Connect | None = None  # while it is not let in
        self.early: list[bytes] | None = None  # bound: settings.max_early_bytes
        self.early_bytes = 0
        self.connect_bytes = 0  # of `connect`
        self.frame_bytes = 0  # of a WebSocket frame that is not whole
        self.alias_bytes = 0  # of both tables of aliases
        self.kept_bytes = 0  # counted for it, see `roost.broker.memory`
        self.method = b""
        self.asked = False  # an Authenticate is unanswered
        self.renewing = False  # it is authenticating again

        self.routes: dict[bytes, Route] = {}  # topics it may publish to; bound: MAX_ROUTES
        self.held: dict[int, deque[Held]] = {}  # by kind; bound: a packet id each, see `unacknowledged`
        self.unacknowledged = 0  # QoS 1 publications whose PUBACK is held

    @property
    def by_password(self) -> bool:
        """Whether its user, if it has one, is known by a password: not by a certificate nor by another method."""
        return self.peer.user is None and not self.method

    def said_to_be(self) -> str:
        """Who it is, or says to be, for whoever reads the log; a password is nobody's to read."""
        user = self.user
        if self.connect is not None and self.connect.user is not None:
            user = self.connect.user
        named = [("user", user), ("client", self.client)]
        facts = ", ".join([f"{what} {name.decode(errors='replace')[:_SHOWN]!r}" for what, name in named if name])
        return f" ({facts})" if facts else ""
