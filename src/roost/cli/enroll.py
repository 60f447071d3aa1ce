"""`roost enroll`: come in with the code that `roost invite` shows on the other machine.

The code is asked for, or is the first line of standard input where that is no terminal: it is a secret, and what stands
on a command line can be read by every user of the machine.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from roost.cli._output import add_json, show
from roost.cli._page import Page
from roost.errors import BadConfig

if TYPE_CHECKING:
    from pathlib import Path

    from roost.trust.enrolment_code import Code

SUMMARY = "Come in with a code from `roost invite`: a key is made here and certified there."
PAGE: Final = Page(
    examples=(
        ("roost enroll", "asks for the code, and says what to do next"),
        ("roost enroll --at tcp4://10.0.0.7:6363", "the node is reached elsewhere than the code says"),
    ),
    text="The code is typed when it is asked for, or is the first line of standard input; it is refused on the command "
    "line, which others on this machine can read. What is received is verified before anything of it is kept.",
    see=("invite", "trust", "docs/enrolment.md"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say where to ask, and what kind of key is made."""
    parser.add_argument("code", nargs="*", metavar="CODE", help=argparse.SUPPRESS)  # so that it can be said why not
    parser.add_argument(
        "--kind", choices=("ecdsa", "ed25519", "rsa"), default="ecdsa", help="kind of the key (default: ecdsa)"
    )
    parser.add_argument("--at", dest="uri", metavar="URI", help="the node to ask (default: the one the code leads to)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Enrol, or leave everything as it was."""
    import asyncio

    from roost.trust.enrolment_code import Code

    if options.code:
        raise BadConfig(
            "a code is a secret, and what stands on a command line others on this machine can read: run `roost enroll` "
            "alone and type the code when it asks, or give it on standard input"
        )
    asyncio.run(_enrol(options, Code.read(_code())))
    return 0


async def _enrol(options: argparse.Namespace, code: Code) -> None:
    from roost.cli._enrol_words import enrolled_key, enrolled_user
    from roost.host.client import connect
    from roost.host.clock import Clock
    from roost.host.enrol_joining import Joining
    from roost.host.making import finish
    from roost.host.paths import home
    from roost.trust.acceptance import ACCEPT_ANY
    from roost.trust.enrolment_messages import KeyOffer
    from roost.wire import DigestSigner

    uri = options.uri or code.uri
    if uri is None:
        raise BadConfig("the code says nothing about where to ask: name the node of who invites with --at URI")
    where = home()
    finish(where)
    async with connect(uri, verifier=ACCEPT_ANY, signer=DigestSigner()) as face:
        joining = Joining(face, code.secret, where, Clock())
        offer = await joining.offer()
        if isinstance(offer, KeyOffer):
            done = await joining.enrol_key(offer, options.kind)
            lines = enrolled_key(done, where, uri, configured=_configure(where, uri))
            answer = {"kind": offer.kind, "name": offer.name, "home": where, "certificate": done.certificate.name}
        else:
            user = await joining.enrol_user(offer)
            lines = enrolled_user(user)
            answer = {"kind": "user", "name": offer.user, "home": where, "password_file": user.password_file}
    show(options, answer, lines)


def _configure(where: Path, uri: str) -> bool:
    """Write a configuration for `roost up`, linked to who invited, as soon as there are keys of a panel and a repo."""
    from roost.cli._up_config import FILE, groups_at_home, write_starter

    groups = groups_at_home()
    return bool(groups) and (write_starter(where / FILE, groups, uri) or (where / FILE).exists())


def _code() -> str:
    if sys.stdin.isatty():
        try:
            return input("code: ")
        except EOFError:
            return ""
    line = sys.stdin.buffer.readline(1000)
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise BadConfig("what stands on standard input is no code; `roost invite` shows one") from None
