"""The last message of every topic, for those who come later (MQTT 5.0 section 3.3.1.3): a trie of topics.

A filter goes down the trie level by level, so it meets only topics that agree with it so far: `a/#` costs what stands
under `a`. It may rest anywhere on its way (`next`): levels are taken in their order, so that a place in the trie is a
mere topic, whatever comes and goes meanwhile. Two bounds, messages and bytes; what they turn away is counted. A message
that is turned away still ends the one before it: an outdated value would be worse than none [MQTT-3.3.1-5]. A message
may have an owner: how many bytes an owner has is known, and bounded by the caller.

A message may have an end (Message Expiry Interval). It is not found after that, and `expire` takes it out. What a
message is, its size and its row on the disk are the caller's; so is the check of topics and filters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

Kept = TypeVar("Kept")

_PLUS: Final = b"+"
_HASH: Final = b"#"
_DOLLAR: Final = b"$"
_BEHIND_DOLLAR: Final = b"%"  # the next character
_SLACK: Final = 64
_ALL: Final = 1 << 60


class Entry(Generic[Kept]):
    """One message; never changed. Entries are numbered in the order in which they came."""

    def __init__(self, topic: bytes, message: Kept, size_bytes: int, until: int, number: int, owner: bytes) -> None:
        self.topic: Final = topic
        self.message: Final = message
        self.size_bytes: Final = size_bytes
        self.until: Final = until  # 0: for ever
        self.number: Final = number
        self.owner: Final = owner


class _Branch(Generic[Kept]):
    """What stands behind one level: the message of the topic that ends here, and the levels that may follow."""

    def __init__(self) -> None:
        self.entry: Entry[Kept] | None = None
        self.levels: dict[bytes, _Branch[Kept]] = {}
        self._names: list[bytes] | None = None  # the levels in order, once somebody has asked

    def names(self) -> list[bytes]:
        """The levels that may follow, in order."""
        if self._names is None:
            self._names = sorted(self.levels)
        return self._names

    def grow(self, name: bytes) -> _Branch[Kept]:
        """What stands behind a level that may follow, made if need be."""
        following = self.levels.get(name)
        if following is None:
            following = _Branch()
            self.levels[name] = following
            if self._names is not None:
                insort(self._names, name)
        return following

    def prune(self, name: bytes) -> None:
        """Have nothing behind a level any more."""
        del self.levels[name]
        if self._names is not None:
            del self._names[bisect_left(self._names, name)]


class Retained(Generic[Kept]):
    """Topic → message."""

    def __init__(self, max_messages: int, max_bytes: int) -> None:
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self.turned_away = 0
        self.number = 0  # of the last entry
        self._count = 0
        self._owned: Final[dict[bytes, int]] = {}  # owner → bytes; bound: max_messages
        self._root: _Branch[Kept] = _Branch()
        self._ends: list[tuple[int, bytes]] = []  # a heap, with leftovers; bound: 2 × max_messages + _SLACK

    def __len__(self) -> int:
        """How many messages there are."""
        return self._count

    def held_by(self, owner: bytes, but: bytes) -> int:
        """The bytes of an owner's messages, without that of a topic which is to be replaced."""
        before = self._find(but)
        held_bytes = self._owned.get(owner, 0)
        return held_bytes if before is None or before.owner != owner else held_bytes - before.size_bytes

    def set(self, topic: bytes, message: Kept | None, size_bytes: int = 0, until: int = 0, owner: bytes = b"") -> bool:
        """Replace the message of a topic, None to have none [MQTT-3.3.1-6]; whether the topic has one now.

        `until` is when it expires, 0 for never; without `owner` it is nobody's.
        """
        if message is None:
            self._take_out(topic)
            return False
        before = self._find(topic)
        count = self._count if before is None else self._count - 1
        held_bytes = self.held_bytes if before is None else self.held_bytes - before.size_bytes
        if count >= self.max_messages or held_bytes + size_bytes > self.max_bytes:
            self._take_out(topic)
            self.turned_away += 1
            return False
        if before is not None:
            self._charge(before.owner, -before.size_bytes)
        self._charge(owner, size_bytes)
        branch = self._root
        for level in topic.split(b"/"):
            branch = branch.grow(level)
        self.number += 1
        branch.entry = Entry(topic, message, size_bytes, until, self.number, owner)
        self._count = count + 1
        self.held_bytes = held_bytes + size_bytes
        if until:
            self._remember(until, topic)
        return True

    def matching(self, filter_: bytes, now: int) -> list[tuple[bytes, Kept]]:
        """Every topic that the filter matches, with its message, in the order of their levels."""
        found: list[tuple[bytes, Kept]] = []
        levels = filter_.split(b"/")
        path, entry, _ = self.next(levels, [], _ALL, now)
        while entry is not None:
            found.append((entry.topic, entry.message))
            path, entry, _ = self.next(levels, path, _ALL, now)
        return found

    def next(
        self, levels: list[bytes], path: list[bytes], limit: int, now: int
    ) -> tuple[list[bytes], Entry[Kept] | None, int]:
        """The next message that a filter matches, of those behind a place.

        Places and filter are given by their levels; the place before all is []. Returns the place that was reached, the
        message found there, and how many branches were visited. There is no message when these were `limit`, or when
        there are no more: the place is [] then.
        """
        end = len(levels)
        branches, depths, following, trail = self._return_to(levels, path)
        visited = 0
        while branches and visited < limit:
            branch, depth, at = branches[-1], depths[-1], following[-1]
            level = levels[depth] if depth < end else b""
            rest = level == _HASH
            if depth < end and (rest or level == _PLUS):
                names = branch.names()
                if at < len(names) and branch is self._root and names[at].startswith(_DOLLAR):  # [MQTT-4.7.2-1]
                    at = bisect_left(names, _BEHIND_DOLLAR)
                name = names[at] if at < len(names) else None
            else:
                name = level if depth < end and at == 0 and level in branch.levels else None
            if name is None:
                branches.pop()
                depths.pop()
                following.pop()
                if trail:
                    trail.pop()
                continue
            following[-1] = at + 1
            branch = branch.levels[name]
            depth = depth if rest else depth + 1  # `#` stays: it is every level below too
            branches.append(branch)
            depths.append(depth)
            following.append(0)
            trail.append(name)
            visited += 1
            entry = branch.entry
            if (
                entry is not None
                and (depth == end or levels[depth] == _HASH)
                and (entry.until == 0 or entry.until > now)
            ):
                return trail, entry, visited
        return (trail if branches else []), None, visited

    def _return_to(
        self, levels: list[bytes], path: list[bytes]
    ) -> tuple[list[_Branch[Kept]], list[int], list[int], list[bytes]]:
        """Go down to a place, or to where it was.

        Returns the branches that lead there; for each how many of the filter's levels led to it, and which of those
        that may follow comes next; and the names between them.
        """
        branch = self._root
        depth = 0
        branches = [branch]
        depths = [0]
        following: list[int] = []
        trail: list[bytes] = []
        for name in path:
            level = levels[depth]
            is_wild = level == _HASH or level == _PLUS  # noqa: PLR1714  a tuple would be made every time
            following.append(bisect_right(branch.names(), name) if is_wild else 1)
            if name not in branch.levels:
                return branches, depths, following, trail
            branch = branch.levels[name]
            depth = depth if level == _HASH else depth + 1
            branches.append(branch)
            depths.append(depth)
            trail.append(name)
        following.append(0)
        return branches, depths, following, trail

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

    def _find(self, topic: bytes) -> Entry[Kept] | None:
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
        self._charge(entry.owner, -entry.size_bytes)
        for depth in range(len(levels), 0, -1):  # a branch that leads nowhere goes at once, or they pile up
            if path[depth].entry is not None or path[depth].levels:
                break
            path[depth - 1].prune(levels[depth - 1])

    def _charge(self, owner: bytes, size_bytes: int) -> None:
        if owner:
            left = self._owned.pop(owner, 0) + size_bytes
            if left:
                self._owned[owner] = left

    def _remember(self, until: int, topic: bytes) -> None:
        """Note an end; those of messages that were replaced meanwhile go when they are the greater part."""
        heappush(self._ends, (until, topic))
        if len(self._ends) > 2 * self._count + _SLACK:
            self._ends = sorted({(end, name) for end, name in self._ends if self._ends_at(name) == end})
