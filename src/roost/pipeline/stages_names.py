"""What the streams of a stage are called: templates of the fields of a key, or of the input's own name.

A key `{floor:panel}/{metric}` has the fields `floor` and `metric`: one that is looked up is called as its table. Parts
of names hold no slash, so that a key can be taken apart again if there is one between its fields. Templates of outputs
(`device`, `metric`) use those fields, `{key}` for all of it with dashes in place of slashes, and `{output}` for what an
aggregate calls the value. Where rows are handed on one by one, the fields are `panel`, `device` and `metric`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

FIELD: Final = re.compile(r"\{(?:(\w+):)?(\w+)\}")
STREAM: Final = "{panel}/{device}/{metric}"
KEY: Final = "key"
OUTPUT: Final = "output"
MAX_POSSIBLE: Final = 1000  # names of a stage that are told apart


class Field(NamedTuple):
    """One field of a template; `table` is empty if it is not looked up."""

    table: str
    part: str

    @property
    def name(self) -> str:
        """What it is called in templates of outputs and in expressions."""
        return self.table or self.part


def fields_of(template: str) -> list[Field]:
    """The fields of a template, in order."""
    return [Field(table, part) for table, part in FIELD.findall(template.replace("{stream}", STREAM))]


@lru_cache(maxsize=1024)
def pattern_of(template: str) -> str:
    """A regular expression, of Python's as of Java's, with a group for each field of a key."""
    pieces = FIELD.split(template.replace("{stream}", STREAM))
    return "^" + "([^/]+)".join(_escaped(piece) for piece in pieces[::3]) + "$"


def is_separable(template: str) -> bool:
    """Whether a key can be taken apart: a slash between any two fields."""
    return all("/" in between for between in FIELD.split(template.replace("{stream}", STREAM))[3:-1:3])


def taken_apart(template: str, key: str) -> dict[str, str]:
    """The fields of a key."""
    found = re.match(pattern_of(template), key)
    values = found.groups() if found else ()
    return {field.name: value for field, value in zip(fields_of(template), values, strict=False)} | {
        KEY: key.replace("/", "-")
    }


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its fields filled in; one that is not known stays as it is."""
    return FIELD.sub(lambda found: values.get(found[1] or found[2], found[0]), template)


def default_device(key: str) -> str:
    """The device of an output that does not say it."""
    return "{device}" if "device" in {field.name for field in fields_of(key)} else "{key}"


def default_metric(key: str, *, has_outputs: bool) -> str:
    """The metric of an output that does not say it: what the key has of the metric, and what was made of it."""
    own = next((f"{{{field.name}}}" for field in fields_of(key) if field.part == "metric"), "")
    return "_".join(filter(None, (own, "{output}"))) if has_outputs else own or "value"


def possible(
    templates: Sequence[str], wishes: Sequence[str], key: str, tables: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """What templates can become, as far as wishes and tables say it: `{metric}` is `temp` where only that is read."""
    found = list(templates)
    for field in fields_of(key):
        values = _values(field.part, wishes)
        if field.table:
            entries = tables.get(field.table, {})
            values = sorted(
                {*entries.values()} if values is None else {entries[each] for each in values if each in entries}
            )
        if values is None or len(values) * len(found) > MAX_POSSIBLE:
            continue
        found = [filled(each, {field.name: value}) for each in found for value in values]
    return list(dict.fromkeys(found))


def _values(part: str, wishes: Sequence[str]) -> list[str] | None:
    """The values that a part of names can have; None if it can be anything."""
    at = ("panel", "device", "metric").index(part)
    levels = [wish.split("/") for wish in wishes]
    if any(len(each) != 3 or each[at] in ("+", "#") or each[-1] == "#" for each in levels):
        return None
    return sorted({each[at] for each in levels})


def matcher_of(template: str) -> str:
    """A regular expression of what a template can become, for one level of a name."""
    pieces = FIELD.split(template)
    return "^" + "[^/]+".join(_escaped(piece) for piece in pieces[::3]) + "$"


def _escaped(text: str) -> str:
    return re.sub(r"[^\w/ -]", lambda found: "\\" + found[0], text)
