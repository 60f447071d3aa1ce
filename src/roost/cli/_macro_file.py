"""Macros in files: YAML or JSON with one definition or a list of them, or the code alone in a `.js` or `.py` file.

A macro of a code file is called as the file is, without its ending. What is wrong is told with the file, the macro and,
for code, the line with a mark under the column.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from roost.errors import BadConfig, BadMacro
from roost.host.mqtt.config_macros import MacroSettings
from roost.process.definition import JAVASCRIPT, PYTHON, Definition

_LANGUAGES: Final = {".js": JAVASCRIPT, ".py": PYTHON}
_PLACE: Final = re.compile(r"line (\d+), column (\d+): ")
_MAX_LINE: Final = 100  # letters of a line of code that are shown


def read_definitions(path: Path) -> list[Definition]:
    """Read the macros of a file; raises `BadConfig` and `BadMacro`."""
    language = _LANGUAGES.get(path.suffix)
    if language is not None:
        return [_in_code(path, language)]
    found = MacroSettings((path,)).load()
    if not found:
        raise BadConfig(f"{path}: there is no macro in it")
    return found


def _in_code(path: Path, language: str) -> Definition:
    try:
        code = path.read_text(encoding="utf-8")
        return Definition(path.stem, code, language)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadConfig(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    except BadMacro as error:
        raise BadMacro(f"{path}: {error}") from None


def check(definitions: list[Definition]) -> None:
    """Load each for itself; raises `BadMacro` with the name, and the place in its code."""
    from roost.cli._engines import engines

    known = engines()
    for each in definitions:
        try:
            known[each.language].load(each.code, each.limits).explore()
        except BadMacro as error:
            place = _PLACE.match(str(error))
            lines = excerpt(each.code, int(place[1]), int(place[2])) if place else []
            raise BadMacro("\n".join([f"{each.name}: {error}", *lines])) from None


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
