"""The mapping that is known of a group: by stream and number, within a bound, and what has to be asked for [SVS-PS §8].

Who knows an entry may answer a query for it, whoever published it; an answer has what is known of the range that was
asked for, as NDNts has it, and is none at all where nothing is. A query of version 2 asks for at most `MAX_ASKED`
numbers, which ndn-svs and NDNts answer too; of a longer one the first `MAX_ANSWERED` are looked at.

A producer also tells the oldest publication that it still has (`oldest`); those before are had from others, if at all.

Each stream has a share of the room. One that has more gives way when it is used up, so that a stream with many
publications costs no other its names; what is learnt first is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from roost.naming import Name
from roost.pubsub.blobs.mapping import Entry, encode_mapping
from roost.pubsub.blobs.names import Query
from roost.sync.port import Stream

MAX_ENTRIES: Final = 100_000
MIN_SHARE: Final = 1024  # that a stream may grow to at the cost of others: more than is looked at together
MAX_ASKED: Final = 10  # numbers of one query
MAX_ANSWERED: Final = 100
MAX_ANSWER_BYTES: Final = 7000


class Directory:
    """At most `max_entries` entries."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_asked: int = MAX_ASKED) -> None:
        self.max_entries: Final = max_entries
        self.max_asked: Final = max_asked
        self.forgotten = 0
        self._entries: Final[dict[Stream, OrderedDict[int, Entry]]] = {}  # bound: max_entries in all
        self._count = 0
        self._largest = Stream(Name())  # of the others, when it was looked for last
        self._oldest: Final[dict[Stream, int]] = {}  # bound: the streams of the group

    def __len__(self) -> int:
        return self._count

    def get(self, stream: Stream, number: int) -> Entry | None:
        """What is known of a publication."""
        entries = self._entries.get(stream)
        return None if entries is None else entries.get(number)

    def of(self, stream: Stream) -> list[Entry]:
        """All that is known of a stream."""
        return list(self._entries.get(stream, {}).values())

    def called(self, name: Name) -> list[tuple[Stream, int]]:
        """The publications that have a name, of each stream the newest first."""
        return [
            (stream, entry.number)
            for stream, entries in self._entries.items()
            for entry in reversed(entries.values())
            if entry.name == name
        ]

    def learn(self, stream: Stream, entries: Iterable[Entry]) -> list[Entry]:
        """Take in entries; returns those that are new. What was told once stays: publications do not change."""
        fresh: list[Entry] = []
        known = self._entries.setdefault(stream, OrderedDict())
        for entry in entries:
            if entry.number not in known:
                known[entry.number] = entry
                fresh.append(entry)
        self._count += len(fresh)
        while self._count > self.max_entries:
            self._give_way(stream)
        if not known:
            self._entries.pop(stream, None)
        return fresh

    def _give_way(self, stream: Stream) -> None:
        """Forget an entry: of the stream that grows if it has more than its share, or else of the largest other."""
        share = self.max_entries // len(self._entries)
        victim = stream
        if len(self._entries[stream]) <= max(share, min(MIN_SHARE, self.max_entries // 4)) and len(self._entries) > 1:
            if self._largest == stream or len(self._entries.get(self._largest, ())) <= share:
                others = [each for each in self._entries if each != stream]
                self._largest = max(others, key=lambda each: len(self._entries[each]))
            victim = self._largest
        entries = self._entries[victim]
        if entries:
            entries.popitem(last=False)
            self._count -= 1
            self.forgotten += 1
        if not entries and victim != stream:
            del self._entries[victim]

    def oldest(self, stream: Stream) -> int:
        """The first number that its producer still has, as far as it said so."""
        return self._oldest.get(stream, 1)

    def learn_oldest(self, stream: Stream, number: int) -> None:
        """Its producer has nothing before this number; that never becomes less."""
        if number > self.oldest(stream):
            self._oldest[stream] = number

    def lacking(self, stream: Stream, low: int, high: int) -> list[Query]:
        """The queries that would tell what is not known of the numbers low to high, both inclusive."""
        queries: list[Query] = []
        number = low
        while number <= high:
            if self.get(stream, number) is not None:
                number += 1
                continue
            last = min(high, number + self.max_asked - 1)
            queries.append(
                Query(number, max(each for each in range(number, last + 1) if self.get(stream, each) is None))
            )
            number = last + 1
        return queries

    def answer(
        self,
        stream: Stream,
        query: Query,
        oldest: int = 0,
        ours: Callable[[int], Entry | None] = lambda _: None,
    ) -> bytes | None:
        """The content of an answer to a query: what is known of it and fits; None if that is nothing.

        A producer looks into what is `ours` first, whatever was forgotten here, and says what is its `oldest`, if that
        is behind the beginning of what is asked: that is an answer, too.
        """
        known: list[Entry] = []
        size = 0
        for number in range(query.low, min(query.high + 1, query.low + MAX_ANSWERED)):
            entry = ours(number) or self.get(stream, number)
            if entry is None:
                continue
            size += len(entry.encode())
            if size > MAX_ANSWER_BYTES:
                break
            known.append(entry)
        told = oldest if oldest > query.low else 0
        return encode_mapping(stream.name, known, told) if known or told else None
