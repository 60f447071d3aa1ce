"""What pages show: who looks after which kind of block, commands that the parser takes, settings that the reader takes.

Blocks ```console``` and indented ones name other machines, ports of a running node, or go on until they are stopped. So
each `roost` line in them is parsed as a shell and the verb would; what can be run of them, test_consoles runs. A
```yaml``` block whose keys are a node's is read, each key by itself.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from tests.docs.test_examples import PAGES, ROOT, blocks
from tests.docs.test_stories import PAGES as STORIES

from roost.cli._parsers import parser_for
from roost.host.mqtt.config import read_keys

INDENTED = re.compile(r"^(?:    .*\n)+", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"…|\bNAME\b|\bVERB\b|^roost [a-z-]+:")  # or what a verb answers
KEYS = {"listeners", "http", "groups", "trees", "node", "users", "permissions", "macros", "roles", "log", "tracing"}
KEYS |= {"authentication", "durability", "flips", "limits", "store", "tokens"}


FENCE = re.compile(r"^```(.*)\n(?:.*\n)*?```$", re.MULTILINE)
TITLED = {"bash": "test_stories", "python": "test_fragments"}  # tests that run blocks with a title
PLAIN = {
    "sh": "test_examples",
    "python": "test_examples",
    "console": "test_shown and test_consoles",
    "yaml": "test_documents and test_shown",
    "json": "test_documents",
    "permissions": "test_documents",
    "text": "printed by what is before it, or a drawing or layout, which nobody can run",
    "cpp": "nobody: its page says so",
}


def shown(page: Path) -> list[str]:
    """The `roost` commands of blocks that are only shown, each in one line and without what is around it."""
    text = page.read_text(encoding="utf-8")
    parts = [*blocks(page, "console"), *INDENTED.findall(FENCED.sub("", text))]
    lines = re.sub(r"\\\n\s*", "", "\n".join(parts)).splitlines()
    found: list[str] = []
    for line in lines:
        words = line.strip().removeprefix("$ ").removeprefix("# ")
        if words.startswith("roost ") and not PLACEHOLDER.search(words):
            found.append(re.split(r"\s[|;&<>]|;\s|\s{2,}or\s", words)[0])
    return found


COMMANDS = [(page.stem, command) for page in PAGES for command in shown(page)]
SETTINGS = [
    (page, block)
    for page in PAGES
    for block in blocks(page, "yaml")
    if isinstance(said := yaml.safe_load(block), dict) and said.keys() <= KEYS
]


def test_there_are_commands_and_settings_to_look_at() -> None:
    assert len(COMMANDS) > 20
    assert len(SETTINGS) > 8


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_block_is_of_a_kind_that_somebody_looks_after(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.findall(text):
        kind, titled, _ = fence.partition(" title=")
        assert kind in (TITLED if titled else PLAIN), f"```{fence}"
        assert kind != "bash" or any(page == ROOT / "docs" / f"{story}.md" for story in STORIES), "a story that is told"
    for block in INDENTED.findall(FENCED.sub("", text)):
        with pytest.raises(SyntaxError):  # Python is fenced, and run
            ast.parse(dedent(block))


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page}: {command}" for page, command in COMMANDS])
def test_a_command_that_is_shown_is_one(page: str, command: str) -> None:
    words = shlex.split(command, comments=True)[1:]
    status: object = 0
    try:
        parser_for(words).parse_args(words)
    except SystemExit as left:
        status = left.code
    assert not status, f"{page} shows {command!r}, which `roost` does not take"


@pytest.mark.parametrize(
    "block", [block for _, block in SETTINGS], ids=[f"{page.stem}{at}" for at, (page, _) in enumerate(SETTINGS)]
)
def test_settings_that_are_shown_are_read(block: str, tmp_path: Path) -> None:
    read_keys(yaml.safe_load(block), tmp_path, tmp_path)
