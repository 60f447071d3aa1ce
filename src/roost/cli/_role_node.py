"""`roost role list|show|add|update|delete`: the role documents of a node, over HTTP."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from roost.cli._http import ask, ask_all, login_of, mapping_of, path_of
from roost.cli._output import show
from roost.errors import BadConfig, RulesExist
from roost.host.mqtt.config_roles import RoleSettings
from roost.process.roles.explanation import row_line
from roost.process.roles.patterns import Patterns, intersects
from roost.process.roles.specification import Specification
from roost.process.wildcards import is_wild

Answered: TypeAlias = tuple[object, list[str]]  # as the node says it, and as people read it


def ask_about(options: argparse.Namespace) -> int:
    """Run one of the actions."""
    answer, lines = _ACTIONS[options.action](options)
    return show(options, answer, lines)


def _list(options: argparse.Namespace) -> Answered:
    topics = _topics(options)
    return topics, [str(topic) for topic in topics]


def _show(options: argparse.Namespace) -> Answered:
    shown = _asked(options, "GET", options.topic)
    document = _read(options, shown)
    return shown, [f"topic: {document.topic}", *[f"  {row_line(row)}" for row in document.rows]]


def _add(options: argparse.Namespace) -> Answered:
    """Have documents hold for topics that have none: that is seen before the first is sent."""
    documents = _documents(options)
    taken = set(_topics(options))
    for each in documents:
        if each.topic in taken:
            raise RulesExist(f"{each.topic}: there is a document for it, and nothing was changed; `update` replaces it")
    login = login_of(options)
    answers = [ask(options.url, "POST", path_of("rbps"), each.mapping(), login) for each in documents]
    return answers, [f"{each.topic}: it holds, for {_roles(each)}" for each in documents]


def _update(options: argparse.Namespace) -> Answered:
    """Replace documents: that the node has them all is seen before the first is sent."""
    documents = _documents(options)
    before = [_read(options, _asked(options, "GET", each.topic)) for each in documents]
    answers = [_asked(options, "PUT", each.topic, each.mapping()) for each in documents]
    return answers, [
        f"{each.topic}: as before" if each == old else f"{each.topic}: it holds, for {_roles(each)}"
        for each, old in zip(documents, before, strict=True)
    ]


def _delete(options: argparse.Namespace) -> Answered:
    answer = _asked(options, "DELETE", options.topic)
    lines = [f"{options.topic}: taken back; it was for {_roles(_read(options, answer))}"]
    return answer, lines if options.json else [*lines, _counting(options, [str(each) for each in _topics(options)])]


def _counting(options: argparse.Namespace, topics: list[str]) -> str:
    """What governs a topic or filter by now that had a document of its own."""
    patterns: Patterns[str] = Patterns()
    for each in topics:
        patterns.put(each, each)
    others = [each for each in topics if each != options.topic and intersects(each, options.topic)]
    if not others:
        return f"{options.topic}: no document governs it now, so roles do not matter there, and permissions alone count"
    if not is_wild(options.topic):
        return f"{options.topic}: the document for {patterns.matching(options.topic)[0]} counts now"
    return f"{options.topic}: of what it matches, these documents govern some or all: {', '.join(others)}"


def _topics(options: argparse.Namespace) -> list[object]:
    return ask_all(options, "rbps", "topics", login_of(options))


def _asked(options: argparse.Namespace, method: str, topic: str, body: object = None) -> dict[str, object]:
    return mapping_of(options, ask(options.url, method, path_of("rbps", topic), body, login_of(options)))


def _documents(options: argparse.Namespace) -> list[Specification]:
    documents = RoleSettings(options.file, "").read_documents()
    if not documents:
        raise BadConfig(f"{options.file}: there is no document in it")
    return documents


def _read(options: argparse.Namespace, said: dict[str, object]) -> Specification:
    try:
        return Specification.read(said)
    except BadConfig as error:
        raise BadConfig(f"{options.url} does not answer with a document: {error}") from None


def _roles(document: Specification) -> str:
    return ", ".join(row.role for row in document.rows)


_ACTIONS = {"list": _list, "show": _show, "add": _add, "update": _update, "delete": _delete}
