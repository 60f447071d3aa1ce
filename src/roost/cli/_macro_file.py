"""Macros in files, as a node reads them (`roost.host.mqtt.config_macros`), and whether their code is a program.

What is wrong is told with the file, the macro and, for code, the line with a mark under the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roost.errors import BadConfig, BadMacro
from roost.host.mqtt.config_macros import MacroSettings
from roost.host.mqtt.macro_checking import engines, with_excerpt
from roost.process.definition import Definition


def read_definitions(path: Path) -> list[Definition]:
    """Read the macros of a file; raises `BadConfig`."""
    found = MacroSettings((path,)).load()
    if not found:
        raise BadConfig(f"{path}: there is no macro in it")
    return found


def check(definitions: Sequence[Definition]) -> dict[str, list[str]]:
    """Load each for itself: by name what it refers to; raises `BadMacro` with the name, and the place in its code."""
    known = engines()
    found: dict[str, list[str]] = {}
    for each in definitions:
        try:
            references = known[each.language].load(each.code, each.limits).explore()
        except BadMacro as error:
            raise BadMacro(with_excerpt(each, str(error))) from None
        found[each.name] = [reference.topic for reference in references]
    return found
