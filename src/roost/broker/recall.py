"""Recall: the past of a subscription, in order, until it has caught up with the present.

    SUBSCRIBE since ──▶ streams that match, each from its first wanted number ──▶ merged by event time ──▶ deliveries
                                                                       └ all at their present ──▶ live from here on

What has been handed on live (`History.present`) is past, what comes later is present, and both are asked in the same
turn: so nothing is missed and nothing comes twice. While a recall runs, live messages of its filter are left to it.
Where history comes later, as it does to a new node, another recall brings that (`recalling.look_again`). A recall
looks for its streams when the first reading is asked for, since there may be many, and many recalls before it.
Readings of one stream come by number, those of several by their times. Each carries `stream`, `seq` and `time` as
MQTT 5 user properties, for several panels may publish on one topic, and each numbers its own; one whose expiry is over
carries `expired`, and has no expiry any more: it is shown, not revived (clients of 3.1.1, which could not tell, do not
get it). Where numbers were dropped on purpose the next reading says how many are `missing`. What is read ahead of many
streams has no large payloads (`roost.broker.large`): each is joined when it is its turn, and let go with its message.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from typing import Final, Protocol

from roost.broker.macros.twins import twins
from roost.broker.message import Message
from roost.broker.packets.properties import user_property
from roost.broker.patterns import matches
from roost.broker.readable import time_property
from roost.broker.since import Since
from roost.naming import Name
from roost.naming.topic import name_of_topic
from roost.process.definition import PREFIX

PIECE: Final = 64  # readings of a stream that are read at a time
MAX_READ: Final = 10_000  # of all streams, but one of each
MAX_STREAMS: Final = 200_000  # as many as a repo holds
_RESULTS: Final = name_of_topic(PREFIX.rstrip("/")).value  # what is in the names of streams with results of macros


class History(Protocol):
    """Where the past is."""

    def streams(self, filter_: bytes) -> list[bytes]:
        """The streams with topics that a filter matches."""
        ...

    def has(self, stream: bytes, filter_: bytes) -> bool:
        """Whether a filter matches the topic of a stream."""
        ...

    def present(self, stream: bytes) -> int:
        """The last number of a stream that was handed on live."""
        ...

    def first(self, stream: bytes, since: Since) -> int:
        """The first number of a stream that is wanted."""
        ...

    def read(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None]]:
        """Readings low to high of a stream, as far as they are here; None for what is no message.

        Where they are large there may be more behind the last one.
        """
        ...

    def outlines(self, stream: bytes, low: int, high: int, limit: int) -> list[tuple[int, Message | None, bool]]:
        """The same without the payloads of large ones, for which `read` is to be asked, and whether one is large."""
        ...

    def at(self, stream: bytes, time: int, limit: int) -> list[int]:
        """The numbers of readings of a stream that have this event time."""
        ...


class _Strand:
    """One stream of a recall: what was read of it, and how far."""

    def __init__(self, stream: bytes, begin: int, low: int) -> None:
        self.stream: Final = stream
        self.begin: Final = begin  # the first number that is wanted
        self.low = low  # the next number to read
        self.expected = low  # the next number to deliver
        self.read: list[tuple[int, Message | None, bool]] = []  # without the payloads of large ones
        self.at = 0


class Recall:
    """The past of one filter; `places` are the next numbers of streams, as an earlier process left them.

    `heard_on` are the topics and filters that it is looked for on, if these are others than the filter.
    """

    def __init__(
        self,
        filter_: bytes,
        since: Since,
        history: History,
        places: dict[bytes, int] | None = None,
        heard_on: list[bytes] | None = None,
    ) -> None:
        self.filter: Final = filter_
        self.since: Final = since
        self.left_out = 0  # what a client of 3.1.1 could not tell from the living
        self._heard_on: Final = [filter_] if heard_on is None else heard_on
        self._levels: Final = [heard.split(b"/") for heard in self._heard_on]
        self._history: Final = history
        self._strands: Final[dict[bytes, _Strand]] = {}  # bound: MAX_STREAMS
        self._makers: Final[dict[bytes, list[_Strand]]] = {}  # those with results of the same macro; the same bound
        self._heap: list[tuple[int, bytes]] = []  # (event time, stream) of what comes next; bound: as above
        self._places: Final[dict[bytes, int]] = {} if places is None else places

    @property
    def begun(self) -> bool:
        """Whether it has found a stream."""
        return bool(self._strands)

    @property
    def done(self) -> bool:
        """Whether it has caught up with the present; looks at what became past meanwhile."""
        return not self._heap and not self._refresh()

    def covers(self, topic: bytes) -> bool:
        """Whether messages of a topic are left to it."""
        levels = topic.split(b"/")
        return any(matches(heard, levels) for heard in self._levels)

    def brings(self, stream: bytes) -> bool:
        """Whether readings of a stream are left to it."""
        if stream in self._strands or stream in self._places:
            return True
        return any(self._history.has(stream, heard) for heard in self._heard_on)

    def first(self, stream: bytes) -> int:
        """The first number of a stream that is wanted."""
        return self._history.first(stream, self.since)

    def places(self) -> dict[bytes, int]:
        """The next number of each stream, to go on with later; nothing of those that have no wanted number yet."""
        strands = [each for each in self._strands.values() if each.begin <= self._history.present(each.stream) + 1]
        return self._places | {strand.stream: strand.expected for strand in strands}

    def next(self, version: int, now: int) -> Message | None:
        """The next reading, dressed for a client; None if there is none now."""
        while self._heap or self._refresh():
            strand = self._strands[self._heap[0][1]]
            number, message, is_large = strand.read[strand.at]
            strand.at += 1
            missing = number - strand.expected
            strand.expected = number + 1
            if not self._look(strand, fresh=True):
                heappop(self._heap)
            if message is None or (message.lineage and self._is_repeated(strand, message)):
                continue
            if message.overdue(now) and version < 5:
                self.left_out += 1
                continue
            if is_large:
                message = self._whole(strand.stream, number)
                if message is None:
                    continue
            return _dressed(message, strand.stream, number, missing, now)
        return None

    def _whole(self, stream: bytes, number: int) -> Message | None:
        """A large message with its payload; None if that is not here."""
        return next((message for _, message in self._history.read(stream, number, number, 1)), None)

    def _refresh(self) -> bool:
        """Look for streams that are behind the present; whether there are any."""
        for stream in [stream for heard in self._heard_on for stream in self._history.streams(heard)]:
            if stream not in self._strands and len(self._strands) < MAX_STREAMS:
                known = self._places.get(stream)
                low = self._history.first(stream, self.since) if known is None else known
                strand = self._strands[stream] = _Strand(stream, low if known is None else 1, low)
                if _RESULTS in stream:
                    self._makers.setdefault(_results_of(stream), []).append(strand)
        for strand in self._strands.values():
            self._look(strand, fresh=False)
        heapify(self._heap)
        return bool(self._heap)

    def _is_repeated(self, strand: _Strand, message: Message) -> bool:
        """Whether a result was delivered before, as that of another node."""
        others = {each.stream: each for each in self._makers.get(_results_of(strand.stream), ()) if each is not strand}
        if not others:
            return False
        found = twins(self._history, message, others)
        return any(others[stream].begin <= number < others[stream].expected for stream, number in found)

    def _look(self, strand: _Strand, *, fresh: bool) -> bool:
        """Put a stream's next reading into the heap, in place of its first entry if it is `fresh`; False if none."""
        if strand.at >= len(strand.read):
            high = self._history.present(strand.stream)
            limit = min(PIECE, max(1, MAX_READ // len(self._strands)))
            strand.read = self._history.outlines(strand.stream, strand.low, high, limit) if strand.low <= high else []
            strand.at = 0
            if not strand.read:
                strand.low = max(strand.low, high + 1)
                strand.expected = max(strand.expected, strand.low)
                return False
            strand.low = strand.read[-1][0] + 1
        message = strand.read[strand.at][1]
        entry = (0 if message is None else message.time, strand.stream)
        if fresh:
            heapreplace(self._heap, entry)
        else:
            self._heap.append(entry)
        return True


def _results_of(stream: bytes) -> bytes:
    """What streams with results of the same macro have in common."""
    return stream[max(0, stream.rfind(_RESULTS)) :]


def _dressed(message: Message, stream: bytes, number: int, missing: int, now: int) -> Message:
    kept, expires = message.kept, message.expires
    told = time_property(message.time)
    if told not in kept:  # a sensor's reading has it always
        kept += told
    kept += user_property(b"stream", str(Name(stream)).encode()) + user_property(b"seq", b"%d" % number)
    if message.overdue(now):
        kept += user_property(b"expired", b"true")
        expires = 0
    if missing:
        kept += user_property(b"missing", b"%d" % missing)
    publisher, topic, payload, origin = message.publisher, message.topic, message.payload, message.origin
    qos, time, lineage = message.qos, message.time, message.lineage
    return Message(topic, payload, qos, False, kept, expires, publisher, time, origin, 0, lineage)  # noqa: FBT003
