"""What every part of the broker works on: links, sessions, tables, and what this call wants of the driver.

The parts are functions over a `Core`; `roost.broker.broker` gives it the machine's verbs. Nothing here knows the
protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.broker.access import Access
from roost.broker.announcement import RESERVED
from roost.broker.effects import Hangup, Heard, Insert, Send
from roost.broker.filters import Options
from roost.broker.handout import STEPS, Handing
from roost.broker.ledger import Ledger
from roost.broker.limits import Limiter, Limits
from roost.broker.link import CLOSED, Held, Link
from roost.broker.macros.macros import RESULTS, Macros
from roost.broker.message import Message
from roost.broker.recall import History
from roost.broker.retained import Retained
from roost.broker.roaming import Roaming
from roost.broker.roles.keeper import RoleKeeper
from roost.broker.routes import Router, Trees
from roost.broker.session import Session
from roost.broker.settings import DISK, BrokerSettings
from roost.broker.since import Since
from roost.broker.statistics import MAX_TOPICS, MAX_TOPICS_BYTES, Statistics
from roost.broker.timers import Timers
from roost.broker.vows import Vows
from roost.machine.contract import Effect, Randomness, Rejected

MAX_INSERT: Final = 128  # messages of one ticket: they are acknowledged together, so that many make several
MAX_INSERT_BYTES: Final = 4 << 20  # of their payloads, which the last one may exceed
_SAMPLE_BYTES: Final = 64


class Entry:
    """A message of QoS 1 or 2 on its way into a group, and the acknowledgement that waits for it."""

    def __init__(
        self, session: Session, packet_id: int, tree: int, message: Message, link: Link | None, held: Held | None
    ) -> None:
        self.session: Final = session
        self.packet_id: Final = packet_id  # 0 with QoS 1
        self.tree: Final = tree
        self.message: Final = message
        self.link = link  # None after a restart
        self.held = held


class Core:
    """The state of one broker."""

    def __init__(
        self,
        settings: BrokerSettings,
        access: Access,
        randomness: Randomness,
        now: int,
        gateway: Trees | None,
        limits: Limits,
    ) -> None:
        self.access = access
        self.randomness: Final = randomness
        self.gateway: Final = gateway
        self.limiter: Final = Limiter(limits)
        self.ledger: Final = Ledger(settings.persistent)
        self.router: Final = Router()
        self.timers: Final = Timers()
        self.stats: Final = Statistics()
        self.links: Final[dict[int, Link]] = {}  # bound: the limits' max_links
        self.greeting: Final[dict[int, tuple[str, int]]] = {}  # who shakes hands, since when; counts in the same bound
        self.sessions: Final[dict[bytes, Session]] = {}  # bound: settings.max_sessions
        self.numbers: Final[dict[int, Session]] = {}  # the same by number
        self.owned: Final[dict[bytes, int]] = {}  # user → sessions that began here; bound: the sessions
        self.retained: Final[Retained[Message]] = Retained(settings.max_retained, settings.max_retained_bytes)
        self.system: Final[Retained[Message]] = Retained(MAX_TOPICS, MAX_TOPICS_BYTES)
        self.total_bytes = 0  # held for all sessions: messages that wait, and those that were sent
        self.queued_bytes = 0  # the part of it that waits
        self.links_bytes = 0  # held for links, see `roost.broker.memory`
        self.wills_bytes = 0
        self.outside: Mapping[str, int] = {}  # what the driver counts, by `$SYS` topic; bound: a few, of its own
        self.encoded: list[Message] = []  # they keep encodings for the rest of this call; bound: what it sends
        self.awaiting: dict[int, Session] = {}  # their queues wait for the disk; bound: the sessions
        self.holding: Final[dict[int, Link]] = {}  # with acknowledgements that wait; bound: the links
        self.ending: Final[dict[bytes, int]] = {}  # clients whose rows the disk still has; bound: its arrears
        self.gated: Final[dict[int, Link]] = {}  # whose CONNACK waits for the disk; bound: the links
        self.entering: Final[dict[int, list[Entry]]] = {}  # groups', by the Keep they wait for; bound: see `Link.held`
        self.inserting: Final[dict[int, list[Entry]]] = {}  # for groups, by ticket of Insert; the same bound
        self.entries: Final[dict[tuple[int, int], Entry]] = {}  # those of QoS 2 by session and packet id
        self.unfinished: list[tuple[Session, int, Message]] = []  # what a restart has to bring into a group; then empty
        self.restoring = False  # messages of this call may be in their groups already
        self.doomed: list[tuple[Link, int, str]] = []  # to be hung up at the end of this call; bound: the links
        self.capped: list[Link] = []  # they used up their room in the last call; bound: the links
        self.history: History | None = None  # where the past is, once groups are joined
        self.macros: Macros | None = None  # what refines messages next to the data; None: nothing does
        self.roles: RoleKeeper | None = None  # who gets which stream of a topic; None: permissions are all
        self.roaming: Roaming | None = None  # as above, who tells other nodes of sessions
        self.vows: Final = Vows()  # answers that wait until other nodes know
        self.orphaned: Final[dict[bytes, int]] = {}  # clients whose wills a crash left, and when they came; sessions
        self.orphaned_since = 0  # when they began to wait; 0: nobody could be heard yet
        self.orphaned_look = 0  # when to see whether they have waited long enough
        self.last_words: list[tuple[bytes, bytes, int]] = []  # of this call: client, panel of who has it no more, began
        self.recalling: Final[dict[int, Session]] = {}  # sessions that get a past; bound: the sessions
        self.recalled: Final[dict[int, Session]] = {}  # sessions that got one; bound: the sessions
        self.handing: Final[dict[int, Handing]] = {}  # sessions that get retained messages; bound: the sessions
        self.resting: Final[dict[int, Handing]] = {}  # the same without a link
        self.steps = STEPS  # that handing out may go in this call
        self.began = now  # when this broker first had groups
        self.positions: Final[dict[bytes, int]] = {}  # of a restart: how far streams were handed on
        self.interrupted: list[tuple[Session, bytes, Since, dict[bytes, int], bool]] = []  # recalls of a restart
        self.unheard: list[
            tuple[Session, bytes, int, dict[bytes, int]]
        ] = []  # of this call: what is to be caught up on
        self.cleared: Final[dict[bytes, tuple[int, bytes]]] = {}  # by topic, when it was; bound: `emerging.MAX_CLEARED`
        self.listeners = 0  # who wants the driver to be told of all messages
        self.listened = False  # whether there are any
        self.told: list[Message] = []  # what it is told at the end of this call; bound: the messages of one
        self.effects: list[Effect] = []  # of this call, beside what is derived below
        self.started: Final = now
        self.deaf = False  # the driver reads from nobody, so nobody's silence counts
        self.heard = 0  # when it last began to read again
        self.owing = 0  # links that the last call sent something to, and that have messages to acknowledge
        self._dirty: list[Link] = []  # with something to send
        self._inserts: list[tuple[int, list[Message], bool]] = []  # of this call: for a tree, in the order of tickets
        self._insert_bytes: list[int] = []  # of their payloads
        self._filled: dict[tuple[int, bool], int] = {}  # by tree and spread, which of them takes the next message
        self._next_insert = 1
        self._next_number = 1
        self.configure(settings)

    def configure(self, settings: BrokerSettings) -> None:
        """Take settings over; those of the fast path are copied."""
        self.settings = settings
        self.durable = settings.persistent and (
            settings.durability >= DISK or any(level >= DISK for _, level in settings.durable)
        )
        self.max_queued = settings.max_queued
        self.max_queued_bytes = settings.max_queued_bytes
        self.max_total_bytes = settings.max_total_bytes
        self.max_routes = settings.max_routes
        self.max_routes_bytes = settings.max_routes_bytes
        self.max_links_bytes = settings.max_links_bytes
        self.high_water_bytes = settings.high_water_bytes
        self.receive_maximum = settings.receive_maximum
        self.maximum_qos = settings.maximum_qos
        self.retain_available = settings.retain_available
        self.overflow = settings.overflow
        self.queue_qos0 = settings.queue_qos0
        self.retained.max_messages = settings.max_retained
        self.retained.max_bytes = settings.max_retained_bytes
        self.router.learn_levels([filter_ for filter_, _ in settings.durable], Options(0))

    # -- what the parts ask for

    def next_number(self) -> int:
        """A number for a new session."""
        number = self._next_number
        self._next_number = number + 1
        return number

    def listen(self, *, wanted: bool) -> None:
        """Tell of every message with `Heard` from the next one on, until as many have enough as wanted it."""
        self.listeners += 1 if wanted else -1
        self.listened = self.listeners > 0
        self.router.forget()  # a plain route passes messages on unseen

    def limit(self, link: Link, now: int) -> None:
        """Have a link keep to the rates that hold now."""
        limits = self.limiter.limits
        rate = self.limiter.rate(now)
        link.limited = rate.limited or bool(limits.address_messages_per_s or limits.address_bytes_per_s)
        link.rate = rate if link.limited else None

    def online(self, number: int) -> bool:
        """Whether a session has a link."""
        session = self.numbers.get(number)
        return session is not None and session.link is not None

    def is_reserved(self, topic: bytes) -> bool:
        """Whether no client can publish on a topic: those of the server, of its nodes, and of macros."""
        return topic.startswith((b"$SYS/", RESERVED)) or (self.macros is not None and topic.startswith(RESULTS))

    def send(self, link: Link, chunk: bytes) -> None:
        """Have bytes written to a link at the end of this call."""
        link.out.append(chunk)
        link.room -= len(chunk)
        if not link.dirty:
            link.dirty = True
            self._dirty.append(link)

    def touch(self, link: Link) -> None:
        """Look at a link at the end of this call."""
        if not link.dirty:
            link.dirty = True
            self._dirty.append(link)

    def shut(self, link: Link) -> None:
        """Let nothing leave a link until its gate's ticket is kept; messages wait in the session's queue."""
        link.room = 0
        link.mark = 0
        self.gated[link.id] = link

    def unshut(self, link: Link) -> None:
        """Let leave what waited for a gate."""
        del self.gated[link.id]
        link.gate = 0
        link.room += self.high_water_bytes
        link.mark = self.high_water_bytes
        self.touch(link)

    def doom(self, link: Link, reason: int, why: str) -> None:
        """Have a link hung up at the end of this call; nothing more is read from it."""
        if not link.doomed:
            link.doomed = True
            self.doomed.append((link, reason, why))

    def reject(self, link: Link, why: str, sample: bytes) -> None:
        """Count and tell that a client broke the rules."""
        self.stats.protocol_errors += 1
        self.effects.append(Rejected(link.peer.address, why + link.said_to_be(), sample[:_SAMPLE_BYTES]))

    def insert(self, tree: int, message: Message, spread: bool = False) -> int:  # noqa: FBT001, FBT002  a C call
        """Have a message put into the group of its tree; returns the ticket, which others of this call may share."""
        at = self._filled.get((tree, spread), -1)
        if at < 0 or len(self._inserts[at][1]) >= MAX_INSERT or self._insert_bytes[at] >= MAX_INSERT_BYTES:
            at = self._filled[tree, spread] = len(self._inserts)
            self._inserts.append((tree, [], spread))
            self._insert_bytes.append(0)
        self._inserts[at][1].append(message)
        self._insert_bytes[at] += len(message.payload)
        return self._next_insert + at

    # -- the end of a call

    def take(self) -> list[Effect]:
        """Hand out what this call brought about: rows, messages for groups, then at most one Send per link."""
        effects = self.effects
        self.effects = []
        effects += self.ledger.take()
        if self.encoded:
            for message in self.encoded:
                message.forget()
            self.encoded = []
        if self.told:
            effects.append(Heard(self.told))
            self.told = []
        if self._inserts:
            for tree, messages, spread in self._inserts:
                effects.append(Insert(tree, self._next_insert, messages, self.restoring, spread))
                self._next_insert += 1
            self._inserts = []
            self._insert_bytes = []
            self._filled = {}
        self.restoring = False
        dirty = self._dirty
        self._dirty = []
        self.owing = 0
        for link in dirty:
            link.dirty = False
            if link.state == CLOSED and not link.hanging:
                continue
            if link.id in self.gated and not link.hanging:
                continue
            if link.out:
                effects.append(Send(link.id, link.out))
                link.out = []
                self.stats.sent_bytes += link.mark - link.room
                if link.session is not None and link.session.inflight:
                    self.owing += 1
            if link.hanging:
                effects.append(Hangup(link.id))
                continue
            if not link.congested:
                session = link.session
                if link.room <= 0 and session is not None and self._has_more(session):
                    self.capped.append(link)
                link.room = self.high_water_bytes
            link.mark = link.room
        return effects

    def _has_more(self, session: Session) -> bool:
        """Whether a session would use more room."""
        number = session.number
        return bool(session.queue or session.again) or number in self.handing or number in self.recalling
