"""What the broker knows of roles: the documents, who has which roles, and what is held for those whose are not known.

    source here (a file, retained messages)      a user's roles are there whenever they are asked for
    source outside (`RoleLookup`, the driver)    a user is a `Standing` from the first question to the last session,
                                                 a reader for as long as it is configured

Whatever depends on roles is decided when a route is made, or a message handed out, and never kept beside the route: so
other roles or other documents need no more than that all routes are forgotten. Nothing is sent from here; what follows
when roles become known is `roost.broker.roles.answering`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from roost.broker.link import Link
from roost.broker.message import Message
from roost.broker.packets.properties import user_property
from roost.broker.roles.ancestry import Ancestry
from roost.broker.roles.documents import Documents
from roost.broker.roles.sources import Source
from roost.broker.roles.telling import Telling
from roost.broker.session import Session
from roost.broker.shared import Group
from roost.process.roles.decision import NO_ROLES, Roles
from roost.process.roles.derived import InputsOf, no_inputs
from roost.process.roles.holding import Holding, HoldingSettings
from roost.process.roles.lookup import RoleLookup
from roost.process.roles.lookup_port import LookupSettings
from roost.process.roles.reach import candidates, matters
from roost.process.roles.specification import Specification
from roost.trust.wrapping import Recipient

MAX_KNOWN: Final = 100_000  # users of a source here whose roles are remembered; then begun anew
MAX_ASKED: Final = 10_000  # SUBSCRIBEs that wait for roles
STREAM: Final = b"stream"  # the user property that names what is given in place of a topic
_NAMED: Final = user_property(STREAM, b"")[:-2]  # how it begins, up to the length of its value


class Standing:
    """One user whose roles are looked up outside."""

    def __init__(self, user: bytes, ticket: int) -> None:
        self.user: Final = user
        self.name: Final = user.decode(errors="replace")
        self.ticket: Final = ticket  # of the look-up
        self.roles: Roles = None
        self.why = "they are being looked up"  # and so not known
        self.is_told = False
        self.is_awaited = False  # there are routes on which messages are held for it
        self.sessions: Final[dict[int, Session]] = {}  # bound: the sessions
        self.is_reader = False  # it has keys of its own, so that its roles count without a session

    @property
    def is_needed(self) -> bool:
        """Whether anything depends on its roles."""
        return self.is_reader or bool(self.sessions)


class Asked:
    """A SUBSCRIBE whose answer waits for roles: its codes so far, the filters that they grant, and why not others."""

    def __init__(
        self,
        link: Link,
        session: Session,
        packet_id: int,
        codes: list[int],
        granted: dict[int, bytes],
        refused: list[tuple[bytes, str]],
    ) -> None:
        self.link: Final = link
        self.session: Final = session
        self.packet_id: Final = packet_id
        self.codes: Final = codes
        self.granted: Final = granted  # by place among the codes
        self.refused: Final = refused  # filters, and why; bound: the packet's size


class RoleKeeper:
    """All of it; `source` None has the driver asked (`LookUp`, `GiveUp`)."""

    def __init__(
        self,
        documents: Iterable[Specification] = (),
        source: Source | None = None,
        lookup: LookupSettings | None = None,
        holding: HoldingSettings | None = None,
    ) -> None:
        self.documents = Documents(documents)
        self.policy = self.documents.policy()
        self.telling: Final = Telling()
        self.inputs_of: InputsOf = no_inputs  # what a macro reads, by its result's topic
        self.ancestry: Final = Ancestry()
        self.source = source
        self.lookup: Final = RoleLookup(lookup)
        self.holding: Final[Holding[Message]] = Holding(holding)  # by session number; by minus the group's for groups
        self.standings: Final[dict[bytes, Standing]] = {}  # by user; bound: the sessions, and the readers
        self.unasked: list[Standing] = []  # new in this call
        self.asked: list[Asked] = []  # bound: MAX_ASKED
        self.groups: Final[dict[int, Group]] = {}  # shared subscriptions for which is held; bound: the holding's
        self.readers: Mapping[bytes, tuple[Recipient, ...]] = {}  # users with keys of their own; configured
        self.nodes: tuple[Recipient, ...] = ()  # the other nodes of the groups; as above
        self.turned_away = 0  # messages that nothing could hold, for too many wait already
        self._known: Final[dict[bytes, tuple[Roles, str]]] = {}  # of a source here; bound: MAX_KNOWN
        self._next_ticket = 1
        self._last: tuple[Message, bytes, Message] | None = None  # what was dressed last: others may get the same

    # -- roles

    def is_known(self, session: Session) -> bool:
        """Whether it can be decided what a session gets; it may be that its roles could not be found out."""
        return self.source is not None or not session.user or self._standing(session).is_told

    def is_told(self, user: bytes) -> bool:
        """Whether the roles of a user are known already, or known not to be."""
        standing = self.standings.get(user)
        return self.source is not None or not user or (standing is not None and standing.is_told)

    def roles_of(self, user: bytes) -> tuple[Roles, str]:
        """The roles of a user; None, and why, while they are not known."""
        if not user:
            return NO_ROLES, ""
        if self.source is None:
            standing = self.standings.get(user)
            return (None, "nobody has asked for them") if standing is None else (standing.roles, standing.why)
        found = self._known.get(user)
        if found is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            found = self._known[user] = self.source.find(user.decode(errors="replace"))
        return found

    def heard(self, topic: bytes) -> bool:
        """A topic has another retained message; whether that tells the roles of somebody."""
        user = None if self.source is None else self.source.user_of(topic)
        if user is None:
            return False
        self._known.pop(user, None)
        return True

    def changed(self) -> None:
        """The source here says other things than before."""
        self._known.clear()

    def read_by(self, readers: Mapping[bytes, tuple[Recipient, ...]], nodes: tuple[Recipient, ...]) -> None:
        """Have these readers, and these other nodes; who joins groups gives them the keys that they may have."""
        self.readers, self.nodes = readers, nodes
        if self.source is not None:
            return
        for standing in list(self.standings.values()):
            standing.is_reader = standing.user in readers
            self._let_go(standing)
        for user in readers:
            standing = self._stand(user)
            standing.is_reader = True
            standing.is_awaited = standing.is_awaited or not standing.is_told

    def matters(self, wanted: bytes) -> bool:
        """Whether it depends on roles what a filter brings, or who gets what is on a topic."""
        return matters(self.policy, wanted.decode(), self.inputs_of)

    def heard_on(self, filter_: bytes) -> list[bytes]:
        """The topics and filters on which anything can come for a filter, itself first."""
        return [each.encode() for each in candidates(self.policy, filter_.decode())]

    # -- who waits

    def await_roles(self, session: Session) -> bool:
        """Hold for a session until its roles are known; False if there is no room for one more."""
        self._standing(session)
        return session.number in self.holding or self.holding.begin(session.number, ())

    def hold(self, session: Session, message: Message) -> None:
        """Hold a message until the roles of a session are known."""
        self._hold(session.number, message)

    def hold_for_group(self, group: Group, message: Message) -> None:
        """Hold a message until the roles of a member of a shared subscription are known."""
        if -group.number in self.holding or self.holding.begin(-group.number, ()):
            self.groups[group.number] = group
        self._hold(-group.number, message)

    def left(self, session: Session) -> None:
        """A session is over."""
        if session.number in self.holding:
            self.holding.cancel(session.number)
            self.asked = [asked for asked in self.asked if asked.session is not session]
        standing = self.standings.get(session.user)
        if standing is not None:
            standing.sessions.pop(session.number, None)
            self._let_go(standing)
        for group in [each for each in self.groups.values() if not len(each)]:
            del self.groups[group.number]
            self.holding.cancel(-group.number)

    def _standing(self, session: Session) -> Standing:
        standing = self._stand(session.user)
        standing.sessions[session.number] = session
        return standing

    def _stand(self, user: bytes) -> Standing:
        standing = self.standings.get(user)
        if standing is None:
            standing = self.standings[user] = Standing(user, self._next_ticket)
            self._next_ticket += 1
            self.unasked.append(standing)
        return standing

    def _let_go(self, standing: Standing) -> None:
        if not standing.is_needed:
            self.lookup.release(standing.name, standing.ticket)
            del self.standings[standing.user]

    def _hold(self, ticket: int, message: Message) -> None:
        if ticket in self.holding:
            self.holding.keep(ticket, "", message, message.size)
        else:
            self.turned_away += 1

    # -- what is given

    def dress(self, message: Message, name: bytes) -> Message:
        """Make a message what stands for it under another topic [MQTT-3.3.2-3]; MQTT 5 clients are told its own."""
        last = self._last
        if last is not None and last[0] is message and last[1] == name:
            return last[2]
        stream = message.stream or message.topic
        kept = message.kept
        if not message.stream and _NAMED not in kept:  # as a message of the past says already
            kept += user_property(STREAM, stream)
        dressed = Message(
            name,
            message.payload,
            message.qos,
            message.retain,
            kept,
            message.expires,
            message.publisher,
            message.time,
            message.origin,
            stream=stream,
        )
        self._last = (message, name, dressed)
        return dressed

    # -- what is counted

    def counts(self) -> list[tuple[str, int]]:
        """What happened so far, by the ends of `$SYS` topics."""
        lookup, holding = self.lookup, self.holding
        return [
            ("roles/documents", len(self.policy.documents)),
            ("roles/documents/untold", len(self.telling.untold)),
            ("roles/held", len(holding)),
            ("roles/held/lost", holding.dropped + self.turned_away),
            ("roles/held/refused", holding.turned_away),
            ("roles/lookups", lookup.look_ups),
            ("roles/lookups/failed", lookup.failures + lookup.timeouts),
            ("roles/lookups/refused", lookup.turned_away),
        ]
