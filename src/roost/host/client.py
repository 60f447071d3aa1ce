"""The client API for people: connecting.

    async with roost.connect() as face:
        data = await face.fetch("/BigCompany/Building1/Electricity/Panel1/Heater/Voltage/seq=5")
        async with face.serve("/my/prefix", handler):
            ...

The same against the node inside this process and any forwarder outside it (`roost.host.locate` says which), or several
of them, of which the first that answers is used (`roost.host.linked`). After a drop the face comes back by itself, and
its prefixes are registered again. What a face can do is in `roost.host.face`.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Final

from roost.errors import Disconnected
from roost.host.dial import dial
from roost.host.embedded import leave_embedded, use_embedded
from roost.host.face import Face
from roost.host.home_trust import SignerLike, Trust, choose_trust
from roost.host.linked import LinkedNode, LinkedSession
from roost.host.locate import locate
from roost.host.session import Session
from roost.host.transport import Owner, Transport
from roost.trust.acceptance import Checker


class Connection:
    """What `connect` returns: `async with` it, or `await` it and `close` the face later."""

    def __init__(self, uri: str | Sequence[str] | None, verifier: Checker | None, signer: SignerLike | None) -> None:
        self._uris: Final = [uri] if isinstance(uri, str) else list(uri or ())
        self._verifier: Final = verifier
        self._signer: Final = signer
        self._face: Face | None = None

    async def open(self) -> Face:
        """Connect; raises `Disconnected` with what was tried."""
        trust = choose_trust(self._verifier, self._signer, time.time_ns())
        if len(self._uris) > 1:
            return await self._open_linked(trust)
        address, source = locate(self._uris[0] if self._uris else None)
        if address is None:
            embedded = use_embedded()
            try:
                session = Session(embedded.dial, trust.commands)
                await session.open()
            except BaseException:
                await leave_embedded(embedded)
                raise
            return Face(session, trust, embedded)

        async def dial_it(owner: Owner) -> Transport:
            return await dial(address, owner)

        session = Session(dial_it, trust.commands)
        try:
            await session.open()
        except Disconnected as error:
            raise Disconnected(f"{error} (this address comes from {source})") from None
        return Face(session, trust)

    async def _open_linked(self, trust: Trust) -> Face:
        """Open a face to a node of its own with links to all; those that do not answer yet are dialled on."""
        node = LinkedNode(self._uris, trust.commands)
        try:
            session = LinkedSession(node, trust.commands)
            await session.open()
            if not await node.first():
                session.journal.warn("none of %s answers yet; they are dialled until one does", ", ".join(self._uris))
        except BaseException:
            await leave_embedded(node)
            raise
        return Face(session, trust, node)

    def __await__(self) -> Generator[None, None, Face]:
        return self.open().__await__()

    async def __aenter__(self) -> Face:
        self._face = await self.open()
        return self._face

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._face is not None:
            await self._face.close()


def connect(
    uri: str | Sequence[str] | None = None, *, verifier: Checker | None = None, signer: SignerLike | None = None
) -> Connection:
    """Connect to a forwarder: `async with roost.connect() as face`.

    `uri` is a face URI (`unix:///…`, `tcp4://…`, `udp4://…`, `ws://…`), or several of them, the preferred one first:
    the next one is used while it does not answer. Without it, see `roost.host.locate`.
    `verifier` decides what is believed, by default the trust of `roost init`. `signer` signs what this face serves: one
    signer, a key chain, or a function of name and time; by default the key chain of `roost init`.
    """
    return Connection(uri, verifier, signer)
