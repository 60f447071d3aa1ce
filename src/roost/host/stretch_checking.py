"""Readings verified by the thousand: as many at once as there are processors, each beside the event loop.

Nearly all of the time goes into the signatures, which `cryptography` checks without Python's lock. A verifier is no
thing to be shared by threads, so each of them has one of its own (a seat), which learns the certificates it meets by
itself; these are fetched on the loop.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from roost.errors import BadPacket, Untrusted
from roost.host.keystore import KeyStore
from roost.host.verification import Verification
from roost.naming import Name
from roost.wire import Data
from roost.wire.data import decode_data

CHUNK: Final = 256  # readings that one thread verifies in one go
MAX_SEATS: Final = 16


class Checking:
    """Verifies by what a key store trusts; `fetch` gets certificates, unverified. Raises `NoKey` without a store."""

    def __init__(self, keys: KeyStore, fetch: Callable[[Name], Awaitable[Data]]) -> None:
        self.checked = 0
        count = min(MAX_SEATS, os.cpu_count() or 1)
        now = time.time_ns()
        self._seats: Final[asyncio.Queue[Verification]] = asyncio.Queue()
        for _ in range(count):
            self._seats.put_nowait(Verification(keys.verifier(now), time.time_ns, fetch))
        self._threads: Final = ThreadPoolExecutor(count, "roost-verify")

    async def refusals(self, packets: list[tuple[int, bytes]]) -> dict[int, str]:
        """Verify numbered packets; says of each that is refused which rule it failed."""
        chunks = [packets[at : at + CHUNK] for at in range(0, len(packets), CHUNK)]
        refused: dict[int, str] = {}
        for found in await asyncio.gather(*[self._check(chunk) for chunk in chunks]):
            refused |= found
        self.checked += len(packets)
        return refused

    async def _check(self, packets: list[tuple[int, bytes]]) -> dict[int, str]:
        refused: dict[int, str] = {}
        seat = await self._seats.get()
        at = 0
        try:
            while at < len(packets):
                at = await self._quickly(seat, packets, at, refused)
                if at < len(packets):  # a certificate is wanted
                    number, wire = packets[at]
                    try:
                        await seat.check(decode_data(wire))
                    except Untrusted as error:
                        refused[number] = str(error)
                    at += 1
        finally:
            self._seats.put_nowait(seat)
        return refused

    def _quickly(
        self, seat: Verification, packets: list[tuple[int, bytes]], at: int, refused: dict[int, str]
    ) -> asyncio.Future[int]:
        """Verify on a thread, from this one on; gives the first that takes a certificate which is not here."""
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, _verify, seat, packets, at, refused)

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _verify(seat: Verification, packets: list[tuple[int, bytes]], at: int, refused: dict[int, str]) -> int:
    for index in range(at, len(packets)):
        number, wire = packets[index]
        try:
            if seat.quick(decode_data(wire)) is None:
                return index
        except (BadPacket, Untrusted) as error:
            refused[number] = str(error)
    return len(packets)
