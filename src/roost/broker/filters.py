"""Who wants which topics: a trie of topic filters (MQTT 5.0 and 3.1.1, section 4.7).

    add("a/+/#", 7)      root ── a ── + ── #{7}
    add("a/b", 9)               └── b{9}          matches("a/b") → 9, 7

A branch is one level of a filter, a wildcard being a level like any other: topics never contain one, so the keys cannot
be confused. Levels are compared byte by byte [MQTT-4.7.3-4], an empty level is a level, and a wildcard in the first
level does not reach topics that begin with `$` [MQTT-4.7.2-1]. The cost of a match is the branches that agree with the
topic so far, whatever else the trie holds.

Neither filters nor topics are checked here (`roost.broker.packets.fields` does), nor how many there are
(`roost.broker.memory` does): this is only where they are found again. Shared subscriptions are `roost.broker.shared`'s.
"""

from __future__ import annotations

from typing import Final

BRANCH_BYTES: Final = 420  # what a level costs beside its name, measured and rounded up, as the next one
_FILTER_BYTES: Final = 400  # the same of a subscription, here and where its session has it

_PLUS: Final = b"+"
_HASH: Final = b"#"
_DOLLAR: Final = b"$"


class Options:
    """How a subscriber wants what matches (section 3.8.3.1); never changed once made, so that it can be shared."""

    def __init__(
        self,
        qos: int,
        *,
        no_local: bool = False,
        retain_as_published: bool = False,
        identifier: int = 0,
        shared: bytes | None = None,
    ) -> None:
        self.qos: Final = qos
        self.no_local: Final = no_local
        self.retain_as_published: Final = retain_as_published
        self.identifier: Final = identifier  # 0: none was given
        self.shared: Final = shared  # the share name, None when the subscription is the client's alone


def cost_of(filter_: bytes) -> int:
    """How many bytes a subscription takes at most: it may have branches in common with others."""
    return own_cost_of(filter_) + len(filter_) + BRANCH_BYTES * (filter_.count(b"/") + 1)


def own_cost_of(filter_: bytes) -> int:
    """How many of them are not in branches."""
    return len(filter_) + _FILTER_BYTES


class _Branch:
    """What stands behind one level: the subscribers of the filter that ends here, and the levels that may follow."""

    def __init__(self) -> None:
        self.who: dict[int, Options] = {}
        self.levels: dict[bytes, _Branch] = {}


class Subscriptions:
    """Filter → session numbers, each with its options; bounded by whoever adds."""

    def __init__(self) -> None:
        self.held_bytes = 0  # of all branches
        self._root = _Branch()
        self._count = 0

    def __len__(self) -> int:
        """How many pairs of a filter and a subscriber there are."""
        return self._count

    def add(self, filter_: bytes, who: int, options: Options) -> bool:
        """Subscribe, or replace the options [MQTT-3.8.4-3]; True when this subscriber did not have this filter."""
        branch = self._root
        for level in filter_.split(b"/"):
            following = branch.levels.get(level)
            if following is None:
                following = _Branch()
                branch.levels[level] = following
                self.held_bytes += len(level) + BRANCH_BYTES
            branch = following
        new = who not in branch.who
        branch.who[who] = options
        if new:
            self._count += 1
        return new

    def remove(self, filter_: bytes, who: int) -> bool:
        """Unsubscribe, by the very same filter [MQTT-3.10.4-1]; True when there was something to remove."""
        levels = filter_.split(b"/")
        path = [self._root]
        for level in levels:
            following = path[-1].levels.get(level)
            if following is None:
                return False
            path.append(following)
        if path[-1].who.pop(who, None) is None:
            return False
        self._count -= 1
        for depth in range(len(levels), 0, -1):  # a branch that leads nowhere goes at once, or they pile up
            if path[depth].who or path[depth].levels:
                break
            del path[depth - 1].levels[levels[depth - 1]]
            self.held_bytes -= len(levels[depth - 1]) + BRANCH_BYTES
        return True

    def matches(self, topic: bytes) -> list[tuple[int, Options]]:
        """Every subscription that the topic matches: a subscriber appears once for each filter that does.

        The order is always the same: exact before `+` before `#`, and by arrival among those of one filter.
        """
        found: list[tuple[int, Options]] = []
        levels = topic.split(b"/")
        end = len(levels)
        branches = [self._root]  # still to be visited, the next one last, beside how many levels led to each
        depths = [0]
        wild = not topic.startswith(_DOLLAR)
        while branches:
            branch = branches.pop()
            depth = depths.pop()
            if wild:
                following = branch.levels.get(_HASH)
                if following is not None:  # takes all that follows, and the parent level too (section 4.7.1.2)
                    branches.append(following)
                    depths.append(end)
            if depth == end:
                found.extend(branch.who.items())
                continue
            if wild:
                following = branch.levels.get(_PLUS)
                if following is not None:
                    branches.append(following)
                    depths.append(depth + 1)
            wild = True  # only the first level of a topic can be reserved
            following = branch.levels.get(levels[depth])
            if following is not None:
                branches.append(following)
                depths.append(depth + 1)
        return found

    def crossing(self, filter_: bytes) -> list[tuple[bytes, int, Options]]:
        """Every subscription by a filter that has a topic in common with this one: the filter, who and how.

        The order is always the same: by arrival of branches, depth first.
        """
        found: list[tuple[bytes, int, Options]] = []
        levels = filter_.split(b"/")
        branches: list[tuple[_Branch, int, list[bytes]]] = [(self._root, 0, [])]  # the next one to be visited last
        while branches:
            branch, depth, path = branches.pop()
            rest = depth < len(levels) and levels[depth] == _HASH
            if depth == len(levels) or rest:
                found += [(b"/".join(path), who, options) for who, options in branch.who.items()]
            for level, following in reversed(branch.levels.items()):
                if not path and _passes_by(level, levels[0]):
                    continue
                if level == _HASH:
                    found += [(b"/".join([*path, level]), who, options) for who, options in following.who.items()]
                elif rest:
                    branches.append((following, depth, [*path, level]))
                elif depth < len(levels) and (_PLUS in (level, levels[depth]) or level == levels[depth]):
                    branches.append((following, depth + 1, [*path, level]))
        return found


def _passes_by(level: bytes, other: bytes) -> bool:
    """Whether one is a wildcard that does not reach the other, which is reserved [MQTT-4.7.2-1]."""
    wild = (_PLUS, _HASH)
    return (level in wild and other.startswith(_DOLLAR)) or (other in wild and level.startswith(_DOLLAR))
