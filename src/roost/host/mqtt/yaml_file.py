"""A file that a configuration names, mostly YAML or JSON, and in which nobody else has a say."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml

from roost.errors import BadConfig
from roost.host.mqtt.users import read_text

MAX_FILE_BYTES: Final = 16 << 20
_WRITABLE_BY_OTHERS: Final = 0o022


def read_yaml(path: Path, remedy: str) -> object:
    """What the file says; raises `BadConfig` that names the file, and the remedy if there is none."""
    content = read_file(path, remedy)
    try:
        return yaml.safe_load(content)
    except (yaml.YAMLError, RecursionError) as error:
        raise BadConfig(f"{path}: this is neither YAML nor JSON: {' '.join(str(error).split())}") from None


def read_file(path: Path, remedy: str) -> str:
    """The text of the file, whatever it is; raises `BadConfig` as well."""
    return read_text(path, MAX_FILE_BYTES, _WRITABLE_BY_OTHERS, remedy)
