"""What verbs take as JSON, and as pages of the manual (roff, for `man`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from roost.cli._reference import Entry, Verb, reference
from roost.cli._verbs import nearest
from roost.errors import BadConfig


def chosen(words: Sequence[str]) -> list[Verb]:
    """The verb or action that the words name, all verbs for no words; raises `BadConfig`."""
    found = reference()
    for at, word in enumerate(words):
        below = {each.words[-1]: each for each in found}
        if word not in below:
            raise BadConfig(f"roost {' '.join(words[:at])} has no action {word!r}{nearest(word, below)}")
        verb = below[word]
        if at + 1 == len(words):
            return [verb]
        found = list(verb.actions)
    return found


def told(verb: Verb) -> dict[str, Any]:
    """A verb in JSON."""
    return {
        "command": " ".join(verb.words),
        "purpose": verb.purpose,
        "summary": verb.summary,
        "description": verb.description,
        "usage": verb.usage,
        "arguments": [_entry(each) for each in verb.arguments],
        "options": [_entry(each) for each in verb.options],
        "actions": [told(each) for each in verb.actions],
        "examples": [{"command": command, "what": what} for command, what in verb.page.examples],
        "exits": {str(code): meaning for code, meaning in verb.page.statuses().items()},
        "see": verb.see,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "names": list(entry.names),
        "value": entry.metavar,
        "text": entry.text,
        "choices": list(entry.choices),
        "required": entry.is_needed,
    }


def man_page(words: Sequence[str], verbs: Sequence[Verb]) -> str:
    """A page of section 1, with what is below the verb."""
    name = "-".join(["roost", *words])
    lines = [f'.TH "{name.upper()}" "1" "" "roost" "Roost"']
    if not words:
        lines += [".SH NAME", "roost \\- publish, process and subscribe over named, signed data", ".SH VERBS"]
        for verb in verbs:
            lines += [".TP", f".B {_roff(' '.join(verb.words))}", _roff(verb.summary)]
        return "\n".join(lines) + "\n"
    verb = verbs[0]
    lines += [".SH NAME", f"{name} \\- {_roff(verb.summary)}", ".SH SYNOPSIS", ".nf", *_roff_lines(verb.usage), ".fi"]
    lines += [".SH DESCRIPTION", *_roff_lines(verb.description)]
    for each in verb.all():
        if each is not verb:
            lines += [f'.SH "{" ".join(each.words).upper()}"', *_roff_lines(each.description)]
            lines += [".PP", ".nf", *_roff_lines(each.usage), ".fi"]
        lines += _entries(each)
    if verb.page.examples:
        lines += [".SH EXAMPLES"]
        for command, what in verb.page.examples:
            lines += [".TP", f".B {_roff(command)}", _roff(what)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in verb.page.statuses().items():
        lines += [".TP", f".B {code}", _roff(meaning)]
    if verb.see:
        lines += [".SH SEE ALSO", _roff(", ".join(verb.see))]
    return "\n".join(lines) + "\n"


def _entries(verb: Verb) -> Iterator[str]:
    title = ""
    if verb.arguments or verb.options:
        yield ".SS Arguments and options"
    for entry in (*verb.arguments, *verb.options):
        if entry.title not in {title, "options", "positional arguments"}:
            title = entry.title
            yield f'.SS "{_roff(title)}"'
        names = ", ".join(entry.names)
        value = f" {entry.metavar}" if entry.metavar and entry.metavar not in entry.names else ""
        yield from (".TP", f".B {_roff(names + value)}", _roff(entry.text))


def _roff_lines(text: str) -> list[str]:
    return [_roff(line) if line else ".PP" for line in text.splitlines()]


def _roff(text: str) -> str:
    """Escape what roff would take for its own: backslashes, hyphens, and dots and quotes at the start of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", " ".join(escaped.split()) if text.strip() == text else escaped)
