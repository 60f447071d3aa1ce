"""Macros in files, as a node reads them (`roost.host.mqtt.config_macros`), and whether their code is a program.

What is wrong is told with the file, the macro and, for code, the line with a mark under the column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, BadMacro
from roost.host.mqtt.config_macros import MacroSettings
from roost.process.definition import Definition

_PLACE: Final = re.compile(r"line (\d+), column (\d+): ")
_MAX_LINE: Final = 100  # letters of a line of code that are shown


def read_definitions(path: Path) -> list[Definition]:
    """Read the macros of a file; raises `BadConfig`."""
    found = MacroSettings((path,)).load()
    if not found:
        raise BadConfig(f"{path}: there is no macro in it")
    return found


def check(definitions: Sequence[Definition]) -> dict[str, list[str]]:
    """Load each for itself: by name what it refers to; raises `BadMacro` with the name, and the place in its code."""
    from roost.cli._engines import engines

    known = engines()
    found: dict[str, list[str]] = {}
    for each in definitions:
        try:
            references = known[each.language].load(each.code, each.limits).explore()
        except BadMacro as error:
            place = _PLACE.match(str(error))
            lines = excerpt(each.code, int(place[1]), int(place[2])) if place else []
            raise BadMacro("\n".join([f"{each.name}: {error}", *lines])) from None
        found[each.name] = [reference.topic for reference in references]
    return found


def excerpt(code: str, line: int, column: int) -> list[str]:
    """A line of code with a mark under a column, both counted from 1; nothing if the code has no such line."""
    lines = code.split("\n")
    if not 1 <= line <= len(lines):
        return []
    source = lines[line - 1].rstrip("\r").replace("\t", " ")
    first = max(0, column - _MAX_LINE // 2) if len(source) > _MAX_LINE else 0
    shown = source[first : first + _MAX_LINE]
    number = str(line)
    found = [f"  {number} | {shown}"]
    if column:
        found.append(f"  {' ' * len(number)} | {' ' * min(column - 1 - first, len(shown))}^")
    return found
