"""Who depends on what: from a topic to the macros that it touches, in the order in which they run.

    home/tempF ──▶ celsius ──▶ Noctua/celsius ──▶ average, alarm …

A macro depends on the topics of its references, and so on every macro whose results they stand for, by wildcards too.
Its rank is one more than the highest rank among those, so that in order of rank nothing runs before what it depends on;
within a rank the names decide. That order follows from the definitions alone, not from when they were made. A macro
that would depend on itself, directly or by way of others, is refused, and the refusal names the cycle.

What a topic touches is remembered until a macro changes: the cost of an arrival is that of the macros it touches,
however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from roost.errors import BadMacro
from roost.process.definition import PREFIX
from roost.process.wildcards import Wildcards, is_wild, matches

MAX_REMEMBERED: Final = 65_536
_ABOVE_RESULTS: Final = ("+", "#", PREFIX.rstrip("/"))  # how a filter begins that can stand for results of macros

Turn: TypeAlias = tuple[int, str]  # the rank of a macro and its name: who runs before whom


class Touched(NamedTuple):
    """What a topic touches: the filters that stand for it, and the macros that refer to them, in order."""

    filters: tuple[str, ...]
    turns: tuple[Turn, ...]


class Dependencies:
    """The graph of macros and topics; bounded by whoever adds macros."""

    def __init__(self) -> None:
        self.searches = 0  # how often a topic was not remembered
        self.forgettings = 0  # how often there were too many topics to remember
        self.watcher: Callable[[], None] = _nobody  # is told of every change
        self._topics: Final[dict[str, str]] = {}  # a macro → the topic of its results
        self._makers: Final[dict[str, str]] = {}  # the way back
        self._filters: Final[dict[str, tuple[str, ...]]] = {}  # a macro → what it refers to
        self._users: Final[dict[str, dict[str, None]]] = {}  # a filter → the macros that refer to it
        self._ranks: Final[dict[str, int]] = {}
        self._wild: Final = Wildcards()
        self._remembered: Final[dict[str, Touched]] = {}  # by topic; bound: MAX_REMEMBERED, then begun anew

    def touched(self, topic: str) -> Touched:
        """What an arrival on a topic touches."""
        try:
            return self._remembered[topic]
        except KeyError:
            pass
        filters = self._matching(topic)
        found = Touched(tuple(filters), tuple(sorted([self.turn(name) for name in self._using(filters)])))
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
            self.forgettings += 1
        self._remembered[topic] = found
        return found

    def inputs_of(self, topic: str) -> tuple[str, ...] | None:
        """What the macro refers to whose results are on a topic, None if they are no macro's."""
        maker = self._makers.get(topic)
        return None if maker is None else self._filters[maker]

    def turn(self, name: str) -> Turn:
        """When a macro runs among others."""
        return self._ranks[name], name

    def set(self, name: str, topic: str, filters: Sequence[str]) -> None:
        """Have a macro publish on a topic and depend on filters; raises `BadMacro`, and nothing changes, on a cycle."""
        old_topic, old_filters = self._topics.get(name), self._filters.get(name, ())
        self._link(name, topic, filters)
        cycle = self._cycle(name)
        if cycle:
            if old_topic is None:
                self._unlink(name)
            else:
                self._link(name, old_topic, old_filters)
            own = [each for each in filters if len(cycle) == 2 and is_wild(each) and matches(each, topic)]
            if own:
                raise BadMacro(f"{name}: {own[0]} also stands for its own results, on {topic}: name what it is to read")
            raise BadMacro(f"{name}: a macro cannot depend on itself: {' -> '.join(cycle)}")
        self._changed([name])

    def drop(self, name: str) -> None:
        """A macro is no more."""
        topic = self._topics[name]
        self._unlink(name)
        del self._ranks[name]
        self._changed(self._using(self._matching(topic)))

    # -- the tables

    def _link(self, name: str, topic: str, filters: Sequence[str]) -> None:
        if name in self._topics:
            self._unlink(name)
        self._topics[name] = topic
        self._makers[topic] = name
        self._filters[name] = tuple(dict.fromkeys(filters))
        for each in self._filters[name]:
            users = self._users.setdefault(each, {})
            if not users and is_wild(each):
                self._wild.add(each)
            users[name] = None

    def _unlink(self, name: str) -> None:
        del self._makers[self._topics.pop(name)]
        for each in self._filters.pop(name):
            users = self._users[each]
            del users[name]
            if not users:
                del self._users[each]
                if is_wild(each):
                    self._wild.remove(each)

    def _matching(self, topic: str) -> list[str]:
        """The filters that stand for a topic."""
        self.searches += 1
        filters = self._wild.matching(topic)
        if topic in self._users:
            filters.append(topic)
        return filters

    def _using(self, filters: Sequence[str]) -> list[str]:
        """The macros that refer to any of these filters, by name."""
        return sorted({name for each in filters for name in self._users[each]})

    # -- the graph

    def _cycle(self, name: str) -> list[str]:
        """The shortest way from a macro back to itself, empty if there is none."""
        came_from: dict[str, str] = {}
        ahead = [name]
        for macro in ahead:
            for dependent in self._using(self._matching(self._topics[macro])):
                if dependent == name:
                    way = [name, macro]
                    while way[-1] != name:
                        way.append(came_from[way[-1]])
                    return way[::-1]
                if dependent not in came_from:
                    came_from[dependent] = macro
                    ahead.append(dependent)
        return []

    def _changed(self, names: list[str]) -> None:
        """Give macros their ranks anew, and all that depend on them as far as something changes."""
        self._remembered.clear()
        for name in names:  # grows as it goes; it ends, for there are no cycles
            rank = 1 + max((self._ranks.get(each, 0) for each in self._inputs(name)), default=0)
            if self._ranks.get(name) != rank:
                self._ranks[name] = rank
                names += self._using(self._matching(self._topics[name]))
        self.watcher()

    def _inputs(self, name: str) -> list[str]:
        """The macros that a macro depends on directly."""
        found: list[str] = []
        for each in self._filters[name]:
            if not is_wild(each):
                maker = self._makers.get(each)
                found += [] if maker is None else [maker]
            elif each.split("/", 1)[0] in _ABOVE_RESULTS:
                found += [maker for topic, maker in self._makers.items() if matches(each, topic)]
        return found


def _nobody() -> None:
    pass
