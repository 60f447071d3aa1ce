"""What a data mule carries, as a heap of packets that can be put into a file and into another member.

    told      <group>/v=<version>: StateVector of one stream, MappingData of some of its numbers     signed by the mule
    vouchers  the certificates by which what follows is believed, as their issuers signed them
    packets   outer Data as their producers signed them

What is told has the name and the content of the Data in a Sync Interest of version 3, so whoever may tell a group's
members something live may do so by a file. Where it is not believed, what is known of a stream is what its packets say.
Heaps are merged by taking the union, and the higher number of each stream: any order, and any number of times, gives
the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from roost.errors import BadPacket
from roost.naming import Name
from roost.naming.component import VERSION
from roost.naming.conventions import version as version_component
from roost.pubsub.blobs.encapsulation import ENCAPSULATED, application_name, final_segment, unwrap
from roost.pubsub.blobs.mapping import Entry, decode_mapping, encode_mapping
from roost.pubsub.blobs.names import Naming, Publication
from roost.sync.port import Stream
from roost.sync.svs_interest import read_vector
from roost.sync.vector_format import encode_vector, key_of, stream_of
from roost.wire import Data, Signer, encode_data
from roost.wire.data import KEY, decode_data

MAX_TOLD_BYTES: Final = 6000


class Cargo:
    """One group's heap; its bound is that of what it is read from."""

    def __init__(self, group: Name, version: int) -> None:
        self.naming: Final = Naming(group, version)
        self.highs: Final[dict[Stream, int]] = {}
        self.entries: Final[dict[Stream, dict[int, Entry]]] = {}
        self.packets: Final[dict[tuple[Stream, int, int], bytes]] = {}  # by number and segment, -1 where there is none
        self.vouchers: Final[dict[Name, bytes]] = {}  # certificates

    @staticmethod
    def of(first: Data) -> Cargo:
        """An empty one for the group that the first packet of a heap tells of."""
        name = first.name
        if len(name) < 2 or name.at(-1).type != VERSION or name.at(-1).number() not in {2, 3}:
            raise BadPacket(f"{name} is not what a mule tells: that is called <group>/v=2 or <group>/v=3")
        return Cargo(name.prefix(-1), name.at(-1).number())

    @property
    def group(self) -> Name:
        """Whose it is."""
        return self.naming.group

    def tell(self, stream: Stream, high: int, entries: list[Entry]) -> bool:
        """Know of a stream, and of some publications; whether that is new."""
        fresh = high > self.highs.get(stream, 0)
        self.highs[stream] = max(high, self.highs.get(stream, 0))
        known = self.entries.setdefault(stream, {})
        for entry in entries:
            fresh |= entry.number not in known
            known.setdefault(entry.number, entry)
        return fresh

    def load(self, stream: Stream, number: int, segment: int, wire: bytes) -> bool:
        """Carry a packet; whether it is new."""
        key = (stream, number, segment)
        if key in self.packets:
            return False
        self.packets[key] = wire
        return True

    def take(self, data: Data) -> bool:
        """Take in a packet of another heap, which was verified; whether it brought anything new."""
        if data.name == self.group / version_component(self.naming.version):
            return self._take_told(data)
        if data.content_type == KEY:
            return self.vouch(data)
        if data.content_type != ENCAPSULATED:
            raise BadPacket(f"{data.name} is neither a publication nor what a mule tells")
        stream = self.naming.stream_of(data.name)
        wish = None if stream is None else self.naming.read(data.name, self.naming.home(stream))
        if stream is None or not isinstance(wish, Publication):
            raise BadPacket(f"{data.name} is no publication of {self.group}")
        entries = [] if wish.segment > 0 else [Entry(wish.number, application_name(unwrap(data)))]
        self.tell(stream, wish.number, entries)
        return self.load(stream, wish.number, wish.segment, data.wire)

    def vouch(self, certificate: Data) -> bool:
        """Carry a certificate; whether it is new."""
        fresh = certificate.name not in self.vouchers
        self.vouchers.setdefault(certificate.name, certificate.wire)
        return fresh

    def told(self, signer: Signer) -> Iterator[bytes]:
        """The packets to begin with."""
        name = self.group / version_component(self.naming.version)
        for stream in sorted(self.highs):
            key = key_of(stream, self.naming.version)
            vector = encode_vector([key], {key: self.highs[stream]}, self.naming.version)
            entries = [self.entries[stream][number] for number in sorted(self.entries[stream])]
            for batch in _batches(entries):
                mapping = encode_mapping(stream.name, batch) if batch else b""
                yield encode_data(name, vector + mapping, signer)

    def _take_told(self, data: Data) -> bool:
        heard, mappings = read_vector(data.content, self.naming.version)
        fresh = False
        streams = [stream_of(key, self.naming.version) for key in heard.entries]
        for stream, high in zip(streams, heard.entries.values(), strict=True):
            fresh |= self.tell(stream, high, [])
        for wire in mappings:
            mapping = decode_mapping(wire)
            found = [stream for stream in streams if stream.name == mapping.node]
            if len(found) != 1:
                raise BadPacket(f"{data.name} tells names of {mapping.node}, and not one number of it")
            fresh |= self.tell(found[0], 0, list(mapping.entries))
        return fresh


def incomplete(packets: Mapping[tuple[Stream, int, int], bytes]) -> list[tuple[Stream, int]]:
    """The publications of which some packets are here and others are not."""
    counts: dict[tuple[Stream, int], int] = {}
    some: dict[tuple[Stream, int], bytes] = {}
    for (stream, number, segment), wire in packets.items():
        if segment >= 0:
            counts[stream, number] = counts.get((stream, number), 0) + 1
            some[stream, number] = wire
    return [key for key, count in counts.items() if count <= final_segment(decode_data(some[key]))]


def _batches(entries: list[Entry]) -> Iterator[list[Entry]]:
    """So many at once as fit a packet; at least one batch, which may be empty."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        weight = len(entry.encode())
        if batch and size + weight > MAX_TOLD_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += weight
    yield batch
