"""Content encryption with named keys: who may read a stream [NDN-PS §III-B; name-based access control].

A stream's readings are sealed with its content key (AES-256-GCM, the Data's name as associated data). The content key
is itself published, once for every consumer that may read, wrapped for that consumer's public key (`wrapping.py`):

    <stream>/32=CK/v=<n>                                    the name of content key n
    <stream>/32=CK/v=<n>/32=for/<KeyDigest of the consumer> the Data that holds it, signed like the stream's readings

    sealed content = EncryptedContent 130 { [161 EventTime], 132 ciphertext and tag, 133 IV (12 bytes), 7 name of the
                                            content key }

(the type numbers are those of the NAC specification, the event time is that of `roost.wire.reading`: who wants repos to
find sealed readings by time, and to let old ones go, tells it in the clear). A key is replaced after so many readings,
after so long, and at once when a consumer is revoked. Nothing here signs, fetches or checks signatures: what is handed
to `learn` has passed the verifier. Entropy is handed in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from roost.errors import BadConfig, BadPacket, Untrusted
from roost.machine import MS, SECOND
from roost.naming import Component, Name
from roost.naming.component import VERSION
from roost.naming.conventions import keyword, version
from roost.trust.generate import Entropy
from roost.trust.verdict import Rejection
from roost.trust.wrapping import KEY_BYTES, Receiver, Recipient
from roost.wire import Data, tlv
from roost.wire.envelope import EVENT_TIME, SEALED

CK: Final = keyword("CK")
FOR: Final = keyword("for")
IV_BYTES: Final = 12

ROTATE_AFTER_READINGS: Final = 100_000  # far below the 2**32 at which random IVs of one key become a risk
ROTATE_AFTER_NS: Final = 24 * 3600 * SECOND
MAX_CONSUMERS: Final = 1024
MAX_KEYS: Final = 1024

_CIPHERTEXT: Final = 132
_IV: Final = 133


@dataclass(frozen=True, slots=True)
class KeyData:
    """A content key for one consumer: sign it with the stream's key and publish it."""

    name: Name
    content: bytes


@dataclass(frozen=True, slots=True)
class Sealed:
    """What to publish as a reading's content; `keys` are new and go out first."""

    content: bytes
    keys: tuple[KeyData, ...] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """The plain content of a reading."""

    content: bytes


@dataclass(frozen=True, slots=True)
class KeyWanted:
    """The content key is not here yet: fetch and verify one of these Data, `learn` it, open again."""

    names: tuple[Name, ...]


Opening: TypeAlias = Opened | KeyWanted | Rejection


def key_data_name(content_key: Name, consumer: bytes) -> Name:
    """Name the Data that brings a content key to the consumer with this KeyDigest."""
    return content_key / FOR / Component(consumer)


