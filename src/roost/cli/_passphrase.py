"""Passphrases: from `--passphrase-file`, from ROOST_PASSPHRASE or from a prompt.

Never from the command line, where every user of the machine could read them.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from roost.errors import BadConfig


def add_passphrase(parser: argparse.ArgumentParser) -> None:
    """Take where the passphrase is."""
    parser.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="FILE",
        help="first line is the passphrase; else ROOST_PASSPHRASE, else asked",
    )


def passphrase_of(options: argparse.Namespace, prompt: str, *, twice: bool = False) -> bytes:
    """Read it, or ask for it; raises `BadConfig` where nobody can be asked."""
    if options.passphrase_file:
        try:
            text = options.passphrase_file.read_text(encoding="utf-8").partition("\n")[0]
        except (OSError, UnicodeDecodeError) as error:
            why = "it is not text" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise BadConfig(f"{options.passphrase_file} cannot be read: {why}") from None
    elif "ROOST_PASSPHRASE" in os.environ:
        text = os.environ["ROOST_PASSPHRASE"]
    elif not sys.stdin.isatty():
        raise BadConfig("there is no terminal to ask for a passphrase; use --passphrase-file or ROOST_PASSPHRASE")
    else:
        import getpass

        text = getpass.getpass(prompt)
        if twice and getpass.getpass("again: ") != text:
            raise BadConfig("the two passphrases differ; nothing was written")
    if not text:
        raise BadConfig("the passphrase is empty; choose a long one")
    return str(text).encode()
