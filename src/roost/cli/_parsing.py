"""How verbs read their arguments: options may stand between the others, and mistakes are told with the verb's usage.

A verb whose default `verbatim` lists options has their values taken as they are, as mosquitto does: argparse alone
takes `-m -x` for two options, and the reading `-inf` for the option -i.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from roost.cli._exit import USAGE
from roost.cli._output import complain
from roost.cli._verbs import nearest

_NEGATIVE: Final = re.compile(r"-(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?$|-(inf|infinity|nan)$", re.IGNORECASE)


class VerbParser(argparse.ArgumentParser):
    """The parser of a verb."""

    _as_json = False
    _inside = False  # argparse comes back to `parse_known_args`, once for options and once for the others

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all arguments of the verb; none is left to the parser of `roost`, which would show its own usage."""
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        self._as_json = "--json" in (args or ())
        self._negative_number_matcher = _NEGATIVE  # what argparse has does not know exponents
        if args is not None:
            args = _joined(args, self.get_default("verbatim") or ())
        try:
            if self._subparsers is not None:  # its actions are verbs of their own
                found, unknown = super().parse_known_args(args, namespace)
            else:
                found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False
        if unknown:
            options = [name for name in self._option_string_actions if name.startswith("--")]
            like = nearest(unknown[0], options) if unknown[0].startswith("--") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{like}")
        return found, []

    def error(self, message: str) -> NoReturn:
        """End with the usage of the verb, or in JSON if that is wanted."""
        if self._as_json:
            complain(self.prog, message, "Usage", as_json=True)
            raise SystemExit(USAGE)
        super().error(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  what argparse has there
        if action.choices is not None and value not in action.choices:
            there = [str(each) for each in action.choices]
            is_action = isinstance(action, argparse._SubParsersAction) or action.dest == "action"
            said = f"there is no action {value!r}" if is_action else f"invalid choice: {value!r}"
            message = f"{said}{nearest(str(value), there)} (of {', '.join(there)})"
            raise argparse.ArgumentError(None if is_action else action, message)
        super()._check_value(action, value)

    def _parse_optional(self, arg_string: str) -> Any:  # noqa: ANN401  what argparse has there
        return None if _NEGATIVE.fullmatch(arg_string) else super()._parse_optional(arg_string)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:  # noqa: ANN401  as above
        if action.option_strings and arg_strings == ["--"]:  # argparse would drop it
            return self._get_value(action, "--")
        return super()._get_values(action, arg_strings)


def _joined(words: Sequence[str], verbatim: Sequence[str]) -> list[str]:
    """Write `-m -x` as `-m-x`, and `--message -x` as `--message=-x`."""
    joined: list[str] = []
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in verbatim else None
        if value is None:
            joined.append(word)
        elif not value.startswith("-"):
            joined += [word, value]
        else:
            joined.append(f"{word}={value}" if word.startswith("--") else f"{word}{value}")
        if word == "--":
            return [*joined, *rest]
    return joined


def add_at(parser: argparse.ArgumentParser) -> None:
    """Take where to reach the network."""
    parser.add_argument(
        "--at",
        "--uri",
        dest="uris",
        metavar="URI",
        action="append",
        default=[],
        help="a repo, or a forwarder (default: NDN_CLIENT_TRANSPORT, client.conf, or the running node); repeatable, "
        "the first one that answers is used",
    )
