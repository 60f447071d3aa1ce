"""The certificates in the home of a node that runs: those of its groups are kept, and new ones are taken up.

Panels come and go, and so do the machines that have their certificates. So a repo keeps those of its group that are in
its home, as it keeps those that it fetched: who lacks one asks other repos for it. What comes into the home meanwhile,
such as the certificate of a panel that was just invited, is believed from then on, without a new start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from roost.errors import BadConfig
from roost.host.keystore import KeyStore
from roost.host.repo import RunningRepo
from roost.wire import Data

LOOK_S: Final = 1.0
AT_ONCE: Final = 200  # certificates: they are verified and written between readings


@contextlib.asynccontextmanager
async def noticing(keys: KeyStore, running: RunningRepo) -> AsyncIterator[None]:
    """Look into the home once a second while the block runs."""
    task = asyncio.create_task(_notice(keys, running))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _notice(keys: KeyStore, running: RunningRepo) -> None:
    seen = 0
    waiting: list[Data] = []  # bound: what a key store holds at most
    while True:
        changed = keys.changed
        if changed != seen:
            try:
                waiting = [certificate.data for certificate in keys.certificates()]
                seen = changed
            except (BadConfig, OSError):  # a file is being put in its place: next time
                pass
        some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        _take_up(some, running)
        await asyncio.sleep(LOOK_S)


def _take_up(certificates: list[Data], running: RunningRepo) -> None:
    now = running.server.clock()
    for certificate in certificates:
        running.verifier.learn(certificate, now)
    for repo in running.repos:
        running.act(repo, repo.keep_certificates(certificates, now))
