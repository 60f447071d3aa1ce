"""Publications as packets: the application's Data inside the transport's Data, cut where it is too large [SVS-PS §8].

    outer   <publication>[/v=0/seg=<n>]             ContentType 6, signed by the transport's key
      └─ inner   <application name>[/v=0/seg=<n>]   signed by the application's key, with (a piece of) the blob

Both have FinalBlockId if there are segments, and a FreshnessPeriod above 0, or the discovery of ndn-svs would not find
them. A packet is made when it is asked for, so a large blob takes no more memory than itself, and none of ours if it is
a view of a mapped file.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.component import SEGMENT
from roost.naming.conventions import segment
from roost.pubsub.blobs.names import VERSION_0
from roost.pubsub.blobs.sealing import BlobSealing
from roost.wire import Data, Signer, encode_data
from roost.wire.data import decode_data
from roost.wire.segment import SEGMENT_BYTES, segment_number
from roost.wire.signature import DIGEST_SHA256, ED25519, HMAC_SHA256, NULL, SHA256_ECDSA
from roost.wire.tlv import MAX_PACKET_BYTES

ENCAPSULATED: Final = 6  # the ContentType of outer Data
FRESHNESS_MS: Final = 3_600_000  # a publication never changes
MAX_SEGMENTS: Final = 1 << 22
_OVERHEAD: Final = 80  # of one Data: version and segment, MetaInfo, SignatureInfo and the heads of all elements
_SIGNATURE_BYTES: Final = {NULL: 0, DIGEST_SHA256: 32, HMAC_SHA256: 32, ED25519: 64, SHA256_ECDSA: 144}
_LARGEST_SIGNATURE: Final = 512


class Packets:
    """The packets of one publication."""

    def __init__(
        self,
        outer: Name,
        inner: Name,
        content: bytes | memoryview,
        inner_signer: Signer,
        outer_signer: Signer,
        *,
        always_segmented: bool = False,
        sealing: BlobSealing | None = None,
    ) -> None:
        self.size_bytes: Final = len(content)
        self._content: Final = content
        self._inner_signer: Final = inner_signer
        self._outer_signer: Final = outer_signer
        self._sealing: Final = sealing
        room = (
            MAX_PACKET_BYTES
            - (0 if sealing is None else sealing.overhead)
            - _weight(outer, outer_signer)
            - _weight(inner, inner_signer)
        )
        self._piece: Final = min(SEGMENT_BYTES, room)
        if self._piece < 1:
            raise BadPacket(f"{inner} cannot be published: its name and that of {outer} leave no room in a packet")
        self.count: Final = max(1, -(-len(content) // self._piece))
        if self.count > MAX_SEGMENTS:
            raise BadPacket(f"{inner} has {len(content)} bytes, which is more than {MAX_SEGMENTS} packets hold")
        self.segmented: Final = always_segmented or self.count > 1
        self._final: Final = segment(self.count - 1) if self.segmented else None
        self._outer: Final = outer / VERSION_0 if self.segmented else outer
        self._inner: Final = inner / VERSION_0 if self.segmented else inner

    def inner(self, number: int) -> bytes:
        """The application's Data with a segment, or with all."""
        piece = bytes(self._content[number * self._piece : (number + 1) * self._piece])
        name = self._inner / segment(number) if self.segmented else self._inner
        if self._sealing is not None:
            piece = self._sealing.seal(self._outer_name(number), piece)
        return encode_data(name, piece, self._inner_signer, freshness_ms=FRESHNESS_MS, final_block=self._final)

    def _outer_name(self, number: int) -> Name:
        return self._outer / segment(number) if self.segmented else self._outer

    def outer(self, number: int) -> bytes:
        """The transport's Data around it."""
        return encode_data(
            self._outer_name(number),
            self.inner(number),
            self._outer_signer,
            freshness_ms=FRESHNESS_MS,
            content_type=ENCAPSULATED,
            final_block=self._final,
        )


def unwrap(outer: Data) -> Data:
    """Take the application's Data out; raises `BadPacket` if it is not exactly one, or not the segment outside."""
    if outer.content_type != ENCAPSULATED:
        raise BadPacket(f"{outer.name} has ContentType {outer.content_type}: {ENCAPSULATED} was expected around a Data")
    inner = decode_data(outer.content)
    if segment_of(outer) != segment_of(inner):
        raise BadPacket(f"{inner.name} is another segment than {outer.name}, which it came in")
    return inner


def parted(name: Name) -> tuple[Name, int]:
    """The name of a whole, and which segment of it is named; -1 if it is not one of several."""
    if len(name) < 2 or name.at(-1).type != SEGMENT or name.at(-2) != VERSION_0:
        return name, -1
    return name.prefix(-2), segment_number(name.at(-1))


def segment_of(data: Data) -> int:
    """Which segment a Data is; -1 if it is not one of several."""
    return parted(data.name)[1]


def application_name(inner: Data) -> Name:
    """The name that the application gave, without version and segment."""
    return parted(inner.name)[0]


def final_segment(data: Data) -> int:
    """The number of the last segment; -1 if the packet does not say."""
    if data.final_block is None or data.final_block.type != SEGMENT:
        return -1
    return segment_number(data.final_block)


def _weight(name: Name, signer: Signer) -> int:
    """What a Data takes around its content, at most."""
    signature = _SIGNATURE_BYTES.get(signer.signature_type, _LARGEST_SIGNATURE)
    return len(name.value) + len(signer.key_locator) + signature + _OVERHEAD
