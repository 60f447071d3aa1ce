"""The file of a configuration: its keys, and in which line each of them stands.

What reads settings says what is wrong as `BadConfig("trees[0].filter: …")`, and knows no lines. Here the message is
put where it belongs: `roost.yaml, line 12: trees[0].filter: …`. And so that one look is enough, the part that was wrong
is taken out and the rest read once more, until nothing is wrong: all mistakes come in one `BadConfig`, a line for each.
What is only wrong because something above or below it was taken out is not told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from roost.errors import BadConfig

MAX_MISTAKES: Final = 50  # that are told at once
SHOWN: Final = "`roost up sample` prints one"

_INDEX: Final = re.compile(r"\[(\d{1,9})\]")

Said = dict[str, object]
Read = TypeVar("Read")


@dataclass(slots=True)
class _Spot:
    """How far a message leads into the file."""

    line: int
    path: str = ""  # as it was before anything was taken out
    rest: str = ""  # of the message
    cut: Callable[[], object] | None = None

    @property
    def key(self) -> str:
        """The whole key, with what is missing in the file."""
        return self.path + self.rest.partition(": ")[0].rstrip(":")

    @property
    def message(self) -> str:
        return self.path + self.rest


@dataclass(slots=True)
class ConfigFile:
    """A file that was read; made by `read_config_file`."""

    path: Path
    _root: Node | None = None
    _doubles: list[_Spot] = field(default_factory=list)  # keys that stand twice
    _names: dict[int, str] = field(default_factory=dict)  # of nodes, by identity
    _gone: list[object] = field(default_factory=list)  # which goes on having its identity

    def read(self, reader: Callable[[Said], Read]) -> Read:
        """Read settings from the file's keys; raises `BadConfig` with a line for each mistake."""
        mistakes = list(self._doubles)
        taken: list[str] = []
        while True:
            try:
                found = reader(self._said())
            except BadConfig as error:
                spot = self._find(str(error))
                if not any(_is_at_or_above(spot.key, each) for each in taken):
                    mistakes.append(spot)
                if spot.cut is None or len(mistakes) >= MAX_MISTAKES:
                    break
                taken.append(spot.key)
                self._gone.append(spot.cut())
            else:
                if not mistakes:
                    return found
                break
        mistakes.sort(key=lambda spot: spot.line)
        raise BadConfig("\n".join(self._told(spot) for spot in mistakes))

    def place(self, message: str) -> str:
        """Put the line before each sentence of a message that begins with a key of the file."""
        return "\n".join(self._told(spot) if (spot := self._find(each)).path else each for each in message.splitlines())

    def _said(self) -> Said:
        if self._root is None:
            return {}
        try:
            said = yaml.SafeLoader("").construct_document(self._root)
        except yaml.YAMLError as error:
            raise BadConfig(_unread(self.path, error)) from None
        return dict(said)

    def _told(self, spot: _Spot) -> str:
        where = f"{self.path}, line {spot.line}" if spot.path else str(self.path)
        return spot.message if spot.message.startswith(str(self.path)) else f"{where}: {spot.message}"

    def _find(self, message: str) -> _Spot:
        """Follow the key that a message begins with as far as the file has it."""
        spot = _Spot(1, "", message)
        node = self._root
        while isinstance(node, MappingNode | SequenceNode):
            step = _step(node, spot.rest, is_first=not spot.path)
            if step is None:
                break
            at, length = step
            inner: Node = node.value[at][1] if isinstance(node, MappingNode) else node.value[at]
            mark = (node.value[at][0] if isinstance(node, MappingNode) else inner).start_mark
            entries = node.value
            spot = _Spot(
                mark.line + 1,
                self._names.get(id(inner), spot.path + spot.rest[:length]),
                spot.rest[length:],
                lambda entries=entries, at=at: entries.pop(at),  # type: ignore[misc]  # which is called at once
            )
            node = inner
        return spot


def read_config_file(path: Path) -> ConfigFile:
    """Read a file; raises `BadConfig` if it cannot be read, or is no YAML with keys."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}; {SHOWN}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadConfig(f"{path} is no YAML: line {line} is not UTF-8; save the file as UTF-8") from None
    names: dict[int, str] = {}
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        nodes = [(name, node) for name, node in _walk(root, "", set())]
        doubles = [spot for name, node in nodes for spot in _doubles(name, node)]
        names = {id(node): name for name, node in nodes}
        if root is not None:
            yaml.SafeLoader("").construct_document(root)
    except (yaml.YAMLError, RecursionError) as error:
        raise BadConfig(_unread(path, error)) from None
    if isinstance(root, ScalarNode) and root.tag == "tag:yaml.org,2002:null":
        root = None
    if root is not None and not isinstance(root, MappingNode):
        raise BadConfig(f"{path}: there are no keys; {SHOWN}")
    return ConfigFile(path, root, doubles, names)


def _unread(path: Path, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"{path} is no YAML" if mark is None else f"{path}, line {mark.line + 1}: this is no YAML"
    said = " ".join(filter(None, (getattr(error, "context", ""), getattr(error, "problem", "")))) or str(error)
    return f"{where}: {' '.join(said.split())}"


def _step(node: MappingNode | SequenceNode, rest: str, *, is_first: bool) -> tuple[int, int] | None:
    """Which entry a message goes on with, and how much of it that takes."""
    if isinstance(node, SequenceNode):
        found = _INDEX.match(rest)
        return (int(found[1]), found.end()) if found is not None and int(found[1]) < len(node.value) else None
    best: tuple[int, int] | None = None
    for at, (key, _) in enumerate(node.value):
        name = str(key.value) if is_first else f".{key.value}"
        is_it = rest.startswith(name) and rest[len(name) : len(name) + 1] in {".", "[", ":", ""}
        if is_it and (best is None or len(name) >= best[1]):  # of two that are the same the last one counts
            best = at, len(name)
    return best


def _doubles(path: str, node: Node) -> Iterator[_Spot]:
    """A mistake for each key that stands twice in one place: the last one would count, and nobody would know."""
    first: dict[str, int] = {}
    for key, _ in node.value if isinstance(node, MappingNode) else ():
        line = key.start_mark.line + 1
        name = str(key.value)
        if not isinstance(key, ScalarNode):
            continue
        if name in first:
            said = f": this stands in line {first[name]} too; take one of them out"
            yield _Spot(line, _joined(path, name), said)
        first.setdefault(name, line)


def _is_at_or_above(key: str, other: str) -> bool:
    return other == key or (other.startswith(key) and other[len(key)] in ".[")


def _walk(node: Node | None, path: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """Every node once, by the first path to it: aliases may make many paths of few nodes, or circles."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    yield path, node
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield from _walk(value, _joined(path, str(key.value)), seen)
    elif isinstance(node, SequenceNode):
        for at, value in enumerate(node.value):
            yield from _walk(value, f"{path}[{at}]", seen)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
