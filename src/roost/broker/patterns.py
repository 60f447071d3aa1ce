"""Topic patterns of permissions: filters [MQTT-4.7] in which `%u` is the user's name and `%c` the client's id.

A variable can only narrow. What it stands for is one level, or a part of one, and never a wildcard: a name that is
empty or holds `/`, `+`, `#` or NUL makes the pattern match nothing, as does one that would begin a topic with `$`,
where the broker's own topics are. A level has at most one variable, or user `a` with client `bc` would be let in where
user `ab` with client `c` is. What was put in is not looked through again: a client named `%u` is just that.

A pattern that has its variables filled in is a list of levels, and so is a topic and a filter:

    matches      the pattern matches the topic
    covers       the pattern matches every topic that the filter matches
    intersects   there is a topic that both match
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadConfig

MAX_LEVELS: Final = 128

_PLAIN: Final = 0
_USER: Final = 1
_CLIENT: Final = 2


class Pattern:
    """One pattern as it is written; `filled` makes it a filter."""

    def __init__(self, text: bytes) -> None:
        """Read it; raises `BadConfig` with what to write."""
        levels = text.split(b"/")
        if not text:
            raise BadConfig("there is no topic pattern; write one behind it, as in: read plant/+/temperature")
        if len(levels) > MAX_LEVELS:
            raise BadConfig(f"the pattern has {len(levels)} levels, topics have at most {MAX_LEVELS}; shorten it")
        if b"\0" in text:
            raise BadConfig("the pattern holds a NUL, which no topic can; take it out")
        self._levels: Final[list[bytes]] = []
        self._variables: Final[list[int]] = []
        self._tails: Final[list[bytes]] = []  # what follows the variable; what stands before it is the level
        for level in levels:
            self._read_level(level)
        if text.count(b"#") > (levels[-1] == b"#"):
            raise BadConfig("'#' stands alone in the last level of a pattern; write a/# for all of a, and + within")
        self.has_variables: Final = any(self._variables)
        if self._variables[0] and self._levels[0].startswith(b"$"):
            raise BadConfig("a first level that begins with '$' has no variable: write the topic out, as in $SYS/#")

    def filled(self, user: bytes, client: bytes) -> list[bytes] | None:
        """The levels for this user and this client; None if the pattern matches nothing for them."""
        if not self.has_variables:
            return self._levels
        filled = self._levels.copy()
        for at, variable in enumerate(self._variables):
            if variable != _PLAIN:
                value = user if variable == _USER else client
                if not value or b"/" in value or b"+" in value or b"#" in value or b"\0" in value:
                    return None
                filled[at] += value + self._tails[at]
        if self._variables[0] and filled[0].startswith(b"$"):
            return None
        return filled

    def _read_level(self, level: bytes) -> None:
        if b"+" in level and level != b"+":
            raise BadConfig("'+' stands alone in its level; write a/+/b")
        head = tail = b""
        variable = _PLAIN
        at = 0
        while at < len(level):
            piece = level[at : at + 1]
            if piece == b"%":
                piece = level[at : at + 2]
                at += 1
                if piece in {b"%u", b"%c"}:
                    if variable:
                        raise BadConfig("one level has two variables; put a / between them, as in %u/%c")
                    variable = _USER if piece == b"%u" else _CLIENT
                    piece = b""
                elif piece == b"%%":
                    piece = b"%"
                else:
                    raise BadConfig("'%' is followed by u (user), c (client id) or another % (for the sign itself)")
            if variable:
                tail += piece
            else:
                head += piece
            at += 1
        self._levels.append(head)
        self._variables.append(variable)
        self._tails.append(tail)


def matches(pattern: list[bytes], topic: list[bytes]) -> bool:
    """Whether the pattern matches the topic; a wildcard does not match a first level with '$' [MQTT-4.7.2-1]."""
    return covers(pattern, topic)  # a topic is a filter that matches itself only


def covers(pattern: list[bytes], wanted: list[bytes]) -> bool:
    """Whether the pattern matches every topic that the filter matches."""
    if wanted[0] == b"#":
        wanted = [b"+", b"#"]  # the same, for every topic has a first level
    if _shuts_out(pattern[0], wanted[0]):
        return False
    for at, level in enumerate(pattern):
        if level == b"#":
            return True
        if at == len(wanted):
            return False
        found = wanted[at]
        if found == b"#" or (level not in (b"+", found)):
            return False
    return len(wanted) == len(pattern)


def intersects(pattern: list[bytes], wanted: list[bytes]) -> bool:
    """Whether there is a topic that both match."""
    if _shuts_out(pattern[0], wanted[0]) or _shuts_out(wanted[0], pattern[0]):
        return False
    shorter = min(len(pattern), len(wanted))
    for at in range(shorter):
        one, other = pattern[at], wanted[at]
        if b"#" in (one, other):
            return True
        if one != other and b"+" not in (one, other):
            return False
    longer = pattern if len(pattern) > len(wanted) else wanted
    return len(longer) == shorter or longer[shorter] == b"#"  # a/# matches a


def _shuts_out(level: bytes, first: bytes) -> bool:
    return level in (b"+", b"#") and first.startswith(b"$")
