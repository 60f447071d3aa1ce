"""A face of an application: fetch Data and segmented objects, serve prefixes, join groups of every kind.

Everything fetched is verified unless the face was made with `verifier=ACCEPT_ANY`. Cancelling a task that awaits takes
back what it asked. Made by `roost.host.client`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from roost.errors import Backpressure, Nacked, RoostError, TimedOut
from roost.forwarding.pending import Question
from roost.host.blob_names import publishing_name
from roost.host.blob_pieces import Pieces
from roost.host.blobs import BlobGroup, Membership
from roost.host.embedded import EmbeddedNode, leave_embedded
from roost.host.fetching import Fetching
from roost.host.history import History
from roost.host.home_trust import Trust
from roost.host.joining import Followed, Joined, group_file
from roost.host.objects import ServedObject
from roost.host.paths import home as roost_home
from roost.host.residence import Opening, Residence, Way
from roost.host.sealed import SealedReader
from roost.host.serving import FRESHNESS_MS, Desk, Handler, Serving
from roost.host.session import Session
from roost.host.streams import StreamGroup
from roost.host.topics.ndn import NdnTopics
from roost.host.topics.signing import topics_home
from roost.host.unsealing import Unsealing
from roost.host.verification import Verification
from roost.naming import Name, NameLike, as_name
from roost.naming.building import Group
from roost.pubsub.blobs.carrying import MAX_BYTES as CARRY_BYTES
from roost.pubsub.blobs.names import HELD, Naming
from roost.pubsub.blobs.publisher import Layers
from roost.pubsub.blobs.sealing import BlobOpening, BlobSealing
from roost.pubsub.blobs.seat import Checkers
from roost.pubsub.credentials import Credentials
from roost.pubsub.fetch import SegmentFetch
from roost.pubsub.fetch_effects import FetchSettings
from roost.pubsub.flips.ndn_binding import HOME as FLIPS_HOME
from roost.pubsub.flips.settings import FlipsSettings
from roost.sync.choice import PSYNC_PARTIAL, SVS3, Protocol, chosen, kind_of, make_member, signed_name
from roost.sync.ledger import Ledger
from roost.sync.port import Member, Stream
from roost.sync.presets import PartialPreset
from roost.sync.psync_consumer import PSyncConsumer
from roost.sync.subscriptions import NameList, Subscriptions
from roost.sync.svs_settings import SvsSettings
from roost.trust.acceptance import Checker
from roost.trust.wrapping import Receiver, Recipient
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
        async with contextlib.aclosing(self._segments(self._verification, as_name(name), settings)) as segments:
            async for data in segments:
                yield data

    async def _segments(
        self, verification: Verification, name: Name, settings: FetchSettings | None
    ) -> AsyncGenerator[Data, None]:
        fetching = Fetching(self._session, SegmentFetch(name, settings), verification)
        try:
            async for data in fetching:
                yield data
        finally:
            fetching.close()

    async def fetch_object(
        self,
        name: NameLike,
        settings: FetchSettings | None = None,
        *,
        max_bytes: int = MAX_OBJECT_BYTES,
        tell: Callable[[int, int], None] | None = None,
    ) -> bytes:
        """Fetch a segmented object whole; `tell` hears how many segments there are, of how many (0: not known)."""
        parts: list[bytes] = []
        size = 0
        async with contextlib.aclosing(self.fetch_segments(name, settings)) as segments:
            async for data in segments:
                parts.append(data.content)
                size += len(parts[-1])
                if tell is not None:
                    tell(len(parts), 0 if data.final_block is None else data.final_block.number() + 1)
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

    # -- blobs

    def join_blobs(
        self,
        group: NameLike,
        node: NameLike | None = None,
        protocol: SvsSettings = SVS3,
        *,
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
    ) -> Opening[BlobGroup]:
        """Join a group to publish blobs and subscribe to them: `async with face.join_blobs("/campus/ops", "/radar")`.

        `node` is our name in the group, and nobody else's; by default that of this machine, or of a key that may
        publish in the group. Blobs are signed by `inner`, packets around them by `outer`, by default with the keys that
        this face has for their names; both are verified by `inner_verifier` and `outer_verifier`, and who tells the
        names of publications by `mapping_verifier`, by default as all on this face. What we got, up to `carry_bytes`,
        we give to others when its producer does not answer; those who set no forwarding hints, as NDNts and ndn-svs do
        not, get it of nodes below the names in `carry_for`, which we register. With `readers`, only they can read what
        we publish; what others seal is opened with `receivers`, by default our keys. Files are kept as `join` does.
        """
        name, keychain = as_name(group), self._trust.keychain if outer is None else None
        us = publishing_name(name, protocol, keychain, self._session.clock()) if node is None else as_name(node)
        kind = f"blobs{protocol.version}-{sha256(us.value).hexdigest()[:8]}"
        path = group_file(folder, name, kind) if durable else None
        others = tuple(as_name(each) for each in carry_for)

        def reach() -> BlobGroup:
            vectors = self._signer_for(signed_name(name, protocol))
            naming, stream = Naming(name, protocol.version), Stream(us)
            packets = self._signer_for(naming.publication(stream, 1)) if outer is None else outer
            mapping = self._signer_for(naming.query(stream, 1, 1)) if outer is None else outer
            layers = Layers(self._signer_for if inner is None else lambda _: inner, packets, mapping)
            checkers = Checkers(inner_verifier, outer_verifier, mapping_verifier)
            keys = self._trust.receivers if receivers is None else tuple(receivers)
            hints = (name / HELD,)
            inside, around = self._verified_by(inner_verifier, hints), self._verified_by(outer_verifier, hints)
            pieces = Pieces(
                partial(self._fetch_by_hints, inside),
                partial(self._segments, inside),
                partial(self._segments, around),
                partial(_verify, inside),
                partial(_verify, around),
                self._verify,
                BlobOpening(keys),
            )
            sealing = None if readers is None else BlobSealing(us + name, readers, os.urandom)
            self._show_certificates()  # who hears from us asks for them next
            return BlobGroup(
                self._way(),
                Membership(
                    name, us, protocol, vectors, layers, pieces, carry_bytes, others, sealing, bool(keys), checkers
                ),
                path,
            )

        return Opening(reach)

    async def _fetch_by_hints(self, verification: Verification, name: Name, hints: tuple[Name, ...]) -> Data:
        data = await self._session.exchange(Question(name, lifetime_ms=1000, tries=DEFAULT_TRIES, hints=hints))
        await _verify(verification, data)
        return data

    def _verified_by(self, verifier: Checker | None, hints: tuple[Name, ...]) -> Verification:
        """Verify by this verifier or ours, with certificates that also those have who are found by hints."""

        async def fetch(name: Name) -> Data:
            try:
                return await self._fetch_certificate(name)
            except (TimedOut, Nacked):
                question = Question(name, can_be_prefix=True, lifetime_ms=2000, tries=2, hints=hints)
                return await self._session.exchange(question)

        return Verification(self._trust.verifier if verifier is None else verifier, self._session.clock, fetch)

    def flips(
        self,
        home: NameLike | None = None,
        *,
        settings: FlipsSettings | None = None,
        signer: Signer | None = None,
        folder: Path | str | None = None,
        durable: bool = True,
    ) -> Opening[NdnTopics]:
        """Topics without a broker (FLIPS) below a name: `async with face.flips() as topics`.

        `home` is by default where a key of this face may publish, `<building>/flips`, and `/flips` if there is none.
        Content is signed by `signer`, by default with the key that this face has for it; what is published is kept
        in `folder` (`$ROOST_HOME/flips-ndn`), by one process at a time, with `durable=False` in memory only.
        """
        keychain = self._trust.keychain
        ours = None if keychain is None or home is not None else topics_home(keychain)
        name = as_name(home or ours or FLIPS_HOME)
        store = Path(folder) if folder is not None else roost_home() / "flips-ndn"

        def reach() -> NdnTopics:
            self._show_certificates()
            signs = self._signer_for if signer is None else signer
            return NdnTopics(self._way(), name, signs, store / "content" if durable else None, settings)

        return Opening(reach)

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
        await _verify(self._verification, data)

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


async def _verify(verification: Verification, data: Data) -> None:
    if not verification.quick(data):
        await verification.check(data)
