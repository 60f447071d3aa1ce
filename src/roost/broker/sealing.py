"""Sealing: what roles govern is put into a group encrypted, and its key for those alone who may see the stream.

    message of a governed topic ──▶ sealed with the content key of its stream ──▶ the content of its reading
                                     └ a new key ──▶ wrapped for everybody who may ──▶ signed, in front of the readings

Roles hold at the doors of this node. Whoever fetches named Data goes through none of them, so there the key is the door
(`roost.trust.access`). Nothing else of a message changes: its name, number and signature are as ever, and its event
time is told, so that repos find it by time. Topics that nothing governs are left as they are, byte for byte.

Who may is `Readership`'s to say. When that may have changed (`changed`), the readers of a stream are compared before
its next message is sealed, and those of the others piece by piece, with each `tick`: who may see a stream now gets the
key it has, who may no longer is left out of the next one. A process that starts anew begins with new keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from roost.errors import NoKey
from roost.naming.name import Name
from roost.pubsub.panels.panel import SignerFor
from roost.repo.store import Entry
from roost.trust.access import KeyData, Sealer
from roost.trust.generate import Entropy
from roost.trust.wrapping import KEY_BYTES, Recipient
from roost.wire.data import encode_data

MAX_REMEMBERED: Final = 100_000  # topics of which it is known whether they are governed
MAX_SEALERS: Final = 20_000  # streams with a key; one too many makes the oldest begin anew
PIECE: Final = 32  # streams whose readers are compared at once
FRESHNESS_MS: Final = 10_000  # of a wrapped key, which never changes
_ADDED_BYTES: Final = 120  # IV, tag, event time, the end of the key's name, and heads of elements


class Readership(Protocol):
    """Who may open what."""

    def governs(self, topic: bytes) -> bool:
        """Whether it depends on roles who may see what is on a topic."""
        ...

    def recipients(self, topic: bytes) -> Mapping[bytes, Recipient]:
        """For whom the keys of a governed topic are, by the digests of their own."""
        ...


class Sealing:
    """The streams of one panel."""

    def __init__(self, readership: Readership, signer_for: SignerFor, entropy: Entropy) -> None:
        self.sealed = 0  # messages
        self.wrapped = 0  # keys, each for one recipient
        self.forgotten = 0  # keys that made room for others, or could not be published
        self._readership: Final = readership
        self._signer_for: Final = signer_for
        self._entropy: Final = entropy
        self._governed: Final[dict[bytes, bool]] = {}  # by topic; bound: MAX_REMEMBERED
        self._sealers: Final[dict[bytes, Sealer]] = {}  # by topic; bound: MAX_SEALERS
        self._stale: dict[bytes, None] = {}  # topics whose readers may be others now; bound: as above
        self._unwritten: list[Entry] = []  # wrapped keys; bound: those of the messages that are numbered, and a piece

    def governs(self, topic: bytes) -> bool:
        """Whether the messages of a topic are sealed."""
        try:
            return self._governed[topic]
        except KeyError:
            pass
        if len(self._governed) >= MAX_REMEMBERED:
            self._governed.clear()
        governed = self._governed[topic] = self._readership.governs(topic)
        return governed

    def added_bytes(self, name_bytes: int, topic: bytes) -> int:
        """By how much sealing makes a message longer, at most, at a panel whose name has so many bytes."""
        return name_bytes + 2 * len(topic) + _ADDED_BYTES if self.governs(topic) else 0

    def seal(self, topic: bytes, stream: Name, name: Name, content: bytes, time: int, now: int) -> bytes:
        """The content of the reading that a message becomes; raises `NoKey` if nothing here may sign the key for it."""
        if not self.governs(topic):
            return content
        sealer = self._sealers.get(topic)
        if sealer is None or topic in self._stale:
            sealer = self._compare(topic, stream, now)
        sealed = sealer.seal(name, content, now, time)
        if sealed.keys:
            self._publish(topic, sealed.keys, now)
        self.sealed += 1
        return sealed.content

    def fresh_key(self, topic: bytes) -> bytes:
        """A key for one payload that is too large for its reading, which holds the key; none if that is not sealed."""
        return self._entropy(KEY_BYTES) if self.governs(topic) else b""

    # -- who may see what is decided by other things than before

    def changed(self) -> None:
        """Compare all anew."""
        self._governed.clear()
        self._stale = dict.fromkeys(self._sealers)

    def tick(self, now: int) -> None:
        """Compare one more piece."""
        for topic in list(self._stale)[:PIECE]:
            if not self.governs(topic):
                del self._stale[topic]
                del self._sealers[topic]
                continue
            try:
                self._compare(topic, self._sealers[topic].stream, now)
            except NoKey:
                self._stale.pop(topic, None)  # and its next message says so

    def _compare(self, topic: bytes, stream: Name, now: int) -> Sealer:
        self._stale.pop(topic, None)
        sealer = self._sealers.get(topic)
        if sealer is None:
            if len(self._sealers) >= MAX_SEALERS:
                self._forget(next(iter(self._sealers)))
            sealer = self._sealers[topic] = Sealer(stream, self._entropy)
        wanted = self._readership.recipients(topic)
        held = sealer.consumers
        for digest in held:
            if digest not in wanted:
                sealer.revoke(digest)
        keys: list[KeyData] = []
        for digest, recipient in wanted.items():
            if digest not in held:
                keys += sealer.authorise(recipient)
        self._publish(topic, keys, now)
        return sealer

    # -- keys, which are written in front of what they open

    @property
    def is_due(self) -> bool:
        """Whether there is something to compare, or to write."""
        return bool(self._stale or self._unwritten)

    def take(self) -> list[Entry]:
        """Hand out what is to be written."""
        entries, self._unwritten = self._unwritten, []
        return entries

    def refused(self, entry: Entry, *, for_ever: bool) -> None:
        """A key was not written: it is tried again, or (for ever) its stream begins with another one."""
        if not for_ever:
            self._unwritten.append(entry)
            return
        for topic, sealer in list(self._sealers.items()):
            if entry.name.starts_with(sealer.stream) and len(entry.name) == len(sealer.stream) + 4:
                self._forget(topic)

    def _publish(self, topic: bytes, keys: tuple[KeyData, ...] | list[KeyData], now: int) -> None:
        try:
            for key in keys:
                signer = self._signer_for(key.name, now)
                wire = encode_data(key.name, key.content, signer, freshness_ms=FRESHNESS_MS)
                self._unwritten.append(Entry(key.name, wire))
        except NoKey:
            self._forget(topic)  # or it would go on with a key that nobody gets
            raise
        self.wrapped += len(keys)

    def _forget(self, topic: bytes) -> None:
        self._stale.pop(topic, None)
        if self._sealers.pop(topic, None) is not None:
            self.forgotten += 1