class Sealer:
    """The publishing side of one stream: its content key, its readers, and when the key changes."""

    def __init__(
        self,
        stream: Name,
        entropy: Entropy,
        *,
        readings: int = ROTATE_AFTER_READINGS,
        period_ns: int = ROTATE_AFTER_NS,
    ) -> None:
        if not 1 <= readings <= 1 << 32 or period_ns < 1:
            raise BadConfig(f"{stream}: a content key lasts for 1 to 2**32 readings and for a time above zero")
        self.stream: Final = stream
        self._entropy: Final = entropy
        self._readings: Final = readings
        self._period_ns: Final = period_ns
        self._consumers: Final[dict[bytes, Recipient]] = {}
        self._key = b""
        self._cipher = AESGCM(bytes(KEY_BYTES))  # replaced with the first key
        self._name = Name()
        self._number = 0
        self._left = 0
        self._until = 0

    @property
    def consumers(self) -> list[bytes]:
        """The KeyDigests of those who may read."""
        return sorted(self._consumers)

    def authorise(self, consumer: Recipient) -> tuple[KeyData, ...]:
        """Let a consumer read, from the current key on; what is returned is to be published."""
        if len(self._consumers) >= MAX_CONSUMERS and consumer.digest not in self._consumers:
            raise BadConfig(f"{self.stream} has {MAX_CONSUMERS} readers, the limit; give a group of readers one key")
        self._consumers[consumer.digest] = consumer
        return (self._wrapped(consumer),) if self._key else ()

    def revoke(self, digest: bytes) -> bool:
        """Stop a consumer from reading what comes next; says whether it could read before."""
        known = self._consumers.pop(digest, None) is not None
        if known:
            self._key = b""
        return known

    def seal(self, name: Name, content: bytes, now: int, time: int = 0) -> Sealed:
        """Encrypt the content of the Data called `name`, under a fresh key where one is due.

        A time is the event time of the reading in it, which everybody may know then.
        """
        keys = self.renew(now)
        return Sealed(self.encrypt(name, content, time), keys)

    @property
    def content_key(self) -> Name:
        """The name of the key in use; empty before there is one."""
        return self._name if self._key else Name()

    def expire(self) -> None:
        """Have a fresh key taken before anything is sealed."""
        self._key = b""

    def renew(self, now: int) -> tuple[KeyData, ...]:
        """Take a fresh key where one is due, and return it for all who may read; it goes out first."""
        return self._rotate(now) if not self._key or self._left <= 0 or now >= self._until else ()

    def encrypt(self, name: Name, content: bytes, time: int = 0) -> bytes:
        """Encrypt with the key in use, due or not; there must be one (`renew`)."""
        if not name.starts_with(self.stream):
            raise BadConfig(f"{name} does not belong to stream {self.stream}, whose key was asked to seal it")
        if not self._key:
            raise BadConfig(f"{self.stream} has no content key: renew it first")
        self._left -= 1
        iv = self._entropy(IV_BYTES)
        ciphertext = self._cipher.encrypt(iv, content, _bound(name, self._name))
        head = tlv.number(EVENT_TIME, time) if time else b""
        value = head + tlv.tlv(_CIPHERTEXT, ciphertext) + tlv.tlv(_IV, iv) + self._name.wire
        return tlv.tlv(SEALED, value)

    def _rotate(self, now: int) -> tuple[KeyData, ...]:
        self._number = max(self._number + 1, now // MS)
        self._name = self.stream / CK / version(self._number)
        self._key = self._entropy(KEY_BYTES)
        self._cipher = AESGCM(self._key)
        self._left = self._readings
        self._until = now + self._period_ns
        return self.keys()

    def keys(self) -> tuple[KeyData, ...]:
        """The key in use, if there is one, wrapped for all who may read."""
        return tuple([self._wrapped(consumer) for consumer in self._consumers.values()]) if self._key else ()

    def _wrapped(self, consumer: Recipient) -> KeyData:
        name = key_data_name(self._name, consumer.digest)
        return KeyData(name, consumer.wrap(self._key, name, self._entropy))

    def __repr__(self) -> str:
        return f"<Sealer of {self.stream}, key {self._name}, {len(self._consumers)} readers>"


class Opener:
    """The reading side: content keys by name, at most `keys` of them, the least recently used forgotten first."""

    def __init__(self, receivers: Iterable[Receiver], keys: int = MAX_KEYS) -> None:
        self._receivers: Final = {receiver.digest: receiver for receiver in receivers}
        self._limit: Final = keys
        self._keys: Final[OrderedDict[bytes, AESGCM]] = OrderedDict()
        self.forgotten = 0

    def open(self, name: Name, content: bytes) -> Opening:
        """Decrypt the content of the Data called `name`, or say which key Data is wanted."""
        try:
            ciphertext, iv, content_key = parse_sealed(content)
        except BadPacket as error:
            return Rejection(
                f"{name} is not sealed content: {error}", fix="read it as it is if it need not be encrypted"
            )
        if len(content_key) < 2 or content_key.at(-2) != CK or not name.starts_with(content_key.prefix(-2)):
            return Rejection(
                f"{name} is sealed with {content_key}, which is not a content key of its stream",
                fix="its publisher must seal it with <stream>/32=CK/v=<n>",
            )
        key = self._keys.get(content_key.value)
        if key is None:
            return KeyWanted(tuple(key_data_name(content_key, digest) for digest in self._receivers))
        self._keys.move_to_end(content_key.value)
        try:
            return Opened(key.decrypt(iv, ciphertext, _bound(name, content_key)))
        except InvalidTag:
            return Rejection(f"{name} does not open with {content_key}: content, name or key was altered")

    def learn(self, data: Data) -> Rejection | None:
        """Take a verified key Data; a rejection says why it is of no use here."""
        return self.take(data.name, data.content)

    def take(self, name: Name, content: bytes) -> Rejection | None:
        """Take a wrapped key that was verified, by the name and the content of its key Data."""
        if len(name) < 4 or name.at(-2) != FOR or name.at(-3).type != VERSION or name.at(-4) != CK:
            return Rejection(
                f"{name} is not the name of a wrapped content key", fix="expected <stream>/32=CK/v=<n>/32=for/…"
            )
        receiver = self._receivers.get(name.at(-1).value)
        if receiver is None:
            return Rejection(
                f"{name} was wrapped for a consumer whose key is not here",
                fix="ask the stream's publisher to authorise this consumer's key",
            )
        try:
            key = receiver.unwrap(content, name)
        except (BadPacket, Untrusted) as error:
            return Rejection(str(error), fix="ask the stream's publisher to publish the key anew")
        self._keys[name.prefix(-2).value] = AESGCM(key)
        if len(self._keys) > self._limit:
            self._keys.popitem(last=False)
            self.forgotten += 1
        return None

    def __repr__(self) -> str:
        return f"<Opener with {len(self._keys)} content keys>"


def parse_sealed(content: bytes) -> tuple[bytes, bytes, Name]:
    """Take sealed content apart: ciphertext, IV and the name of the content key."""
    low, high = tlv.outer(content, SEALED)
    parts = tlv.elements(content, low, high)
    if parts and parts[0][0] == EVENT_TIME:
        parts = parts[1:]
    if [part[0] for part in parts] != [_CIPHERTEXT, _IV, tlv.NAME]:
        raise BadPacket("sealed content holds a ciphertext, an IV and the name of its key, in this order")
    ciphertext, iv, name = (content[start:end] for _, start, end in parts)
    if len(iv) != IV_BYTES:
        raise BadPacket(f"an IV has {IV_BYTES} bytes, this one has {len(iv)}")
    return ciphertext, iv, Name.decode(name)


def _bound(name: Name, content_key: Name) -> bytes:
    return name.wire + content_key.wire
