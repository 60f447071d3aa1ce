"""Readings verified by the thousand, on the event loop, which gets its turn between chunks of them.

Threads would not help: `cryptography` holds Python's lock while it checks a signature, and nearly all of the time goes
into that. Who wants more of it has more processes, as Spark's executors are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from roost.errors import BadPacket, Untrusted
from roost.host.keystore import KeyStore
from roost.host.verification import Verification
from roost.naming import Name
from roost.wire import Data
from roost.wire.data import decode_data

CHUNK: Final = 64  # readings, of which each takes about 0.1 ms


class Checking:
    """Verifies by what a key store trusts; `fetch` gets certificates, unverified. Raises `NoKey` without a store."""

    def __init__(self, keys: KeyStore, fetch: Callable[[Name], Awaitable[Data]]) -> None:
        self.checked = 0
        self._verification: Final = Verification(keys.verifier(time.time_ns()), time.time_ns, fetch)

    async def refusals(self, packets: list[tuple[int, bytes]]) -> dict[int, str]:
        """Verify numbered packets; says of each that is refused which rule it failed."""
        refused: dict[int, str] = {}
        verification = self._verification
        for at in range(0, len(packets), CHUNK):
            for number, wire in packets[at : at + CHUNK]:
                try:
                    data = decode_data(wire)
                    if verification.quick(data) is None:
                        await verification.check(data)
                except (BadPacket, Untrusted) as error:
                    refused[number] = str(error)
            await asyncio.sleep(0)
        self.checked += len(packets)
        return refused
