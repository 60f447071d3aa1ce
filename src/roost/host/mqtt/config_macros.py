"""Macros, as the configuration says them: files of definitions, packages with definitions, and the group of results.

    macros:
      files: [macros.yaml, tempC.js]    one definition or a list of them each, in YAML or JSON (docs/macros.md); of a
                                        file that ends with .js or .py, which is the code alone, the macro has the name
      python: [my_building.macros]      modules with a list MACROS of definitions
      group: /BigCompany/Building1/Electricity     default: the only group that there is
      limits: {time_ms: 50}             limits that hold whatever definitions ask for; default: the most there are
      share: 0.25                       of the processor, for each macro, when readings have to wait
      turn_ms: 20                       that macros run before everything else on the node has its turn

Definitions may be in Python only here: who writes the configuration may do everything anyway.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from roost.broker.macros.macros import BUDGET
from roost.errors import BadConfig, BadMacro, BadName
from roost.host.mqtt.config_values import entries, known, path, section, text, whole
from roost.host.mqtt.yaml_file import key_spots, read_file, read_yaml_lines
from roost.machine import MS
from roost.naming import Name
from roost.process.definition import JAVASCRIPT, MOST, PYTHON, Definition, check_limits, definition_of, limits_of
from roost.process.engine import Limits
from roost.process.processor import SHARE

MAX_TURN_MS: Final = 1000
_TURN_MS: Final = BUDGET // MS
_KEYS: Final = dict.fromkeys(("files", "python", "group", "limits", "share", "turn_ms"))
_TURN: Final = whole(1, MAX_TURN_MS)
_LANGUAGES: Final = {".js": JAVASCRIPT, ".py": PYTHON}
_SHOWN: Final = "docs/macros.md shows one"

_Found: TypeAlias = tuple[str, object, int, bool]  # a place, what it says, and as `Placed` has it


class Placed(NamedTuple):
    """A definition and where it stands: the place in words, and lines of the file, 0 where there are none."""

    definition: Definition
    place: str
    line: int = 0  # in which its code stands, or begins
    is_apart: bool = False  # whether each line of the code is a line of the file

    def line_of(self, code_line: int) -> int:
        """The line of the file that has a line of the code, as far as that can be told."""
        return self.line + code_line - 1 if self.is_apart and code_line else self.line


@dataclass(frozen=True, slots=True)
class MacroSettings:
    """Where definitions are, and which group has the results; an empty group is the only one."""

    files: tuple[Path, ...] = ()
    modules: tuple[str, ...] = ()
    group: str = ""
    most: Limits = MOST
    share: float = SHARE
    turn_ms: int = _TURN_MS

    def load(self) -> list[Definition]:
        """Read all definitions; raises `BadConfig` that names the file, and what is wrong in it."""
        return [each.definition for each in self.placed()]

    def placed(self) -> list[Placed]:
        """Read them with the places where they stand; raises `BadConfig` as well."""
        found: dict[str, Placed] = {}
        for place, said, line, is_apart in [*_of_files(self.files), *_of_modules(self.modules)]:
            try:
                definition = definition_of(said)
            except BadMacro as error:
                raise BadConfig(f"{place}: {error}") from None
            if definition.name in found:
                raise BadConfig(f"{place}: there are two macros {definition.name!r}; give one of them another name")
            found[definition.name] = Placed(definition, place, line, is_apart)
        return list(found.values())


def read_macros(value: object, folder: Path) -> MacroSettings:
    """Read the section; raises `BadConfig`."""
    said = section("macros", value)
    known("macros", said, _KEYS)
    files = tuple(path(f"macros.files[{at}]", each, folder) for at, each in enumerate(_list(said, "files")))
    modules = tuple(text(f"macros.python[{at}]", each) for at, each in enumerate(_list(said, "python")))
    try:
        group = str(Name.parse(text("macros.group", said["group"]))) if "group" in said else ""
    except BadName as error:
        raise BadConfig(f"macros.group: {error}") from None
    try:
        most = limits_of(said.get("limits") or {}, MOST)
        check_limits(most)
    except BadMacro as error:
        raise BadConfig(f"macros: {error}") from None
    turn_ms = _TURN("macros.turn_ms", said.get("turn_ms", _TURN_MS))
    assert isinstance(turn_ms, int)  # noqa: S101  its reader says so
    return MacroSettings(files, modules, group, most, _share(said.get("share", SHARE)), turn_ms)


def _share(said: object) -> float:
    if not isinstance(said, int | float) or isinstance(said, bool) or not 0 < said <= 1:
        raise BadConfig(f"macros.share: {said!r} is no share; write more than 0 and up to 1, such as {SHARE}")
    return float(said)


def _list(said: dict[str, object], key: str) -> Sequence[object]:
    return entries(f"macros.{key}", said.get(key, []))


def _of_files(files: Sequence[Path]) -> Iterator[_Found]:
    for file in files:
        language = _LANGUAGES.get(file.suffix)
        if language is None:
            said, node = read_yaml_lines(file, _SHOWN)
            for (place, each), (line, is_apart) in zip(_each(str(file), said), key_spots(node, "code"), strict=False):
                yield place, each, line, is_apart
        else:
            yield str(file), {"name": file.stem, "code": read_file(file, _SHOWN), "language": language}, 1, True


def _of_modules(modules: Sequence[str]) -> Iterator[_Found]:
    for name in modules:
        try:
            said = importlib.import_module(name).MACROS
        except (ImportError, AttributeError) as error:
            raise BadConfig(f"macros.python: {name} has no list MACROS that can be imported: {error}") from None
        for place, each in _each(name, said):
            yield place, each, 0, False


def _each(place: str, said: object) -> Iterator[tuple[str, object]]:
    if isinstance(said, list):
        for at, each in enumerate(said):
            yield f"{place}, macro {at + 1}", each
    else:
        yield place, said
