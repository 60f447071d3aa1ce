"""The parser of `roost`: with one verb if one was named, with all of them for the help.

Only the module of the verb that is asked for is imported, so a verb starts as fast as it can itself.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from roost.cli._exit import USAGE
from roost.cli._output import complain
from roost.cli._page import Page, dress
from roost.cli._parsing import VerbParser
from roost.cli._verbs import ALIASES, HEADINGS, by_purpose, modules, nearest

_ABOUT: Final = "Publish, process and subscribe over named, signed data."
_HINT: Final = (
    "`roost help VERB` or `roost VERB --help` says more; docs/cli-conventions.md what all verbs have in common."
)
_COLUMN: Final = 15
_WIDEST: Final = 110


class RootParser(argparse.ArgumentParser):
    """The parser of `roost` itself, whose help has the verbs by what they are for."""

    summaries: dict[str, str]

    def format_help(self) -> str:
        """The verbs with their summaries, and where to read on."""
        width = min(_WIDEST, shutil.get_terminal_size().columns)
        lines = ["usage: roost VERB …", "       roost help [VERB [ACTION]]", "", _ABOUT]
        for purpose, verbs in by_purpose(self.summaries).items():
            lines += ["", f"{HEADINGS[purpose]}:"]
            for verb in verbs:
                label = f"  {verb:<{_COLUMN - 2}}"
                lines += textwrap.wrap(
                    self.summaries[verb], width, initial_indent=label, subsequent_indent=" " * _COLUMN
                )
        lines += ["", "options:", "  -h, --help     show this", "  --version      say which version this is"]
        return "\n".join([*lines, "", *textwrap.wrap(_HINT, width)]) + "\n"

    def error(self, message: str) -> NoReturn:
        """End with the usage."""
        message = "name a verb; `roost help` lists them" if message.endswith("required: VERB") else message
        self.exit(USAGE, f"usage: roost VERB …\nroost: {message}\n")


def parser_for(words: Sequence[str]) -> RootParser:
    """The parser for these words: with the verb that they name, or, where they name none, with all."""
    there = modules()
    if not words or words[0].startswith("-"):
        return _parser({verb: verb for verb in there}, there)
    said = words[0]
    verb = ALIASES.get(said, said)
    if verb not in there:
        message = f"there is no verb {said!r}{nearest(said, there) or ';'} `roost help` lists them"
        if "--json" in words:
            complain("roost", message, "Usage", as_json=True)
            raise SystemExit(USAGE)
        _parser({}, there).error(message)
    return _parser({said: verb}, there)


def page_of(verb: str) -> Page | None:
    """The page of the manual that a verb has."""
    page: Page | None = getattr(importlib.import_module(modules()[verb]), "PAGE", None)
    return page


def _parser(wanted: dict[str, str], there: dict[str, str]) -> RootParser:
    """With these verbs, called as the keys say."""
    from roost import __version__

    parser = RootParser(prog="roost", description=_ABOUT)
    parser.summaries = {}
    parser.add_argument("--version", action="version", version=f"roost {__version__}")
    commands = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=VerbParser)
    for called, verb in wanted.items():
        module: Any = importlib.import_module(there[verb])
        command = commands.add_parser(called, description=module.SUMMARY)
        module.arguments(command)
        dress(command, ("roost", verb), page_of(verb))
        command.set_defaults(run=module.run)
        parser.summaries[verb] = module.SUMMARY
    return parser
