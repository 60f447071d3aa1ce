"""What all verbs take, as data: read from their parsers, for the shell's completion, the manual and docs/cli.md.

for verb in reference(): print(verb.words, verb.summary, [option.names for option in verb.options])
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from roost.cli._page import Page, children, see_lines
from roost.cli._verbs import HEADINGS, by_purpose

_NO_PAGE: Final = Page(())


class Entry(NamedTuple):
    """An option, or an argument: then `names` is what it is called."""

    names: tuple[str, ...]
    metavar: str  # of its value; empty if it has none
    text: str
    choices: tuple[str, ...] = ()
    is_path: bool = False
    is_needed: bool = False
    title: str = ""  # of the group of options that it stands in


class Verb(NamedTuple):
    """A verb or one of its actions; `words` are ("roost", "macro", "test")."""

    words: tuple[str, ...]
    purpose: str
    summary: str
    description: str
    usage: str
    arguments: tuple[Entry, ...]
    options: tuple[Entry, ...]
    actions: tuple[Verb, ...]
    page: Page

    @property
    def see(self) -> list[str]:
        """Where to read on."""
        return see_lines(self.page.see)

    def all(self) -> Iterator[Verb]:
        """Itself and what is below it."""
        yield self
        for action in self.actions:
            yield from action.all()


def reference() -> list[Verb]:
    """All verbs, by what they are for."""
    from roost.cli._parsers import page_of, parser_for

    root = parser_for(())
    parsers = {name: parser for name, _, parser in children(root)}
    found: list[Verb] = []
    for purpose, verbs in by_purpose(parsers).items():
        found += [
            described(("roost", verb), HEADINGS[purpose], root.summaries[verb], parsers[verb], page_of(verb))
            for verb in verbs
        ]
    return found


def described(
    words: tuple[str, ...], purpose: str, summary: str, parser: argparse.ArgumentParser, page: Page | None
) -> Verb:
    """What one parser takes."""
    page = page or _NO_PAGE
    titles = {action: group.title or "" for group in parser._action_groups for action in group._group_actions}
    entries = [
        (action, _entry(action, titles.get(action, "")))
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction) and action.help != argparse.SUPPRESS
    ]
    return Verb(
        words,
        purpose,
        summary,
        parser.description or summary,
        parser.format_usage().removeprefix("usage: ").rstrip(),
        tuple(entry for action, entry in entries if not action.option_strings),
        tuple(entry for action, entry in entries if action.option_strings),
        tuple(
            described((*words, name), purpose, text, child, page.of((*words, name)))
            for name, text, child in children(parser)
        ),
        page,
    )


def _entry(action: argparse.Action, title: str) -> Entry:
    metavar = "" if action.nargs == 0 else _metavar(action)
    text = (action.help or "").replace("%%", "%").replace("%(default)s", str(action.default))
    choices = () if action.choices is None or action.nargs == 0 else tuple(map(str, action.choices))
    is_path = action.type is Path or metavar in {"FILE", "DIR", "PATH"}
    names: Sequence[str] = action.option_strings or (metavar,)
    is_needed = action.required if action.option_strings else action.nargs not in {"?", "*"}
    return Entry(tuple(names), metavar, text, choices, is_path, is_needed, title)


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar is not None:
        return action.metavar
    if action.choices is not None:
        return f"{{{','.join(map(str, action.choices))}}}"
    return action.dest.upper().replace("_", "-") if action.option_strings else action.dest
