"""The `roost` command: one file per verb, each with `SUMMARY`, `PAGE`, `arguments(parser)` and `run(options) -> int`.

Little is imported before `main` runs: an interrupt in an import is quiet only from there on. What all verbs have in
common stands beside them: exit codes in `_exit`, output in `_output`, help in `_page`, what there is in `_verbs`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from roost.cli._exit import FAILED, INTERRUPTED, UNREAD
from roost.errors import RoostError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def verbs() -> list[str]:
    """List the verbs."""
    from roost.cli._verbs import modules

    return list(modules())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; what fails is one sentence: a `RoostError`, or, unless ROOST_DEBUG is set, the system's refusal."""
    words = sys.argv[1:] if argv is None else list(argv)
    options: argparse.Namespace | None = None
    try:
        from roost.cli._parsers import parser_for

        options = parser_for(words).parse_args(words)
        return int(options.run(options))
    except RoostError as error:
        return _failed(options, str(error), error)
    except KeyboardInterrupt:  # as early as in the imports
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads what we print has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except OSError as error:
        if os.environ.get("ROOST_DEBUG"):
            raise
        return _failed(options, _sentence(error), error)


def note(line: str) -> None:
    """Tell the person at the terminal something that is not the output."""
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    """The parser with all verbs: for who describes them, and for tests."""
    from roost.cli._parsers import parser_for

    return parser_for(())


def _failed(options: argparse.Namespace | None, sentence: str, error: Exception) -> int:
    from roost.cli._output import complain, wants_json

    who = "roost" if options is None else f"roost {options.verb}"
    complain(who, sentence, type(error).__name__, as_json=wants_json(options))
    return FAILED


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
