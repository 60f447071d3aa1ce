"""Whole Sync Interests: built, and opened [SVS v2 and v3, Sync Interest; our sheet §3, §6].

    version 2   /<group>/v=2/params-sha256=…   { StateVector … }, signed as an Interest or not at all
    version 3   /<group>/v=3/params-sha256=…   { Data /<group>/v=3 { StateVector … }, signed }

Signatures have neither nonce nor time, so that equal vectors make equal Interests, which the network aggregates. Of
what is received, flags, lifetime and, in version 3, the name of the Data are the sender's business. Behind the vector
may stand MappingData (205, of SVS-PS), our window and whatever is not critical.

The name of an Interest ends in a digest of the rest, so what was opened once is remembered by it: the many members of
a simulation, or of a process, read the same Interest once.
"""

from __future__ import annotations

from typing import Final

from roost.errors import BadPacket
from roost.naming import Component, Name
from roost.naming.component import GENERIC
from roost.naming.conventions import sequence, timestamp
from roost.sync.port import Stream
from roost.sync.svs_window import WINDOW, decode_window
from roost.sync.vector_format import STATE_VECTOR, Heard, decode_vector
from roost.wire import Data, Interest, Signer, encode_data, encode_interest, sign_interest
from roost.wire.data import decode_data
from roost.wire.tlv import DATA, MAX_PACKET_BYTES, element, skip

MAPPING_DATA: Final = 205
_COMPRESSED: Final = 211  # ndn-svs with its option "compression"
_DIGEST_BYTES: Final = 34  # of a parameters digest as a component
_OVERHEAD: Final = 64  # nonce, lifetime, SignatureInfo and the heads of all elements
_SIGNATURE_BYTES: Final = 512  # RSA with 4096 bits, the largest in use
_REMEMBERED: Final = 256


def room_for_vector(prefix: Name, signer: Signer) -> int:
    """How many bytes are left for the vector and what stands behind it."""
    overhead = 2 * len(prefix.value) + _DIGEST_BYTES + len(signer.key_locator) + _SIGNATURE_BYTES + _OVERHEAD
    return MAX_PACKET_BYTES - overhead


def build(prefix: Name, version: int, content: bytes, lifetime_ms: int, signer: Signer | None) -> bytes:
    """Write the Sync Interest that carries a vector, without a Nonce; in version 2 the signer may be left out."""
    if signer is None:
        return encode_interest(prefix, lifetime_ms=lifetime_ms, parameters=content)
    if version == 2:
        return sign_interest(prefix, signer, lifetime_ms=lifetime_ms, parameters=content)
    return encode_interest(prefix, lifetime_ms=lifetime_ms, parameters=encode_data(prefix, content, signer))


def name_value(wire: bytes) -> bytes:
    """The bytes of the name of an Interest that we built."""
    _, start, end = element(wire, 0, len(wire))
    _, low, high = element(wire, start, end)
    return wire[low:high]


class Opened:
    """A Sync Interest; its vector is read when it is asked for, which is after verification."""

    __slots__ = ("_content", "_heard", "_mappings", "data", "version")

    def __init__(self, content: bytes, version: int, data: Data | None) -> None:
        self.data: Final = data  # of version 3
        self.version: Final = version
        self._content: Final = content
        self._heard: Heard | None = None
        self._mappings: tuple[bytes, ...] = ()

    @property
    def heard(self) -> Heard:
        """The vector, narrowed to its window if it has one; `BadPacket` says why it cannot be read."""
        if self._heard is None:
            self._heard, self._mappings = read_vector(self._content, self.version)
        return self._heard

    @property
    def mappings(self) -> tuple[bytes, ...]:
        """The MappingData behind the vector, each a whole element; `BadPacket` as for the vector."""
        self.heard  # noqa: B018  which reads both
        return self._mappings


_opened: Final[dict[bytes, Opened]] = {}  # by name; bound: _REMEMBERED


def open_interest(interest: Interest, prefix: Name, version: int) -> Opened:
    """Open a Sync Interest of this group; `BadPacket` says why it is none."""
    if len(interest.value) != len(prefix.value) + _DIGEST_BYTES or not interest.value.startswith(prefix.value):
        raise BadPacket(f"{interest.name} is no Sync Interest of this group: it is {prefix} and a parameters digest")
    opened = _opened.get(interest.value)
    if opened is None:
        opened = _open(interest, version)
        if len(_opened) >= _REMEMBERED:
            del _opened[next(iter(_opened))]
        _opened[interest.value] = opened
    return opened


def _open(interest: Interest, version: int) -> Opened:
    content = interest.parameters
    if content is None:
        raise BadPacket(f"{interest.name} is no Sync Interest: it has no parameters")
    if version == 2:
        return Opened(content, version, None)
    if not content or content[0] != DATA:
        raise BadPacket("the parameters of a Sync Interest of version 3 are one Data")
    data = decode_data(content)
    return Opened(data.content, version, data)


def read_vector(content: bytes, version: int) -> tuple[Heard, tuple[bytes, ...]]:
    """Read a vector, and the MappingData behind it, each a whole element; raises `BadPacket`."""
    mappings: list[bytes] = []
    end = len(content)
    type_, low, position = element(content, 0, end)
    if type_ == _COMPRESSED:
        raise BadPacket("the state vector is compressed, an option of ndn-svs that only ndn-svs reads: switch it off")
    if type_ != STATE_VECTOR:
        raise BadPacket(f"a StateVector (element {STATE_VECTOR}) was expected, this is element {type_}")
    heard = decode_vector(content, low, position, version)
    while position < end:
        at = position
        type_, low, position = element(content, at, end)
        if type_ == WINDOW and not heard.windowed:
            window = decode_window(content, low, position, version)
            if window is not None:
                heard.narrow(window[0], window[1])
        elif type_ == MAPPING_DATA:
            mappings.append(content[at:position])
        else:
            skip(type_, at, "Sync Interest")
    return heard, tuple(mappings)


def publication_name(group: Name, stream: Stream, number: int, version: int) -> Name:
    """What a publication is called by sync [sheet §6]: `/<stream>/<group>/t=<boot>/seq=<number>`, or of version 2."""
    if version == 2:
        return stream.name + group / Component.numbered(number, GENERIC)
    return stream.name + group / timestamp(stream.boot) / sequence(number)
