"""Reaching the network for a verb: where, and whether who signed matters."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from roost.cli._parsing import add_at

if TYPE_CHECKING:
    from roost.host import Face


def add_face(parser: argparse.ArgumentParser) -> None:
    """Take where to reach the network, and whom to believe."""
    add_at(parser)
    parser.add_argument("--accept-any", action="store_true", help="do not verify who has signed")


@asynccontextmanager
async def face_of(options: argparse.Namespace, *, accept_any: bool = False) -> AsyncIterator[Face]:
    """Reach it; raises `Untrusted` where nobody could be believed, `Disconnected` where nobody answers."""
    from roost.cli import note
    from roost.errors import Untrusted
    from roost.host import ACCEPT_ANY, connect
    from roost.host.home_trust import is_initialised
    from roost.host.locate import await_node
    from roost.host.paths import home

    accept_any = accept_any or options.accept_any
    if not accept_any and not is_initialised():
        raise Untrusted(
            f"no answer could be believed: no trust is configured in {home()}; run `roost init --join ANCHOR --schema "
            "FILE` with what the other machine trusts, or add --accept-any if you do not care who has signed"
        )
    uris = options.uris if len(options.uris) > 1 else await await_node((options.uris or [None])[0], note)
    async with connect(uris, verifier=ACCEPT_ANY if accept_any else None) as face:
        yield face
