"""The macros of a node that say `engine: spark`, as one Spark query that follows what the node has.

    node ──asked every so often──▶ others? ──▶ the query ends between two batches
                                                 └─▶ macros that are new are taken up where their node left them
                                                 └─▶ the next query begins there, with all of them

A query has the same macros from its first batch to its last, so a batch that is done again does the same. Each has a
checkpoint of its own below that of the job, and begins with what the one before it left; `job.json` says which one
counts. A new macro may begin before the others do: then these get readings again, and know them by their numbers.

Readings are those of some groups, all of them; results are published in the first, on `Noctua/<name>` behind the panel.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from roost.broker.macros.record import Record
from roost.columns.readings import MISSING
from roost.errors import BadConfig
from roost.host.background import Closing
from roost.host.stretch_access import Access
from roost.naming import Name
from roost.pipeline import offsets
from roost.pipeline.archive.folder import Folder
from roost.pipeline.archive.live import live
from roost.pipeline.faces import face_of
from roost.pipeline.graph import Pipeline
from roost.pipeline.macros_generation import FILE, Asked, Generation, lowered
from roost.pipeline.macros_leavings import BEGIN, Leavings
from roost.pipeline.macros_past import Left
from roost.pipeline.macros_plan import sets_of
from roost.pipeline.macros_taking_up import Sources, changed, merged, record_of, taken_up, without
from roost.pipeline.place import Place
from roost.pipeline.running import BESIDE, Running

STAGE: Final = "macros"
_PATIENCE: Final = 10  # times that a macro is asked for whose record is not in the group yet


class _Query(Running):
    """The pipeline of one generation, which can be left between two batches."""

    def __init__(self, pipeline: Pipeline, checkpoint: str, options: Mapping[str, str]) -> None:
        super().__init__(pipeline, checkpoint=checkpoint, options=options)
        self.gate: Final = threading.Lock()  # held while a batch is done
        self.is_left = False
        self.done = BEGIN  # the last batch

    def process(self, batch: DataFrame, number: int) -> None:
        """Do one batch, unless it is not ours any more."""
        with self.gate:
            if self.is_left:
                raise RuntimeError("this query has ended: the next one does it")
            super().process(batch, number)
            self.done = number


class MacroJob(Closing):
    """The job: a `roost.pipeline.supervisor.Query` for whoever keeps it running, which calls `look` now and then."""

    def __init__(
        self,
        groups: Sequence[str],
        panel: str,
        checkpoint: str,
        options: Mapping[str, str],
        say: Callable[[str], None],
        sources: Callable[[], Sources] | None = None,
    ) -> None:
        self.groups: Final = [str(Name.parse(group)) for group in groups]
        self._panel: Final = panel
        self._checkpoint: Final = checkpoint
        self._options: Final = {**options, "lost": MISSING}
        self._say: Final = say
        self._folder: Final = Folder(checkpoint.removeprefix("file://"))
        self._opened: Final = ExitStack()
        self._sources: Callable[[], Sources] = sources or self._live
        self._known: Sources = {}
        self._waited: dict[str, int] = {}  # by macro; bound: those that the node has
        self._spark: SparkSession | None = None
        self._running: _Query | None = None
        self._query: StreamingQuery | None = None
        self._failure: Exception | None = None  # of a change: it starts again with what was there
        self._owed = BEGIN  # a batch that was begun by a process before this one, and has to be done by its query
        content = self._folder.read(FILE)
        self.generation = Generation() if content is None else Generation.decode(content)

    # -- as a query

    def start(self, spark: SparkSession) -> MacroJob:
        """Go on with what was there."""
        self._spark = spark
        self._failure = None
        self._begin()
        return self

    @property
    def isActive(self) -> bool:  # noqa: N802  Spark's name
        """Whether it goes on: without macros, it waits for some."""
        return self._failure is None and (self._query is None or self._query.isActive)

    @property
    def lastProgress(self) -> Any:  # noqa: ANN401, N802  Spark's
        """What Spark tells of the query."""
        return None if self._query is None else self._query.lastProgress

    def exception(self) -> Exception | None:
        """Why it does not go on."""
        return self._failure if self._failure or self._query is None else self._query.exception()

    def stop(self) -> None:
        """End it."""
        if self._query is not None:
            self._query.stop()

    def close(self) -> None:
        """Let go of the groups."""
        self._opened.close()

    def status(self) -> dict[str, Any]:
        """How it goes."""
        return {"stages": {}, "before": 0} if self._running is None else self._running.status()

    # -- what the node has

    def look(self, asked: Sequence[Asked]) -> bool:
        """Run what a node has from now on, if it is something else; whether it was."""
        ours = {each.definition.name: each for each in self.generation.macros}
        wanted = {each.definition.name: each for each in asked}
        if wanted == ours or not self._may_leave():
            return False
        known = self._known = self._known or self._sources()
        records: dict[str, tuple[Record, Record]] = {}
        for name in sorted(wanted.keys() - ours.keys()):
            found = self._record(known, wanted[name])
            if found is None:
                del wanted[name]
            else:
                records[name] = found
        if wanted == ours:
            return False
        sets_of([each.definition for each in wanted.values()])  # before anything ends
        self._leave()
        try:
            self._change(known, ours, wanted, records)
            self._begin()
        except Exception as error:  # noqa: BLE001  whoever keeps it running starts it again
            self._failure = error
        return True

    def _record(self, known: Sources, asked: Asked) -> tuple[Record, Record] | None:
        """What nodes have said of a macro, once it is what this one has; then, or after a while, it begins."""
        name = asked.definition.name
        found = record_of(known[Name.parse(self.groups[0])], Name.parse(self.groups[0]), name)
        self._waited[name] = self._waited.get(name, 0) + 1
        if found is not None and (found[0].definition == asked.definition or self._waited[name] > _PATIENCE):
            del self._waited[name]
            return found
        if self._waited[name] == _PATIENCE:
            self._say(f"{name}: {self.groups[0]} does not say where it stands; is that the group of its results?")
        return None

    def _change(
        self,
        known: Sources,
        ours: Mapping[str, Asked],
        wanted: Mapping[str, Asked],
        records: Mapping[str, tuple[Record, Record]],
    ) -> None:
        """Put together what the next query begins with, and have it count."""
        place, left, together = self._reached(known)
        reached = {
            (Name.parse(f"{group}/{stream}")).value: number
            for group, input_ in zip(self.groups, self._inputs(), strict=True)
            for stream, number in place[input_].numbers.items()
        }
        kept = [each.definition for each in wanted.values()]
        lefts = [without(left, [each.definition for name, each in ours.items() if name not in wanted], kept)]
        behind: dict[bytes, int] = {}
        for name, each in wanted.items():
            if name in records:
                taken = taken_up(known, Name.parse(self.groups[0]), each.definition, *records[name])
                lefts.append(taken.left)
                for stream, number in taken.behind.items():
                    behind[stream] = min(number, behind.get(stream, number))
            elif name in left.standings and each != ours[name]:
                lefts.append(changed(left, known, each.definition, each.version, reached))
        start = {
            input_: lowered(place[input_], group, behind)
            for group, input_ in zip(self.groups, self._inputs(), strict=True)
        }
        before = self.generation.number
        following = Generation(before + 1, tuple(wanted[name] for name in sorted(wanted)), start)
        Leavings(self._beside(following.number), STAGE).keep(BEGIN, merged(lefts), together=together)
        self._folder.write(FILE, following.encode())
        self.generation = following
        self._drop(before)

    def _reached(self, known: Sources) -> tuple[Mapping[str, Place], Left, bool]:
        """How far the query came that ended, and what it left; for the first one, where the groups are now."""
        at, left, together = Leavings(self._beside(self.generation.number), STAGE).last()
        if at != BEGIN:
            content = self._folder.read(f"{self.generation.number}/offsets/{at}")
            if content is None:
                raise BadConfig(f"the checkpoint {self._checkpoint} lacks the offsets of batch {at}: begin another")
            return offsets.from_json(json.loads(content.decode().splitlines()[-1])), left, together
        if self.generation.start is not None:
            return self.generation.start, left, together
        places = {}
        for group, input_ in zip(self.groups, self._inputs(), strict=True):
            prefix = len(group) + 1
            numbers = {str(stream)[prefix:]: number for stream, number in known[Name.parse(group)].numbers().items()}
            places[input_] = Place(numbers=numbers)
        return places, left, together

    # -- the query

    def _begin(self) -> None:
        """Start the query of this generation, if it has something to do."""
        self._query = self._running = None
        generation = self.generation
        if not generation.macros or self._spark is None or generation.start is None:
            return
        draft = Pipeline(STAGE).stage(STAGE)
        for at, group in enumerate(self.groups):
            draft = draft.read(group, name=f"group{at}")
        macros = draft.macro(*[each.definition for each in generation.macros])
        options = {**self._options, "startingOffset": offsets.text(generation.start)}
        checkpoint = f"{self._checkpoint}/{generation.number}"
        self._running = _Query(macros.publish(self.groups[0], self._panel), checkpoint, options)
        begun, done = (self._highest(kind) for kind in ("offsets", "commits"))
        self._owed = begun if begun > done else BEGIN
        self._query = self._running.start(self._spark)

    def _may_leave(self) -> bool:
        """Whether all that was begun is done: what an earlier process began, this query has to do."""
        return self._running is None or self._owed == BEGIN or self._running.done >= self._owed

    def _leave(self) -> None:
        """End the query when it has done what it does just now."""
        if self._running is not None and self._query is not None:
            with self._running.gate:
                self._running.is_left = True
            self._query.stop()

    def _highest(self, kind: str) -> int:
        files = self._folder.files(f"{self.generation.number}/{kind}")
        names = [each.rpartition("/")[2] for each in files]
        return max((int(name) for name in names if name.isdigit()), default=BEGIN)

    def _inputs(self) -> list[str]:
        """What the source calls the inputs."""
        return [f"{STAGE}.group{at}" for at in range(len(self.groups))]

    def _beside(self, generation: int) -> Folder:
        return Folder(f"{self._checkpoint.removeprefix('file://')}/{generation}/{BESIDE}")

    def _drop(self, generation: int) -> None:
        """Take away the checkpoint of a query that nobody goes on with."""
        for file in self._folder.files(str(generation)):
            self._folder.remove(file)

    def _live(self) -> Sources:
        access = Access.from_options({key: each for key, each in self._options.items() if key != "lost"})
        face = face_of(access)
        names = [Name.parse(group) for group in self.groups]
        return {group: self._opened.enter_context(live(face, group, access)) for group in names}
