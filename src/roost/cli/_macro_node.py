"""`roost macro list|show|add|update|delete|trace`: the macros of a node, over HTTP."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from roost.cli._http import ask, list_of, login_of, mapping_of, path_of, show
from roost.cli._macro_file import check, read_definitions
from roost.cli._macro_show import run_lines
from roost.errors import BadConfig, BadMacro
from roost.process.definition import PYTHON, Definition, definition_of


def ask_about(options: argparse.Namespace) -> int:
    """Run one of the actions."""
    answer, lines = _ACTIONS[options.action](options)
    return show(options, answer, lines)


def definition_at(options: argparse.Namespace, name: str) -> Definition:
    """What a node has under a name, to run it here; raises `BadMacro` for Python, which is not run if it was sent."""
    definition = definition_of(_shown(options, name)["definition"])
    if definition.language == PYTHON:
        raise BadMacro(
            f"{name} is in Python at {options.url}, and what is sent over a network is not run: name its file"
        )
    return definition


def _list(options: argparse.Namespace) -> tuple[object, list[str]]:
    names = names_of(options, ask(options.url, "GET", path_of("macros"), user=login_of(options)))
    return names, names


def _show(options: argparse.Namespace) -> tuple[object, list[str]]:
    shown = _shown(options, options.name)
    return shown, list(_about(shown))


def _add(options: argparse.Namespace) -> tuple[object, list[str]]:
    """Define macros that the node does not have; all of them are checked before the first."""
    login = login_of(options)
    definitions = read_definitions(options.file)
    check(definitions)
    answers = [ask(options.url, "POST", path_of("macros"), each.mapping(), login) for each in definitions]
    return answers, [f"{each.name}: it runs, results on {each.topic}" for each in definitions]


def _update(options: argparse.Namespace) -> tuple[object, list[str]]:
    """Replace macros that the node has: that it has them all is seen before the first."""
    login = login_of(options)
    definitions = read_definitions(options.file)
    check(definitions)
    for each in definitions:
        ask(options.url, "GET", path_of("macros", each.name), user=login)
    answers = [
        mapping_of(options, ask(options.url, "PUT", path_of("macros", each.name), each.mapping(), login))
        for each in definitions
    ]
    return answers, [
        f"{each.name}: version {answer.get('version')}; the last readings of the one before: "
        f"{_numbers(answer.get('effective'))}"
        for each, answer in zip(definitions, answers, strict=True)
    ]


def _delete(options: argparse.Namespace) -> tuple[object, list[str]]:
    answer = mapping_of(options, ask(options.url, "DELETE", path_of("macros", options.name), user=login_of(options)))
    return answer, [f"{options.name}: deleted; the last readings it processed: {_numbers(answer.get('position'))}"]


def _trace(options: argparse.Namespace) -> tuple[object, list[str]]:
    runs = list_of(options, ask(options.url, "GET", path_of("traces", options.name), user=login_of(options)), "runs")
    shown = _shown(options, options.name)
    code, version = shown["definition"]["code"], shown.get("version")
    lines: list[str] = []
    for told in reversed(runs):  # the last one stands where the eye is
        is_current = told.get("version") == version
        called = options.name if is_current else f"{options.name} (version {told.get('version')})"
        lines += run_lines(called, told, code if is_current else "", full=True)
    return runs, lines or [f"{options.name} has not run yet"]


def _shown(options: argparse.Namespace, name: str) -> Mapping[str, Any]:
    shown = mapping_of(options, ask(options.url, "GET", path_of("macros", name), user=login_of(options)))
    if not isinstance(shown.get("definition"), dict):
        raise BadConfig(f"{options.url} does not say how {name} is defined; give the address of a node's `http`")
    return shown


def names_of(options: argparse.Namespace, answer: object) -> list[str]:
    """What a node answers with names; raises `BadConfig`."""
    return [str(name) for name in list_of(options, answer, "names of macros")]


def _about(shown: Mapping[str, Any]) -> Iterator[str]:
    definition = shown["definition"]
    for key, value in definition.items():
        if key != "code":
            yield f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
    for key, value in shown.items():
        if key in {"effective", "position"}:
            yield f"{key}: {_numbers(value)}"
        elif key == "counters" and isinstance(value, dict):
            yield f"{key}: {', '.join(f'{count} {name}' for name, count in value.items())}"
        elif key not in {"definition", "last_failure"} and value not in (None, ""):
            yield f"{key}: {value}"
    yield "code:"
    yield from [f"  {line}" for line in definition["code"].rstrip("\n").split("\n")]
    if isinstance(shown.get("last_failure"), dict):
        yield "last failure:"
        yield from run_lines(definition["name"], shown["last_failure"], definition["code"], full=True)


def _numbers(position: object) -> str:
    """Readings by their streams."""
    if not isinstance(position, dict) or not position:
        return "none"
    return ", ".join(f"{stream} {number}" for stream, number in position.items())


_ACTIONS = {"list": _list, "show": _show, "add": _add, "update": _update, "delete": _delete, "trace": _trace}
