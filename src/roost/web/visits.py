"""Whoever follows readings for long: looked at every so often, and cut off when they would not be let in any more.

A log-in that ended, another password, a token that was taken back, a user who is gone: what such a one had begun to
follow ends within `EVERY_S`. Other answers are over before anybody could look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from aiohttp import web

EVERY_S = 2.0
_LONG: Final = frozenset({"live", "events", "topics"})  # first parts of paths

Still = Callable[[], bool]
_Visit = tuple[asyncio.Transport | None, Still]


class Visits:
    """Of one door."""

    def __init__(self) -> None:
        self.ended = 0
        self._visits: Final[WeakKeyDictionary[asyncio.Task[None], _Visit]] = WeakKeyDictionary()  # by connection

    def begin(self, request: web.Request, still: Still) -> None:
        """Look after a request, if it may be one that lasts; `still` says whether who asks would be let in now."""
        if request.path.removeprefix("/").partition("/")[0] in _LONG:
            self._visits[request.task] = request.transport, still
        else:
            self._visits.pop(request.task, None)  # of an earlier request on this connection

    async def watch(self) -> None:
        """Look at them, again and again."""
        while True:
            await asyncio.sleep(EVERY_S)
            self.look()

    def look(self) -> None:
        """Cut off whoever is not let in any more."""
        for task, (transport, still) in list(self._visits.items()):
            if not still():
                del self._visits[task]
                if transport is not None and not transport.is_closing():
                    self.ended += 1
                    transport.abort()
