"""The tasks' side of the sink, without Spark: rows become signed readings of virtual streams, and repos keep them.

| option              | what it says                                                                            |
| ------------------- | --------------------------------------------------------------------------------------- |
| group, panel        | where to: the key of the panel in `home` is the job's identity, and signs                |
| job, version        | what runs, for lineage; the program's digest is of both, or given in hex as `program`    |
| targets             | several of these as JSON, by stage; a row's column `stage` says which                    |
| output              | template of the stream below the panel, for rows that say none: `{panel}-{device}/{metric}` |
| onConflict          | `alarm`: count and tell, the reading that is there stays; `fail`: stop the query as well |
| copies              | on how many repos a reading is to be before the batch counts                             |

A name that is there already with the same content is fine: that is what makes a retried batch harmless. A row that
cannot be a reading becomes an empty marker, so that numbers stay dense, and is told. What a repo refuses for good, for
the trust schema says no, ends the query: nothing is dropped in silence.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from roost.errors import BadConfig, Refused
from roost.host.blocking import SyncFace
from roost.host.blocking_inserting import SyncInserter
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.naming.building import Group
from roost.pipeline.changes import ROUNDS, Changes, marker_of, others_of
from roost.pipeline.faces import face_of
from roost.pipeline.options import check_names
from roost.pipeline.report import Report
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import PoisonRow, VirtualRow, check_columns, read_rows
from roost.trust import KeyChain
from roost.wire import Data, Signer

ALARM: Final = "alarm"
FAIL: Final = "fail"
OUTPUT: Final = "{panel}-{device}/{metric}"
_SLICE: Final = 2000
_FIELD: Final = re.compile(r"\{(\w+)\}")
_PERSISTENT: Final = 403


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows of a stage go."""

    group: str
    panel: str
    job: str
    program: str  # SHA-256 in hex

    @staticmethod
    def read(said: Mapping[str, Any], what: str) -> Target:
        """Read a target's options."""
        for name in ("group", "panel"):
            if not said.get(name):
                raise BadConfig(f"{what}: which {name}? The rows become readings of <group>/<panel>/<device>/<metric>")
        job = said.get("job") or f"{said['panel']}@{said.get('version') or 1}"
        program = said.get("program") or sha256(f"{job}@{said.get('version') or 1}".encode()).hexdigest()
        if not re.fullmatch(r"[0-9a-f]{64}", program):
            raise BadConfig(f"{what}: program {program!r} is no SHA-256 in hex")
        return Target(str(Name.parse(said["group"])), said["panel"], job, program)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options above."""

    targets: Mapping[str, Target]
    access: Access
    output: str = OUTPUT
    on_conflict: str = ALARM
    copies: int = 1

    @staticmethod
    def read(options: Mapping[str, str]) -> SinkOptions:
        """Read the options of Spark; raises `BadConfig`."""
        check_names(options)
        said = {key.lower(): str(value).strip() for key, value in options.items()}
        if "targets" in said:
            try:
                targets = {stage: Target.read(each, stage) for stage, each in json.loads(said["targets"]).items()}
            except (ValueError, TypeError, AttributeError) as error:
                raise BadConfig(f"targets is no JSON of stages with group and panel: {error}") from None
        else:
            targets = {"": Target.read(said, "the sink")}
        conflict = said.get("onconflict", ALARM)
        if conflict not in (ALARM, FAIL):
            raise BadConfig(f"onConflict={conflict!r} is unknown: {ALARM} or {FAIL}")
        copies = said.get("copies", "1")
        if not copies.isdigit() or not int(copies):
            raise BadConfig(f"copies={copies!r} is no count of repos")
        access = Access.from_options({**said, "group": ""})
        return SinkOptions(targets, access, said.get("output", OUTPUT), conflict, int(copies))


class Publisher:
    """Publishes batches of rows; with `changes`, rows have no number, and those that say nothing new are left out."""

    def __init__(self, options: SinkOptions, *, changes: bool = False) -> None:
        self._options: Final = options
        self._face: Final = face_of(options.access)
        self._keys: Final = _keychain(options.access)
        self._panels: Final[dict[str, VirtualPanel]] = {}  # by stage
        self._changes: Final = changes

    def publish(self, batch: pa.RecordBatch) -> Report:
        """Have the rows of a batch kept; returns when a repo has all of them on its disk."""
        report = Report(rows=len(batch))
        for stage, part in self._by_stage(batch):
            panel = self._panel(stage)
            first = pa.array([1] * len(part), pa.int64())  # changes are numbered by what there is, whatever they say
            ready = _with(part, "number", first) if self._changes else part
            rows = [*read_rows(shaped(ready, self._options.output))]
            if self._changes:
                self._publish_changes(stage, panel, rows, report)
            else:
                self._tell(self._insert(stage, [*self._packets(panel, rows, report)], report), report)
        return report

    def _publish_changes(self, stage: str, panel: VirtualPanel, rows: list[VirtualRow], report: Report) -> None:
        group = Name.parse(self._options.targets[stage].group)
        changes = Changes(self._face.group(group), panel, others_of(self._options.access, group))
        changed = [*changes.numbered(rows)]
        report.unchanged += len(rows) - len(changed)
        taken = self._insert(stage, [*self._packets(panel, changed, report)], report)
        for _ in range(ROUNDS):
            if not taken:
                return
            changed = [*changes.again(name for name, _ in taken)]
            report.unchanged += len(taken) - len(changed)
            taken = self._insert(stage, [*self._packets(panel, changed, report)], report)
        self._tell(taken, report)

    def _insert(self, stage: str, packets: list[Data], report: Report) -> list[tuple[Name, str]]:
        """Have packets kept; returns the names under which another content is."""
        inserter = _inserter(self._options, self._options.targets[stage])
        conflicts: list[tuple[Name, str]] = []
        for low in range(0, len(packets), _SLICE):
            outcome = inserter.insert(packets[low : low + _SLICE])
            if outcome.refused:
                name, reason = outcome.refused[0]
                raise Refused(f"repos refuse {len(outcome.refused)} readings, the first {name}: {reason}", _PERSISTENT)
            report.kept += outcome.kept
            report.present += outcome.present
            conflicts += outcome.conflicts
        return conflicts

    def _tell(self, conflicts: list[tuple[Name, str]], report: Report) -> None:
        report.conflicts += len(conflicts)
        report.tell(f"conflict: {name}: {reason}" for name, reason in conflicts)
        if conflicts and self._options.on_conflict == FAIL:
            raise Refused(f"another content is published already; {report.alarms[-1]}", _PERSISTENT)

    def _packets(self, panel: VirtualPanel, rows: Iterable[VirtualRow], report: Report) -> Iterator[Data]:
        for row in rows:
            try:
                yield panel.packet(row)
            except PoisonRow as poison:
                report.poison += 1
                report.tell([f"poison: {panel.place.name}/{row.output} {row.number}: {poison}"])
                try:
                    yield panel.packet(marker_of(row))
                except PoisonRow:
                    continue  # there is nothing to number it by

    def _by_stage(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if "" in self._options.targets:
            yield "", batch
            return
        if "stage" not in batch.schema.names:
            raise BadConfig("with several targets, every row says its stage in a column `stage`")
        stages = batch.column("stage")
        for stage in sorted(set(stages.to_pylist())):
            if stage not in self._options.targets:
                known = ", ".join(sorted(self._options.targets))
                raise BadConfig(f"a row is of stage {stage!r}, which is no target; there are {known}")
            yield stage, batch.filter(pc.equal(stages, stage))

    def _panel(self, stage: str) -> VirtualPanel:
        if stage not in self._panels:
            target = self._options.targets[stage]
            place = Group.at(Name.parse(target.group)).panel(target.panel)
            self._panels[stage] = VirtualPanel(
                place, self._signer_for, job=target.job, program=bytes.fromhex(target.program)
            )
        return self._panels[stage]

    def _signer_for(self, name: Name) -> Signer:
        return self._keys.signer_for(name, time.time_ns())


def _with(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """A batch with a column of that name, in place of the one that it may have."""
    at = batch.schema.get_field_index(name)
    return batch.append_column(name, column) if at < 0 else batch.set_column(at, name, column)


def shaped(batch: pa.RecordBatch, output: str) -> pa.RecordBatch:
    """Rows made rows to publish; those of the source have the number of their input, and that as lineage."""
    names = batch.schema.names
    size = len(batch)
    added: list[tuple[str, pa.Array]] = []
    check_columns(names, output)
    if "output" not in names:
        parts = {part: batch.column(part).to_pylist() for part in _FIELD.findall(output)}
        cells = [output.format_map({part: column[row] for part, column in parts.items()}) for row in range(size)]
        added.append(("output", pa.array(cells, pa.string())))
    if "number" not in names:
        added.append(("number", batch.column("seq")))
    if "inputs" not in names and {"stream", "seq"} <= set(names):
        structs = pa.StructArray.from_arrays(
            [batch.column("stream"), batch.column("seq"), batch.column("seq")], names=["stream", "low", "high"]
        )
        added.append(("inputs", pa.ListArray.from_arrays(pa.array(range(size + 1), pa.int32()), structs)))
        for name in ("expected", "received"):  # one reading of one: nothing to count
            if name in names:
                batch = batch.drop_columns([name])
    if "quality" in batch.schema.names:
        known = pc.is_in(batch.column("quality"), pa.array(["good", "uncertain", "bad"]))
        at = batch.schema.get_field_index("quality")
        batch = batch.set_column(at, "quality", pc.if_else(known, batch.column("quality"), None))
    for name, column in added:
        batch = batch.append_column(name, column)
    return batch


_keychains: Final[dict[str, tuple[int, KeyChain]]] = {}  # by home, with its last change; bound: the job's homes


def _keychain(access: Access) -> KeyChain:
    """The keys of this job, which this process reads when they change: it takes longer than a batch."""
    changed = access.keys.changed
    known = _keychains.get(access.home)
    if known is None or known[0] != changed:
        known = _keychains[access.home] = (changed, access.keys.keychain())
    return known[1]


_inserters: Final[OrderedDict[tuple[Access, str, str, int], tuple[SyncFace, SyncInserter]]] = OrderedDict()
_MAX_INSERTERS: Final = 32  # the bound of it
_lock: Final = threading.Lock()


def _inserter(options: SinkOptions, target: Target) -> SyncInserter:
    """An inserter of this process, kept between tasks as long as its face is."""
    key = (options.access, target.group, target.panel, options.copies)
    face = face_of(options.access)
    with _lock:
        held = _inserters.pop(key, None)
        if held is not None and held[0] is not face:
            held[1].close()
            held = None
        _inserters[key] = held or (face, face.group(target.group).inserter(target.panel, copies=options.copies))
        if len(_inserters) > _MAX_INSERTERS:
            _inserters.popitem(last=False)[1][1].close()
        return _inserters[key][1]
