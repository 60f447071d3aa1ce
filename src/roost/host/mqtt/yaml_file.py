"""A file that a configuration names, mostly YAML or JSON, and in which nobody else has a say."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from roost.errors import BadConfig
from roost.host.mqtt.users import read_text

MAX_FILE_BYTES: Final = 16 << 20
_WRITABLE_BY_OTHERS: Final = 0o022


def read_yaml(path: Path, remedy: str) -> object:
    """What the file says; raises `BadConfig` that names the file, and the remedy if there is none."""
    return read_yaml_lines(path, remedy)[0]


def read_yaml_lines(path: Path, remedy: str) -> tuple[object, Node | None]:
    """The same, and the nodes that it stands in, which know their lines."""
    content = read_file(path, remedy)
    try:
        root = yaml.compose(content, yaml.SafeLoader)
        said: object = None if root is None else yaml.SafeLoader("").construct_document(root)
    except (yaml.YAMLError, RecursionError) as error:
        raise BadConfig(f"{path}: this is neither YAML nor JSON: {' '.join(str(error).split())}") from None
    return said, root


def key_spots(root: Node | None, key: str) -> list[tuple[int, bool]]:
    """Where the text of a key begins in a mapping or in each of a list: its line, and whether it has its own lines."""
    return [_spot(each, key) for each in (root.value if isinstance(root, SequenceNode) else [root])]


def _spot(node: Node | None, key: str) -> tuple[int, bool]:
    if not isinstance(node, MappingNode):
        return (0 if node is None else node.start_mark.line + 1), False
    text = next((value for name, value in node.value if name.value == key), node)
    is_apart = isinstance(text, ScalarNode) and text.style == "|"  # it begins in the line after the sign
    return text.start_mark.line + (2 if is_apart else 1), is_apart


def read_file(path: Path, remedy: str) -> str:
    """The text of the file, whatever it is; raises `BadConfig` as well."""
    return read_text(path, MAX_FILE_BYTES, _WRITABLE_BY_OTHERS, remedy)
