"""Macros that move from a node to Spark, as far as it goes without Spark: where they stand, and what counts when."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.archive_world import DAY, GROUP, NOON, Repos

from roost.broker.macros.record import MAX_PART_BYTES, Record
from roost.errors import BadConfig, BadMacro
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.naming.topic import name_of_topic
from roost.pipeline.archive.folder import Folder
from roost.pipeline.macros_generation import FILE, Asked, Generation, lowered
from roost.pipeline.macros_job import STAGE, MacroJob
from roost.pipeline.macros_leavings import Leavings
from roost.pipeline.macros_past import Left
from roost.pipeline.macros_replay import Replay
from roost.pipeline.macros_rows import Made, Read
from roost.pipeline.macros_taking_up import record_of, taken_up
from roost.pipeline.place import Place
from roost.process.definition import SPARK, Definition
from roost.process.effects import Standing
from roost.repo.numbering import key_of
from roost.wire import DigestSigner, make_data
from roost.wire.lineage import InputRange, lineage_of
from roost.wire.posting import Posting
from roost.wire.reading import TEXT, Reading

GATE = GROUP / "Gate1"
OTHER = GROUP / "Gate2"
TEMP = GATE + name_of_topic("hall/temp")
MEAN = Definition("mean", "Noctua.topic('hall/temp', {limit: 3}).join()", engine=SPARK)
MINE = {MEAN.topic: (GROUP / "Job" + name_of_topic(MEAN.topic)).value}


def post(repos: Repos, stream: Name, payload: bytes, time: int, lineage: object = None) -> None:
    """A message of a gateway."""
    held = repos.held.setdefault(stream, {})
    reading = Reading(time, TEXT, payload, posting=Posting(1), lineage=lineage)  # type: ignore[arg-type]
    number = len(held) + 1
    held[number] = (time, make_data(numbered(stream, number), reading.encode(), DigestSigner()).wire)


def tell(repos: Repos, record: Record, panel: Name = GATE) -> None:
    """A node says what it knows of a macro."""
    for part in record.parts():
        post(repos, panel + name_of_topic(record.topic.decode()), part, NOON)


def record(position: int = 4, *, state: bytes = b"", results: int = 3) -> Record:
    """The macro of a node that has processed so many readings, and published so many results."""
    standing = Standing(1, state, ((TEMP.value, position),))
    told = {(GATE + name_of_topic(MEAN.topic)).value: results}
    return Record("mean", MEAN, NOON, 2, {}, GATE.value, NOON, standing, told)


@pytest.fixture
def repos() -> Repos:
    """Six readings, of which a node has made five results; its record is older than the last of them."""
    found = Repos()
    for number in range(1, 7):
        post(found, TEMP, b"%d" % number, NOON + number * SECOND)
    for number in range(1, 6):
        inputs = [InputRange(TEMP, number, number)]
        lineage = lineage_of(MEAN.digest, ranges=inputs, cause=Name(key_of(TEMP.value, number)))
        post(found, GATE + name_of_topic(MEAN.topic), b"%d" % number, NOON + number * SECOND, lineage)
    post(found, OTHER + name_of_topic("hall/temp"), b"old", NOON - DAY)
    return found


def test_a_macro_goes_on_where_its_record_stands_and_what_has_its_result_gets_no_other(repos: Repos) -> None:
    tell(repos, record())
    told = record_of(repos, GROUP, "mean")
    assert told is not None
    taken = taken_up({GROUP: repos}, GROUP, MEAN, *told)
    assert taken.behind == {TEMP.value: 4, (OTHER + name_of_topic("hall/temp")).value: 1}
    assert [each.value for each in taken.left.samples["hall/temp"]] == [2, 3, 4]

    replay = Replay([MEAN], streams=MINE, left=Left.decode(taken.left.encode()))
    made: list[Made] = []
    for number in (4, 5, 6):
        made += replay.take(Read("hall/temp", NOON + number * SECOND, TEMP.value, number, TEXT, b"%d" % number))
    assert [(each.payload, each.number, each.version) for each in made] == [(b"5,4,3", 5, 2), (b"6,5,4", 1, 2)]
    assert [each.stream == MINE[MEAN.topic] for each in made] == [False, True]
    assert replay.left().published == {MEAN.topic: {}}
    assert replay.left().numbers == {MEAN.topic: 1}


def test_who_runs_a_macro_says_where_it_stands_and_who_changed_it_what_it_is(repos: Repos) -> None:
    ran = replace(record(5, state=b'{"n":1}'), definition=replace(MEAN, engine="node"), changed=NOON - 1, version=1)
    tell(repos, ran)
    tell(repos, record(2), OTHER)
    told = record_of(repos, GROUP, "mean")
    assert told is not None
    assert told[0].definition == MEAN
    assert told[1].standing == ran.standing
    standing = taken_up({GROUP: repos}, GROUP, MEAN, *told).left.standings["mean"][1]
    assert (standing.version, standing.state, dict(standing.position)[TEMP.value]) == (2, b'{"n":1}', 5)


def test_a_record_in_parts_counts_when_it_is_whole(repos: Repos) -> None:
    noise = record(state=Random(3).randbytes(3 * MAX_PART_BYTES))
    assert len(noise.parts()) > 2
    tell(repos, noise)
    stream = GATE + name_of_topic(noise.topic.decode())
    told = record_of(repos, GROUP, "mean")
    assert told is not None
    assert told[1] == noise
    post(repos, stream, noise.parts()[0], NOON)
    assert record_of(repos, GROUP, "mean") is None


def test_a_place_is_never_ahead_of_what_a_macro_has_behind_it() -> None:
    place = Place(numbers={"Gate1/hall/temp": 6, "Gate1/x": 3, "Gate1/new": 2}, holes={"Gate1/hall/temp": ((5, 5),)})
    low = lowered(place, str(GROUP), {TEMP.value: 4, (GATE / "new").value: 0, b"elsewhere": 1})
    assert low == Place(numbers={"Gate1/hall/temp": 4, "Gate1/x": 3})


# -- the job, whose query does not run


def job_in(folder: Path, repos: Repos) -> tuple[MacroJob, list[str]]:
    said: list[str] = []
    return MacroJob([str(GROUP)], "Job", str(folder), {}, said.append, lambda: {GROUP: repos}), said


def left_of(job: MacroJob, folder: Path) -> Left:
    return Leavings(Folder(folder / str(job.generation.number) / "roost"), STAGE).last()[1]


def test_a_job_begins_behind_its_macros_and_a_new_process_finds_that(repos: Repos, tmp_path: Path) -> None:
    job, _ = job_in(tmp_path, repos)
    assert job.isActive
    assert not job.look([])
    asked = Asked(MEAN, 2)
    assert not job.look([asked])  # nobody has said where it stands
    tell(repos, record())
    assert job.look([asked])
    assert not job.look([asked])
    assert job.exception() is None
    start = job.generation.start
    assert start is not None
    assert start["macros.group0"].numbers["Gate1/hall/temp"] == 4
    assert start["macros.group0"].numbers["Gate1/Noctua/mean"] == 5
    assert job_in(tmp_path, repos)[0].generation == job.generation
    assert dict(left_of(job, tmp_path).standings["mean"][1].position)[TEMP.value] == 4


def test_a_macro_that_changes_keeps_where_it_stands_and_one_that_goes_leaves_nothing(
    repos: Repos, tmp_path: Path
) -> None:
    tell(repos, record(state=b'{"n":7}'))
    job, _ = job_in(tmp_path, repos)
    job.look([Asked(MEAN, 2)])
    other = replace(MEAN, code="Noctua.state.n + Noctua.topic('hall/temp', {limit: 9}).join()")
    assert job.look([Asked(other, 3)])
    digest, standing = left_of(job, tmp_path).standings["mean"]
    assert (digest, standing.version, standing.state) == (other.digest, 3, b'{"n":7}')
    assert [each.value for each in left_of(job, tmp_path).samples["hall/temp"]] == ["old", 1, 2, 3, 4]
    assert job.look([])
    assert left_of(job, tmp_path) == Left()
    assert job.generation.number == 3
    assert {path.name for path in tmp_path.iterdir()} >= {FILE, "3"}
    assert not [path for path in (tmp_path / "1").rglob("*") if path.is_file()]


def test_macros_that_cannot_run_together_leave_the_job_as_it_is(repos: Repos, tmp_path: Path) -> None:
    tell(repos, record())
    job, _ = job_in(tmp_path, repos)
    job.look([Asked(MEAN, 2)])
    before = job.generation
    broken = replace(MEAN, code="Noctua.topic(")
    with pytest.raises(BadMacro):
        job.look([Asked(broken, 3)])
    assert job.generation == before


def test_a_macro_of_which_the_group_says_nothing_is_told(repos: Repos, tmp_path: Path) -> None:
    job, said = job_in(tmp_path, repos)
    for _ in range(12):
        job.look([Asked(MEAN, 2)])
    assert said == [f"mean: {GROUP} does not say where it stands; is that the group of its results?"]
    assert job.generation.number == 0


def test_a_file_that_tells_of_no_job_is_refused() -> None:
    generation = Generation(4, (Asked(MEAN, 2),), {"macros.group0": Place(numbers={"a": 1})})
    assert Generation.decode(generation.encode()) == generation
    with pytest.raises(BadConfig, match="begin another checkpoint"):
        Generation.decode(b'{"generation": 1}')
