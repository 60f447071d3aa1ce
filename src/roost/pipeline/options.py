"""The options of the Spark source, read: what to read, from when to when, how much at once.

| option            | what it says, and its default                                                              |
| ----------------- | ------------------------------------------------------------------------------------------ |
| group             | the group's name                                                                           |
| subscribe         | MQTT filters or names relative to the group, with commas between; `#`, all                 |
| since, until      | a time, how long ago (`24h`), `earliest` or `latest`; from `earliest` to `latest`          |
| startingOffset    | an exact place to begin at, as a query's offset log has it; `endingOffset` the one to end  |
| window            | `1m`, `1h`: rows come in whole windows, with the columns of windows                        |
| key               | which streams' windows are whole together: `{panel}/{device}`; `{stream}`, each by itself  |
| deadline          | when a window is released that is not whole, after its end; `10s`                          |
| step              | how much time each reading stands for, if it is a window's result itself                   |
| inputs            | several inputs, as `roost.pipeline.input` writes them, in place of all these               |
| partitions        | at most so many tasks; 2                                                                   |
| maxRowsPerTrigger | at most so many readings per batch; 1,000,000                                              |
| lost              | `fail` or `missing`: what to do about readings that nobody has any more                    |

How repos are reached, and as whom, is in `roost.host.stretch_access`. Names of options have no case. Source and sink
may be given the same options, so either knows those of the other; a name that is nobody's is refused, because what it
was to say would be left undone in silence.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from roost.columns.readings import MISSING
from roost.errors import BadConfig
from roost.host.stretch_access import Access
from roost.machine import times
from roost.machine.times import duration
from roost.naming import Name
from roost.pipeline import offsets
from roost.pipeline.input import DEADLINE, Input
from roost.pipeline.place import Place
from roost.pipeline.rows import FAIL

MAX_ROWS: Final = 1_000_000
PARTITIONS: Final = 2
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_SOURCE: Final = (
    "group subscribe since until startingOffset endingOffset window key deadline step inputs partitions "
    "maxRowsPerTrigger lost"
)
_SINK: Final = "group panel job version program targets output onConflict copies changes"
_ACCESS: Final = "repos home verify bulk timeout"
_OURS: Final = {name.lower(): name for name in f"{_SOURCE} {_SINK} {_ACCESS}".split()}
# What Spark adds: the paths of `load` and `start`, the settings of streaming writes, what a table is made of.
_SPARKS: Final = frozenset({"path", "paths", "checkpointlocation", "queryname", "provider", "owner"})
_OF_A_TABLE: Final = "option."


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options above."""

    inputs: tuple[Input, ...]
    access: Access
    windowed: bool
    since: str = EARLIEST
    until: str = LATEST
    start: Mapping[str, Place] | None = None
    end: Mapping[str, Place] | None = None
    partitions: int = PARTITIONS
    max_rows: int = MAX_ROWS
    lost: str = FAIL

    @staticmethod
    def read(options: Mapping[str, str]) -> SourceOptions:
        """Read the options of Spark; raises `BadConfig` that says which is wrong and what to write."""
        check_names(options)
        said = {key.lower(): str(value).strip() for key, value in options.items()}
        inputs = _inputs(said)
        names = [wanted.name for wanted in inputs]
        if len(set(names)) != len(names):
            raise BadConfig(f"two inputs have the same name: {', '.join(sorted(names))}")
        for name in ("since", "until"):
            moment(said.get(name, EARLIEST), 0, name)
        lost = said.get("lost", FAIL)
        if lost not in (FAIL, MISSING):
            raise BadConfig(f"lost={lost!r} is unknown: {FAIL} stops the query, {MISSING} makes a row without value")
        return SourceOptions(
            inputs,
            Access.from_options({**said, "group": ",".join(sorted({each.group for each in inputs}))}),
            windowed="inputs" in said or any(wanted.window_ns for wanted in inputs),
            since=said.get("since", EARLIEST),
            until=said.get("until", LATEST),
            start=_offset(said.get("startingoffset")),
            end=_offset(said.get("endingoffset")),
            partitions=_count(said, "partitions", PARTITIONS),
            max_rows=_count(said, "maxrowspertrigger", MAX_ROWS),
            lost=lost,
        )


def check_names(options: Iterable[str]) -> None:
    """Refuse options that neither the source, nor the sink, nor Spark has; raises `BadConfig` that says which is meant.

    Spark hands names over in small letters.
    """
    for name in sorted(options):
        low = name.lower()
        if low in _OURS or low in _SPARKS or low.startswith(_OF_A_TABLE):
            continue
        near = difflib.get_close_matches(low, _OURS, 1)
        meant = f", is {_OURS[near[0]]} meant?" if near else ":"
        raise BadConfig(
            f"there is no option {name!r}{meant} roost.pipeline.options lists those of the source, "
            "roost.pipeline.publishing those of the sink, roost.host.stretch_access how repos are reached"
        )


def moment(text: str, now: int, what: str) -> int:
    """Read a time in ns: a date, how long ago, `earliest` (0) or `latest` (now)."""
    if text in (EARLIEST, LATEST):
        return 0 if text == EARLIEST else now
    return times.moment(text, now, what, f"write 24h, 2026-05-01T08:00Z, {EARLIEST} or {LATEST}")


def _inputs(said: Mapping[str, str]) -> tuple[Input, ...]:
    if "inputs" in said:
        try:
            found = tuple(Input.from_json(json.dumps(each)) for each in json.loads(said["inputs"]))
        except (ValueError, TypeError, KeyError) as error:
            raise BadConfig(f"inputs is no list of inputs as Input.to_json writes them: {error}") from None
        if not found:
            raise BadConfig("inputs is empty: give at least one")
        return found
    if not said.get("group"):
        raise BadConfig('which group? Write .option("group", "/BigCompany/Building1/Electricity")')
    wishes = tuple(wish.strip() for wish in said.get("subscribe", "#").split(",") if wish.strip())
    lengths = {name: duration(said[name], name) if said.get(name) else 0 for name in ("window", "step")}
    deadline = duration(said["deadline"], "deadline") if said.get("deadline") else DEADLINE
    group = str(Name.parse(said["group"]))
    if lengths["window"] % 1000:
        raise BadConfig(f"window {said['window']!r} is no whole number of microseconds")
    return (
        Input(
            group,
            wishes,
            window_ns=lengths["window"],
            step_ns=lengths["step"],
            deadline_ns=deadline,
            key=said.get("key", "{stream}"),
        ),
    )


def _count(said: Mapping[str, str], name: str, default: int) -> int:
    try:
        count = int(said.get(name, default))
    except ValueError:
        count = 0
    if count < 1:
        raise BadConfig(f"{name} {said[name]!r} is no count: write a number from 1 on")
    return count


def _offset(text: str | None) -> Mapping[str, Place] | None:
    if not text:
        return None
    try:
        written = json.loads(text)
    except ValueError as error:
        raise BadConfig(f"an exact offset is JSON, as the offsets of a query are: {error}") from None
    return offsets.from_json(written)
