"""The last message of every topic, for those who come later (MQTT 5.0 section 3.3.1.3): a trie of topics.

A filter goes down the trie level by level, so it meets only topics that agree with it so far: `a/#` costs what stands
under `a`. Two bounds, messages and bytes; what they turn away is counted. A message that is turned away still ends the
one before it: an outdated value would be worse than none [MQTT-3.3.1-5].

A message may have an end (Message Expiry Interval). It is not found after that, and `expire` takes it out. What a
message is, its size and its row on the disk are the caller's; so is the check of topics and filters.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

Kept = TypeVar("Kept")

_PLUS: Final = b"+"
_HASH: Final = b"#"
_DOLLAR: Final = b"$"
_SLACK: Final = 64


class _Entry(Generic[Kept]):
    """One message; never changed."""

    def __init__(self, topic: bytes, message: Kept, size_bytes: int, until: int) -> None:
        self.topic: Final = topic
        self.message: Final = message
        self.size_bytes: Final = size_bytes
        self.until: Final = until  # 0: for ever


class _Branch(Generic[Kept]):
    """What stands behind one level: the message of the topic that ends here, and the levels that may follow."""

    def __init__(self) -> None:
        self.entry: _Entry[Kept] | None = None
        self.levels: dict[bytes, _Branch[Kept]] = {}


class Retained(Generic[Kept]):
    """Topic → message."""

    def __init__(self, max_messages: int, max_bytes: int) -> None:
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.turned_away = 0
        self._count = 0
        self._root: _Branch[Kept] = _Branch()
        self._ends: list[tuple[int, bytes]] = []  # a heap, with leftovers; bound: 2 × max_messages + _SLACK

    def __len__(self) -> int:
        """How many messages there are."""
        return self._count

    def set(self, topic: bytes, message: Kept | None, size_bytes: int = 0, until: int = 0) -> bool:
        """Replace the message of a topic, None to have none [MQTT-3.3.1-6]; whether the topic has one now.

        `until` is when it expires, 0 for never.
        """
        self._take_out(topic)
        if message is None:
            return False
        if self._count >= self.max_messages or self.held_bytes + size_bytes > self.max_bytes:
            self.turned_away += 1
            return False
        branch = self._root
        for level in topic.split(b"/"):
            following = branch.levels.get(level)
            if following is None:
                following = _Branch()
                branch.levels[level] = following
            branch = following
        branch.entry = _Entry(topic, message, size_bytes, until)
        self._count += 1
        self.held_bytes += size_bytes
        if until:
            self._remember(until, topic)
        return True

    def matching(self, filter_: bytes, now: int) -> list[tuple[bytes, Kept]]:
        """Every topic that the filter matches, with its message; always in the same order."""
        found: list[tuple[bytes, Kept]] = []
        levels = filter_.split(b"/")
        end = len(levels)
        branches = [self._root]  # still to be visited, the next one last, beside how many levels led to each
        depths = [0]
        while branches:
            branch = branches.pop()
            depth = depths.pop()
            level = levels[depth] if depth < end else b""
            rest = level == _HASH
            entry = branch.entry
            if entry is not None and (depth == end or rest) and (entry.until == 0 or entry.until > now):
                found.append((entry.topic, entry.message))
            if depth == end:
                continue
            if not rest and level != _PLUS:
                following = branch.levels.get(level)
                if following is not None:
                    branches.append(following)
                    depths.append(depth + 1)
                continue
            below = depth if rest else depth + 1  # `#` stays: it is every level below too
            for name in reversed(branch.levels):
                if branch is self._root and name.startswith(_DOLLAR):  # [MQTT-4.7.2-1]
                    continue
                branches.append(branch.levels[name])
                depths.append(below)
        return found

    def expire(self, now: int) -> list[bytes]:
        """Take out what is over, and say the topics, so that their rows can go."""
        over: list[bytes] = []
        while self._ends and self._ends[0][0] <= now:
            until, topic = heappop(self._ends)
            if self._ends_at(topic) == until:
                self._take_out(topic)
                over.append(topic)
        return over

    def deadline(self) -> int | None:
        """When `expire` is worth calling next."""
        return self._ends[0][0] if self._ends else None

    def _find(self, topic: bytes) -> _Entry[Kept] | None:
        branch = self._root
        for level in topic.split(b"/"):
            following = branch.levels.get(level)
            if following is None:
                return None
            branch = following
        return branch.entry

    def _ends_at(self, topic: bytes) -> int:
        entry = self._find(topic)
        return 0 if entry is None else entry.until

    def _take_out(self, topic: bytes) -> None:
        levels = topic.split(b"/")
        path = [self._root]
        for level in levels:
            following = path[-1].levels.get(level)
            if following is None:
                return
            path.append(following)
        entry = path[-1].entry
        if entry is None:
            return
        path[-1].entry = None
        self._count -= 1
        self.held_bytes -= entry.size_bytes
        for depth in range(len(levels), 0, -1):  # a branch that leads nowhere goes at once, or they pile up
            if path[depth].entry is not None or path[depth].levels:
                break
            del path[depth - 1].levels[levels[depth - 1]]

    def _remember(self, until: int, topic: bytes) -> None:
        """Note an end; those of messages that were replaced meanwhile go when they are the greater part."""
        heappush(self._ends, (until, topic))
        if len(self._ends) > 2 * self._count + _SLACK:
            self._ends = sorted({(end, name) for end, name in self._ends if self._ends_at(name) == end})
