"""What the help of a verb says beyond its options: examples, exit codes, where to read on.

A verb's module has it as `PAGE`. The help of an action, `roost macro test --help`, takes from it what is about that
action: the examples that begin with it. Examples are run by tests: they are commands, and no sketches.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from roost.cli._exit import DONE, FAILED, MEANINGS, USAGE

_WIDTH: Final = 100
_LABEL: Final = 4  # of an exit code


class Page(NamedTuple):
    """A page of the manual: `examples` are commands and what they do, `see` other verbs and files of docs."""

    examples: tuple[tuple[str, str], ...]
    text: str = ""
    exits: Mapping[int, str] = {}
    see: tuple[str, ...] = ()

    def of(self, words: Sequence[str]) -> Page:
        """What is about one action."""
        begin = " ".join(words)
        own = tuple(each for each in self.examples if each[0] == begin or each[0].startswith(f"{begin} "))
        return Page(own, "", self.exits, (words[1], *self.see))

    def statuses(self) -> dict[int, str]:
        """The exit codes that matter here, in their order."""
        return dict(sorted(({code: MEANINGS[code] for code in (DONE, FAILED, USAGE)} | dict(self.exits)).items()))

    def epilog(self) -> str:
        """Write it for the end of the help."""
        lines = ["examples:"] if self.examples else []
        for command, what in self.examples:
            lines += [f"  # {what}", f"  {command}"]
        lines += ["", "exit status:"]
        for code, meaning in self.statuses().items():
            lines += textwrap.wrap(
                f"{code:<{_LABEL}}{meaning}", _WIDTH, initial_indent="  ", subsequent_indent=" " * (_LABEL + 2)
            )
        if self.see:
            lines += ["", "see also:", f"  {', '.join(see_lines(self.see))}"]
        return "\n".join(lines).strip("\n")


def see_lines(see: Sequence[str]) -> list[str]:
    """Verbs as `roost help VERB`, files as they are."""
    return [each if "." in each else f"roost help {each}" for each in dict.fromkeys(see)]


class HelpText(argparse.HelpFormatter):
    """Wraps text by paragraphs, and leaves lines alone that are indented: those of an example."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled: list[str] = []
        for line in text.splitlines():
            if not line or line[0] == " " or line.endswith(":"):
                filled.append(indent + line)
            else:
                filled += textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent)
        return "\n".join(filled)


def dress(parser: argparse.ArgumentParser, words: Sequence[str], page: Page | None) -> None:
    """Put the page into the help of a verb and of its actions."""
    parser.formatter_class = HelpText
    if page is not None:
        if page.text:
            parser.description = f"{parser.description}\n\n{page.text}"
        parser.epilog = page.epilog().replace("%", "%%")
    for action, summary, child in children(parser):
        child.description = child.description or f"{summary[:1].upper()}{summary[1:]}."
        dress(child, (*words, action), None if page is None else page.of((*words, action)))


def children(parser: argparse.ArgumentParser) -> list[tuple[str, str, argparse.ArgumentParser]]:
    """The actions of a verb, each with what it does and its parser."""
    found: list[tuple[str, str, argparse.ArgumentParser]] = []
    for each in parser._actions:
        if isinstance(each, argparse._SubParsersAction):
            summaries: Any = {said.dest: said.help or "" for said in each._choices_actions}
            found += [(name, summaries.get(name, ""), child) for name, child in each.choices.items()]
    return found
