"""`roost check-config`: say all that is wrong with a configuration, with line, key and remedy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from roost.cli._output import add_json
from roost.cli._page import Page
from roost.errors import BadConfig, NoKey

SUMMARY = "Say all that is wrong with a node's configuration and its files, or that it can run."

PAGE: Final = Page(
    examples=(("roost check-config --sample", "print a configuration with every key and its default"),),
    text="The file is that of -c, else the one that `roost up` would use. Each mistake is a line: the file, its line, "
    "the key, and what to write.",
    see=("up", "doctor", "docs/configuration.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say which file."""
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="the configuration")
    parser.add_argument("--sample", action="store_true", help="print a configuration with every key instead")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Do it."""
    from roost.cli import note
    from roost.cli._config_check import check
    from roost.cli._exit import FAILED
    from roost.cli._output import show, wants_json
    from roost.cli._up_config import find_source
    from roost.cli.mqtt import show_sample

    if options.sample:
        return show_sample(options)
    source = find_source(options.config)
    file = str(source.path or "")
    try:
        checked = check(source.read())
    except (BadConfig, NoKey) as error:
        mistakes = source.place(str(error))
        if not wants_json(options):
            raise BadConfig(mistakes) from None
        show(options, {"file": file, "can_run": False, "mistakes": mistakes.splitlines()}, ())
        return FAILED
    warnings = [source.place(warning) for warning in checked.warnings]
    for warning in () if wants_json(options) else warnings:
        note(warning)
    answer = {"file": file, "can_run": True, "parts": checked.parts, "warnings": warnings}
    return show(options, answer, [f"{file or 'no file, and so a node'} can run: {'; '.join(checked.parts)}"])
