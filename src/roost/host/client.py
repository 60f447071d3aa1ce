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
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from roost.errors import Disconnected
from roost.host.blobs import BlobGroup
from roost.host.dial import dial
from roost.host.embedded import leave_embedded, use_embedded
from roost.host.face import Face
from roost.host.home_trust import SignerLike, Trust, choose_trust
from roost.host.linked import LinkedNode, LinkedSession
from roost.host.locate import locate
from roost.host.residence import Opening
from roost.host.session import Session
from roost.host.transport import Owner, Transport
from roost.naming import NameLike
from roost.pubsub.blobs.carrying import MAX_BYTES as CARRY_BYTES
from roost.sync.choice import SVS3
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import Checker
from roost.trust.wrapping import Receiver, Recipient
from roost.wire import Signer


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


class GroupConnection:
    """What `join` returns: a face and a group on it, opened and closed together by `async with`."""

    def __init__(self, connection: Connection, open_group: Callable[[Face], Opening[BlobGroup]]) -> None:
        self._connection: Final = connection
        self._open_group: Final = open_group
        self._opening: Opening[BlobGroup] | None = None

    async def __aenter__(self) -> BlobGroup:
        face = await self._connection.__aenter__()
        try:
            self._opening = self._open_group(face)
            return await self._opening.__aenter__()
        except BaseException as error:
            await self._connection.__aexit__(type(error), error, None)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._opening is not None:
                await self._opening.__aexit__(kind, error, trace)
        finally:
            await self._connection.__aexit__(kind, error, trace)


def join(
    group: NameLike,
    node: NameLike | None = None,
    protocol: SvsSettings = SVS3,
    *,
    uri: str | Sequence[str] | None = None,
    verifier: Checker | None = None,
    signer: SignerLike | None = None,
    inner: Signer | None = None,
    outer: Signer | None = None,
    inner_verifier: Checker | None = None,
    outer_verifier: Checker | None = None,
    mapping_verifier: Checker | None = None,
    carry_bytes: int = CARRY_BYTES,
    carry_for: Iterable[NameLike] = (),
    readers: Iterable[Recipient] | None = None,
    receivers: Iterable[Receiver] | None = None,
    folder: Path | str | None = None,
    durable: bool = True,
) -> GroupConnection:
    """Publish and subscribe without a broker: `async with roost.join("/campus/ops", "/radar") as group`.

    `node` is our name in the group, by default that of this machine, or of a key of ours that may publish in the group;
    the rest is as for `connect` and `join_blobs`.
    """
    connection = Connection(uri, verifier, signer)
    return GroupConnection(
        connection,
        lambda face: face.join_blobs(
            group,
            node,
            protocol,
            inner=inner,
            outer=outer,
            inner_verifier=inner_verifier,
            outer_verifier=outer_verifier,
            mapping_verifier=mapping_verifier,
            carry_bytes=carry_bytes,
            carry_for=carry_for,
            readers=readers,
            receivers=receivers,
            folder=folder,
            durable=durable,
        ),
    )
