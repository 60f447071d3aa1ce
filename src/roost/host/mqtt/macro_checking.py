"""Whether a node could run the macros of its configuration, found out before the first of them is taken in.

A start, a reload and `roost check-config` ask this, so that what one of them refuses, all refuse, in the same words:
the file and its line, the macro, the line of its code with a mark under the column. Each macro is loaded as it will be,
and they are put together, for none may depend on itself by way of others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from roost.errors import BadConfig, BadMacro
from roost.host.mqtt.config_macros import MacroSettings, Placed
from roost.process.definition import PREFIX, Definition
from roost.process.dependencies import Dependencies
from roost.process.engine import Engine
from roost.process.javascript import JavaScript
from roost.process.processor import Processor
from roost.process.python_code import Python
from roost.process.replay import NoHistory

MAX_MISTAKES: Final = 50  # that are told at once
_PLACE: Final = re.compile(r"line (\d+), column (\d+): ")
_MAX_LINE: Final = 100  # letters of a line of code that are shown


def engines() -> dict[str, Engine]:
    """The languages of macros, by name."""
    found: list[Engine] = [JavaScript(), Python()]
    return {each.language: each for each in found}


def checked(settings: MacroSettings, there: Mapping[str, Sequence[str]] | None = None) -> list[Definition]:
    """Read all macros and load each for itself; raises `BadConfig` with all that is wrong.

    `there` is what a node has already, with what that refers to: of the same name, it is replaced.
    """
    placed = settings.placed()
    graph = Dependencies()
    ours = {each.definition.name for each in placed}
    for name, filters in (there or {}).items():
        if name in ours:
            continue
        with suppress(BadMacro):  # the node has refused one of them as well
            graph.set(name, PREFIX + name, filters)
    loader = Processor(engines(), NoHistory())
    wrong: list[str] = []
    for each in placed:
        try:
            _, references = loader.load(each.definition)
            graph.set(each.definition.name, each.definition.topic, [one.topic for one in references])
        except BadMacro as error:
            wrong.append(_told(each, str(error)))
            if len(wrong) >= MAX_MISTAKES:
                break
    if wrong:
        raise BadConfig("\n".join(wrong))
    return [each.definition for each in placed]


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


def with_excerpt(definition: Definition, message: str) -> str:
    """What is wrong with a macro, with its name and the line of its code that the message begins with."""
    place = _PLACE.match(message)
    lines = excerpt(definition.code, int(place[1]), int(place[2])) if place else []
    named = message if message.startswith(f"{definition.name}: ") else f"{definition.name}: {message}"
    return "\n".join([named, *lines])


def _told(placed: Placed, message: str) -> str:
    place = _PLACE.match(message)
    line = placed.line_of(int(place[1]) if place else 0)
    where = f"{placed.place}, line {line}" if line else placed.place
    return f"{where}: {with_excerpt(placed.definition, message)}"
