"""`roost role explain|check|list|show|add|update|delete`: who gets what, by role documents (docs/roles.md).

`explain` reads the files that a broker's configuration names (`roles`), or asks a node over HTTP, which has documents
that came since, and roles that no file has. What the ordinary permissions say comes on top. `check` looks at a file
alone; the others see and change the documents of a node, and of all nodes of its groups, over HTTP.
"""

from __future__ import annotations

import argparse
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli._http import add_node
from roost.cli._output import add_json, show
from roost.cli._page import Page

if TYPE_CHECKING:  # the rest is imported where it is used: every verb is loaded for `roost --help`
    from roost.host.mqtt.config_roles import RoleSettings
    from roost.process.roles.decision import Roles

_ANY: Final = "any"  # a level, where filters say nothing

_FILE: Final = "YAML or JSON: one document, or a list of them"

SUMMARY = "Say what a user gets of a topic and why; see and change role documents."
PAGE: Final = Page(
    examples=(
        ("roost role check rbps.yaml", "whether role documents are in order"),
        ("roost role explain bob home/hall --config roost.yaml", "what bob gets, by the files of a configuration"),
        ("roost role list --url http://127.0.0.1:8080 --user alice --json", "what a node has documents for"),
        ("roost role show 'home/+' --user alice", "one of them"),
        ("roost role add rbps.yaml --user alice", "have the documents of a file hold at a node that has none"),
        ("roost role update rbps.yaml --user alice", "instead of those that it has"),
        ("roost role delete 'home/+' --user alice", "take one back"),
    ),
    text="`explain` reads the files that a configuration names, or asks a node, which has documents that came since. "
    "What the ordinary permissions say comes on top.",
    see=("macro", "users", "docs/roles.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    explain = actions.add_parser("explain", help="what a user gets of a topic, and why")
    explain.add_argument("who", metavar="USER", help="the user")
    explain.add_argument("topic", metavar="TOPIC", help="the topic, or Noctua/NAME for the results of a macro")
    explain.add_argument(
        "--config", metavar="FILE", type=Path, help="a broker's configuration, whose files are read; no node is asked"
    )
    add_node(explain)
    add_json(explain)
    check = actions.add_parser("check", help="whether role documents are in order, and which counts where two match")
    check.add_argument("file", metavar="FILE", type=Path, help=_FILE)
    add_json(check)
    for action, summary in (
        ("list", "the topics and filters that a node has documents for"),
        ("show", "the document of one of them"),
        ("add", "have the documents of a file hold at a node that has none for their topics"),
        ("update", "have the documents of a file hold instead of those that the node has for their topics"),
        ("delete", "take a document back"),
    ):
        verb = actions.add_parser(action, help=summary)
        if action in {"add", "update"}:
            verb.add_argument("file", metavar="FILE", type=Path, help=_FILE)
        elif action != "list":
            verb.add_argument("topic", metavar="TOPIC", help="the topic or filter that the document is for")
        add_node(verb)
        add_json(verb)


def run(options: argparse.Namespace) -> int:
    """Run one action."""
    if options.action == "check":
        return _check(options)
    if options.action != "explain":
        from roost.cli._role_node import ask_about

        return ask_about(options)
    lines = _asked(options) if options.config is None else _read(options)
    told = {"user": options.who, "topic": options.topic, "explanation": "\n".join(lines)}
    return show(options, told, lines)


# -- explaining


def _asked(options: argparse.Namespace) -> list[str]:
    from roost.cli._http import ask, login_of, path_of
    from roost.errors import BadConfig

    path = path_of("explain", user=options.who, topic=options.topic)
    answer = ask(options.url, "GET", path, user=login_of(options))
    if not isinstance(answer, dict) or not isinstance(answer.get("explanation"), str):
        raise BadConfig(f"{options.url} does not answer with an explanation; give the address of a node's `http`")
    return [answer["explanation"]]


def _read(options: argparse.Namespace) -> list[str]:
    from roost.naming.topic import name_of_topic
    from roost.process.roles.explanation import explain
    from roost.process.roles.policy import Policy

    name_of_topic(options.topic)
    settings = _settings(options.config)
    roles: Roles = None
    why = "only the node can look them up; leave out --config to ask it"
    if isinstance(settings.users, Path) and (source := settings.read_source()) is not None:
        roles, why = source.find(options.who)
    return explain(Policy(settings.read_documents()), options.who, options.topic, roles, why)


def _settings(path: Path) -> RoleSettings:
    """What a configuration says of roles; raises `BadConfig`."""
    import yaml

    from roost.errors import BadConfig
    from roost.host.mqtt.config_roles import read_role_settings

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(said, dict) or "roles" not in said:
        raise BadConfig(f"{path} says nothing of roles; write `roles: {{documents: rbps.yaml, users: roles.yaml}}`")
    return read_role_settings(said["roles"], path.absolute().parent)


# -- checking


def _check(options: argparse.Namespace) -> int:
    from roost.host.mqtt.config_roles import RoleSettings
    from roost.process.roles.patterns import intersects
    from roost.process.roles.policy import Policy

    documents = RoleSettings(options.file, "").read_documents()  # who has which role is not asked
    policy = Policy(documents)
    found = [{"topic": each.topic, "roles": [row.role for row in each.rows]} for each in documents]
    lines = [f"{each.topic}: {', '.join(row.role for row in each.rows)}" for each in documents]
    overlaps: list[dict[str, str]] = []
    for at, one in enumerate(documents):
        for other in documents[at + 1 :]:
            if intersects(one.topic, other.topic):
                first = next(each for each in policy.governing(_met(one.topic, other.topic)) if each in (one, other))
                overlaps.append({"one": one.topic, "other": other.topic, "counts": first.topic})
                lines.append(f"where {one.topic} and {other.topic} both match, {first.topic} counts alone")
    return show(options, {"documents": found, "overlaps": overlaps}, lines)


def _met(one: str, other: str) -> str:
    """A topic that both of two filters match, which there is."""
    met: list[str] = []
    for left, right in zip_longest(one.split("/"), other.split("/"), fillvalue="#"):
        if left == right == "#":  # one ends here, and the other may
            break
        written = [level for level in (left, right) if level not in {"+", "#"}]
        met.append(written[0] if written else _ANY)
    return "/".join(met)
