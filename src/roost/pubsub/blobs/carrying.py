"""What a member holds of others, and answers with for those who are out of reach: the data mule of SVS-PS.

Everything that was fetched and believed is kept as it came, outer packets with their signatures, up to `max_bytes`; the
oldest publication is forgotten first, but content keys stay while they take no more than a part of it (`KEYS_SHARE`):
what is sealed is of no use without them. An Interest for a packet of any node that we know is answered with it, a
mapping query with what we know (`Directory`), signed by us, one for an application name with the inner packet. What is
not here is not answered: somebody else may have it.

A carrier is found by a forwarding hint, `<group>/32=held`, which asks all carriers of the group; nothing has to be
said about whose packets they hold. By it the certificates are had, too, by which what is held was believed here
(`vouchers`): their owners may be as far as the producers. Where nobody sets hints, as other implementations do not, a
carrier may also answer for nodes below `prefixes`, which it then has registered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from roost.errors import BadPacket
from roost.forwarding.endpoint_effects import Asked
from roost.machine import Effect
from roost.naming import Name
from roost.naming.conventions import KEY
from roost.pubsub.blobs.directory import Directory
from roost.pubsub.blobs.encapsulation import parted, unwrap
from roost.pubsub.blobs.names import Naming, Query, is_key
from roost.sync.port import Reply, Stream
from roost.wire import Data, SignatureInfo, Signer, encode_data
from roost.wire.certificate import Certificate
from roost.wire.data import decode_data
from roost.wire.segment import SEGMENT_BYTES

MAPPING_FRESHNESS_MS: Final = 1000
MAX_BYTES: Final = 1 << 26
MAX_VOUCHERS: Final = 1024
MULE_PERIODIC_MS: Final = 5000  # how often who moves says what it knows: it is nowhere for long
KEYS_SHARE: Final = 4  # content keys outlive other packets up to 1/4 of the bytes


Vouchers: TypeAlias = Callable[[SignatureInfo], Iterable[Certificate]]


def nobody(info: SignatureInfo) -> Iterable[Certificate]:  # noqa: ARG001  as others know some
    """Where nothing is verified, no certificates are known."""
    return ()


class Carrying:
    """Packets of others; `prefixes` are those of nodes it answers for without a hint."""

    def __init__(
        self,
        signer: Signer,
        prefixes: tuple[Name, ...] = (),
        *,
        max_bytes: int = MAX_BYTES,
        vouchers: Vouchers = nobody,
    ) -> None:
        self.prefixes: Final = prefixes
        self.max_bytes: Final = max_bytes
        self.size_bytes = 0
        self.answered = 0
        self.forgotten = 0
        self.overflowed = 0  # packets of blobs that are larger than all the room
        self._signer: Final = signer
        self._vouchers: Final = vouchers
        self._certificates: Final[dict[Name, Certificate]] = {}  # bound: MAX_VOUCHERS
        self._packets: Final[dict[tuple[Stream, int, int], bytes]] = {}  # bound: max_bytes
        self._segments: Final[OrderedDict[tuple[Stream, int], list[int]]] = OrderedDict()  # of those
        self._keys: Final[set[tuple[Stream, int]]] = set()  # content keys; bound: as `_packets`
        self._key_bytes = 0
        self._named: Final[dict[Name, tuple[Stream, int]]] = {}  # what came last of each name; bound: as `_packets`
        self._names: Final[dict[tuple[Stream, int], Name]] = {}  # of those; bound: as above
        self._streams: Final[dict[Name, Stream]] = {}  # by home; bound: the streams of the group

    def __len__(self) -> int:
        return len(self._packets)

    def know(self, naming: Naming, stream: Stream) -> None:
        """There is a stream, whose Interests we may be asked."""
        self._streams.setdefault(naming.home(stream), stream)

    @property
    def packets(self) -> Mapping[tuple[Stream, int, int], bytes]:
        """All that is held, by number and segment."""
        return self._packets

    def keep(
        self, stream: Stream, number: int, segment: int, wire: bytes, name: Name | None = None, last: int = -1
    ) -> None:
        """Keep an outer packet that was believed; -1 is the segment of what has none, `name` the application's.

        Of a blob that is larger than all the room, as its `last` segment says, only the first packet is kept. Others
        are forgotten for it one publication after the other: a part of one is of little use.
        """
        key = (stream, number, segment)
        if key in self._packets:
            return
        if segment > 0 and last * SEGMENT_BYTES > self.max_bytes:
            self.overflowed += 1  # it would only drive out all else
            return
        publication = (stream, number)
        self._packets[key] = wire
        self._segments.setdefault(publication, []).append(segment)
        self.size_bytes += len(wire)
        if segment <= 0 and self._vouchers is not nobody:
            self._vouch(decode_data(wire))
        if name is not None and segment <= 0 and publication not in self._names:
            self._named[name] = publication
            self._names[publication] = name
        called = self._names.get(publication) if name is None else name
        if called is not None and is_key(called):
            self._keys.add(publication)
            self._key_bytes += len(wire)
        while self.size_bytes > self.max_bytes and (oldest := self._oldest_but(publication)) is not None:
            self._forget(oldest)
        if self.size_bytes > self.max_bytes and len(self._segments[publication]) > 1:
            self.overflowed += 1
            self._drop(key)
            self._segments[publication].remove(segment)

    def _vouch(self, outer: Data) -> None:
        """Have the certificates by which it was believed, and what is in it."""
        for data in (outer, unwrap(outer)):
            for certificate in self._vouchers(data.signature):
                self._certificates[certificate.name] = certificate
        while len(self._certificates) > MAX_VOUCHERS:
            del self._certificates[next(iter(self._certificates))]

    def _certificate(self, name: Name, *, prefix: bool) -> bytes | None:
        """A certificate by its name, or the newest of those below a prefix of it."""
        exact = self._certificates.get(name)
        if exact is not None or not prefix or KEY not in name:
            return None if exact is None else exact.wire
        found = [each for each in self._certificates.values() if each.name.starts_with(name)]
        return max(found, key=lambda each: each.version).wire if found else None

    def _oldest_but(self, publication: tuple[Stream, int]) -> tuple[Stream, int] | None:
        """What is to be forgotten for a publication; content keys outlive others, up to their share."""
        spares = self._key_bytes * KEYS_SHARE <= self.max_bytes
        spared: list[tuple[Stream, int]] = []
        found: tuple[Stream, int] | None = None
        for each in self._segments:
            if spares and each in self._keys:
                spared.append(each)
            elif each != publication:
                found = each
                break
        for each in spared:
            self._segments.move_to_end(each)
        return found

    def _forget(self, publication: tuple[Stream, int]) -> None:
        for segment in self._segments.pop(publication):
            self._drop((*publication, segment))
        self._keys.discard(publication)
        self._forget_name(publication)

    def _drop(self, key: tuple[Stream, int, int]) -> None:
        wire = self._packets.pop(key)
        self.size_bytes -= len(wire)
        self.forgotten += 1
        if key[:2] in self._keys:
            self._key_bytes -= len(wire)

    def _forget_name(self, publication: tuple[Stream, int]) -> None:
        name = self._names.pop(publication, None)
        if name is not None and self._named[name] == publication:
            del self._named[name]

    def by_name(self, name: Name) -> bytes | None:
        """The application's Data of this name, or of this segment, of what came last of it."""
        try:
            whole, segment = parted(name)
        except BadPacket:
            return None
        publication = self._named.get(whole)
        outer = None if publication is None else self._packets.get((*publication, segment))
        return None if outer is None else decode_data(outer).content

    def answer(self, asked: Asked, naming: Naming, directory: Directory) -> list[Effect]:
        """Answer for another node, with what we have."""
        packet = self._find(asked, naming, directory)
        if packet is None:
            return []
        self.answered += 1
        return [Reply(packet, asked.token)]

    def _find(self, asked: Asked, naming: Naming, directory: Directory) -> bytes | None:
        name = asked.interest.name
        for length in range(len(name) - 1, 0, -1):
            home = name.prefix(length)
            stream = self._streams.get(home)
            if stream is None:
                continue
            wish = naming.read(name, home)
            if wish is None:
                return None
            if isinstance(wish, Query):
                content = directory.answer(stream, wish)
                if content is None:
                    return None
                return encode_data(name, content, self._signer, freshness_ms=MAPPING_FRESHNESS_MS)
            whole = self._packets.get((stream, wish.number, wish.segment))
            if whole is None and wish.segment < 0 and asked.interest.can_be_prefix:
                whole = self._packets.get((stream, wish.number, 0))
            return whole
        return self._certificate(name, prefix=asked.interest.can_be_prefix) or self.by_name(name)
