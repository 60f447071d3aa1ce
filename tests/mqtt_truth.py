"""Who must get which message, who may, and who may not: MQTT's promises about sessions, kept beside a broker.

`Truth` is told what reaches the broker and what leaves it, packet by packet, and what the network and the disk do. From
the specification, not from the broker, it concludes what a session must still receive. Where a crash or a late disk
leaves it open whether something happened, it is *doubtful*: then both is allowed and nothing is demanded.

A message must reach a session if its filter was confirmed before the message came, nothing changed until the message
was acknowledged, and the QoS of both is above 0 [MQTT-4.5.0-1]. Every message has its own number, which is its payload.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from roost.machine import SECOND

YES, NO, MAYBE = "yes", "no", "maybe"
FOR_EVER = 0xFFFFFFFF
SLACK_S = 2  # the broker may be this late, or round


def does_match(filter_: bytes, topic: bytes) -> bool:
    """Section 4.7, for the plain topics of these tests."""
    wanted, given = filter_.split(b"/"), topic.split(b"/")
    if wanted[-1] == b"#":
        wanted.pop()
        given = given[: len(wanted)]
    return len(wanted) == len(given) and all(want in {b"+", level} for want, level in zip(wanted, given, strict=True))


@dataclass
class Told:
    """A message that a client published."""

    number: int
    publisher: str
    topic: bytes
    qos: int
    came: int = 0  # how often
    acknowledged: bool = False
    must: dict[str, int] = field(default_factory=dict)  # client → era of its session, once acknowledged
    may: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class Held:
    """What is known of one client's session."""

    exists: str = NO
    incarnation: int = 0  # another one is another session
    era: int = 0  # another one is another session, perhaps
    shortest_s: int = 0  # the expiry interval, if it is not known exactly
    longest_s: int = 0
    linked: bool = False
    ended: int = 0  # when its link was lost
    ended_late: int = 0  # the same, for a broker that counts from its restart
    joining: tuple[bool, int] | None = None  # a CONNECT without its CONNACK: clean, expiry
    filters: dict[bytes, int] = field(default_factory=dict)  # confirmed, with the granted QoS
    doubtful: set[bytes] = field(default_factory=set)
    asked: Counter[bytes] = field(default_factory=Counter)  # how many requests about a filter are not confirmed
    required: set[int] = field(default_factory=set)
    before: tuple[int, int, int] | None = None  # the two and `ended`, as the disk may still have them; 0: it has none
    ghost: tuple[int, int, set[bytes]] | None = None  # what was forgotten, while the disk does not know

    def forget(self) -> None:
        """It is over; whatever comes under this name is another session."""
        if self.exists != NO:
            self.ghost = (self.incarnation, self.longest_s, self.doubtful | set(self.filters))
        self.exists = NO
        self.incarnation += 1
        self.era += 1
        self.filters = {}
        self.doubtful = set()
        self.required.clear()

    def doubt(self) -> None:
        """It is as it was, or over."""
        self.exists = MAYBE
        self.era += 1
        self.doubtful |= set(self.filters)
        self.filters.clear()
        self.required.clear()

    def haunt(self) -> None:
        """It was forgotten, but a crash may have come before the disk knew."""
        if self.ghost is not None and self.exists == NO:
            self.incarnation, self.longest_s, self.doubtful = self.ghost
            self.shortest_s = 0
            self.doubt()
        self.ghost = None

    def certain(self, topic: bytes) -> int:
        """The QoS that is granted for a topic beyond doubt, -1 for none."""
        return max((qos for filter_, qos in self.filters.items() if does_match(filter_, topic)), default=-1)

    def possible(self, topic: bytes) -> bool:
        return self.certain(topic) >= 0 or any(does_match(filter_, topic) for filter_ in self.doubtful)


