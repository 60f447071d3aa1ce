"""`roost completion bash|zsh|fish`: a script that completes verbs, options, choices and files in a shell."""

from __future__ import annotations

import argparse
from typing import Final

from roost.cli._output import add_json, show
from roost.cli._page import Page

SUMMARY = "Print a script with which bash, zsh or fish completes `roost`."
PAGE: Final = Page(
    examples=(
        (
            "roost completion bash > ~/.local/share/bash-completion/completions/roost",
            "for bash, from the next shell on",
        ),
        ("roost completion zsh > ~/.zfunc/_roost", "for zsh, with ~/.zfunc in its fpath before compinit"),
        ("roost completion fish > ~/.config/fish/completions/roost.fish", "for fish"),
    ),
    text='For the shell that is open: eval "$(roost completion bash)". The script is made from the verbs themselves, '
    "and starts no Python when it is used: make it anew after an update of Roost.",
    see=("help", "docs/cli-conventions.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say for which shell."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print it."""
    from roost.cli._completion import SCRIPTS
    from roost.cli._reference import reference

    script = SCRIPTS[options.shell](reference())
    return show(options, {"shell": options.shell, "script": script}, [script.removesuffix("\n")])
