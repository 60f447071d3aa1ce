"""Blobs that only some may read: sealed with a content key that their readers share, and that is rotated.

Every producer has a content key (`roost.trust.access`), named `<node>/<group>/32=CK/v=<n>`. It is published in the
group like anything else, under that name and before what is sealed with it, as one blob in which it is wrapped for each
of the readers: so it comes to late joiners, over mules and from files as all publications do.

    key publication = { Name of the key Data (7), WrappedKey (136) } *

Pieces of a blob are sealed one by one, when their packets are made, bound to the names of these. A key is replaced
after so many publications, after so long, and when a reader is revoked; what is asked for later is sealed with the key
in use then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.errors import BadPacket
from roost.machine import SECOND
from roost.naming import Name
from roost.trust.access import IV_BYTES, KeyData, KeyWanted, Opened, Opener, Sealer, parse_sealed
from roost.trust.generate import Entropy
from roost.trust.wrapping import Receiver, Recipient
from roost.wire.envelope import SEALED
from roost.wire.tlv import NAME, element

ROTATE_AFTER_PUBLICATIONS: Final = 100_000
ROTATE_AFTER_NS: Final = 24 * 3600 * SECOND
MAX_CLOSED: Final = 4096
WAITING: Final = "waiting"
CLOSED: Final = "closed"
_PACKETS: Final = 1 << 32  # that one key seals at most; random IVs allow for that
_AROUND: Final = IV_BYTES + 16 + 40  # IV, tag, and the heads of all elements


class BlobSealing:
    """The publishing side of one member: its key, its readers, and when the key changes."""

    def __init__(
        self,
        home: Name,
        readers: Iterable[Recipient],
        entropy: Entropy,
        *,
        publications: int = ROTATE_AFTER_PUBLICATIONS,
        period_ns: int = ROTATE_AFTER_NS,
    ) -> None:
        self.overhead: Final = len(home.value) + _AROUND + 32
        self.is_lost = False  # a publication of the key in use is had no more, and not made again yet
        self._sealer: Final = Sealer(home, entropy, readings=_PACKETS, period_ns=period_ns)
        self._publications: Final = publications
        self._left = 0
        self._fresh: list[KeyData] = []  # to be published; bound: the readers
        for reader in readers:
            self._sealer.authorise(reader)

    def authorise(self, reader: Recipient) -> None:
        """Let somebody read what is sealed with the key in use, and what comes; publish what is due then."""
        self._fresh += self._sealer.authorise(reader)

    def revoke(self, digest: bytes) -> bool:
        """Stop somebody from reading what is sealed from now on; whether it could before. Publish what is due then."""
        self._fresh.clear()
        self.is_lost = False
        return self._sealer.revoke(digest)

    def forgotten(self, name: Name) -> None:
        """A publication is had no more; if it was one of the key in use, that is due again, for all readers."""
        if name == self._sealer.content_key and not self.is_lost:
            self._fresh = list(self._sealer.keys())
            self.is_lost = bool(self._fresh)

    def key_due(self, now: int) -> tuple[Name, bytes] | None:
        """The key to be published before the next publication, if there is one."""
        if self._left <= 0:
            self._sealer.expire()
        before = self._sealer.content_key
        keys = self._sealer.renew(now)
        if self._sealer.content_key != before:
            self._left = self._publications
            self._fresh = list(keys)
        self._left -= 1
        if not self._fresh:
            return None
        blob = b"".join([key.name.wire + key.content for key in self._fresh])
        self._fresh.clear()
        self.is_lost = False
        return self._sealer.content_key, blob

    def seal(self, name: Name, piece: bytes) -> bytes:
        """Seal a piece, bound to the name of its packet."""
        return self._sealer.encrypt(name, piece)


class BlobOpening:
    """The reading side: keys as they come, and what they open."""

    def __init__(self, receivers: Iterable[Receiver]) -> None:
        self.closed_to_us = 0  # pieces whose key was published, and not for us
        self._opener: Final = Opener(receivers)
        self._closed: Final[dict[bytes, None]] = {}  # keys that are not for us; bound: MAX_CLOSED

    def learn(self, name: Name, blob: bytes) -> None:
        """Take a key publication; raises `BadPacket` if it is none."""
        found = False
        at = 0
        while at < len(blob):
            type_, low, at = element(blob, at, len(blob))
            if type_ != NAME:
                raise BadPacket(f"a Name was expected in the content key {name}, this is element {type_}")
            key_data = Name.decode(blob[low:at])
            start = at
            _, _, at = element(blob, at, len(blob))
            if not key_data.starts_with(name):
                raise BadPacket(f"{key_data} is no part of the content key {name}")
            found |= self._opener.take(key_data, blob[start:at]) is None
        if found:
            self._closed.pop(name.value, None)
        else:
            self._closed[name.value] = None
            if len(self._closed) > MAX_CLOSED:
                del self._closed[next(iter(self._closed))]

    def open(self, name: Name, piece: bytes) -> bytes | str:
        """What is in a piece, sealed or not; or `WAITING` if its key is not here yet, `CLOSED` if it is not for us.

        Raises `BadPacket` if it does not open.
        """
        if not piece or piece[0] != SEALED:
            return piece
        try:
            key = parse_sealed(piece)[2]
        except BadPacket:
            return piece  # it only looks like it
        outcome = self._opener.open(name, piece)
        if isinstance(outcome, Opened):
            return outcome.content
        if not isinstance(outcome, KeyWanted):
            raise BadPacket(str(outcome))
        if key.value in self._closed:
            self.closed_to_us += 1
            return CLOSED
        return WAITING
