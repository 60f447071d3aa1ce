"""How macros over a history are shared out: which of them go together, and which can be cut into slices of time.

Macros of which one uses the results of another, directly or by way of others, need the same readings in one order, and
go together; all others do not know of each other. Each such set is a part, done by one task.

A set of one macro that runs on every arrival, keeps no state, names its topics in its code and looks back on a bounded
number of values can be cut: what a slice of time needs of those before it is, for each reference, the newest values
(`Tail`). Whether it keeps state or names other topics is not visible in the code, and is looked at in the runs: if no
run in any slice does, then by induction none would in one go, and the results are the same. Whether the numbers of
every stream rise from slice to slice is looked at in the readings: one with a lower number than what came before it
activates nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from roost.errors import InvalidInput
from roost.pipeline.graph import Stage
from roost.pipeline.macros_replay import Replay
from roost.pipeline.macros_rows import Read
from roost.pipeline.operations import Macro
from roost.process.definition import ARRIVAL, Definition
from roost.process.wildcards import matches

MAX_TAILS: Final = 500_000  # readings that all slices of a set look back on, in all
MAX_STREAMS: Final = 65_536  # that slices are compared by: a macro does not tell more apart either


@dataclass(frozen=True, slots=True)
class Together:
    """Macros that are done in one order; `bounds` are the times at which it is cut, in rising order."""

    definitions: tuple[Definition, ...]
    wanted: tuple[tuple[str, int], ...]  # filters, and how many values each takes; none: all that there is
    bounds: tuple[int, ...] = ()

    @property
    def parts(self) -> int:
        """How many tasks it takes."""
        return len(self.bounds) + 1

    def takes(self, topic: str) -> bool:
        """Whether readings of a topic matter to it."""
        return not self.wanted or any(matches(each, topic) for each, _ in self.wanted)

    def slice_of(self, time: int) -> int:
        """In which of its slices a time is."""
        return bisect_right(self.bounds, time)


def sets_of(definitions: Sequence[Definition]) -> list[Together]:
    """Macros that go together, by name; raises `BadMacro` if one of them is none, or they need each other."""
    processor = Replay(definitions).processor  # all at once: cycles are refused, and so are two of one name
    by_name = {definition.name: definition for definition in definitions}
    views = {name: processor.macro(name).views for name in processor.macros()}
    leader = {name: name for name in views}

    def lead(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for name, own in views.items():
        for other, definition in by_name.items():
            if other != name and any(matches(view.reference.topic, definition.topic) for view in own):
                first, second = sorted((lead(name), lead(other)))
                leader[second] = first
    sets: dict[str, list[str]] = {}
    for name in views:
        sets.setdefault(lead(name), []).append(name)
    found: list[Together] = []
    for names in sets.values():
        depths: dict[str, int] = {}
        for view in [view for name in names for view in views[name]]:
            depths[view.reference.topic] = max(depths.get(view.reference.topic, 0), view.count)
        found.append(Together(tuple(by_name[name] for name in names), tuple(sorted(depths.items()))))
    return found


def wrong_with(stage: Stage, operation: Macro) -> Iterator[str]:
    """What is wrong with a stage of macros."""
    output = stage.output
    if stage.window_ns:
        yield "macros take readings as they come: leave out the window"
    if output.device or output.metric or output.unit or output.units:
        yield "results of macros are on Noctua/<name> behind the panel: leave out device, metric and units"
    try:
        sets_of(operation.definitions)
    except InvalidInput as error:
        yield str(error)


def can_be_cut(together: Together, slices: int) -> bool:
    """Whether its definitions allow slices."""
    if len(together.definitions) > 1 or together.definitions[0].trigger != ARRIVAL:
        return False
    return slices * sum(count for _, count in together.wanted) <= MAX_TAILS


@dataclass(slots=True)
class Tail:
    """What a slice leaves for those behind it, and what shows whether it may be one."""

    wanted: tuple[tuple[str, int], ...]
    newest: dict[str, deque[Read]] = field(default_factory=dict)  # by filter; bound: its count
    numbers: dict[bytes, tuple[int, int]] = field(
        default_factory=dict
    )  # by stream: lowest, highest; bound: MAX_STREAMS

    def add(self, read: Read) -> None:
        """Take a reading, in replay order."""
        for each, count in self.wanted:
            if matches(each, read.topic):
                self.newest.setdefault(each, deque(maxlen=count)).append(read)
        if read.stream and (read.stream in self.numbers or len(self.numbers) < MAX_STREAMS):
            low, high = self.numbers.get(read.stream, (read.number, read.number))
            self.numbers[read.stream] = min(low, read.number), max(high, read.number)


def is_sound(numbers: Sequence[Mapping[bytes, tuple[int, int]]]) -> bool:
    """Whether the readings allow slices, by the lowest and highest number of each stream in each of them."""
    highest: dict[bytes, int] = {}
    for slice_ in numbers:
        if len(slice_) >= MAX_STREAMS:
            return False
        for stream, (low, high) in slice_.items():
            if low <= highest.get(stream, -1):
                return False
            highest[stream] = high
    return len(highest) < MAX_STREAMS


def looked_back_on(together: Together, tails: Sequence[Mapping[str, Iterable[Read]]]) -> list[dict[str, list[Read]]]:
    """What each slice looks back on, by filter, from the tails of all of them."""
    newest: dict[str, list[Read]] = {each: [] for each, _ in together.wanted}
    found: list[dict[str, list[Read]]] = []
    for tail in tails:
        found.append(dict(newest))
        for each, count in together.wanted:
            newest[each] = [*newest[each], *tail.get(each, ())][-count:]
    return found
