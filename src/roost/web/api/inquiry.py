"""A face of this process to the node inside it, to ask other nodes with: short questions, and no patience.

What comes back is not believed here; who asks says what it is worth.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from roost.errors import Backpressure, RoostError
from roost.forwarding.pending import Question
from roost.host.inprocess import in_process_pair
from roost.host.server import Server
from roost.host.session import Session
from roost.host.transport import Owner, Transport
from roost.wire import Data, DigestSigner

MAX_AT_ONCE: Final = 64
_RETRY_MS: Final = 1000


class Inquiry:
    """The face, while the block runs."""

    def __init__(self, server: Server) -> None:
        self.turned_away = 0
        self._server: Final = server
        self._open = 0
        self._session: Final = Session(self._dial, DigestSigner())

    async def __aenter__(self) -> Self:
        await self._session.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def ask(self, question: Question) -> Data | None:
        """The answer, None if none comes in time; raises `Backpressure` if too much is asked already."""
        if self._open >= MAX_AT_ONCE:
            self.turned_away += 1
            raise Backpressure(f"{MAX_AT_ONCE} questions to other nodes are open; try again", _RETRY_MS)
        self._open += 1
        try:
            return await self._session.exchange(question)
        except (TimeoutError, RoostError):
            return None
        finally:
            self._open -= 1

    async def _dial(self, owner: Owner) -> Transport:
        ours, theirs = in_process_pair(owner, self._server, "page")
        self._server.attach(theirs)
        return ours
