"""Whether a node could take the macros of a file, found out before the first is sent.

A macro must not depend on itself, by way of others of the file or of the node. Of the node only those are asked for
that the file's macros depend on. What it has in Python is not run here, so the node itself has to see such a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from roost.cli._macro_file import check
from roost.errors import BadMacro
from roost.process.definition import PREFIX, PYTHON, Definition
from roost.process.dependencies import Dependencies
from roost.process.wildcards import matches


def check_cycles(wanted: Mapping[str, Sequence[str]], there: Mapping[str, Sequence[str]] | None = None) -> None:
    """Take macros with what they refer to in one by one, beside those that are there; raises `BadMacro` on a cycle."""
    graph = Dependencies()
    for name, filters in (there or {}).items():
        with suppress(BadMacro):  # the node has refused one of them as well
            graph.set(name, PREFIX + name, filters)
    for name, filters in wanted.items():
        graph.set(name, PREFIX + name, filters)


def behind(
    wanted: Mapping[str, Sequence[str]], names: Sequence[str], there: Callable[[str], Definition]
) -> dict[str, Sequence[str]]:
    """The macros of the node that are replaced or depended on, with what they refer to."""
    found: dict[str, Sequence[str]] = {}
    read = [each for filters in wanted.values() for each in filters]
    ahead = dict.fromkeys([name for name in names if name in wanted or _is_read(name, read)])
    while ahead:
        name = next(iter(ahead))
        del ahead[name]
        found[name] = _references(there(name))
        ahead |= dict.fromkeys([each for each in names if each not in found and _is_read(each, found[name])])
    return found


def _references(definition: Definition) -> Sequence[str]:
    if definition.language == PYTHON:
        return ()
    try:
        return check([definition])[definition.name]
    except BadMacro:  # a node with another release may take what we do not
        return ()


def _is_read(name: str, filters: Iterable[str]) -> bool:
    return any(matches(each, PREFIX + name) for each in filters)