class Truth:
    """The model."""

    def __init__(self) -> None:
        self.messages: dict[int, Told] = {}
        self.sessions: dict[str, Held] = {}
        self.arrivals: dict[tuple[str, int], list[int]] = {}  # client, message → the QoS of each arrival
        self.latest: dict[tuple[str, int, str, bytes, int, int], int] = {}  # for the order
        self.crashes = 0

    def of(self, client: str) -> Held:
        return self.sessions.setdefault(client, Held())

    # -- links

    def connecting(self, client: str, clean: bool, expiry_s: int, now: int) -> None:
        """A CONNECT came."""
        held = self.of(client)
        self.passed(now)
        if held.linked:  # taken over [MQTT-3.1.4-3]
            self.lost(client, now)
        held.joining = (clean, expiry_s)
        held.linked = True
        if clean and held.exists != NO:
            held.doubt()

    def connected(self, client: str, present: bool) -> None:
        """A CONNACK went out: what it says about the session is right [MQTT-3.2.2-2, 3.2.2-3]."""
        held = self.of(client)
        assert held.joining is not None, f"{client} gets a CONNACK that it did not ask for"
        clean, expiry_s = held.joining
        held.joining = None
        before = held.before or (held.shortest_s, held.longest_s, held.ended)
        if present:
            assert not clean, f"{client} asked for a new session and is told that there is one [MQTT-3.2.2-2]"
            assert held.exists != NO, f"{client} has no session and is told that there is one [MQTT-3.2.2-3]"
        else:
            assert clean or held.exists != YES, f"{client} has a session and is told that there is none [MQTT-3.2.2-3]"
            held.forget()
            held.ghost = None
            before = (0, 0, 0)
        held.exists = YES
        held.shortest_s = held.longest_s = expiry_s
        held.before = before

    def lost(self, client: str, now: int, expiry_s: int | None = None) -> None:
        """The broker knows that a link is over; a DISCONNECT may have changed the expiry."""
        held = self.of(client)
        if not held.linked:
            return
        held.linked = False
        held.asked.clear()
        before = (held.shortest_s, held.longest_s, held.ended)
        held.ended = held.ended_late = now
        if held.joining is not None:  # it may have been let in before, or not
            held.before = held.before or before  # a crash may undo what nobody was told
            clean, wanted_s = held.joining
            held.joining = None
            held.shortest_s, held.longest_s = min(held.shortest_s, wanted_s), max(held.longest_s, wanted_s)
            if clean or not held.shortest_s or held.exists != YES:
                held.doubt()
            return
        if expiry_s is not None and expiry_s:
            held.before = held.before or (held.shortest_s, held.longest_s, held.ended)
            held.shortest_s = held.longest_s = expiry_s
        if expiry_s == 0 or not held.longest_s:
            held.forget()  # [MQTT-4.1.0-2]
        elif not held.shortest_s:
            held.doubt()

    def passed(self, now: int) -> None:
        """Time went by: sessions expire."""
        for held in self.sessions.values():
            if held.linked or held.exists == NO:
                continue
            if held.longest_s != FOR_EVER and now > held.ended_late + (held.longest_s + SLACK_S) * SECOND:
                held.forget()
            elif held.shortest_s != FOR_EVER and now >= held.ended + held.shortest_s * SECOND and held.exists == YES:
                held.doubt()

    def crashed(self, now: int) -> None:
        """The broker is gone with all its links, and back."""
        self.crashes += 1
        for client, held in self.sessions.items():
            if held.before is not None and held.exists != NO:
                held.shortest_s = min(held.shortest_s, held.before[0])
                held.longest_s = max(held.longest_s, held.before[1])
                if not held.linked and not held.shortest_s:
                    held.doubt()
            self.lost(client, now)
            if held.before is not None:
                held.ended = held.before[2]
            held.ended_late = now
            held.haunt()

    def settled(self) -> None:
        """The disk has everything that it was asked to keep."""
        for held in self.sessions.values():
            held.before = held.ghost = None

    # -- subscriptions

    def subscribing(self, client: str, filter_: bytes) -> None:
        """A SUBSCRIBE came."""
        held = self.of(client)
        held.asked[filter_] += 1
        held.filters.pop(filter_, None)
        held.doubtful.add(filter_)
        for told in self.messages.values():
            if told.came and not told.acknowledged:
                self._reconsider(told, client)

    def subscribed(self, client: str, filter_: bytes, qos: int, granted: int) -> None:
        """A SUBACK went out."""
        assert granted == qos, f"{client} asked for QoS {qos} of {filter_!r} and is granted {granted}"
        held = self.of(client)
        held.before = None
        held.asked[filter_] -= 1
        if not held.asked[filter_]:
            held.doubtful.discard(filter_)
            held.filters[filter_] = granted

    def unsubscribing(self, client: str, filter_: bytes) -> None:
        """An UNSUBSCRIBE came: what waits under this filter may be dropped (section 3.10.4)."""
        held = self.of(client)
        held.asked[filter_] += 1
        if held.filters.pop(filter_, None) is not None:
            held.doubtful.add(filter_)
        for told in self.messages.values():
            if does_match(filter_, told.topic):
                told.must.pop(client, None)
                held.required.discard(told.number)

    def unsubscribed(self, client: str, filter_: bytes) -> None:
        """An UNSUBACK went out."""
        held = self.of(client)
        held.asked[filter_] -= 1
        if not held.asked[filter_]:
            held.doubtful.discard(filter_)

    # -- messages

    def published(self, number: int) -> None:
        """A PUBLISH came, perhaps again: who gets it is decided now, or was decided before."""
        told = self.messages[number]
        must = {
            client: held.era
            for client, held in self.sessions.items()
            if held.exists == YES and held.joining is None and min(held.certain(told.topic), told.qos) > 0
        }
        if told.came:
            must = {client: known for client, known in told.must.items() if must.get(client) == known}
        if not told.acknowledged:
            told.must = must
        told.came += 1
        for client in self.sessions:
            self._reconsider(told, client)

    def acknowledged(self, number: int) -> None:
        """A PUBACK or PUBREC went out: from here on nothing may be lost."""
        told = self.messages[number]
        if told.acknowledged:
            return
        told.acknowledged = True
        for client, era in told.must.items():
            held = self.sessions[client]
            if held.exists == YES and held.era == era and not self.arrivals.get((client, number)):
                held.required.add(number)

    def arrived(self, client: str, incarnation: int, number: int, topic: bytes, qos: int) -> None:
        """A client was given a message, and did not know the delivery as one that it had already."""
        told, held = self.messages[number], self.of(client)
        assert topic == told.topic, f"{number} was published to {told.topic!r} and came by {topic!r}"
        assert qos <= told.qos, f"{number} was published at QoS {told.qos} and came at {qos}"
        assert (client, incarnation) in told.may, f"{client} gets {number} of {topic!r} and did not ask for it"
        arrivals = self.arrivals.setdefault((client, number), [])
        arrivals.append(qos)
        if 1 not in {qos, told.qos}:
            assert len(arrivals) == 1, f"{client} gets {number} more than once, at QoS {arrivals}"
        if incarnation == held.incarnation:
            held.required.discard(number)
        if len(arrivals) == 1:  # [MQTT-4.6.0-5]
            key = (client, incarnation, told.publisher, topic, told.qos, qos)
            before = self.latest.get(key, 0)
            again = told.qos == 1 and told.came > 1  # then it is a new message, behind all that came before it
            assert number > before or again, f"{client} gets {number} after {before} of {told.publisher}, {topic!r}"
            self.latest[key] = max(number, before)

    def _reconsider(self, told: Told, client: str) -> None:
        held = self.sessions[client]
        if held.possible(told.topic):
            told.may.add((client, held.incarnation))
