"""The `roost` command: one file per verb, each with `SUMMARY`, `arguments(parser)` and `run(arguments) -> int`."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

from roost import __version__
from roost.errors import RoostError


def verbs() -> list[str]:
    """List the verbs: the modules of this package."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; a `RoostError` is printed as one sentence, without a traceback."""
    parser = argparse.ArgumentParser(
        prog="roost", description="Publish, process and subscribe over named, signed data."
    )
    parser.add_argument("--version", action="version", version=f"roost {__version__}")
    commands = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in verbs():
        module = importlib.import_module(f"{__name__}.{verb}")
        command = commands.add_parser(verb, help=module.SUMMARY, description=module.SUMMARY)
        module.arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except RoostError as error:
        print(f"roost {arguments.verb}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever reads what we print has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
