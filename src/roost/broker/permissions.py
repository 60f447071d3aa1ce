"""Permissions that are written in a file: who may read and write which topics. What no line grants is denied.

    all                            every user with a name
      readwrite  home/%u/#
    anonymous                      who has none, and may connect from this machine only
      read       public/#
    group operators
      member     alice
      readwrite  plant/#
      deny write plant/safety/#
    user bob
      read       $SYS/#

The first word of a line says what it is, the rest of it is a name or a pattern (`roost.broker.patterns`); a line that
begins with '#' is a comment, and space around lines means nothing. The order of lines means nothing either: a user has
what any line grants to `all`, to the user or to a group of the user, without what any such line denies. So a deny is
never taken back, and no line need be read for another to be understood. `deny` alone is both. A deny has no variables:
whoever could choose another client id would have got around it.

A subscription is granted when any of its topics could be read; messages of those that could not are kept back one by
one (`reach`). Anonymous clients may connect if there is an `anonymous` section, even an empty one.
"""

from __future__ import annotations

from typing import Final

from roost.broker.access import ANONYMOUS, NOTHING, PART, WHOLE, Access
from roost.broker.patterns import Pattern, covers, intersects, matches
from roost.errors import BadConfig

MAX_LINES: Final = 100_000

_RIGHTS: Final = ("read", "write", "readwrite", "deny")
_SECTIONS: Final = ("all", "anonymous", "user", "group")


class Permissions(Access):
    """What the file says; `parse` reads it."""

    def __init__(self) -> None:
        self._all: Final = _Section()
        self._anonymous: _Section | None = None
        self._users: Final[dict[bytes, _Section]] = {}  # bound: MAX_LINES, as of the two below
        self._groups: Final[dict[bytes, _Section]] = {}
        self._groups_of: Final[dict[bytes, list[_Section]]] = {}
        self.lines_of: Final[dict[bytes, int]] = {}  # every user that is named, and on which line first

    @staticmethod
    def parse(text: str) -> Permissions:
        """Read the whole text, or raise `BadConfig` with the line, what is wrong and what to write."""
        lines = text.split("\n")
        if len(lines) > MAX_LINES:
            raise BadConfig(f"line {MAX_LINES + 1}: a permissions file has at most {MAX_LINES} lines; use groups")
        permissions = Permissions()
        section: _Section | None = None
        for number, line in enumerate(lines, 1):
            words = line.strip()
            if words and not words.startswith("#"):
                try:
                    section = permissions._read_line(words, section, number)
                except BadConfig as error:
                    raise BadConfig(f"line {number}: {error}") from None
        return permissions

    def may_connect(self, user: bytes, *, loopback: bool) -> bool:
        return user != ANONYMOUS or (loopback and self._anonymous is not None)

    def may_publish(self, user: bytes, client: bytes, topic: bytes) -> bool:
        levels = topic.split(b"/")
        granted = False
        for section in self._sections_of(user):
            if _any_matches(section.write_denied, levels, user, client):
                return False
            granted = granted or _any_matches(section.write, levels, user, client)
        return granted

    def may_receive(self, user: bytes, client: bytes, topic: bytes) -> bool:
        levels = topic.split(b"/")
        granted = False
        for section in self._sections_of(user):
            if _any_matches(section.read_denied, levels, user, client):
                return False
            granted = granted or _any_matches(section.read, levels, user, client)
        return granted

    def reach(self, user: bytes, client: bytes, wanted: bytes) -> int:
        levels = wanted.split(b"/")
        found = NOTHING
        narrowed = False
        for section in self._sections_of(user):
            for denied in section.read_denied:
                pattern = denied.filled(user, client)
                if pattern is not None and intersects(pattern, levels):
                    if covers(pattern, levels):
                        return NOTHING
                    narrowed = True
            for granted in section.read:
                pattern = granted.filled(user, client)
                if pattern is not None and found != WHOLE and intersects(pattern, levels):
                    found = WHOLE if covers(pattern, levels) else PART
        return min(found, PART) if narrowed else found

    def _sections_of(self, user: bytes) -> list[_Section]:
        if user == ANONYMOUS:
            return [] if self._anonymous is None else [self._anonymous]
        sections = [self._all]
        if user in self._users:
            sections.append(self._users[user])
        if user in self._groups_of:
            sections += self._groups_of[user]
        return sections

    # -- reading the file

    def _read_line(self, line: str, section: _Section | None, number: int) -> _Section:
        """Take in one line that says something; the section that the next line belongs to."""
        word, rest = _first_word(line)
        if word in _SECTIONS:
            return self._open(word, rest.encode(), number)
        if word not in _RIGHTS and word != "member":
            raise BadConfig(
                f"{word!r} begins no line; write a section (all, anonymous, user NAME, group NAME) or, in one, "
                "a right (read, write, readwrite, deny) with a pattern, or member NAME in a group"
            )
        if section is None:
            raise BadConfig(f"it is not said whose line this is; write before it: all, or user NAME; then {line}")
        if word == "member":
            self._enroll(rest.encode(), section, number)
        else:
            section.add(word, rest)
        return section

    def _open(self, kind: str, name: bytes, number: int) -> _Section:
        if kind in {"all", "anonymous"}:
            if name:
                raise BadConfig(f"nothing follows {kind!r}; put rights on lines of their own, below it")
            if kind == "all":
                return self._all
            self._anonymous = self._anonymous or _Section()
            return self._anonymous
        if not name:
            raise BadConfig(f"the {kind} has no name; write {kind} NAME")
        if kind == "user":
            self.lines_of.setdefault(name, number)
            return self._users.setdefault(name, _Section())
        section = self._groups.setdefault(name, _Section())
        section.is_group = True
        return section

    def _enroll(self, user: bytes, section: _Section, number: int) -> None:
        if not section.is_group:
            raise BadConfig("only a group has members; write group NAME above, then member NAME")
        if not user:
            raise BadConfig("the member has no name; write member NAME, one for every user of the group")
        self.lines_of.setdefault(user, number)
        groups = self._groups_of.setdefault(user, [])
        if section not in groups:
            groups.append(section)


class _Section:
    """The rights of one user, of one group, of all or of the anonymous."""

    def __init__(self) -> None:
        self.is_group = False
        self.read: Final[list[Pattern]] = []
        self.write: Final[list[Pattern]] = []
        self.read_denied: Final[list[Pattern]] = []
        self.write_denied: Final[list[Pattern]] = []

    def add(self, right: str, rest: str) -> None:
        denied = right == "deny"
        if denied:
            right, pattern_text = _first_word(rest)
            if right not in {"read", "write", "readwrite"} or not pattern_text:
                right, pattern_text = "readwrite", rest
        else:
            pattern_text = rest
        pattern = Pattern(pattern_text.encode())
        if denied and pattern.has_variables:
            raise BadConfig("a deny has no %u or %c; write a pattern without them, or grant less instead")
        if right != "write":
            (self.read_denied if denied else self.read).append(pattern)
        if right != "read":
            (self.write_denied if denied else self.write).append(pattern)


def _any_matches(patterns: list[Pattern], topic: list[bytes], user: bytes, client: bytes) -> bool:
    for each in patterns:
        pattern = each.filled(user, client)
        if pattern is not None and matches(pattern, topic):
            return True
    return False


def _first_word(line: str) -> tuple[str, str]:
    words = line.split(maxsplit=1)
    return (words[0], words[1]) if len(words) == 2 else (line.strip(), "")
