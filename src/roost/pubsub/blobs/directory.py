"""The mapping that is known of a group: by stream and number, within a bound, and what has to be asked for [SVS-PS §8].

Who knows an entry may answer a query for it, whoever published it; an answer has what is known of the range that was
asked for, as NDNts has it, and is none at all where nothing is. A query asks for at most `MAX_ASKED` numbers, which
ndn-svs and NDNts answer too; of a longer one the first `MAX_ANSWERED` are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.pubsub.blobs.mapping import Entry, encode_mapping
from roost.pubsub.blobs.names import Query
from roost.sync.port import Stream

MAX_ENTRIES: Final = 100_000
MAX_ASKED: Final = 10  # numbers of one query
MAX_ANSWERED: Final = 100
MAX_ANSWER_BYTES: Final = 7000


class Directory:
    """At most `max_entries` entries; the one that was learnt first is forgotten first."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self.max_entries: Final = max_entries
        self.forgotten = 0
        self._entries: Final[dict[tuple[Stream, int], Entry]] = {}  # bound: max_entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, stream: Stream, number: int) -> Entry | None:
        """What is known of a publication."""
        return self._entries.get((stream, number))

    def learn(self, stream: Stream, entries: Iterable[Entry]) -> list[Entry]:
        """Take in entries; returns those that are new. What was told once stays: publications do not change."""
        fresh: list[Entry] = []
        for entry in entries:
            if (stream, entry.number) not in self._entries:
                self._entries[stream, entry.number] = entry
                fresh.append(entry)
        while len(self._entries) > self.max_entries:
            del self._entries[next(iter(self._entries))]
            self.forgotten += 1
        return fresh

    def lacking(self, stream: Stream, low: int, high: int) -> list[Query]:
        """The queries that would tell what is not known of the numbers low to high, both inclusive."""
        queries: list[Query] = []
        number = low
        while number <= high:
            if (stream, number) in self._entries:
                number += 1
                continue
            last = min(high, number + MAX_ASKED - 1)
            queries.append(
                Query(number, max(each for each in range(number, last + 1) if self.get(stream, each) is None))
            )
            number = last + 1
        return queries

    def answer(self, stream: Stream, query: Query) -> bytes | None:
        """The content of an answer to a query: what is known of it and fits; None if that is nothing."""
        known: list[Entry] = []
        size = 0
        for number in range(query.low, min(query.high + 1, query.low + MAX_ANSWERED)):
            entry = self.get(stream, number)
            if entry is None:
                continue
            size += len(entry.encode())
            if size > MAX_ANSWER_BYTES:
                break
            known.append(entry)
        return encode_mapping(stream.name, known) if known else None
