"""docs/cli.md, written from the parsers; `python -m roost.cli._reference_page > docs/cli.md`. A test compares both."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from roost.cli._page import see_lines
from roost.cli._reference import Entry, Verb, reference

_HEAD = """\
<!-- Written by `python -m roost.cli._reference_page`; a test compares it with the commands themselves. -->
# Commands

`roost VERB --help` says the same at the terminal, and `roost help VERB --man` as a page of the manual. What all verbs
share, exit codes and `--json` among it, is in [cli-conventions.md](cli-conventions.md).
"""


def page(verbs: Sequence[Verb]) -> str:
    """The whole page."""
    lines = [_HEAD, *_overview(verbs)]
    for verb in verbs:
        lines += _section(verb, 2)
    return "\n".join(lines).rstrip("\n") + "\n"


def _overview(verbs: Sequence[Verb]) -> Iterator[str]:
    for purpose, group in groupby(verbs, key=lambda verb: verb.purpose):
        yield f"**{purpose[:1].upper()}{purpose[1:]}**\n"
        yield "| verb | what it does |\n| --- | --- |"
        for verb in group:
            yield f"| [`{' '.join(verb.words)}`](#{'-'.join(verb.words)}) | {_cell(verb.summary)} |"
        yield ""


def _section(verb: Verb, level: int) -> Iterator[str]:
    yield f"{'#' * level} {' '.join(verb.words)}\n"
    yield f"{_prose(verb.description)}\n"
    yield f"```text\n{' '.join(verb.usage.split())}\n```\n"
    entries = [entry for entry in (*verb.arguments, *verb.options) if _shown(entry)]
    if entries:
        yield "| argument or option | what it is |\n| --- | --- |"
        for entry in entries:
            yield f"| {_names(entry)} | {_cell(entry.text)} |"
        yield ""
    if verb.page.examples and not verb.actions:
        yield "```console"
        for command, what in verb.page.examples:
            yield f"$ {command}    # {what}"
        yield "```\n"
    if len(verb.words) == 2 and verb.page.see:
        yield f"See also: {', '.join(_see(each) for each in dict.fromkeys(verb.page.see))}.\n"
    for action in verb.actions:
        yield from _section(action, min(level + 1, 4))


def _shown(entry: Entry) -> bool:
    return entry.names[-1] != "--help" and entry.text != "==SUPPRESS=="


def _names(entry: Entry) -> str:
    if not entry.names[0].startswith("-"):
        return f"`{_cell(entry.metavar)}`"
    value = f" {_cell(entry.metavar)}" if entry.metavar else ""
    return ", ".join(f"`{name}{value}`" for name in entry.names)


def _see(target: str) -> str:
    if target.startswith("docs/"):
        name = target.removeprefix("docs/")
        return f"[{name}]({name})"
    return f"[`roost {target}`](#roost-{target})" if "." not in target else f"`{see_lines([target])[0]}`"


def _prose(text: str) -> str:
    return text.replace("<", "&lt;")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page(reference()))
