"""Streams that only some may read, through the client API: readings sealed and their keys served, fetched and opened.

    sealed = SealedStream(face, stream)                     reader = SealedReader(face, [Receiver.of(key)])
    sealed.authorise(Recipient(spki))                       content = await reader.fetch(reading)
    sealed.publish(reading, content)
    async with face.serve(stream, sealed.answer): …

The cryptography and the names are `roost.trust.access`'s. Readings and wrapped keys are kept in memory, within bounds:
to keep them for longer is a repo's work. A consumer that may not read gets a signed application Nack in place of its
key, so it is told at once, and by the publisher; that has no freshness, and who gets one asks again with MustBeFresh:
whoever is authorised later does not meet it in a cache.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from roost.errors import NoKey, RoostError
from roost.host.clock import Clock
from roost.host.joint import Joint
from roost.naming import Name, NameLike, as_name
from roost.trust.access import CK, FOR, KeyData, KeyWanted, Opened, Opener, Sealer
from roost.trust.verdict import Rejection
from roost.trust.wrapping import Receiver, Recipient
from roost.wire import Data, Interest
from roost.wire.data import NACK
from roost.wire.interest import matches

if TYPE_CHECKING:
    from roost.host.face import Face

MAX_READINGS: Final = 4096
MAX_KEY_DATA: Final = 4096
KEY_FRESHNESS_MS: Final = 3_600_000  # a wrapped key never changes


class SealedStream:
    """The publishing side of one stream; `answer` is its handler."""

    def __init__(
        self, face: Face, stream: NameLike | Sealer, *, max_readings: int = MAX_READINGS, max_keys: int = MAX_KEY_DATA
    ) -> None:
        self.sealer: Final = stream if isinstance(stream, Sealer) else Sealer(as_name(stream), os.urandom)
        self._face: Final = face
        self._clock: Final = Clock()
        self._readings: Final = _Shelf(max_readings)
        self._keys: Final = _Shelf(max_keys)

    def authorise(self, consumer: Recipient) -> None:
        """Let a consumer read, from the current content key on."""
        self._publish_keys(self.sealer.authorise(consumer))

    def revoke(self, digest: bytes) -> bool:
        """Stop a consumer from reading what is published next; says whether it could read before."""
        return self.sealer.revoke(digest)

    def publish(self, name: NameLike, content: bytes) -> Data:
        """Seal and sign a reading, and serve it from now on, its content key first where that is new."""
        full = as_name(name)
        sealed = self.sealer.seal(full, content, self._clock())
        self._publish_keys(sealed.keys)
        data = self._face.sign(full, sealed.content)
        self._readings.add(data)
        return data

    def answer(self, interest: Interest) -> Data | None:
        """Answer an Interest under the stream's name."""
        name = interest.name
        if name == self.sealer.stream:
            return self._readings.newest if interest.can_be_prefix else None
        held = self._keys.answer(interest) or self._readings.answer(interest)
        if held is None and self._is_key_data(name):
            return self._face.sign(name, b"", freshness_ms=0, content_type=NACK)
        return held

    @property
    def forgotten(self) -> int:
        """How many readings and keys the bounds have pushed out."""
        return self._readings.forgotten + self._keys.forgotten

    def _is_key_data(self, name: Name) -> bool:
        size = len(self.sealer.stream)
        return len(name) == size + 4 and name.at(size) == CK and name.at(size + 2) == FOR

    def _publish_keys(self, keys: tuple[KeyData, ...]) -> None:
        for key in keys:
            self._keys.add(self._face.sign(key.name, key.content, freshness_ms=KEY_FRESHNESS_MS))


class _Shelf:
    """Data by name, at most `limit`; the oldest is forgotten first."""

    def __init__(self, limit: int) -> None:
        self.forgotten = 0
        self._limit: Final = limit
        self._held: OrderedDict[Name, Data] = OrderedDict()

    def add(self, data: Data) -> None:
        self._held[data.name] = data
        if len(self._held) > self._limit:
            self._held.popitem(last=False)
            self.forgotten += 1

    @property
    def newest(self) -> Data | None:
        return next(reversed(self._held.values()), None)

    def answer(self, interest: Interest) -> Data | None:
        for name in (interest.name, interest.name.prefix(-1)):  # the latter: an implicit digest may end it
            data = self._held.get(name)
            if data is not None and matches(interest, name, data.implicit_digest):
                return data
        return None


class SealedReader:
    """The reading side: fetches readings and the content keys they take, verifies both, opens."""

    def __init__(self, face: Face, receivers: Iterable[Receiver]) -> None:
        self.opener: Final = Opener(receivers)
        self._face: Final = face
        self._fetching: Final[Joint[tuple[Name, ...], str]] = Joint()  # one fetch per content key

    async def fetch(self, name: NameLike, **options: Any) -> bytes:  # noqa: ANN401  those of `Face.fetch`
        """Fetch a reading and open it; options as `Face.fetch`.

        Raises what that raises, `NoKey` where this consumer gets no content key, and `Untrusted` where the content does
        not open.
        """
        return await self.open(await self._face.fetch(name, **options))

    async def open(self, data: Data) -> bytes:
        """Open the content of a verified Data, fetching its content key if need be."""
        outcome = self.opener.open(data.name, data.content)
        if isinstance(outcome, KeyWanted):
            names = outcome.names
            trouble = await self._fetching.do(names, lambda: self._fetch_one_of(names))
            outcome = self.opener.open(data.name, data.content)
            if isinstance(outcome, KeyWanted):
                raise NoKey(f"{data.name} cannot be read: {trouble or 'this reader has no key of its own'}")
        if isinstance(outcome, Opened):
            return outcome.content
        raise outcome.error()

    async def _fetch_one_of(self, names: tuple[Name, ...]) -> str:
        """Fetch, verify and learn the first that can be had; says what went wrong with all of them otherwise."""
        troubles: list[str] = []
        for name in names:
            refusal = await self._fetch_key(name)
            if refusal is None:
                return ""
            troubles.append(str(refusal))
        return "; ".join(troubles)

    async def _fetch_key(self, name: Name) -> Rejection | RoostError | None:
        try:
            data = await self._face.fetch(name)  # a repo has it too, and says nothing of what is fresh
            if data.content_type == NACK:
                data = await self._face.fetch(name, must_be_fresh=True)
        except RoostError as error:
            return error
        if data.content_type == NACK:
            return Rejection(
                f"{name}: its publisher says that this consumer may not read it",
                fix="ask the stream's publisher to authorise this consumer's key",
            )
        return self.opener.learn(data)
