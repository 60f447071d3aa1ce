"""`roost help [VERB [ACTION]]`: the verbs, or one of them; `--man` writes its page for `man`."""

from __future__ import annotations

import argparse
from typing import Final

from roost.cli._output import add_json, show
from roost.cli._page import Page

SUMMARY = "Say what the verbs are, and what one of them does."
PAGE: Final = Page(
    examples=(
        ("roost help", "all verbs"),
        ("roost help macro test", "what `roost macro test` takes"),
        ("roost help pub --man > roost-pub.1", "its page of the manual, for `man -l roost-pub.1`"),
        ("roost help sub --json", "what it takes, for programs"),
    ),
    see=("completion", "docs/cli-conventions.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say of what."""
    parser.add_argument("about", metavar="VERB", nargs="*", help="a verb, and perhaps an action of it (default: all)")
    parser.add_argument("--man", action="store_true", help="as a page of the manual (roff), for man")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Show it."""
    from roost.cli._parsers import parser_for
    from roost.cli._verbs import ALIASES

    words = [ALIASES.get(word, word) for word in options.about[:1]] + options.about[1:]
    parser = parser_for(words)  # which ends with a hint where there is no such verb
    if not options.man and not options.json:
        parser.parse_args([*words, "--help"])  # which ends with 0
    from roost.cli._manual import chosen, man_page, told

    found = chosen(words)
    if options.man:
        print(man_page(words, found), end="")
        return 0
    answer = [told(each) for each in found]
    return show(options, answer[0] if words else answer, ())
