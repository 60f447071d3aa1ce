"""Sessions that roam: what this node tells the others of its persistent sessions, and when.

    connected, subscribed, left, over ──▶ marked ──▶ tick ──▶ an announcement into every group (`broker.announcing`)

A change is told at once, or in the next `ROUND`. What is done (acknowledged through which number, and which QoS 2
messages its client released) is told a round after it was handed over, a release at once, but of one session not more
often than every `PAUSE`: many messages share one announcement. A session that is online is told again before it could
expire elsewhere. Sessions that end with their links are told of only if they have shared subscriptions, for nodes to
agree who is a member; beats say what became of their messages (`roost.broker.sharing`), and that this node lives. That
a client came, and its will, is told on its own (`roost.broker.comings`). What other nodes tell is
`roost.broker.hearing`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import Final

from roost.broker.abroad import Abroad
from roost.broker.announcing import Groups, Said, announcements, arrivals_of, beats, done_of
from roost.broker.bequests import Bequests
from roost.broker.comings import Comings
from roost.broker.message import Message
from roost.broker.nodes import MAX_NODES
from roost.broker.receipts import Receipts
from roost.broker.session import Session
from roost.broker.shared import whole_filter
from roost.broker.sharing import Sharing
from roost.broker.track import Open
from roost.broker.unfinished import recount
from roost.broker.vows import PATIENCE
from roost.machine.contract import SECOND, earliest

ROUND: Final = SECOND // 10
PAUSE: Final = SECOND // 2
REFRESH_S: Final = 3600  # at most, between two announcements of a session that is online
MAX_PAYLOAD_BYTES: Final = 7000  # of what is said, which is one reading
FLEETING_REFRESH_S: Final = 60  # the same for one that ends with its link
MAX_UNSAID: Final = 32  # announcements without filters before one with them: who is new hears the last ones only
_MIN_REFRESH_S: Final = 5


class Roaming:
    """What is to be told; `groups` are the names of groups, each with a tree of it and our panel there.

    `accompanied` says whether there are other nodes; `homes` are further trees of the groups, with the one in `groups`.
    """

    def __init__(
        self,
        groups: Groups,
        accompanied: Callable[[], bool] = lambda: False,
        homes: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.accompanied: Final = accompanied
        self.told = 0  # announcements and beats
        self.rounds = 0  # how often all was told that was due
        self.largest = b""  # the last client of whom there was too much to tell
        self.receipts: Final = Receipts()
        self.sharing: Final = Sharing()
        self.comings: Final = Comings()
        self.bequests: Final = Bequests()
        self.inherited = 0  # wills that were spoken for lost nodes
        self.inherit_at: int | None = None  # when to see whether there are any
        self.answered: Final[dict[bytes, int]] = {}  # nodes that told all wills since this one began; bound: as nodes
        self.too_large = 0  # by MAX_PAYLOAD_BYTES: sessions with so many subscriptions stay where they are
        self._groups: Final = groups
        self._homes: Final = homes
        self._changed: dict[bytes, Session] = {}  # by client; bound of both: the sessions, and those that ended
        self._waiting: Final[dict[bytes, tuple[int, int]]] = {}  # by client whose will goes first: ticket, until when
        self._tickets: Final[dict[int, list[bytes]]] = {}  # the same by ticket; bound of these: the sessions
        self._later: Final[dict[bytes, Session]] = {}  # of those, what is to be told then
        self._progressed: dict[bytes, Session] = {}  # online, with something that is not told
        self._is_urgent = False  # some of it is a release
        self._is_fresh = False  # some of it was handed over since the last round
        self._refresh: dict[bytes, int] = {}  # by client, when to tell again, 0 for not; bound: as the heap
        self._refreshing: list[tuple[int, bytes]] = []  # the same as a heap, or earlier; bound: clients in `REFRESH_S`
        self._members: dict[bytes, None] = {}  # clients here that share, and others were told of; bound: the sessions
        self._started = 0
        self._due: int | None = None
        self._last = 0  # when something was told

    @property
    def trees(self) -> list[int]:
        """One tree of every group."""
        return [tree for tree, _ in self._groups.values()]

    def is_ours(self, stream: bytes) -> bool:
        """Whether a stream is one of our panels'."""
        return any(stream.startswith(panel) for _, panel in self._groups.values())

    def is_panel(self, panel: bytes) -> bool:
        """Whether it is one of ours."""
        return any(panel == ours for _, ours in self._groups.values())

    def group_of(self, stream: bytes) -> bytes:
        """The group of a stream."""
        return next((group for group in self._groups if stream.startswith(group)), b"")

    def panel_of(self, stream: bytes) -> bytes:
        """Our panel in the group of a stream."""
        return next((panel for group, (_, panel) in self._groups.items() if stream.startswith(group)), b"")

    def changed(self, session: Session) -> None:
        """A session came, left, is over, or has other subscriptions."""
        if self.sharing.tracks and _shares(session):
            self.sharing.is_unsettled = True
        abroad = session.abroad
        if abroad is None or not abroad.elsewhere or session.gone:
            self._changed[session.client] = session
            if abroad is not None and abroad.returned:
                self.resume(session)

    def come(self, session: Session) -> None:
        """A client came whose session ends with its link, or that has a will: other nodes have to know."""
        if self.accompanied():
            self.comings.come(session)

    def wait_for(self, client: bytes, ticket: int, now: int) -> None:
        """Tell that a client left when all nodes have its will: whoever waits for that word has heard the will then."""
        if self.accompanied():
            self._waiting[client] = ticket, now + PATIENCE
            self._tickets.setdefault(ticket, []).append(client)

    def inserted(self, ticket: int) -> None:
        """All nodes that answer have the messages of a ticket."""
        for client in self._tickets.pop(ticket, ()):
            if self._waiting.get(client, (0, 0))[0] == ticket:
                self._wait_no_more(client)

    def _wait_no_more(self, client: bytes) -> None:
        del self._waiting[client]
        self.comings.release(client)
        session = self._later.pop(client, None)
        if session is not None:
            self._changed.setdefault(client, session)

    def answer(self, panel: bytes, started: int, sessions: Iterable[Session]) -> None:
        """Tell a node that begins what it has to know."""
        if not self.accompanied():
            return
        here = [each for each in sessions if each.abroad is None or not each.abroad.elsewhere]
        self.comings.tell_again(panel, started, here)

    def note_answer(self, panel: bytes, heard: Iterable[tuple[bytes, int]]) -> None:
        """A node has told all wills to those that it heard begin; whether that is this one, it is answered."""
        if any(started == self._started and self.is_panel(each) for each, started in heard):
            if len(self.answered) >= MAX_NODES:
                self.answered.clear()
            self.answered[panel] = self._started

    def resume(self, session: Session) -> None:
        """A session goes on here with what an earlier run or another node left it to get."""
        if session.abroad is not None:
            session.abroad.returned = False
        for delivery in [*session.inflight.values(), *session.again, *session.queue]:
            message = delivery.message
            if delivery.qos:
                self.hand(session, message)
            if delivery.shared is not None and message.origin is not None:
                filter_ = whole_filter(delivery.shared[0], delivery.shared[1])
                opened = Open(delivery.qos, session.client, b"")
                self.sharing.restore(filter_, message.origin[1], message.origin[2], opened)

    def hand(self, session: Session, message: Message) -> None:
        """A session gets a message that other nodes may hold for it too: they are told when it is done."""
        if message.origin is not None and session.persistent:
            abroad = session.groups()
            if not abroad.elsewhere:
                abroad.hand(message.origin[1], message.origin[2])
                self.progress(session)

    def progress(self, session: Session) -> None:
        """A session got something; whether it is done with that is looked at in a round."""
        if session.link is not None and session.persistent:
            self._progressed[session.client] = session
            self._is_fresh = True

    def owes(self, session: Session) -> bool:
        """Whether others are to be told of a session what they do not know, be it the last word of it."""
        return session.client in self._changed or session.client in self._later

    def release(self, session: Session, packet_id: int) -> bool:
        """A client has released a QoS 2 message; whether another node, or this one, had it in a group."""
        if session.persistent:
            session.groups().released = True
            self._progressed[session.client] = session
            self._is_urgent = True
        return self.receipts.release(session.client, packet_id)

    def heard(self, panel: bytes, time: int, now: int) -> None:
        """A node said something at a time; what it said before this run began is no sign that it lives."""
        if time >= self._started:
            self.sharing.heard(panel, now)

    def tell_members(self, sessions: Mapping[bytes, Session]) -> None:
        """Tell a node of members that did not know of them, or does not any more."""
        self._changed.update({client: sessions[client] for client in self._members if client in sessions})

    def schedule(self, now: int) -> None:
        """End of a call: see that what was marked is told."""
        if not self._started:
            self._started = now
        self.sharing.always = self.sharing.always or self.accompanied()
        if self._changed or self._is_urgent or self.comings:
            due = max(now, self._last + ROUND)
        elif self._progressed:
            due = now + (ROUND if self._is_fresh else PAUSE)
        else:
            return
        if self._due is None or due < self._due:
            self._due = due

    def deadline(self) -> int | None:
        """When something is to be told."""
        due = earliest(self._due, self._refreshing[0][0] if self._refreshing else None)
        due = earliest(due, next((until for _, until in self._waiting.values()), None))
        return earliest(due, self.sharing.deadline(bool(self._members)))

    def tick(self, sessions: Mapping[bytes, Session], now: int) -> Said:
        """What is to be told now."""
        while self._refreshing and self._refreshing[0][0] <= now:
            due, client = heappop(self._refreshing)
            again = self._refresh.pop(client)
            session = sessions.get(client)
            if again > due:
                self._tell_again(client, again)
            elif again and session is not None and session.link is not None:
                self._changed[client] = session
                self._due = now
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._wait_no_more(next(iter(self._waiting)))
            self._due = now
        found = self._beats(sessions, now)
        if self._due is None or self._due > now:
            return found
        self._due = None
        self.rounds += 1
        self._is_urgent = False
        self._is_fresh = False
        found += self._that_fit(arrivals_of(self.comings.take(self._groups, self._homes, self._waiting), now))
        changed, self._changed = self._changed, {}
        progressed, self._progressed = self._progressed, {}
        for client, session in changed.items():
            if client in self._waiting and session.link is None:
                self._later[client] = session
                continue
            found += self._announced(session, now, has_changed=True)
        for client, session in progressed.items():
            if client not in changed and not session.gone:
                found += self._announced(session, now, has_changed=False)
        if found:
            self._last = now
        return found

    def _beats(self, sessions: Mapping[bytes, Session], now: int) -> Said:
        self.sharing.listen(now)
        shares = self.sharing.tell(sessions, bool(self._members), now)
        return [] if shares is None else self._that_fit(beats(self._groups, self._started, shares, now))

    def _announced(self, session: Session, now: int, *, has_changed: bool) -> Said:
        online = session.link is not None and not session.gone
        lasts = (session.persistent or online) and not session.gone
        shares = _shares(session)
        roams = lasts and (session.persistent or shares)
        if not roams and (session.abroad is None or not session.abroad.told):
            return []  # nobody has heard of it
        abroad = session.groups()
        abroad.told = roams
        if online and shares:
            self._members[session.client] = None
        else:
            self._members.pop(session.client, None)
        is_due = has_changed or abroad.look <= now
        through = done_of(session) if is_due else {}
        done = {stream: number for stream, number in through.items() if number > abroad.done.get(stream, 0)}
        recalls = recount(session) if is_due and roams else abroad.recounted
        if is_due:
            abroad.look = now + PAUSE
        if not has_changed and not done and recalls == abroad.recounted and not (abroad.released and is_due):
            self._watch(session, abroad)
            return []
        abroad.recounted = recalls
        if online and roams:
            self._tell_again(session.client, now + SECOND * refresh_s(session.expiry_s))
        elif session.client in self._refresh:
            self._refresh[session.client] = 0
        abroad.released = False
        held = frozenset([*session.incoming, *self.receipts.held(session.client)])
        is_whole = has_changed or abroad.unsaid >= MAX_UNSAID
        abroad.unsaid = 0 if is_whole else abroad.unsaid + 1
        said = announcements(self._groups, session, abroad, done, held, now, roams=roams, is_whole=is_whole)
        found = self._that_fit(said)
        for stream, number in done.items():
            abroad.note_done(stream, number)
        abroad.handed = {stream: high for stream, high in abroad.handed.items() if through.get(stream, 0) < high}
        self._watch(session, abroad)
        return found

    def _that_fit(self, said: Said) -> Said:
        found: Said = []
        for each in said:
            if len(each[1].payload) <= MAX_PAYLOAD_BYTES:
                found.append(each)
            else:
                self.too_large += 1
                self.largest = each[2]
        self.told += len(found)
        return found

    def _tell_again(self, client: bytes, due: int) -> None:
        if client not in self._refresh:
            heappush(self._refreshing, (due, client))
        self._refresh[client] = due

    def _watch(self, session: Session, abroad: Abroad) -> None:
        """See later what a session has done; without a link it does nothing, and what it is to get is handed again."""
        if (abroad.handed or abroad.released) and session.link is not None:
            self._progressed[session.client] = session


def roams(session: Session) -> bool:
    """Whether other nodes hear of a session: it lasts, or takes its turn with others."""
    return session.persistent or _shares(session)


def _shares(session: Session) -> bool:
    return any(options.shared is not None for options in session.subscriptions.values())


def refresh_s(expiry_s: int) -> int:
    """How long after an announcement of a session that is online the next one comes, at the latest."""
    return min(REFRESH_S, max(_MIN_REFRESH_S, expiry_s // 2)) if expiry_s else FLEETING_REFRESH_S
