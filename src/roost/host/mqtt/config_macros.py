"""Macros, as the configuration says them: files of definitions, packages with definitions, and the group of results.

    macros:
      files: [macros.yaml, tempC.js]    one definition or a list of them each, in YAML or JSON (docs/macros.md); of a
                                        file that ends with .js or .py, which is the code alone, the macro has the name
      python: [my_building.macros]      modules with a list MACROS of definitions
      group: /BigCompany/Building1/Electricity     default: the only group that there is

Definitions may be in Python only here: who writes the configuration may do everything anyway.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, BadMacro, BadName
from roost.host.mqtt.config_values import entries, known, path, section, text
from roost.host.mqtt.yaml_file import read_file, read_yaml
from roost.naming import Name
from roost.process.definition import JAVASCRIPT, PYTHON, Definition, definition_of

_KEYS: Final = dict.fromkeys(("files", "python", "group"))
_LANGUAGES: Final = {".js": JAVASCRIPT, ".py": PYTHON}
_SHOWN: Final = "docs/macros.md shows one"


@dataclass(frozen=True, slots=True)
class MacroSettings:
    """Where definitions are, and which group has the results; an empty group is the only one."""

    files: tuple[Path, ...] = ()
    modules: tuple[str, ...] = ()
    group: str = ""

    def load(self) -> list[Definition]:
        """Read all definitions; raises `BadConfig` that names the file, and what is wrong in it."""
        found: dict[str, Definition] = {}
        for place, said in [*_of_files(self.files), *_of_modules(self.modules)]:
            try:
                definition = definition_of(said)
            except BadMacro as error:
                raise BadConfig(f"{place}: {error}") from None
            if definition.name in found:
                raise BadConfig(f"{place}: there are two macros {definition.name!r}; give one of them another name")
            found[definition.name] = definition
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
    return MacroSettings(files, modules, group)


def _list(said: dict[str, object], key: str) -> Sequence[object]:
    return entries(f"macros.{key}", said.get(key, []))


def _of_files(files: Sequence[Path]) -> Iterator[tuple[str, object]]:
    for file in files:
        language = _LANGUAGES.get(file.suffix)
        if language is None:
            yield from _each(str(file), read_yaml(file, _SHOWN))
        else:
            yield str(file), {"name": file.stem, "code": read_file(file, _SHOWN), "language": language}


def _of_modules(modules: Sequence[str]) -> Iterator[tuple[str, object]]:
    for name in modules:
        try:
            said = importlib.import_module(name).MACROS
        except (ImportError, AttributeError) as error:
            raise BadConfig(f"macros.python: {name} has no list MACROS that can be imported: {error}") from None
        yield from _each(name, said)


def _each(place: str, said: object) -> Iterator[tuple[str, object]]:
    if isinstance(said, list):
        for at, each in enumerate(said):
            yield f"{place}, macro {at + 1}", each
    else:
        yield place, said
