"""What a reading says, read out of the repo of this node as the broker reads it, seals and lineage included.

It is what subscribers to its topic get (`roost.broker.readable`), so that a page, an MQTT client and a macro see the
same value. What nothing here opens is `sealed`: it has a number, and no more. Of a payload that does not fit a packet
(`roost.broker.large`) it says how large it is: many may be asked for at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.broker.core import Core
from roost.broker.large import Summing, summary
from roost.broker.macros.macros import RESULTS, sample_of_message
from roost.broker.message import Message
from roost.broker.readable import message_of
from roost.errors import BadPacket, BadTopic
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.topic import topic_of_name
from roost.repo.catalogue import catalogue_of
from roost.web.index import Index, describe
from roost.web.index_rhythm import MOST
from roost.web.index_rows import GroupRow, StreamRow
from roost.wire.data import decode_data
from roost.wire.lineage import Lineage
from roost.wire.reading import decode_reading
from roost.wire.tlv import MAX_PACKET_BYTES

_LOOK_BACK: Final = MOST + 1  # readings that an interval is learnt from
_DESCRIBED: Final = 64  # descriptions that are read at once
MAX_SHOWN: Final = 8192
_SUMMING: Final = Summing()

Shown = dict[str, object]


class IndexReader:
    """Reads for an index; `core` is the broker's, which knows how to open what is sealed."""

    def __init__(self, index: Index, core: Core) -> None:
        self.index: Final = index
        self._core: Final = core
        self._shown: Final[dict[tuple[StreamRow, int], tuple[Shown, Message | None]]] = {}  # bound: MAX_SHOWN

    def messages(self, row: StreamRow, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        """Readings low to high of a stream, as far as they are here; None for what cannot be read."""
        parts = len(row.group.name)
        found: list[tuple[int, Message | None]] = []
        for number, wire in row.group.repo.store.range(row.name, low, high, limit):
            message = message_of(parts, row.name, number, wire, None, _SUMMING)
            found.append((number, message or self._opened(row, number)))
        return found

    def fill(self, group: GroupRow) -> Iterator[None]:
        """Take in what is in a group's repo already, a stream with each step."""
        for name in self.index.fill(group):
            parts = len(group.name)
            if len(name) == parts + 3 and name == catalogue_of(name.prefix(parts + 1)):
                yield from _descriptions(group, name)
            yield

    def learn(self, row: StreamRow) -> None:
        """See what a stream is about, and how often it speaks, if that is not known yet."""
        if not row.number or row.learnt == row.number or (row.learnt and not row.sealed):
            return  # to what is sealed a key may have come meanwhile
        read = self.messages(row, max(1, row.number - _LOOK_BACK + 1), row.number, _LOOK_BACK)
        last = next((message for _, message in reversed(read) if message is not None), None)
        row.sealed = last is None
        row.subjects = _subjects(row, last)
        row.learnt = row.number if read else 0
        if last is None:
            return
        if _is_posted(row, last):
            row.topic = row.subjects[0]
            row.group.panels[row.panel].posts = True
        row.virtual = bool(last.lineage) or last.topic.startswith(RESULTS) or self._has_lineage(row)
        self.index.learn(row, [message.time for _, message in read if message is not None])

    def show(self, row: StreamRow, number: int) -> tuple[Shown, Message | None]:
        """What one reading says; of what cannot be read no more than its number. The message is for who judges it."""
        known = self._shown.get((row, number))
        if known is not None:
            return known
        read = self.messages(row, number, number, 1)
        message = read[0][1] if read else None
        shown = self.shown(row, number, message)
        if message is not None:  # to what is sealed a key may come
            while len(self._shown) >= MAX_SHOWN:
                del self._shown[next(iter(self._shown))]
            self._shown[row, number] = (shown, message)
        return shown, message

    def shown(self, row: StreamRow, number: int, message: Message | None) -> Shown:
        """Show a message as a reading of its stream."""
        self.learn(row)
        shown: Shown = {"stream": row.text, "topic": row.topic, "number": number}
        if message is None:
            quality = "sealed" if row.sealed else "unreadable"
            return shown | {"time": None, "value": None, "unit": "", "quality": quality}
        sample = sample_of_message(message, row.name.value, number)
        return shown | {"time": sample.time, "value": sample.value, "unit": sample.unit, "quality": sample.quality}

    def _opened(self, row: StreamRow, number: int) -> Message | None:
        """The same by way of the broker, which has keys for what is sealed."""
        if self._core.history is None:
            return None
        found = next((message for _, message in self._core.history.read(row.name.value, number, number, 1)), None)
        if found is None or len(found.payload) <= MAX_PACKET_BYTES:
            return found
        shown, qos, retain = summary(len(found.payload)), found.qos, found.retain
        kept, expires, publisher, time, origin = found.kept, found.expires, found.publisher, found.time, found.origin
        return Message(found.topic, shown, qos, retain, kept, expires, publisher, time, origin, 0, found.lineage)

    def _has_lineage(self, row: StreamRow) -> bool:
        """Whether a sensor's stream says what it was made of, which is no part of its message."""
        return lineage_of(row, row.number) is not None


def _descriptions(group: GroupRow, catalogue: Name) -> Iterator[None]:
    """Take in what a panel says of its streams, one with each step; numbers may be far apart."""
    low, high = 1, group.repo.shelf.holdings.highest(catalogue)
    while low <= high and (read := group.repo.store.range(catalogue, low, high, _DESCRIBED)):
        for number, wire in read:
            describe(group, numbered(catalogue, number), wire)
            yield
        low = read[-1][0] + 1


def lineage_of(row: StreamRow, number: int) -> Lineage | None:
    """What a reading says it was made of, if it says so and can be read."""
    for _, wire in row.group.repo.store.range(row.name, number, number, 1):
        try:
            return decode_reading(decode_data(wire).content).lineage
        except BadPacket:
            return None
    return None


def _is_posted(row: StreamRow, message: Message) -> bool:
    """Whether it came over MQTT: the topic of a sensor's reading is the whole name of its stream."""
    return message.topic != _whole(row.name)


def _whole(name: Name) -> bytes:
    try:
        return topic_of_name(name).encode()
    except BadTopic:
        return b""


def _subjects(row: StreamRow, message: Message | None) -> tuple[str, ...]:
    """The topics to be permitted to read: the one it has, or while nobody can tell, both that it may have."""
    if message is not None:
        return (message.topic.decode(),)
    try:
        return topic_of_name(row.name.suffix(len(row.group.name) + 1)), topic_of_name(row.name)
    except BadTopic:
        return ()
