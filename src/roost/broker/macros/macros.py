"""The macros of a node: what a processor needs of the broker around it, and what has to be known of each macro.

    messages ──▶ collected ──▶ processor ──▶ results ──▶ their group, or plain subscribers
                                   └──▶ records ──▶ rows of this node, and other nodes of the group

Which messages are collected, a route knows (`Route.touched`). Results on `Noctua/<name>` are readings of this node's
panel, with the next numbers of their streams; a result that was published before, by an earlier run of this node or by
another node, has the number that it has (`Known.published`). Who runs a macro is `roost.broker.macros.claiming`'s
business, what happens at the end of a call `roost.broker.macros.processing`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from roost.broker.macros.catch_up import PIECE, CatchUp
from roost.broker.macros.record import Parts, Record
from roost.broker.message import Message
from roost.broker.packets.kept import user_properties
from roost.errors import BadMacro, NoMacro
from roost.machine.contract import MS, SECOND, earliest
from roost.naming.name import Name
from roost.naming.topic import name_of_topic
from roost.process.definition import MOST, NODE, PREFIX, PYTHON, Definition
from roost.process.dependencies import Dependencies
from roost.process.engine import Engine, Limits
from roost.process.macro import Macro
from roost.process.parsing import sample_of
from roost.process.processor import SHARE, Code, Processor
from roost.process.runner import untimed
from roost.process.sample import GOOD, Sample
from roost.process.window import History
from roost.repo.numbering import numbered
from roost.wire.lineage import read_lineage
from roost.wire.values import format_of

RESULTS: Final = PREFIX.encode()
BUDGET: Final = 20 * MS
PAUSE: Final = SECOND // 2  # between two records of a macro that has only come further
MAX_KNOWN: Final = 20_000  # macros, with those that were deleted
MAX_PUBLISHED: Final = 100_000  # results of a macro among which one is looked for
MAX_LEFT: Final = 1000  # of those when it has caught up, and results that a record leaves out for them
MAX_READ: Final = 1000  # filters of earlier definitions of a macro; if there are more, it may have read anything

Cause = tuple[bytes, int]  # stream and number of a reading; or nothing and a time
Place = tuple[bytes, int]  # stream and number of a result


class Known:
    """What this node knows of a macro, and whether it runs it."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.is_here = False
        self.behind: Macro | None = None  # while it is caught up with: what it is until then, and where it stands
        self.linked: Definition | None = None  # as which it is among those that depend on each other
        self.refusal = ""  # why it cannot be run here
        self.saved = 0  # activations that the record includes
        self.asked = 0  # when a change was made here that another node has to say of from which readings on it holds
        self.ticket = 0  # after which what was changed last is on the disk
        self.ahead: list[Record] = []  # what its node says, until all results are here; bound: claiming.MAX_AHEAD
        self.after: tuple[Name, ...] = ()  # what its next result comes after, in other streams; bound: MAX_AFTER
        self.published: dict[Cause, list[Place]] = {}  # what has results, which in order; bound: MAX_PUBLISHED
        self.counted: dict[bytes, int] = {}  # how far streams of other nodes are in that; bound: the panels of a group
        self.streams: set[bytes] = set()  # that results came from; bound: repeating.MAX_STREAMS
        self.is_listed = False  # whether those from before the start are among them
        self.quiet: dict[bytes, int] = {}  # of those, and earlier ones: since when there are none; bound: both
        self.causes: dict[Cause, bytes] = {}  # of results that came out of the group, their streams; bound: MAX_CAUSES

    @property
    def is_taken_up(self) -> bool:
        """Whether this node runs it, or will when it has caught up."""
        return self.is_here or self.behind is not None

    @property
    def is_asked(self) -> bool:
        """Whether it is still to be said from which readings on the last change holds."""
        return self.asked == self.record.changed

    @property
    def is_deleted(self) -> bool:
        """Whether there is only the memory of it, so that no node revives it."""
        return self.record.definition is None


