"""A face of an application: fetch Data and segmented objects, serve prefixes, join sync groups, use groups of streams.

Everything fetched is verified unless the face was made with `verifier=ACCEPT_ANY`. Cancelling a task that awaits takes
back what it asked. Made by `roost.host.client`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any, Final

from roost.errors import Backpressure, RoostError
from roost.forwarding.pending import Question
from roost.host.embedded import EmbeddedNode, leave_embedded
from roost.host.fetching import Fetching
from roost.host.history import History
from roost.host.home_trust import Trust
from roost.host.joining import Followed, Joined, group_file
from roost.host.objects import ServedObject
from roost.host.residence import Opening, Residence, Way
from roost.host.sealed import SealedReader
from roost.host.serving import FRESHNESS_MS, Desk, Handler, Serving
from roost.host.session import Session
from roost.host.streams import StreamGroup
from roost.host.unsealing import Unsealing
from roost.host.verification import Verification
from roost.naming import Name, NameLike, as_name
from roost.naming.building import Group
from roost.pubsub.credentials import Credentials
from roost.pubsub.fetch import SegmentFetch
from roost.pubsub.fetch_effects import FetchSettings
from roost.sync.choice import PSYNC_PARTIAL, SVS3, Protocol, chosen, kind_of, make_member, signed_name
from roost.sync.ledger import Ledger
from roost.sync.port import Member
from roost.sync.presets import PartialPreset
from roost.sync.psync_consumer import PSyncConsumer
from roost.sync.subscriptions import NameList, Subscriptions
from roost.wire import Data, Signer, make_data
from roost.wire.data import BLOB

DEFAULT_TRIES: Final = 3
MAX_OBJECT_BYTES: Final = 1 << 30


class Face:
    """A face of an application; made by `connect`."""

    def __init__(self, session: Session, trust: Trust, embedded: EmbeddedNode | None = None) -> None:
        self._session: Final = session
        self._embedded = embedded
        self._trust: Final = trust
        self._shown: Final = Credentials(trust.certificates)
        self._desk: Final = Desk(session, self._signer_for)
        self._verification: Final = Verification(trust.verifier, session.clock, self._fetch_certificate)
        self._unsealing: Final = Unsealing(SealedReader(self, trust.receivers))
        self._residences: Final[set[Residence[Any]]] = set()  # bound: as many as were opened and not closed

    @property
    def where(self) -> str:
        """The other end, as a URI; of several, the one in use."""
        return self._session.where

    @property
    def is_up(self) -> bool:
        """Whether it is connected right now."""
        return self._session.endpoint.face is not None

    # -- asking

    async def fetch(
        self,
        name: NameLike,
        *,
        can_be_prefix: bool = False,
        must_be_fresh: bool = False,
        lifetime_ms: int = 4000,
        tries: int = DEFAULT_TRIES,
        hints: tuple[Name, ...] = (),
        hop_limit: int = -1,
        parameters: bytes | None = None,
    ) -> Data:
        """Fetch one Data and verify it; sent up to `tries` times, `lifetime_ms` apart.

        Raises `TimedOut` or `Nacked` with where it got stuck, and `Untrusted` with the rule that failed.
        """
        question = Question(
            as_name(name), can_be_prefix, must_be_fresh, lifetime_ms, tries, hints, hop_limit, parameters
        )
        data = await self._session.exchange(question)
        await self._verify(data)
        return data

    async def fetch_segments(self, name: NameLike, settings: FetchSettings | None = None) -> AsyncGenerator[Data, None]:
        """Fetch a segmented object, verified segment by verified segment, in order; what is not taken is not asked."""
        fetching = Fetching(self._session, SegmentFetch(as_name(name), settings), self._verification)
        try:
            async for data in fetching:
                yield data
        finally:
            fetching.close()

    async def fetch_object(
        self, name: NameLike, settings: FetchSettings | None = None, *, max_bytes: int = MAX_OBJECT_BYTES
    ) -> bytes:
        """Fetch a segmented object whole."""
        parts: list[bytes] = []
        size = 0
        async with contextlib.aclosing(self.fetch_segments(name, settings)) as segments:
            async for data in segments:
                parts.append(data.content)
                size += len(parts[-1])
                if size > max_bytes:
                    raise Backpressure(
                        f"{as_name(name)} has more than {max_bytes} bytes: raise max_bytes to take it", 0
                    )
        return b"".join(parts)

    # -- serving

    def serve(self, prefix: NameLike, handler: Handler, *, register: bool = True) -> Serving:
        """Answer Interests under a prefix; use it with `async with`, or `await` it and `close` it later."""
        name = as_name(prefix)
        self._desk.open(name, handler)
        serving = Serving(self._desk, self._session, name, register=register)
        if register:
            try:
                self._show_certificates()  # first: who gets an answer asks for them next
                self._session.register(name)
            except RoostError:
                serving.close()
                raise
        return serving

    def publish_object(
        self,
        name: NameLike,
        content: bytes,
        *,
        version: int | None = None,
        segment_bytes: int = 0,
        freshness_ms: int = 1000,
        signer: Signer | None = None,
    ) -> Serving:
        """Serve content as a segmented, versioned object with RDR metadata; use it as `serve`."""
        full = as_name(name)
        served = ServedObject(
            full,
            content,
            self._signer_for if signer is None else lambda name: signer,  # noqa: ARG005  one for all names
            self._session.clock,
            version_number=version,
            segment_bytes=segment_bytes,
            freshness_ms=freshness_ms,
        )
        return self.serve(full, served.answer)

    def sign(
        self, name: NameLike, content: bytes, *, freshness_ms: int = FRESHNESS_MS, content_type: int = BLOB
    ) -> Data:
        """Make a Data, signed with the key that this face has for its name; for handlers that answer with a `Data`."""
        full = as_name(name)
        signer = self._signer_for(full)
        return make_data(full, content, signer, freshness_ms=freshness_ms, content_type=content_type)

    async def register(self, prefix: NameLike, timeout_s: float = 10.0) -> None:
        """Have the forwarder send Interests under a prefix to this face; for those who serve with `register=False`."""
        name = as_name(prefix)
        self._session.register(name)
        await self._session.registered(name, timeout_s)

    def unregister(self, prefix: NameLike) -> None:
        """Take a registration back."""
        self._session.unregister(as_name(prefix))

    # -- sync

    def join(
        self,
        group: NameLike,
        protocol: Protocol | str = SVS3,
        *,
        folder: Path | str | None = None,
        durable: bool = True,
    ) -> Opening[Joined]:
        """Join a sync group: `async with face.join("/group") as group`; `protocol` as its settings or its name.

        Our own numbers are kept in `folder` (by default `sync` in the home of this user), one file per group and
        protocol; with `durable=False` nowhere, for those who only listen or may start anew.
        """
        name = as_name(group)
        spoken = chosen(protocol)
        path = group_file(folder, name, kind_of(spoken)) if durable else None

        def make(found: bytes) -> Member:
            signer = self._signer_for(signed_name(name, spoken))
            return make_member(name, spoken, signer, self._session.randomness, Ledger(str(path), found))

        def reach() -> Joined:
            self._show_certificates()  # who hears from us asks for them next
            return Joined(self._way(), make, path)

        return Opening(reach)

    def follow(
        self,
        group: NameLike,
        subscriptions: Subscriptions | Iterable[NameLike],
        preset: PartialPreset = PSYNC_PARTIAL,
        *,
        folder: Path | str | None = None,
        durable: bool = True,
    ) -> Opening[Followed]:
        """Follow some streams of a partial-sync producer; what was learnt is kept as `join` keeps numbers.

        `subscriptions` is a `NameList` or a `RangeList`; plain names are a `NameList`.
        """
        name = as_name(group)
        wanted = subscriptions if isinstance(subscriptions, Subscriptions) else NameList(map(as_name, subscriptions))
        path = group_file(folder, name, "followed") if durable else None

        def make(found: bytes) -> PSyncConsumer:
            return PSyncConsumer(name, preset, wanted, self._session.randomness, found, str(path))

        return Opening(lambda: Followed(self._way(), make, path))

    # -- streams

    def group(self, name: NameLike) -> StreamGroup:
        """A group of streams: publish into it as a panel, subscribe to it, read what its repos have."""
        group = Group.at(as_name(name))
        if self._embedded is not None:
            self._embedded.wait_apart(group.subscriptions)
        opened = self._unsealing.opened
        history = History(group, self.fetch, self._verify, self._session.clock, lambda: self.where, opened)
        return StreamGroup(group, self._way, self._show_certificates, history, opened)

    # -- inside

    async def _verify(self, data: Data) -> None:
        if not self._verification.quick(data):
            await self._verification.check(data)

    def _way(self) -> Way:
        trust = self._trust
        return Way(self._session, self._desk, trust.verifier, trust.commands, trust.signers, self._residences)

    async def close(self) -> None:
        """End handlers, leave groups and close the face, and the node inside this process if nobody else uses it."""
        await self._desk.stop()
        while self._residences:
            await next(iter(self._residences)).close()
        await self._session.close()
        embedded, self._embedded = self._embedded, None
        if embedded is not None:
            await leave_embedded(embedded)

    def _show_certificates(self) -> None:
        """Serve our certificates along with the first prefix: whoever checks our Data will ask for them."""
        for prefix in self._shown.prefixes():
            if not self._desk.serves(prefix):
                self._desk.open(prefix, self._shown.answer)
                self._session.register(prefix)

    async def _fetch_certificate(self, name: Name) -> Data:
        return await self._session.exchange(Question(name, can_be_prefix=True, lifetime_ms=2000, tries=2))

    def _signer_for(self, name: Name) -> Signer:
        return self._trust.signers(name, self._session.clock())
