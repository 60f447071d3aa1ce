"""The reference of the configuration, made from the sample that is shipped: `docs/configuration.md`.

    python -m tests.docs.configuration > docs/configuration.md

A key is in the sample as it holds by default, or, behind a `#`, as an example of what could be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "configuration.md"
RELOADED: Final = ("users", "permissions", "authentication", "roles", "macros", "limits")

_ENTRY: Final = re.compile(r"(#?)( *)(- )?([a-z_0-9]+):(?: (.*?))?(?:\s+# (.*))?$")
_MORE: Final = re.compile(r"#? {20,}# (.*)$")
_TITLE: Final = """\
# Configuration

<!-- made from src/roost/host/mqtt/sample.yaml: python -m tests.docs.configuration > docs/configuration.md -->

A node is told what to do by one YAML file, `roost up -c roost.yaml`; `roost mqtt -c FILE` reads the same. Without `-c`,
`roost up` takes `roost.yaml` of the folder it is started in, else that of `ROOST_HOME`, else what is called default
here. Every key may be left out. `roost up sample` prints the file that this page is made from.

`roost check-config -c FILE` says all that is wrong, each with its line, its key and what to write, and so does a start
or a reload. [Running a node](node.md) tells how to reload: some sections are read again then, as is said below, and so
are the files of certificates; the rest counts from the next start. Names of files are relative to the configuration.

Sizes are bytes, or a number with kB, MB, GB, KiB, MiB or GiB; times are seconds, or a number with s, m, h, d or w.
In a key, `[]` stands for each entry of a list.
"""


class Key(NamedTuple):
    """A key: its path, the value in the sample, whether that holds by default, and what it means."""

    path: str
    value: str
    holds: bool
    meaning: str


def sample() -> str:
    """The sample that is shipped."""
    return (files("roost.host.mqtt") / "sample.yaml").read_text(encoding="utf-8")


def keys(text: str) -> list[Key]:
    """Every key of a sample, in its order."""
    found: list[Key] = []
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        more = _MORE.match(line)
        if more is not None:
            found[-1] = found[-1]._replace(meaning=f"{found[-1].meaning} {more[1]}")
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        comment, indent, dash, name, value, meaning = (part or "" for part in entry.groups())
        depth = len(indent) + len(dash) if len(indent) > 1 else 0
        above = [each for each in above if each[0] < depth - (len(dash))]
        parent = above[-1][1] if above else ""
        if dash:
            parent += "[]"
            above.append((depth - 1, parent))
        path = f"{parent}.{name}" if parent else name
        above.append((depth, path))
        found.append(Key(path, value, not comment, meaning))
    return found


def uncommented(text: str) -> str:
    """The sample with all its examples: what is commented out counts."""
    lines: list[str] = []
    for line in text.splitlines():
        if _MORE.match(line):
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        indent = entry[2] if len(entry[2]) > 1 else ""
        lines.append(f"{indent}{entry[3] or ''}{entry[4]}: {entry[5] or ''}")
    for at, line in enumerate(lines[1:], 1):
        if line.startswith(" ") and not lines[at - 1].startswith(" "):
            lines[at - 1] = re.sub(r": (\[\]|\{\})$", ":", lines[at - 1])
    return "\n".join(lines)


def sections(text: str) -> Iterator[tuple[str, list[Key]]]:
    """The keys by the first part of their path."""
    gathered: dict[str, list[Key]] = {}
    for key in keys(text):
        gathered.setdefault(re.split(r"[.\[]", key.path)[0], []).append(key)
    yield from gathered.items()


def document() -> str:
    """The whole page."""
    parts = [_TITLE]
    for name, listed in sections(sample()):
        parts.append(f"## {name}\n")
        if name in RELOADED:
            parts.append("Read again at a reload.\n")
        parts.append("| key | default | for example | what it is |\n| --- | --- | --- | --- |")
        seen: dict[str, int] = {}
        for key in listed:
            seen[key.path] = seen.get(key.path, 0) + 1
            if seen[key.path] == 1 or (key.value and key.path == "http"):
                parts.append(_row(key))
        parts.append("")
    return "\n".join(parts).rstrip("\n") + "\n"


def _row(key: Key) -> str:
    value = f"`{key.value}`".replace("|", "\\|") if key.value else ""
    meaning = key.meaning.replace("|", "\\|")
    return f"| `{key.path}` | {value if key.holds else ''} | {'' if key.holds else value} | {meaning} |"


if __name__ == "__main__":
    print(document(), end="")
