"""How verbs read their arguments: options may stand between the others, and mistakes are told with the verb's usage."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Final

_NEGATIVE: Final = re.compile(r"-(\d[\d_]*\.?\d*|\.\d+)(e[-+]?\d+)?$|-(inf|infinity|nan)$", re.IGNORECASE)


class VerbParser(argparse.ArgumentParser):
    """The parser of a verb."""

    _inside = False  # argparse comes back to `parse_known_args`, once for options and once for the others

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse all arguments of the verb; none is left to the parser of `roost`, which would show its own usage."""
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        self._negative_number_matcher = _NEGATIVE  # what argparse has does not know exponents
        try:
            if self._subparsers is not None:  # its actions are verbs of their own
                found, unknown = super().parse_known_args(args, namespace)
            else:
                found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, []


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
