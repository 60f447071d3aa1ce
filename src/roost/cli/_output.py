"""What verbs print: lines for people, or with `--json` documents for programs; and how a failure is told.

What has one result prints one JSON document; what goes on prints one line of JSON per thing. Keys are never renamed.
With `--json` a failure is JSON, too, on the error output: {"error": a sentence, "kind": the class of `roost.errors`}.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, Final

_HELP: Final = "print JSON, for programs; what fails is told in JSON, too"


def add_json(parser: argparse.ArgumentParser, text: str = _HELP) -> None:
    """Take whether people or programs read the answer."""
    parser.add_argument("--json", action="store_true", help=text)


def wants_json(options: argparse.Namespace | None) -> bool:
    """Whether programs read the answer."""
    return bool(getattr(options, "json", False))


def show(options: argparse.Namespace, answer: object, lines: Iterable[str]) -> int:
    """Print a result: as one JSON document if that is wanted, else these lines."""
    for line in [document(answer, indent=2)] if wants_json(options) else lines:
        print(line)
    return 0


def say(options: argparse.Namespace, line: str, **told: object) -> None:
    """Print one of many things, as soon as there is one: as a line of JSON if that is wanted, else this line."""
    print(document(told) if wants_json(options) else line, flush=True)


def counted(number: int, what: str) -> str:
    """A number of things: 1 stream, 2 streams."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def complain(who: str, sentence: str, kind: str, *, as_json: bool) -> None:
    """Tell a failure on the error output."""
    print(document({"error": sentence, "kind": kind}) if as_json else f"{who}: {sentence}", file=sys.stderr, flush=True)


def document(value: object, indent: int | None = None) -> str:
    """Write JSON; names and paths as text, bytes in hex."""
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)


def _plain(value: Any) -> object:  # noqa: ANN401  whatever JSON has no form for
    return value.hex() if isinstance(value, bytes) else str(value)