class Macros:
    """All of them; `tree` and `panel` say where results go, None and nothing if to plain topics."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        history: History,
        *,
        tree: int | None = None,
        panel: Name | None = None,
        alone: bool = True,
        stopwatch: Callable[[], int] = untimed,
        budget_ns: int = BUDGET,
        share: float = SHARE,
        most: Limits = MOST,
    ) -> None:
        self.engines: Final = engines
        self.history: Final = history
        self.tree: Final = tree
        self.panel: Final = b"" if panel is None else panel.value
        self.alone: Final = alone  # no other node has the group
        self.stopwatch: Final = stopwatch
        self.budget_ns: Final = budget_ns  # that the runs of a call may take, where they are timed
        self.processor: Final = Processor(
            engines,
            history,
            reserve=self.reserve,
            stopwatch=stopwatch,
            budget_ns=budget_ns,
            share=share,
            most=most,
        )
        self.known: Final[dict[str, Known]] = {}  # by name; bound: MAX_KNOWN
        self.parts: Final = Parts()
        self.samples: list[Sample] = []  # of this call; bound: what a call brings
        self.last_number: Callable[[bytes], int] = _nothing  # of a stream in the group; set by who joins it
        self.catching: CatchUp | None = None  # one at a time: what is to be taken up meanwhile is by the next
        self.piece = PIECE
        self.started = 0  # when groups were there, 0 before
        self.wanted: list[Definition] = []  # of the configuration, until they are taken in
        self.put_off: dict[str, str] = {}  # of those, who was refused since one was taken in, and why; bound: as above
        self.trusted: set[bytes] = set()  # digests of the macros in Python that the configuration has
        self.inserting: Final[dict[int, list[Message]]] = {}  # results, by ticket of Insert; bound: what groups take
        self.held: Final[dict[str, tuple[int, Record, bool]]] = {}  # records that wait for those; bound: the macros
        self.newer: Final[dict[str, bool]] = {}  # macros that have come further meanwhile; the same bound
        self.unplaced: list[Message] = []  # which had no room; bound: processing.MAX_UNPLACED
        self.place_at: int | None = None
        self.save_at: int | None = None
        self.look_at: int | None = None  # when to see who has to run what
        self.published = 0
        self.arriving: dict[bytes, int] = {}  # of this call: the first result of each stream; bound: what it brings
        self.repeated = 0  # results that were published before
        self.unsaid = 0  # records that are too large for a group
        self.lost = 0  # results that their group cannot take
        self._graph: Final = Dependencies()  # of all that are known, wherever they run
        self._loaded: Final[dict[str, tuple[Definition, Code]]] = {}  # to be run here; bound: the macros of this node
        self._panel: Final = panel
        self._streams: Final[dict[str, bytes]] = {}  # by topic of results; bound: the macros
        self._numbers: Final[dict[bytes, int]] = {}  # the last of each of those

    def want(self, definitions: list[Definition]) -> None:
        """The configuration has these: they are taken in at the next look, and those in Python may run."""
        self.wanted = definitions
        self.trusted |= {each.digest for each in definitions if each.language == PYTHON}

    # -- arrivals

    def touches(self, topic: bytes) -> bool:
        """Whether messages of a topic are to be collected."""
        return self.processor.touches(topic.decode())

    def collect(self, message: Message) -> None:
        """Take a message in; it is processed at the end of this call."""
        stream, number = (b"", 0) if message.origin is None else (message.origin[1], message.origin[2])
        self.samples.append(sample_of_message(message, stream, number))

    # -- what is read

    def inputs_of(self, topic: str) -> tuple[str, ...] | None:
        """What is read for the results on a topic, wherever the macro runs; None if no macro that is known has it."""
        graphs = [self._graph, self.processor.dependencies]
        if self.catching is not None:
            graphs.append(self.catching.side.dependencies)
        found = [inputs for inputs in [each.inputs_of(topic) for each in graphs] if inputs is not None]
        if len(found) < 2:
            return found[0] if found else None
        return tuple(dict.fromkeys([each for inputs in found for each in inputs]))

    def sources_of(self, topic: str) -> tuple[str, ...] | None:
        """The same, and what earlier definitions of the macro read: its state may hold something of that."""
        inputs, known = self.inputs_of(topic), self.known.get(topic.removeprefix(PREFIX))
        if inputs is None or known is None or not known.record.read:
            return inputs
        return tuple(dict.fromkeys([*inputs, *known.record.read]))

    def hear_read(self, name: str, read: tuple[str, ...]) -> None:
        """Another node says what a macro has read."""
        known = self.known.get(name)
        if known is not None and not known.is_deleted and not set(read) <= set(known.record.read):
            known.record = replace(known.record, read=_joined(known.record.read, read))
            self._graph.watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Tell somebody whenever other things may be read than before."""
        self._graph.watcher = self.processor.dependencies.watcher = watcher

    # -- results

    def stream_of(self, topic: str) -> bytes:
        """The stream of our panel that has the results of a topic, nothing if they belong to no group."""
        if self._panel is None:
            return b""
        stream = self._streams.get(topic)
        if stream is None:
            stream = self._streams[topic] = (self._panel + name_of_topic(topic)).value
        return stream

    def reserve(self, topic: str, cause: Sample) -> tuple[bytes, int]:
        """The stream and number of the result that a sample sets off: what it has, or the next."""
        stream = self.stream_of(topic)
        if not stream:
            return b"", 0
        known = self.known.get(topic[len(PREFIX) :])
        if known is not None and known.published:
            found = known.published.get(cause_of(cause))
            if found:  # with the present it comes out of the group, if it has not come already
                return found[0] if known.behind is not None else (found[0][0], 0)
        number = max(self._numbers.get(stream, 0), self.last_number(stream)) + 1
        self._numbers[stream] = number
        return stream, number

    def last_result(self, topic: str) -> int:
        """The number of the last result on a topic that this node has given one."""
        stream = self.stream_of(topic)
        return max(self._numbers.get(stream, 0), self.last_number(stream))

    # -- records

    def runs(self, name: str) -> bool:
        """Whether this node runs a macro."""
        known = self.known.get(name)
        return known is not None and known.is_here

    def standing(self, known: Known) -> Record:
        """The record of a macro as it stands now."""
        record = known.record
        macro = self.macro_of(known)
        if macro is None or macro.ahead:  # a position could not say what it has processed
            return record
        stream = self.stream_of(macro.topic)
        last = {**known.counted, stream: self.last_result(macro.topic)} if stream else {}
        results = {**record.results, **{each: self._included(known, each, last[each]) for each in last}}
        version = macro.version
        if known.behind is not None and record.definition != macro.definition:
            version += 1  # that of the record holds from when it has caught up
        made = {**record.made, **last}
        return replace(record, version=version, standing=macro.standing(), results=results, made=made)

    def macro_of(self, known: Known) -> Macro | None:
        """What this node runs, or catches up with."""
        return self.processor.macro(known.record.name) if known.is_here else known.behind

    def _included(self, known: Known, stream: bytes, last: int) -> int:
        """How far results are included in where a macro stands: not those whose causes are still to come again."""
        low = last - MAX_LEFT if known.is_here else 0
        places = [place for each in known.published.values() for place in each]
        ahead = [number for each, number in places if each == stream and number > low]
        return max(known.record.results.get(stream, 0), min(ahead) - 1) if ahead else last

    def find(self, name: str) -> Known:
        """What is known of a macro; raises `NoMacro` if there is none."""
        known = self.known.get(name)
        if known is None or known.is_deleted:
            raise NoMacro(f"{name}: there is no such macro")
        return known

    def link(self, definition: Definition, *, is_run: bool) -> list[str]:
        """Put a macro among all that are known; raises `BadMacro` if it is none, or would close a cycle.

        Returns what it refers to. What is to be run here need not be loaded again (`code_of`).
        """
        if definition.name not in self.known and len(self.known) >= MAX_KNOWN:
            raise BadMacro(f"{definition.name}: there are {MAX_KNOWN:,} macros, with deleted ones, which is the limit")
        if definition.language == PYTHON and definition.digest not in self.trusted:
            raise BadMacro(f"{definition.name}: a macro in Python runs only where the configuration has it")
        code = self._loaded.pop(definition.name, None)
        if code is None or code[0] != definition:
            code = definition, self.processor.load(definition)
        filters = [each.topic for each in code[1][1]]
        known = self.known.get(definition.name)
        before = () if known is None else known.record.read
        if known is not None and self.standing(known).standing.state:
            known.record = replace(known.record, read=_joined(before, self.inputs_of(definition.topic) or ()))
        try:
            self._graph.set(definition.name, definition.topic, filters)
        except BadMacro:
            if known is not None:
                known.record = replace(known.record, read=before)
            raise
        if known is not None:
            known.linked, known.refusal = definition, ""
        if is_run:
            self._loaded[definition.name] = code
        return filters

    def code_of(self, definition: Definition) -> Code:
        """A macro as it was linked, for whoever runs it; raises `BadMacro`."""
        code = self._loaded.pop(definition.name, None)
        return self.processor.load(definition) if code is None or code[0] != definition else code[1]

    def remember(self, record: Record) -> Known:
        """Know a macro, or more of one."""
        known = self.known.get(record.name)
        if known is None:
            if len(self.known) >= MAX_KNOWN:
                gone = next((name for name, each in self.known.items() if each.is_deleted), None)
                if gone is not None:
                    del self.known[gone]
            known = self.known[record.name] = Known(record)
        definition = record.definition
        read = () if definition is None else _joined(known.record.read, record.read)
        known.record = record if read == record.read else replace(record, read=read)
        if definition is not known.linked and definition != known.linked:
            try:
                if definition is not None:
                    self.link(definition, is_run=definition.engine == NODE)
                else:
                    self._graph.drop(record.name)
                    known.linked, known.refusal = None, ""
            except BadMacro as error:
                known.refusal = str(error)
        if definition is None or (record.runner and record.runner != self.panel):
            self._loaded.pop(record.name, None)
        return known

    def is_for_node(self, known: Known) -> bool:
        """Whether a macro is there, and for nodes to run."""
        return not known.refusal and known.record.definition is not None and known.record.definition.engine == NODE

    def deadline(self) -> int | None:
        """When something is due."""
        due = earliest(self.processor.deadline(), self.save_at, self.place_at)
        if self.catching is not None:
            return 0 if self.is_ready(self.catching) else due
        return earliest(due, self.look_at)

    def is_late(self) -> bool:
        """Whether so much waits that no more should be read."""
        return self.processor.backlog.is_long

    def counts(self) -> list[tuple[str, int]]:
        """What waits, and what was left out, by the ends of `$SYS` topics."""
        backlog = self.processor.backlog
        return [("macros/waiting", len(backlog)), ("macros/left_out", backlog.left_out)]

    def is_ready(self, catching: CatchUp) -> bool:
        """Whether a catch-up can go on: the group has the results so far."""
        return not self.unplaced and not (self.inserting and min(self.inserting) <= catching.barrier)


