"""Real-time data retrieval: asking which version of an object is the newest [RDR; NDNts `@ndn/rdr`].

    Interest   /<name>/32=metadata                       CanBePrefix, MustBeFresh
    Data       /<name>/32=metadata/v=<time>/seg=0        Content = the Name element of the newest version [FinalBlockId]

NDNd adds the FinalBlockId of the object to the content; other elements are ignored, critical or not, as NDNts does.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming.component import SEGMENT, VERSION, Component
from roost.naming.conventions import METADATA, segment, version
from roost.naming.name import Name
from roost.wire import tlv
from roost.wire.data import Data, encode_data, meta_info
from roost.wire.interest import DEFAULT_LIFETIME_MS, Interest, encode_interest
from roost.wire.signature import Signer
from roost.wire.tlv import element

FRESHNESS_MS: Final = 1  # as NDNts: the answer is of this moment only


class Metadata:
    """What a producer says about an object: the name of its newest version and, if it says, the last segment."""

    __slots__ = ("final_block", "name")

    def __init__(self, name: Name, final_block: Component | None = None) -> None:
        self.name: Final = name
        self.final_block: Final = final_block


def discovery_name(name: Name) -> Name:
    """`/<name>/32=metadata`; added only where it is not there already."""
    return name if name and name.at(-1) == METADATA else name / METADATA


def encode_discovery(name: Name, *, nonce: bytes = b"", lifetime_ms: int = DEFAULT_LIFETIME_MS) -> bytes:
    """Write the Interest that asks for the newest version of `name`."""
    return encode_interest(
        discovery_name(name), nonce=nonce, can_be_prefix=True, must_be_fresh=True, lifetime_ms=lifetime_ms
    )


def is_discovery(interest: Interest) -> bool:
    """Whether an Interest asks for metadata."""
    return interest.can_be_prefix and interest.must_be_fresh and interest.name.at(-1) == METADATA


def encode_metadata(
    name: Name,
    versioned: Name,
    signer: Signer,
    *,
    version_number: int,
    freshness_ms: int = FRESHNESS_MS,
    final_block: Component | None = None,
) -> bytes:
    """Write the answer: `versioned` is the newest version of `name`; `version_number` is by custom the time."""
    content = versioned.wire
    if final_block is not None:
        content += tlv.tlv(tlv.FINAL_BLOCK, final_block.wire)
    full = discovery_name(name) / version(version_number) / segment(0)
    return encode_data(full, content, signer, freshness_ms=freshness_ms)


def decode_metadata(data: Data) -> Metadata:
    """Check and read a metadata packet."""
    name = data.name
    if len(name) < 3 or name.at(-3) != METADATA or name.at(-2).type != VERSION or name.at(-1).type != SEGMENT:
        raise BadPacket(f"{name} is no metadata; it would be /<name>/32=metadata/v=<time>/seg=0")
    content = data.content
    found: Name | None = None
    final_block: Component | None = None
    position = 0
    while position < len(content):
        at = position
        type_, low, position = element(content, at, len(content))
        if type_ == tlv.NAME and found is None:
            found = Name.decode(content[low:position])
        elif type_ == tlv.FINAL_BLOCK and final_block is None:
            final_block = meta_info(content, at, position).final_block  # the element it is in a MetaInfo
    if found is None:
        raise BadPacket(f"metadata {name} holds no Name")
    return Metadata(found, final_block)
