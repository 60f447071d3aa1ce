"""Filters with wildcards, found again from a topic: a trie of levels [MQTT-4.7].

A branch is one level of a filter, a wildcard being a level like any other. The cost of a search is the branches that
agree with the topic so far, whatever else the trie holds. A wildcard in the first level does not reach topics that
begin with `$` [MQTT-4.7.2-1]. Filters are checked by `Reference`, and how many there are is their owner's business.
"""

from __future__ import annotations

from typing import Final

_PLUS: Final = "+"
_HASH: Final = "#"


def is_wild(topic_filter: str) -> bool:
    """Whether a filter stands for several topics."""
    return _PLUS in topic_filter or _HASH in topic_filter  # neither can be part of a level [MQTT-4.7.1]


def matches(topic_filter: str, topic: str) -> bool:
    """Whether a filter, with wildcards or without, stands for a topic."""
    if not is_wild(topic_filter):
        return topic_filter == topic
    wanted = topic_filter.split("/")
    levels = topic.split("/")
    if topic[:1] == "$" and wanted[0] in (_PLUS, _HASH):
        return False
    if wanted[-1] == _HASH:
        wanted.pop()
        levels = levels[: len(wanted)]
    return len(levels) == len(wanted) and all(
        level in (_PLUS, found) for level, found in zip(wanted, levels, strict=True)
    )


def covers(whole: str, part: str) -> bool:
    """Whether a filter stands for all topics that another does, or for a topic."""
    levels, found = whole.split("/"), part.split("/")
    if part[:1] == "$" and levels[0] in (_PLUS, _HASH):
        return False
    if levels[-1] == _HASH:
        levels.pop()
        if len(found) < len(levels):
            return False
        found = found[: len(levels)]
    return len(levels) == len(found) and all(
        level == other or (level == _PLUS and other != _HASH) for level, other in zip(levels, found, strict=True)
    )


class _Branch:
    """What stands behind one level: the filter that ends here, if one does, and the levels that may follow."""

    def __init__(self) -> None:
        self.ends = ""
        self.levels: dict[str, _Branch] = {}


class Wildcards:
    """A set of filters."""

    def __init__(self) -> None:
        self._root = _Branch()

    def add(self, topic_filter: str) -> None:
        """Take a filter in."""
        branch = self._root
        for level in topic_filter.split("/"):
            following = branch.levels.get(level)
            if following is None:
                following = branch.levels[level] = _Branch()
            branch = following
        branch.ends = topic_filter

    def remove(self, topic_filter: str) -> None:
        """Take a filter out again, and the branches that led to it alone."""
        levels = topic_filter.split("/")
        path = [self._root]
        for level in levels:
            path.append(path[-1].levels[level])
        path[-1].ends = ""
        for branch, level in zip(reversed(path[:-1]), reversed(levels), strict=True):
            following = branch.levels[level]
            if following.ends or following.levels:
                return
            del branch.levels[level]

    def matching(self, topic: str) -> list[str]:
        """All filters that a topic matches, in an order that depends on nothing but them."""
        found: list[str] = []
        levels = topic.split("/")
        branches = [self._root]
        wild = topic[:1] != "$"
        for level in levels:
            following: list[_Branch] = []
            for branch in branches:
                if wild:
                    _end(branch.levels.get(_HASH), found)
                    _follow(branch.levels.get(_PLUS), following)
                _follow(branch.levels.get(level), following)
            branches = following
            wild = True
        for branch in branches:
            _end(branch, found)
            _end(branch.levels.get(_HASH), found)
        return found


def _follow(branch: _Branch | None, branches: list[_Branch]) -> None:
    if branch is not None:
        branches.append(branch)


def _end(branch: _Branch | None, found: list[str]) -> None:
    if branch is not None and branch.ends:
        found.append(branch.ends)
