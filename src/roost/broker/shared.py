"""Subscriptions that several sessions share (MQTT 5.0, section 4.8.2): each message goes to one member of the group.

    add("pumps", "plant/#", 7), add("pumps", "plant/#", 9)      matches("plant/p1") → [Group pumps]
                                                                 choose(online) → 7, 9, 7, …

A group is a share name and a filter together: the same name with another filter is another group. Members take turns;
who is away gets something only when all are away. A member that leaves is out of the group first, then what it had not
acknowledged goes to whom `choose` names next. Whether it may is the session's business: a QoS 2 message whose delivery
has begun stays with its member [MQTT-4.8.2-4, MQTT-4.8.2-5], and one that a member refused goes to nobody else
[MQTT-4.8.2-6].

Neither is `$share/<name>/<filter>` parsed here (`roost.broker.packets.fields` does), nor a session's filters counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.broker.filters import Options, Subscriptions

NOBODY: Final = -1


def whole_filter(name: bytes, filter_: bytes) -> bytes:
    """A filter as a client says it that shares it."""
    return b"$share/" + name + b"/" + filter_


class Group:
    """The members of one shared subscription, and whose turn it is."""

    def __init__(self, number: int, name: bytes, filter_: bytes) -> None:
        self.number: Final = number
        self.name: Final = name
        self.filter: Final = filter_
        self._options: dict[int, Options] = {}
        self._order: list[int] = []
        self._turn = 0

    def __len__(self) -> int:
        """How many members there are."""
        return len(self._order)

    def members(self) -> list[int]:
        """Who they are, in the order in which they came."""
        return self._order

    def options_of(self, who: int) -> Options | None:
        """How a member wants it; None when it is not one."""
        return self._options.get(who)

    def choose(self, online: Callable[[int], bool]) -> int:
        """Who gets the next message: the next in turn who is online, else just the next in turn."""
        count = len(self._order)
        if count == 0:
            return NOBODY
        at = self._turn
        for _ in range(count):
            if online(self._order[at]):
                break
            at = at + 1 if at + 1 < count else 0
        self._turn = at + 1 if at + 1 < count else 0
        return self._order[at]

    def join(self, who: int, options: Options) -> bool:
        """Take a member in, or replace its options; True when it is new."""
        new = who not in self._options
        self._options[who] = options
        if new:
            self._order.append(who)
        return new

    def leave(self, who: int) -> bool:
        """Let a member go, without changing whose turn it is among the others; True when it was one."""
        if self._options.pop(who, None) is None:
            return False
        at = self._order.index(who)
        del self._order[at]
        if at < self._turn:
            self._turn -= 1
        if self._turn >= len(self._order):
            self._turn = 0
        return True


class Shares:
    """All groups, found by name and filter or by a topic; bounded by whoever adds."""

    def __init__(self) -> None:
        self._groups: dict[tuple[bytes, bytes], Group] = {}
        self._numbered: dict[int, Group] = {}
        self._filters = Subscriptions()  # its subscribers are the groups
        self._any = Options(0)  # for the trie; each member has its own
        self._next_number = 1
        self._count = 0

    def __len__(self) -> int:
        """How many memberships there are."""
        return self._count

    @property
    def held_bytes(self) -> int:
        """What the filters take of memory."""
        return self._filters.held_bytes

    def add(self, name: bytes, filter_: bytes, who: int, options: Options) -> bool:
        """Subscribe, or replace the options; True when this subscriber was no member."""
        group = self._groups.get((name, filter_))
        if group is None:
            group = Group(self._next_number, name, filter_)
            self._next_number += 1
            self._groups[(name, filter_)] = group
            self._numbered[group.number] = group
            self._filters.add(filter_, group.number, self._any)
        new = group.join(who, options)
        if new:
            self._count += 1
        return new

    def remove(self, name: bytes, filter_: bytes, who: int) -> bool:
        """Unsubscribe; the last member takes the group along. True when there was something to remove."""
        group = self._groups.get((name, filter_))
        if group is None or not group.leave(who):
            return False
        self._count -= 1
        if len(group) == 0:
            del self._groups[(name, filter_)]
            del self._numbered[group.number]
            self._filters.remove(filter_, group.number)
        return True

    def group(self, name: bytes, filter_: bytes) -> Group | None:
        """The group of this name and filter, as long as it has members."""
        return self._groups.get((name, filter_))

    def matches(self, topic: bytes) -> list[Group]:
        """Every group that gets a message of this topic, in the order of `Subscriptions.matches`."""
        return [self._numbered[number] for number, _ in self._filters.matches(topic)]

    def crossing(self, filter_: bytes) -> list[Group]:
        """Every group whose filter has a topic in common with this one."""
        return [self._numbered[number] for _, number, _ in self._filters.crossing(filter_)]
