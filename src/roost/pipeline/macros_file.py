"""Macros in the text of a pipeline: written there, or in a file beside it, which a node may read too.

Of a file, those with `engine: spark` are meant; the others run on nodes, and would be published twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from roost.errors import BadConfig, BadMacro
from roost.host.mqtt.config_macros import MacroSettings
from roost.process.definition import SPARK, Definition, definition_of

_FILE: Final = "file"


def read_macros(said: object, where: str, folder: Path) -> list[Definition]:
    """What a stage of macros says; raises `BadConfig`."""
    if isinstance(said, dict) and said.keys() == {_FILE}:
        path = folder / str(said[_FILE])
        found = [each for each in MacroSettings((path,)).load() if each.engine == SPARK]
        if not found:
            raise BadConfig(f"{where}: no macro in {path} is for Spark: write engine: spark into those that are")
        return found
    try:
        return [definition_of(each) for each in (said if isinstance(said, list) else [said])]
    except BadMacro as error:
        raise BadConfig(f"{where}: {error}") from None
