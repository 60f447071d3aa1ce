"""`roost macro test|diff|spark|list|show|add|update|delete|trace`: macros, for those who write them (docs/macros.md).

`test` and `diff` run macros here, over readings of a file or past readings of groups; nothing is published. `spark`
runs those of a node that have outgrown it. The others ask a node over HTTP. The exit status is 1 if there were failures
(`test`) or differences (`diff`), and 2 if neither could be tried.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from roost.cli._exit import FAILED, USAGE
from roost.cli._http import URL, add_node
from roost.cli._output import add_json
from roost.cli._page import Page
from roost.cli._parsing import add_at
from roost.cli._supervised import add_reach

SUMMARY = "Try macros on past readings, compare versions, see and change those of a node."
PAGE: Final = Page(
    examples=(
        ("roost macro test celsius.js --on readings.csv", "every run over the readings of a file"),
        (
            "roost macro test celsius.js --group /BigCompany/Building1/Electricity --since 7d --json",
            "over a week of a group, for programs",
        ),
        ("roost macro diff old.js new.js --on readings.csv", "where two versions differ"),
        (
            "roost macro spark --group /BigCompany/Building1/Electricity --panel Macros --user alice",
            "the macros of a node with engine: spark",
        ),
        ("roost macro list --user alice", "the macros of a node"),
        ("roost macro show celsius --user alice --json", "one of them, with its version, position and counters"),
        ("roost macro add celsius.yaml --user alice", "have a node run it from now on"),
        ("roost macro update celsius.yaml --user alice", "instead of the one it has"),
        ("roost macro trace celsius --user alice", "its last runs: inputs, log, output or failure"),
        ("roost macro delete celsius --user alice", "end it"),
    ),
    text="`test` and `diff` run macros here, over readings of a file or past readings of groups; nothing is published. "
    "`spark` runs those of a node that have outgrown it. The others ask a node over HTTP.",
    exits={
        FAILED: "there were failures (test) or differences (diff); or failed",
        USAGE: "the command line cannot be understood, or the macros could not be tried (test, diff)",
    },
    see=("role", "pipeline", "docs/macros.md", "docs/http.md"),
)

_SHOWN: Final = 10  # differences
_FILE: Final = "YAML or JSON with one macro or a list, or code alone: NAME.js, NAME.py"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    test = actions.add_parser("test", help="run macros over readings of a file, or past ones, and show what comes out")
    test.add_argument("file", metavar="FILE", type=Path, help=_FILE)
    test.add_argument("--full", action="store_true", help="with inputs and times of every run, not of failed ones only")
    test.add_argument("--failures", action="store_true", help="show failed runs only")
    diff = actions.add_parser("diff", help="run two versions over the same readings, and show where results differ")
    diff.add_argument("old", metavar="OLD", help="a file, or the name of a macro of the node; alone: NEW, and OLD is")
    diff.add_argument("new", metavar="NEW", nargs="?", help="what the node has under its name")
    diff.add_argument("--show", metavar="N", type=int, default=_SHOWN, help=f"so many differences (default: {_SHOWN})")
    for verb in (test, diff):
        _add_past(verb)
        verb.add_argument("--json", action="store_true", help="one JSON object per line")
    _add_spark(actions.add_parser("spark", help="run the macros of a node with engine: spark, until it is stopped"))
    for action, summary in (
        ("list", "the macros of a node"),
        ("show", "one of them, with its version, position and counters"),
        ("add", "define the macros of a file at a node"),
        ("update", "have a node run the macros of a file instead of those it has under their names"),
        ("delete", "end a macro"),
        ("trace", "the last runs of a macro: inputs, log, output or failure, how long they took"),
    ):
        verb = actions.add_parser(action, help=summary)
        if action in {"add", "update"}:
            verb.add_argument("file", metavar="FILE", type=Path, help=_FILE)
        elif action != "list":
            verb.add_argument("name", metavar="NAME", help="the macro's name, without Noctua/")
        add_node(verb)
        add_json(verb)


def _add_spark(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--group",
        metavar="GROUP",
        action="append",
        required=True,
        help="a group whose readings they refer to; repeatable, and the first one has their results",
    )
    verb.add_argument("--panel", metavar="PANEL", required=True, help="the panel of that group that publishes results")
    verb.add_argument("--checkpoint", metavar="DIR", help="default: pipelines/macros in ROOST_HOME")
    verb.add_argument("--home", metavar="DIR", default="", help="keys and trust (default: ROOST_HOME)")
    add_reach(verb)
    add_node(verb)
    add_json(verb, "a line of JSON every few seconds: how it goes")


def _add_past(parser: argparse.ArgumentParser) -> None:
    past = parser.add_argument_group("readings", "a file, archive and repos as `roost sql` has them, or a node's past")
    past.add_argument("--on", metavar="READINGS", type=Path, help="a file: JSON lines, or CSV with topic,time,value")
    past.add_argument("--since", metavar="WHEN", default="24h", help="how far back: 24h, 7d, 2026-05-01 (default: 24h)")
    past.add_argument("--group", metavar="GROUP", action="append", default=[], help="a group not archived; repeatable")
    past.add_argument("--archive", metavar="DIR", help="the archive, a folder or a URI (default: ROOST_HOME/archive)")
    past.add_argument("--archive-only", action="store_true", help="leave the repos alone")
    past.add_argument(
        "--spark",
        action=argparse.BooleanOptionalAction,
        help="have Spark go through archive and repos, or this process (default: Spark if the history is long)",
    )
    past.add_argument("--master", metavar="URL", help="where Spark runs (default: on this machine)")
    add_at(parser)
    node = parser.add_argument_group("a node", "whose past it is, unless there is a file, group or archive; over HTTP")
    node.add_argument("--node", metavar="URL", help=f"its address (for macros by name the default is {URL})")
    node.add_argument("--user", metavar="NAME", help="the user; the password is in ROOST_MQTT_PASSWORD, or asked for")
    node.add_argument("--password-file", type=Path, metavar="FILE", help="whose first line is the user's password")


def run(options: argparse.Namespace) -> int:
    """Run one action."""
    from roost.cli import note
    from roost.errors import RoostError

    if options.action == "spark":
        from roost.cli._macro_job import run_on_spark

        return run_on_spark(options)
    if options.action not in {"test", "diff"}:
        from roost.cli._macro_node import ask_about

        return ask_about(options)
    options.url = options.node or URL
    try:
        if options.action == "test":
            from roost.cli._macro_test import test

            return test(options)
        from roost.cli._macro_diff import diff

        return diff(options)
    except RoostError as error:  # not 1, which says what came of it
        note(f"roost macro: {error}")
        return 2
