"""What has its results already, and where they are: of a macro that is taken up, in the repo of this node.

A result is known by its cause. What another node published behind a hole does not count, for the hole stays if that
node is gone, and what was in it would come after what is behind it: it is made again, and its twin is told by its
cause. Neither does what comes after results that are not here (`macros.order`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from roost.broker.macros.macros import Cause, Known, Macros, Place, cause_in, sample_of_message
from roost.broker.macros.merging import Entry, entry_of
from roost.broker.macros.order import before
from roost.broker.message import Message
from roost.broker.recall import History
from roost.naming.name import Name
from roost.process.definition import PREFIX
from roost.process.macro import MAX_ROOTS, Macro
from roost.repo.numbering import key_of
from roost.wire.lineage import MAX_AFTER

MAX_RESULTS: Final = 100_000  # of a stream that are looked through
PART: Final = 100  # readings of a stream that are read at a time
END: Final = (1 << 63) - 1


def find_results(history: History, macros: Macros, known: Known) -> None:
    """Find out what has its result: those that are behind what the record includes. Ours come after all of others."""
    topic = PREFIX + known.record.name
    ours = macros.stream_of(topic)
    published: dict[Cause, list[Place]] = {}
    found: dict[bytes, list[tuple[int, Cause, list[Place]]]] = {}
    known.counted = {}
    for stream in history.streams(topic.encode()):
        first = known.record.results.get(stream, 0) + 1
        present = history.present(stream)
        last = max(present, first - 1)
        results = found[stream] = []
        for number, message in _read(history, stream, first, END, MAX_RESULTS):
            if number > last + 1 and stream != ours:
                break
            last = max(last, number)
            if message is not None and message.lineage:
                results.append((number, cause_in(message), before(message) if number > present else []))
        known.counted[stream] = END if stream == ours else last
    while any(_is_cut(history, stream, found[stream], known.counted) for stream in found):
        pass
    for stream, results in found.items():
        for number, cause, _ in results:
            if number <= known.counted[stream]:
                published.setdefault(cause, []).append((stream, number))
    known.counted = {stream: last for stream, last in known.counted.items() if last and stream != ours}
    after = [Name(key_of(stream, last)) for stream, last in known.counted.items()]
    known.published, known.after = published, tuple(after[:MAX_AFTER])


def _is_cut(
    history: History, stream: bytes, results: list[tuple[int, Cause, list[Place]]], lasts: dict[bytes, int]
) -> bool:
    """Count a stream only up to where it comes after results that are not here; whether that is less than before."""
    if lasts[stream] == END:
        return False
    for number, _, after in results:
        if number > lasts[stream]:
            break
        if any(lasts.get(other, history.present(other)) < place for other, place in after):
            lasts[stream] = number - 1
            return True
    return False


def recall(history: History, macro: Macro) -> None:
    """Know which results of other macros were processed: the same, as another node has published it, is not to be."""
    for stream in streams_of(history, [each for each in macro.filters if each.startswith(PREFIX)]):
        high = macro.seen.get(stream, 0)
        for number, message in _read(history, stream, max(1, high - MAX_ROOTS + 1), high, MAX_ROOTS):
            if message is not None:
                macro.is_twin(sample_of_message(message, stream, number))


def to_come(history: History, macros: Macros, known: Known) -> dict[bytes, Iterator[Entry]]:
    """The results of a macro that have not come out of the group: ours, and those of others that ours come after."""
    topic = PREFIX + known.record.name
    waiting = [*[each for messages in macros.inserting.values() for each in messages], *macros.unplaced]
    mine = [each for each in waiting if each.topic == topic.encode()]
    stream, next_ = macros.stream_of(topic), macros.last_result(topic) - len(mine) + 1
    ours = [*stored(history, stream, next_ - 1), *_entries(stream, enumerate(mine, next_))]
    others = {other: iter(stored(history, other, last)) for other, last in known.counted.items()}
    return {**others, stream: iter(ours)}


def stored(history: History, stream: bytes, high: int) -> list[Entry]:
    """What is here of a stream, up to a number, and was not handed on."""
    return _entries(stream, _read(history, stream, history.present(stream) + 1, high, MAX_RESULTS))


def _entries(stream: bytes, messages: Iterable[tuple[int, Message | None]]) -> list[Entry]:
    found = [(number, message) for number, message in messages if message is not None]
    return [entry_of(message, sample_of_message(message, stream, number)) for number, message in found]


def _read(history: History, stream: bytes, low: int, high: int, limit: int) -> Iterator[tuple[int, Message | None]]:
    count = 0
    while low <= high and count < limit:
        part = history.read(stream, low, high, PART)
        if not part:
            return
        yield from part
        count += len(part)
        low = part[-1][0] + 1


def streams_of(history: History, filters: list[str]) -> list[bytes]:
    """The streams of filters, each once."""
    return list(dict.fromkeys([stream for each in filters for stream in history.streams(each.encode())]))
