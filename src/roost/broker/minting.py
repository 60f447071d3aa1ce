"""Minting: a message made a signed reading, with the next number of its stream.

A topic's stream is the panel's name and a component per level, `<group>/<panel>/hall/temp` for `hall/temp`; two nodes
have two panels, so that nobody's numbers are anybody else's. Numbers go on from what the repo holds, or has dropped.
What may be a reading already is looked for by its time, publisher and payload. What is minted is remembered for a while
as the message that comes out of the group again (`fresh`), so that nobody has to read it. What roles govern is sealed
(`roost.broker.sealing`). A message that does not fit a packet is several readings: the parts of its payload, which have
numbers of their own stream, and in the end the one that it is (`roost.broker.large`). When it is written, and what is
tried again, is `roost.broker.insertion`'s business.

A draft is a reading without its signature: an entry whose wire is the signed portion (`roost.broker.signing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.broker.large import cut, elsewhere, is_large
from roost.broker.message import Message
from roost.broker.readable import Opens, is_sealed
from roost.broker.sealing import Sealing
from roost.broker.signing import sealed
from roost.errors import BadPacket, NoKey
from roost.machine import SECOND
from roost.naming.name import Name
from roost.naming.topic import name_of_topic
from roost.pubsub.panels.panel import SIGNER_AGE, SignerFor
from roost.pubsub.repos.repo import Repo
from roost.repo.numbering import key_of, numbered
from roost.repo.payloads import owner_of, part_payload, parts_of
from roost.repo.store import Entry
from roost.wire.data import BLOB, Data, decode_data, encode_meta, encode_portion
from roost.wire.digest import NullSigner
from roost.wire.elsewhere import Elsewhere
from roost.wire.envelope import posting_bytes, reading_bytes
from roost.wire.reading import OCTET_STREAM, decode_reading
from roost.wire.signature import Signer
from roost.wire.tlv import MAX_PACKET_BYTES
from roost.wire.values import format_of

MAX_FRESH: Final = 20_000  # that need not be read again
MAX_STREAMS: Final = 100_000  # whose names and numbers are remembered
MAX_TWINS: Final = 10_000  # readings of one stream and one time among which one is looked for
MAX_DRAFT_BYTES: Final = MAX_PACKET_BYTES - 256  # whatever its signature will be, it is one packet with it


class Minting:
    """The numbers of one panel, and its key."""

    def __init__(
        self,
        panel: Name,
        repo: Repo,
        signer_for: SignerFor,
        freshness_ms: int,
        sealing: Sealing | None = None,
        opens: Opens | None = None,
    ) -> None:
        self.fresh: Final[dict[bytes, Message]] = {}  # by name, on their way to the disk; bound: MAX_FRESH
        self.signer_for = signer_for
        self._panel: Final = panel
        self._panel_at: Final = len(panel)
        self._repo: Final = repo
        self._sealing: Final = sealing
        self._opens: Final = opens
        self._meta: Final = encode_meta(BLOB, freshness_ms, None)
        self._given: Final[dict[bytes, int]] = {}  # the highest number of each stream; bound: see `relieve`
        self._streams: Final[dict[bytes, Name]] = {}  # by topic; bound: MAX_STREAMS
        self.signer: Signer = NullSigner()  # whose the last drafts are
        self._signer_until = 0

    def mint(self, messages: Sequence[Message], now: int, *, again: bool) -> list[Entry]:
        """Make readings of messages, all or none: raises `BadPacket`, `BadTopic` and `NoKey`.

        With `again` those of QoS 2 may be readings already, and are given as they are.
        """
        given: dict[bytes, int] = {}
        entries: list[Entry] = []
        for message in messages:
            stream = self._stream(message.topic)
            found = self._find(stream, message) if again and message.qos == 2 else []
            entries += found or self._signed(message, stream, given, now)
        self._given.update(given)
        return entries

    def draft(self, messages: Sequence[Message], now: int) -> list[Entry]:
        """Make drafts of messages, to be signed by `signer`; all or none, as `mint`."""
        given: dict[bytes, int] = {}
        drafts: list[Entry] = []
        for message in messages:
            drafts += self._drafts(message, self._stream(message.topic), given, now)
        largest = max([len(draft.wire) for draft in drafts], default=0)
        if largest > MAX_DRAFT_BYTES:
            raise BadPacket(f"{MAX_DRAFT_BYTES} bytes of a packet are signed at most, not {largest}")
        self._given.update(given)
        return drafts

    def again(self, message: Message, entries: Sequence[Entry], now: int) -> list[Entry]:
        """Give a message other numbers than those of its entries, of which it cannot have one."""
        for entry in entries:
            stream, number = numbered(entry.name)
            self.fresh.pop(entry.name.value, None)
            self._given[stream] = max(number, self._given.get(stream, 0), self._last(Name(stream)))
        return self._signed(message, self._stream(message.topic), self._given, now)

    def is_part(self, entry: Entry) -> bool:
        """Whether an entry is a part of the payload of the next that is none."""
        return owner_of(entry.name, self._panel_at) is not None

    @property
    def is_full(self) -> bool:
        """Whether there are more numbers than is good: then none are given before all are in the repo."""
        return len(self._given) > MAX_STREAMS

    def relieve(self) -> None:
        """Forget numbers, if there are many: nothing is under way, so they are all in the repo."""
        if self.is_full:
            self._given.clear()

    def _find(self, stream: Name, message: Message) -> list[Entry]:
        """The reading that a message is already, if it is one, and the parts of its payload before it."""
        content = _content(message)
        for _, number in self._repo.store.between(stream, message.time, message.time, MAX_TWINS):
            for _, wire in self._repo.store.range(stream, number, number, 1):
                packet = decode_data(wire)
                plain = self._plain(packet)
                if plain == content:
                    return [Entry(packet.name, wire, message.time)]
                parts = self._parts_of_twin(stream, message, plain)
                if parts:
                    return [*parts, Entry(packet.name, wire, message.time)]
        return []

    def _parts_of_twin(self, stream: Name, message: Message, plain: bytes) -> list[Entry]:
        """The parts of the payload of a reading, if it is that of the message; none if its payload is in it."""
        try:
            said = decode_reading(plain).elsewhere
        except BadPacket:
            return []
        if said is None or _content(message, elsewhere(said.first, said.count, message.payload, said.key)) != plain:
            return []
        parts = parts_of(stream, self._panel_at)
        found = self._repo.store.range(parts, said.first, said.first + said.count - 1, said.count)
        return [Entry(decode_data(wire).name, wire, message.time) for _, wire in found]

    def _plain(self, packet: Data) -> bytes:
        """The content of a packet, opened if that can be."""
        content = packet.content
        if self._opens is None or not is_sealed(content):
            return content
        try:
            return self._opens.open(packet.name, content)
        except (NoKey, BadPacket):
            return content

    def _signed(self, message: Message, stream: Name, given: dict[bytes, int], now: int) -> list[Entry]:
        return [sealed(draft, self.signer.sign(draft.wire)) for draft in self._drafts(message, stream, given, now)]

    def _drafts(self, message: Message, stream: Name, given: dict[bytes, int], now: int) -> list[Entry]:
        """The readings that a message becomes: mostly one; the last of several is the one that is handed on."""
        name = self._next(stream, given, now)
        name_bytes = len(self._panel.value)
        if self._sealing is not None:
            name_bytes += self._sealing.added_bytes(name_bytes, message.topic)
        drafts: list[Entry] = []
        is_cut = is_large(name_bytes, message)
        if is_cut:
            drafts, content = self._parts(name_bytes, message, stream, given, now)
        else:
            content = _content(message)
        if self._sealing is not None:
            content = self._sealing.seal(message.topic, stream, name, content, message.time, now)
        self._remember(name.value, None if is_cut else _named(message, stream.value, given[stream.value]))
        drafts.append(Entry(name, encode_portion(name, content, self.signer, self._meta), message.time))
        return drafts

    def _remember(self, name: bytes, message: Message | None) -> None:
        """Spare who hands on a reading to read it; a large one is read, so that few bytes are remembered."""
        if message is None:
            self.fresh.pop(name, None)  # the number was another message's, which came to nothing
            return
        if len(self.fresh) >= MAX_FRESH:
            self.fresh.clear()
        self.fresh[name] = message

    def _parts(
        self, name_bytes: int, message: Message, stream: Name, given: dict[bytes, int], now: int
    ) -> tuple[list[Entry], bytes]:
        """The parts of a payload, and what the reading with the number given last says in its place."""
        key = b"" if self._sealing is None else self._sealing.fresh_key(message.topic)
        pieces = cut(name_bytes, message, key)
        parts = parts_of(stream, self._panel_at)
        number = given[stream.value]
        drafts: list[Entry] = []
        for piece in pieces:
            part = self._next(parts, given, now)
            content = reading_bytes(message.time, OCTET_STREAM, part_payload(number, piece), b"")
            drafts.append(Entry(part, encode_portion(part, content, self.signer, self._meta), message.time))
        first = given[parts.value] - len(pieces) + 1
        return drafts, _content(message, elsewhere(first, len(pieces), message.payload, key))

    def _next(self, stream: Name, given: dict[bytes, int], now: int) -> Name:
        """The next name of a stream, and who signs it."""
        last = given.get(stream.value) or self._given.get(stream.value) or self._last(stream)
        value = key_of(stream.value, last + 1)
        name = Name(value, [*stream.cuts, len(value)])
        if self._signer_until <= now:
            self.signer = self.signer_for(name, now)
            self._signer_until = now + SIGNER_AGE
        given[stream.value] = last + 1
        return name

    def _stream(self, topic: bytes) -> Name:
        stream = self._streams.get(topic)
        if stream is None:
            if len(self._streams) >= MAX_STREAMS:
                self._streams.clear()
            stream = self._streams[topic] = self._panel + name_of_topic(topic.decode())
        return stream

    def _last(self, stream: Name) -> int:
        """The highest number of a stream that the repo has, or had and has dropped."""
        row = self._repo.shelf.holdings.of(stream)
        return max(row.highest, *[high for _, high in row.gone[-1:]], 0)


def _named(message: Message, stream: bytes, number: int) -> Message:
    """The message as it comes out of the group again."""
    return Message(
        message.topic,
        message.payload,
        message.qos,
        message.retain,
        message.kept,
        message.expires,
        message.publisher,
        message.time,
        (0, stream, number),
        message.packet_id,
        message.lineage,
    )


def _content(message: Message, said: Elsewhere | None = None) -> bytes:
    """The reading that a message becomes, with its payload, or with what says where that is."""
    expiry_s = -1 if not message.expires else max(0, (message.expires - message.time) // SECOND)
    posting = posting_bytes(message.qos, message.retain, message.publisher, expiry_s, message.packet_id, message.kept)
    others = message.lineage + posting
    if said is None:
        return reading_bytes(message.time, format_of(message.payload), message.payload, others)
    return reading_bytes(message.time, format_of(message.payload), b"", others + said.encode())