def cause_of(cause: Sample) -> Cause:
    """By what a result is known again: wherever the macros ran that lie between, this is the same."""
    return cause.origin if cause.origin[0] else (b"", cause.time)


def cause_in(message: Message) -> Cause:
    """The same, as a result of a group says it; raises `BadPacket`."""
    cause = read_lineage(message.lineage).cause
    return (b"", message.time) if cause is None else numbered(cause)


def sample_of_message(message: Message, stream: bytes, number: int) -> Sample:
    """A message as macros see it; unit and quality are those its user properties say."""
    payload = message.payload
    sample = sample_of(message.topic.decode(), message.time, format_of(payload), payload, stream, number)
    if message.lineage and message.topic.startswith(RESULTS):
        root = cause_in(message)
        if root[0]:
            sample = sample._replace(root=root)
    if not message.kept:
        return sample
    said = {name: value for name, value in user_properties(message.kept) if name in {b"unit", b"quality"}}
    if not said:
        return sample
    unit = said.get(b"unit", b"").decode(errors="replace") or sample.unit
    quality = said.get(b"quality", b"").decode(errors="replace") or GOOD
    return sample._replace(unit=unit, quality=quality)


def _joined(read: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Filters, each once; all that there is if they are too many."""
    joined = tuple(dict.fromkeys([*read, *more]))
    return joined if len(joined) <= MAX_READ else ("#",)


def _nothing(_stream: bytes) -> int:
    return 0
