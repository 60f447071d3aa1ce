"""Publish and subscribe without a broker, for people: SVS-PS (`roost.pubsub.blobs`) on a face.

    async with roost.join("/campus/ops", "/radar") as group:         or `face.join_blobs(…)` on a face there is
        receipt = await group.publish("/position/radar/7", blob)
        async for item in group.subscribe("/position"): ...

A receipt says that the publication and its number are on the disk, and that the group is being told; who restarts still
has it, and goes on behind it. An item of a subscription has been dealt with when the next one is asked for, or when the
group is left without an error; that is kept too. So after a crash the item in hand comes again, and none is lost.
Three files per group and node are kept: numbers, publications and places, and a folder for publications that were files
(`blob_files`); with `durable=False` none of them. What may be too large for memory is published from a file or from an
async iterator, and taken with `subscribe(…, in_pieces=True)` and `group.pieces(item)`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from roost.errors import BadConfig, InvalidInput
from roost.forwarding.requests import CommandWriter
from roost.host.blob_feed import Callback, Feed
from roost.host.blob_files import BlobFiles, Source
from roost.host.blob_finding import Finder, Found, find_number
from roost.host.blob_pieces import Pieces, Shelf
from roost.host.choosing import choose_multicast
from roost.host.keeping import Keeper
from roost.host.mule import Loaded, MuleFile, Say, Verifying, quiet
from roost.host.residence import Residence, Way
from roost.host.streams import time_of
from roost.machine import Effect
from roost.machine.disk import Save, Saved
from roost.naming import Name, NameLike, as_name
from roost.pubsub.blobs.blob_log import BlobLog
from roost.pubsub.blobs.carrying import Carrying
from roost.pubsub.blobs.encapsulation import ENCAPSULATED, unwrap
from roost.pubsub.blobs.items import Deliver, Item
from roost.pubsub.blobs.mapped_sync import MappedSvs
from roost.pubsub.blobs.member import BlobMember
from roost.pubsub.blobs.names import is_key
from roost.pubsub.blobs.places import Places
from roost.pubsub.blobs.publisher import Discard, Layers, Published
from roost.pubsub.blobs.sealing import BlobSealing
from roost.pubsub.blobs.seat import Checkers, Seat
from roost.pubsub.blobs.wanted import PATIENCE_MS, PREFETCH_MS, Wanted
from roost.sync.ledger import Ledger
from roost.sync.port import Stream
from roost.sync.svs_settings import SvsSettings
from roost.trust.verifier import Verifier
from roost.trust.wrapping import Recipient
from roost.wire import Data, SignatureInfo, Signer
from roost.wire.certificate import Certificate

MAX_UNTAKEN: Final = 64  # items of a subscription that wait to be taken
MAX_UNTAKEN_BYTES: Final = 1 << 28
_LOG: Final = "publications"
_PLACES: Final = "places"
_FORMS: Final = "use 24h, 30m, 7d, or a time such as 2026-05-01T08:00Z"
_PAUSE: Final = 64  # packets that are made between two turns of the event loop
_US: Final = 1000

Since: TypeAlias = datetime | timedelta | str


@dataclass(frozen=True, slots=True)
class Receipt:
    """A publication: what it is called, whose it is and which number it has; all of it is on the disk."""

    name: Name
    stream: Stream
    number: int

    @property
    def producer(self) -> Name:
        """Who published it."""
        return self.stream.name


@dataclass(slots=True, eq=False)
class _Publishing:
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """Who is a member of what, and how: the group, our node in it, the sync protocol, who signs each layer."""

    group: Name
    node: Name
    settings: SvsSettings
    vectors: Signer
    layers: Layers
    pieces: Pieces
    carries_bytes: int  # 0: nothing
    carries_for: tuple[Name, ...]  # below which we answer for nodes whoever asks, with a hint or without
    sealing: BlobSealing | None  # None: everybody may read what we publish
    reads_sealed: bool
    checkers: Checkers  # who verifies each layer


class BlobGroup(Residence[BlobMember]):
    """A group we publish blobs into, and subscribe to what is in it."""

    def __init__(self, way: Way, us: Membership, path: Path | None) -> None:
        self._us: Final = us
        self._commands: Final = CommandWriter(way.commands, way.session.randomness)
        self._publishing: Final[deque[_Publishing]] = deque()  # bound: the publisher's drafts
        self._feeds: Final[dict[int, Feed]] = {}  # bound: as many as are subscribed
        self._keepers: Final[dict[str, Keeper]] = {}  # bound: two
        given = (way.verifier, us.checkers.outer, us.checkers.inner)
        self._verifiers: Final = [each for each in dict.fromkeys(given) if isinstance(each, Verifier)]
        pieces = us.pieces
        self._mule: Final = MuleFile(
            us.vectors,
            Verifying(
                pieces.verify,
                pieces.verify_outer,
                pieces.verify_inner,
                self._learn,
                self._vouchers_of,
            ),
        )
        self._files: Final = BlobFiles(None if path is None else path.with_suffix(f"{path.suffix}-blobs"))
        try:
            for file in (_LOG, _PLACES):
                beside = None if path is None else path.with_suffix(f"{path.suffix}-{file}")
                self._keepers[file] = Keeper(beside, self._saved, self._failed)

            def make(found: bytes) -> BlobMember:
                randomness = way.session.randomness
                sync = MappedSvs(us.group, us.settings, us.vectors, randomness, Ledger("numbers", found))
                return BlobMember(
                    Seat(sync, way.verifier, us.pieces.opening if us.reads_sealed else None, us.checkers),
                    us.node,
                    us.layers,
                    randomness,
                    log=None if path is None else BlobLog(_LOG, self._keepers[_LOG].found, self._files.open),
                    places=None if path is None else Places(Ledger(_PLACES, self._keepers[_PLACES].found)),
                    max_untaken=MAX_UNTAKEN,
                    max_untaken_bytes=MAX_UNTAKEN_BYTES,
                    sealing=us.sealing,
                    carrying=Carrying(
                        us.layers.mapping, us.carries_for, max_bytes=us.carries_bytes, vouchers=self._vouchers
                    )
                    if us.carries_bytes
                    else None,
                )

            super().__init__(way, make, path)
            self._files.sweep()
        except BaseException:
            for keeper in self._keepers.values():
                keeper.release()
            raise

    @property
    def name(self) -> Name:
        """The group's name."""
        return self._us.group

    @property
    def node(self) -> Name:
        """Our own name in it."""
        return self._us.node

    # -- publishing

    async def publish(self, name: NameLike, blob: bytes | Source) -> Receipt:
        """Publish a blob under any name; returns when it is on the disk and the group is being told.

        It may also be a `Path`, or an async iterator of bytes: then it is copied into a file of ours, and never whole
        in memory.
        """
        full = as_name(name)
        if not full:
            raise InvalidInput("a publication has a name: /position/radar/7")
        content, file = await self._content(blob)
        mine = _Publishing()
        try:
            await self.until(lambda: self.part.publisher.has_room)
            self._publishing.append(mine)
            self.act(lambda now: self.part.publish(full, content, now, file))
        except BaseException:
            if mine in self._publishing:
                self._publishing.remove(mine)
            if file:
                self._files.drop(file)
            raise
        await self.until(lambda: mine.receipt is not None)
        assert mine.receipt is not None  # noqa: S101  just waited for
        return mine.receipt

    async def _content(self, blob: bytes | Source) -> tuple[bytes | memoryview, str]:
        """What is to be published, and the file it is in."""
        if not isinstance(blob, (Path, AsyncIterable)):
            return bytes(blob), ""
        file = await self._files.take(blob)
        content = self._files.open(file)
        if content is None:
            raise InvalidInput(f"{file} was removed while it was being published; publish it again")
        return content, file

    def authorise(self, reader: Recipient) -> None:
        """Let somebody read what we publish sealed, from the key in use on."""
        self._sealed().authorise(reader)
        self.act(self.part.publisher.publish_key)

    def revoke(self, digest: bytes) -> bool:
        """Stop somebody from reading what we publish from now on; whether it could read before."""
        known = self._sealed().revoke(digest)
        self.act(self.part.publisher.publish_key)
        return known

    def _sealed(self) -> BlobSealing:
        if self._us.sealing is None:
            raise InvalidInput("everybody may read what is published here: join with `readers=[…]` to seal it")
        return self._us.sealing

    # -- subscribing

    def subscribe(
        self,
        topic: NameLike = "/",
        callback: Callback | None = None,
        *,
        max_size_bytes: int = 0,
        max_age_ms: int = 0,
        pattern: NameLike | None = None,
        since: Since | None = None,
        latest: bool = False,
        in_order: bool = True,
        in_pieces: bool = False,
        patience_ms: int = PATIENCE_MS,
        replay: bool = False,
    ) -> Feed:
        """Get what is published below a name, by whomever, and what was before; `async for` over it, or a `callback`.

        `max_size_bytes`, `max_age_ms` and `pattern` (`/position/*/**`) decide before anything is fetched. Of the past,
        `since` ("24h", a datetime) takes what is not older, and `latest` the last of each name of each producer. Not
        `in_order`, items come as soon as they are there. `in_pieces`, blobs of several packets come without their
        content, which `pieces` gets. What nobody has of the past holds up what is behind it for `patience_ms`, 0:
        without end. What was dealt with before a restart does not come again, whatever it says of the past, unless it
        is a `replay`.
        """
        wanted = Wanted(
            as_name(topic),
            None,
            max_size_bytes,
            max_age_ms,
            None if pattern is None else as_name(pattern),
            since_us=self._since_us(since),
            latest=latest,
            in_order=in_order,
            in_pieces=in_pieces,
            patience_ms=patience_ms,
            replay=replay,
        )
        return self._feed(wanted, callback)

    def subscribe_to_producer(
        self,
        producer: NameLike,
        callback: Callback | None = None,
        *,
        prefetch: int = 0,
        prefetch_ms: int = PREFETCH_MS,
        max_size_bytes: int = 0,
        max_age_ms: int = 0,
        pattern: NameLike | None = None,
        since: Since | None = None,
        latest: bool = False,
        in_order: bool = True,
        in_pieces: bool = False,
        patience_ms: int = PATIENCE_MS,
        replay: bool = False,
    ) -> Feed:
        """Get what one node publishes, or all nodes below a name; with `prefetch`, asked for before it is there.

        Such an Interest waits for `prefetch_ms`, and is asked again before that is over.
        """
        wanted = Wanted(
            None,
            as_name(producer),
            max_size_bytes,
            max_age_ms,
            None if pattern is None else as_name(pattern),
            prefetch,
            self._since_us(since),
            latest,
            in_order,
            in_pieces,
            prefetch_ms,
            patience_ms=patience_ms,
            replay=replay,
        )
        return self._feed(wanted, callback)

    async def fetch(self, name: NameLike | None = None, *, producer: NameLike | None = None, number: int = 0) -> Found:
        """Get a blob by the name its application gave it, from its producer or, without one, from any who has it.

        Or, without a name, by its producer and its number, from that one or from who carries it. Nothing has to be
        subscribed to. Raises what `face.fetch` raises, and `NoKey` if it is sealed and stays so.
        """
        if name is None:
            if producer is None or number < 1:
                raise InvalidInput("give a name, or a producer and a number from 1 on")
            return await find_number(self, as_name(producer), number)
        if number:
            raise InvalidInput(f"give the name {name}, or the number {number} of a producer")
        full = as_name(name)
        naming = self.part.seat.naming
        hint = self.part.seat.held if producer is None else as_name(producer) + self._us.group
        numbers = self.part.seat.directory.called(full)
        pieces = self._us.pieces
        finder = Finder(self.part.by_name, pieces.fetch_one, pieces.fetch_inner, pieces.opening)
        return await finder.find(full, (hint,), [naming.publication(*each) for each in numbers])

    def pieces(self, item: Item) -> AsyncGenerator[bytes, None]:
        """Get the blob of an item piece by piece, in order, each verified; what is not taken is not asked for.

        Raises `BadPacket` if what comes is not of this item, and what `face.fetch_segments` raises.
        """
        return self._us.pieces.of(item, Shelf(self.part.held, self.part.keep, self._us.reads_sealed))

    def _since_us(self, since: Since | None) -> int:
        return 0 if since is None else time_of(since, self._session.clock(), _FORMS) // _US

    def _feed(self, wanted: Wanted, callback: Callback | None) -> Feed:
        subscriber = self.part.subscriber
        number = subscriber.subscribe(wanted)
        feed = Feed(number, self, callback)
        self._feeds[number] = feed
        self.act(subscriber.resume)
        return feed

    # -- as a mule

    async def load(self, path: Path, say: Say = quiet) -> Loaded:
        """Carry what is in a mule's file (`roost.host.mule`): verify every packet, answer with it, tell the group."""
        cargo, loaded = await self._mule.read(path, say)
        if (cargo.group, cargo.naming.version) != (self._us.group, self._us.settings.version):
            theirs = f"{cargo.group}, version {cargo.naming.version}"
            raise BadConfig(f"{path} is of {theirs}, and this is {self._us.group}, version {self._us.settings.version}")
        self.act(lambda now: self.part.load(cargo, now))
        self._warn_of(path, loaded)
        return loaded

    async def unload(self, path: Path, say: Say = quiet) -> Loaded:
        """Write what we carry into a mule's file, and what we published, up to `carry_bytes`, content keys first.

        What is in the file already stays there.
        """
        cargo = self.part.cargo()
        for count, (key, wire) in enumerate(self.part.ours(self._us.carries_bytes)):
            cargo.load(*key, wire)
            if not count % _PAUSE:
                await asyncio.sleep(0)
        loaded = await self._mule.write(path, cargo, say)
        self._warn_of(path, loaded)
        return loaded

    def _warn_of(self, path: Path, loaded: Loaded) -> None:
        if loaded.trouble:
            self.warn("%s: %s", path, loaded.trouble)

    def _learn(self, certificate: Data) -> None:
        """Know a certificate that came with a file; it is believed if its chain is."""
        for verifier in self._verifiers:
            verifier.learn(certificate, self._session.clock())

    def _vouchers(self, info: SignatureInfo) -> list[Certificate]:
        return [each for verifier in self._verifiers for each in verifier.vouchers(info)]

    def _vouchers_of(self, data: Data) -> list[Certificate]:
        inside = self._vouchers(unwrap(data).signature) if data.content_type == ENCAPSULATED else []
        return self._vouchers(data.signature) + inside

    def drop(self, feed: Feed) -> None:
        """Have a feed no longer; use `feed.close`."""
        if self._feeds.pop(feed.number, None) is None:
            return
        self.part.subscriber.unsubscribe(feed.number)
        if not self.closed:
            self.act(self.part.subscriber.resume)
        self._told()

    def warn(self, text: str, *facts: object) -> None:
        """Say something in the log."""
        self._session.journal.warn(text, *facts)

    # -- the residence

    def note(self, effect: Effect) -> bool:
        """Take in what the member tells."""
        if isinstance(effect, Published) and is_key(effect.name):
            return False  # which nobody waits for
        if isinstance(effect, Published):
            self._publishing.popleft().receipt = Receipt(effect.name, effect.stream, effect.number)
        elif isinstance(effect, Deliver):
            feed = self._feeds.get(effect.subscription)
            if feed is not None:
                feed.waiting.append(effect.item)
        elif isinstance(effect, Discard):
            self._files.drop(effect.file)
        else:
            return False
        return True

    def save(self, effect: Save) -> None:
        """Keep numbers, publications and places in a file each."""
        keeper = self._keepers.get(effect.file)
        if keeper is None:
            super().save(effect)
        else:
            keeper.save(effect)

    def _saved(self, event: Saved) -> None:
        super()._saved(event)
        self._told()

    async def before_start(self) -> None:
        """Have what we say sent to all members, and what others carry asked of all who do."""
        await choose_multicast(self._session, self._commands, self.part.seat.sync.multicast)
        if self._us.carries_bytes:
            await choose_multicast(self._session, self._commands, self.part.seat.held)

    async def finish(self) -> None:
        """Have dealt with the items in hand; returns when that is on the disk."""
        if not self.closed:
            for feed in self._feeds.values():
                feed.acknowledge()
            await self.until(lambda: self.part.subscriber.places.is_saved or self.closed)

    async def close(self) -> None:
        """Leave; what is on the disk stays. Returns when its files are free for others."""
        calling = [feed.calling for feed in self._feeds.values() if feed.calling is not None]
        for task in calling:
            task.cancel()
        await super().close()
        await asyncio.gather(*calling, return_exceptions=True)
        for keeper in self._keepers.values():
            await keeper.close()
        self._files.close()
