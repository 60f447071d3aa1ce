"""`roost macro list|show|add|update|delete|trace`: the macros of a node, over HTTP."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from roost.cli._http import Login, ask, ask_all, list_of, login_of, mapping_of, path_of
from roost.cli._macro_file import check, read_definitions
from roost.cli._macro_graph import behind, check_cycles
from roost.cli._macro_show import run_lines
from roost.cli._output import show
from roost.errors import BadConfig, BadMacro, MacroExists, Refused
from roost.process.definition import PYTHON, Definition, definition_of

_REPLACE: Final = "`roost macro update` replaces it"
_TAKEN: Final = 409  # Conflict


def ask_about(options: argparse.Namespace) -> int:
    """Run one of the actions."""
    answer, lines = _ACTIONS[options.action](options)
    return show(options, answer, lines)


def definition_at(options: argparse.Namespace, name: str) -> Definition:
    """What a node has under a name, to run it here; raises `BadMacro` for Python, which is not run if it was sent."""
    definition = _definition(options, name)
    if definition.language == PYTHON:
        raise BadMacro(
            f"{name} is in Python at {options.url}, and what is sent over a network is not run: name its file"
        )
    return definition


def _list(options: argparse.Namespace) -> tuple[object, list[str]]:
    names = _names(options)
    return names, names


def _show(options: argparse.Namespace) -> tuple[object, list[str]]:
    shown = _shown(options, options.name)
    return shown, list(_about(shown))


def _add(options: argparse.Namespace) -> tuple[object, list[str]]:
    """Define macros that the node does not have: that it could take them all is seen before the first is sent."""
    definitions = read_definitions(options.file)
    wanted = check(definitions)
    names = _names(options)
    for each in definitions:
        if each.name in names:
            raise MacroExists(f"{each.name}: there is such a macro, and nothing was changed; {_REPLACE}")
    _check_cycles(wanted, names, lambda name: _definition(options, name))
    answers: list[object] = []
    for each in definitions:
        try:
            answers.append(ask(options.url, "POST", path_of("macros"), each.mapping(), login_of(options)))
        except Refused as error:
            why = f"{each.name}: there is such a macro; {_REPLACE}" if error.code == _TAKEN else str(error)
            raise Refused(why + _done(definitions[: len(answers)]), error.code) from None
    return answers, [f"{each.name}: it runs, results on {each.topic}" for each in definitions]


def _update(options: argparse.Namespace) -> tuple[object, list[str]]:
    """Replace macros that the node has: that it has them all, and could take these, is seen before the first."""
    definitions = read_definitions(options.file)
    wanted = check(definitions)
    shown = {each.name: _shown(options, each.name) for each in definitions}
    before = {name: definition_of(said["definition"]) for name, said in shown.items()}
    changed = {each.name: wanted[each.name] for each in definitions if before[each.name] != each}
    if changed:
        _check_cycles(changed, _names(options), lambda name: before.get(name) or _definition(options, name))
    answers: list[object] = []
    lines: list[str] = []
    for each in definitions:
        if each.name not in changed:
            answers.append(shown[each.name])
            lines.append(f"{each.name}: unchanged, version {shown[each.name].get('version')}")
            continue
        try:
            said = ask(options.url, "PUT", path_of("macros", each.name), each.mapping(), login_of(options))
        except Refused as error:
            done = [one for one in definitions[: len(answers)] if one.name in changed]
            raise Refused(str(error) + _done(done), error.code) from None
        answer = mapping_of(options, said)
        answers.append(answer)
        lines.append(
            f"{each.name}: version {answer.get('version')}; the last readings of the one before: "
            f"{_numbers_or_why(answer, 'effective')}"
        )
    return answers, lines


def _check_cycles(
    wanted: Mapping[str, Sequence[str]], names: Sequence[str], there: Callable[[str], Definition]
) -> None:
    try:
        check_cycles(wanted, behind(wanted, names, there))
    except BadMacro as error:
        raise BadMacro(f"{error}; nothing was changed") from None


def _done(definitions: Sequence[Definition]) -> str:
    """What came before a refusal that nobody could foresee."""
    return f" (done before it: {', '.join(each.name for each in definitions)})" if definitions else ""


def _delete(options: argparse.Namespace) -> tuple[object, list[str]]:
    answer = mapping_of(options, ask(options.url, "DELETE", path_of("macros", options.name), user=login_of(options)))
    return answer, [f"{options.name}: deleted; the last readings it processed: {_numbers_or_why(answer, 'position')}"]


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


def _definition(options: argparse.Namespace, name: str) -> Definition:
    return definition_of(_shown(options, name)["definition"])


def _names(options: argparse.Namespace) -> list[str]:
    return names_at(options, login_of(options))


def names_at(options: argparse.Namespace, user: Login | None, **query: str) -> list[str]:
    """The names of a node's macros; raises as `ask` does."""
    return [str(name) for name in ask_all(options, "macros", "names of macros", user, **query)]


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


def _numbers_or_why(answer: Mapping[str, Any], key: str) -> str:
    """Readings by their streams, or why they are not known."""
    return str(answer["pending"]) if "pending" in answer else _numbers(answer.get(key))


def _numbers(position: object) -> str:
    """Readings by their streams."""
    if not isinstance(position, dict) or not position:
        return "none"
    return ", ".join(f"{stream} {number}" for stream, number in position.items())


_ACTIONS = {"list": _list, "show": _show, "add": _add, "update": _update, "delete": _delete, "trace": _trace}
