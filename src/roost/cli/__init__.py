"""The `roost` command: one file per verb, each with `SUMMARY`, `arguments(parser)` and `run(arguments) -> int`.

Little is imported before `main` runs: an interrupt in an import is quiet only from there on.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from roost.errors import RoostError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def verbs() -> list[str]:
    """List the verbs: the modules of this package, but for those whose name begins with an underscore."""
    import pkgutil

    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; what fails is one sentence: a `RoostError`, or, unless ROOST_DEBUG is set, the system's refusal."""
    verb = ""
    try:
        arguments = _parser().parse_args(argv)
        verb = f" {arguments.verb}"
        return int(arguments.run(arguments))
    except RoostError as error:
        print(f"roost{verb}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # as early as in the imports
        return 130
    except BrokenPipeError:  # whoever reads what we print has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if os.environ.get("ROOST_DEBUG"):
            raise
        print(f"roost{verb}: {_sentence(error)}", file=sys.stderr)
        return 1


def note(line: str) -> None:
    """Tell the person at the terminal something that is not the output."""
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    import argparse
    import importlib

    from roost import __version__
    from roost.cli._parsing import VerbParser

    parser = argparse.ArgumentParser(
        prog="roost", description="Publish, process and subscribe over named, signed data."
    )
    parser.add_argument("--version", action="version", version=f"roost {__version__}")
    commands = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=VerbParser)
    for verb in verbs():
        module = importlib.import_module(f"{__name__}.{verb}")
        command = commands.add_parser(verb, help=module.SUMMARY, description=module.SUMMARY)
        module.arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _sentence(error: OSError) -> str:
    from pathlib import Path

    from roost.host.paths import home

    reason = error.strerror or str(error)
    if not isinstance(error.filename, (str, bytes)):  # it may be a descriptor, or none
        return f"{reason}; ROOST_DEBUG=1 shows where"
    path = os.fsdecode(error.filename)
    if not Path(path).is_relative_to(home()):
        return f"{path} cannot be used: {reason}"
    return f"{path} cannot be used: {reason}; see who owns {home()}, or name another directory with ROOST_HOME"
