"""Sealed readings opened with the keys of this job's home, where their publisher authorised one of them.

The cryptography and the names are those of `roost.trust.access`. A content key is asked for as named data, of repos
first, which keep it after its panel is gone, and then of the panel itself, whose refusal is no refusal for ever. A key
that cannot be had is not asked for again for a while, and what is sealed with it stays sealed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket, Unreachable
from roost.host.joint import Joint
from roost.host.stretch_checking import Checking
from roost.host.stretch_ways import Ways
from roost.naming import Name
from roost.trust import Receiver
from roost.trust.access import KeyWanted, Opened, Opener
from roost.wire.data import NACK, decode_data

CLOSED_S: Final = 30.0  # for which a content key that could not be had is not asked for
MAX_CLOSED: Final = 4096


class Opening:
    """Opens what it can; `checking` verifies wrapped keys as readings are verified, None where nothing is."""

    def __init__(self, receivers: Iterable[Receiver], ways: Ways, checking: Checking | None) -> None:
        self.opener: Final = Opener(receivers)
        self.forgotten = 0  # keys that were to be left alone, and of which there were too many
        self._ways: Final = ways
        self._checking: Final = checking
        self._closed: Final[dict[tuple[Name, ...], float]] = {}  # until when; bound: MAX_CLOSED
        self._fetching: Final[Joint[tuple[Name, ...], bool]] = Joint()

    async def open(self, wire: bytes) -> bytes | None:
        """The plain content of a reading, None where it stays sealed."""
        try:
            data = decode_data(wire)
        except BadPacket:
            return None
        outcome = self.opener.open(data.name, data.content)
        if isinstance(outcome, KeyWanted) and outcome.names and not self._is_closed(outcome.names):
            names = outcome.names
            if await self._fetching.do(names, lambda: self._learn_one_of(names)):
                outcome = self.opener.open(data.name, data.content)
            else:
                self._close(names)
        return outcome.content if isinstance(outcome, Opened) else None

    def _is_closed(self, names: tuple[Name, ...]) -> bool:
        return asyncio.get_running_loop().time() < self._closed.get(names, 0)

    def _close(self, names: tuple[Name, ...]) -> None:
        if len(self._closed) >= MAX_CLOSED:
            del self._closed[next(iter(self._closed))]
            self.forgotten += 1
        self._closed[names] = asyncio.get_running_loop().time() + CLOSED_S

    async def _learn_one_of(self, names: tuple[Name, ...]) -> bool:
        for name in names:
            for is_fresh in (False, True):
                for at in range(len(self._ways)):
                    if await self._learn(name, self._ways.preferred + at, is_fresh=is_fresh):
                        return True
        return False

    async def _learn(self, name: Name, at: int, *, is_fresh: bool) -> bool:
        try:
            data = await self._ways.ask_at(at, name, is_fresh=is_fresh)
        except Unreachable:
            return False
        if data.content_type == NACK or (self._checking and await self._checking.refusals([(0, data.wire)])):
            return False
        return self.opener.learn(data) is None
