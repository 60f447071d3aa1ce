"""What a publisher still has of what it published: the last of it, within bounds.

Publications are weighed by their content, in memory or in files, and by what each takes whatever is in it
(`OVERHEAD_BYTES` and its name). At the bound the oldest is forgotten first, so what is left has no gaps but those that
were there before; the last blob stays, however large it is. Content keys are weighed apart: a large blob does not drive
out the key that opens it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from roost.naming import Name
from roost.pubsub.blobs.blob_log import Record
from roost.pubsub.blobs.encapsulation import Packets
from roost.pubsub.blobs.mapping import Entry
from roost.pubsub.blobs.names import is_key

OVERHEAD_BYTES: Final = 1536  # of one publication in our tables


@dataclass(frozen=True, slots=True)
class Draft:
    """A publication as the application gave it."""

    name: Name
    content: bytes | memoryview
    time_us: int
    file: str = ""  # whose content this is a view of

    def entry(self, number: int) -> Entry:
        """What is told of it."""
        return Entry(number, self.name, self.time_us, len(self.content))

    def record(self, boot: int, number: int) -> Record:
        """What is in the log of it."""
        return Record(boot, number, self.time_us, self.name, self.content, self.file)


class Kept:
    """Publications by number, in the order of their numbers."""

    def __init__(self, max_bytes: int, max_filed_bytes: int) -> None:
        self.max_bytes: Final = max_bytes
        self.max_filed_bytes = max_filed_bytes
        self.log_bytes = 0  # that they take in a log
        self.forgotten = 0
        self._all: Final[OrderedDict[int, tuple[Draft, Packets]]] = OrderedDict()  # bound: those above
        self._named: Final[dict[Name, int]] = {}  # the last number of each name; bound: as `_all`
        self._blobs = 0  # that are no keys
        self._blob_bytes = 0  # in memory
        self._key_bytes = 0
        self._filed_bytes = 0

    def __len__(self) -> int:
        return len(self._all)

    @property
    def oldest(self) -> int:
        """The first number that is here; 0 if none is."""
        return next(iter(self._all), 0)

    def all_packets(self) -> list[tuple[int, Packets]]:
        """Content keys first, then what is in memory, the newest first, then what is in files."""
        found = sorted(
            self._all.items(), key=lambda each: (not is_key(each[1][0].name), bool(each[1][0].file), -each[0])
        )
        return [(number, packets) for number, (_, packets) in found]

    @property
    def drafts(self) -> list[tuple[int, Draft]]:
        """All of it, by number."""
        return [(number, draft) for number, (draft, _) in self._all.items()]

    def packets(self, number: int) -> Packets | None:
        """The packets of a publication."""
        found = self._all.get(number)
        return None if found is None else found[1]

    def entry(self, number: int) -> Entry | None:
        """What is told of a publication."""
        found = self._all.get(number)
        return None if found is None else found[0].entry(number)

    def content(self, number: int) -> bytes | memoryview | None:
        """What was published with this number."""
        found = self._all.get(number)
        return None if found is None else found[0].content

    def called(self, name: Name) -> Packets | None:
        """The packets of the last publication of this name."""
        number = self._named.get(name)
        return None if number is None else self.packets(number)

    def keep(self, number: int, draft: Draft, packets: Packets) -> list[Draft]:
        """Have one more, behind all others; returns what is forgotten for it."""
        self._all[number] = draft, packets
        self._named[draft.name] = number
        self._weigh(draft, 1)
        forgotten: list[Draft] = []
        while self._is_over:
            oldest, (old, _) = self._all.popitem(last=False)
            if self._named[old.name] == oldest:
                del self._named[old.name]
            self._weigh(old, -1)
            forgotten.append(old)
        self.forgotten += len(forgotten)
        return forgotten

    @property
    def _is_over(self) -> bool:
        if self._key_bytes > self.max_bytes and len(self._all) > 1:
            return True
        over = self._blob_bytes > self.max_bytes or self._filed_bytes > self.max_filed_bytes
        return over and self._blobs > 1

    def _weigh(self, draft: Draft, sign: int) -> None:
        fixed = OVERHEAD_BYTES + len(draft.name.value)
        in_memory = fixed if draft.file else fixed + len(draft.content)
        self.log_bytes += sign * draft.record(0, 0).size_bytes
        if is_key(draft.name):
            self._key_bytes += sign * in_memory
            return
        self._blobs += sign
        self._blob_bytes += sign * in_memory
        if draft.file:
            self._filed_bytes += sign * len(draft.content)
