"""Macros on Spark, as far as it goes without Spark: replay, sets that go together, slices of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cbor2
import pyarrow as pa
import pytest
from tests.macros_world import (
    BEGIN,
    GROUP,
    SEARCHING,
    SECOND,
    SEVERAL,
    history,
    in_order,
    on_one_node,
    stream_of,
    streams_of,
)

from roost.broker.large import is_large
from roost.broker.message import Message
from roost.errors import BadConfig, BadMacro
from roost.pipeline.macros_past import Left, Past
from roost.pipeline.macros_plan import Together, can_be_cut, is_sound, looked_back_on, sets_of
from roost.pipeline.macros_programs import ENGINES, MAX_PROGRAMS, Kept
from roost.pipeline.macros_replay import Replay
from roost.pipeline.macros_results import content_of
from roost.pipeline.macros_rows import ORDER, RUN, Made, Read, readings
from roost.pipeline.macros_tasks import ENDED, Work, ran, routed, seen
from roost.process.definition import Definition, definition_of
from roost.process.engine import Limits
from roost.process.javascript import JavaScript
from roost.process.sample import Sample
from roost.wire.reading import Reading, decode_reading

READS = history(200)
BY_NAME = {each.name: each for each in SEVERAL}


def made_of(batches: list[pa.RecordBatch]) -> list[Made]:
    found = []
    for row in pa.Table.from_batches(batches).to_pylist():
        if row[ENDED] is None:
            row["inputs"] = tuple((each["stream"], each["number"]) for each in row["inputs"])
            row["log"] = tuple(row["log"])
            found.append(Made(**{name: row[name] for name in RUN.names}))
    return in_order(found)


def by_parts(work: Work, reads: Sequence[Read]) -> list[pa.RecordBatch]:
    """What Spark does between the tasks: the readings of each part together, in replay order."""
    table: pa.Table = pa.Table.from_batches([*routed(work, iter([readings(reads)]))])
    ordered = table.sort_by([("part", "ascending"), *((name, "ascending") for name in ORDER)])
    return [*ordered.to_batches(max_chunksize=97)]


def cut(definition: Definition, at: Sequence[int]) -> Work:
    (together,) = sets_of([definition])
    work = Work((replace(together, bounds=tuple(at)),))
    tails: list[dict[str, list[Read]]] = [{} for _ in range(len(at) + 1)]
    for batch in seen(work, iter(by_parts(work, READS))):
        for row in batch.to_pylist():
            if row[ENDED] is None:
                read = Read(*[row[name] for name in Read._fields])
                tails[row["part"]].setdefault(row["filter"], []).append(read)
    looks = looked_back_on(work.sets[0], tails)
    samples = [{each: [read.sample() for read in reads] for each, reads in look.items()} for look in looks]
    return replace(work, left={part: Left(samples=each) for part, each in enumerate(samples)})


@pytest.mark.parametrize("streams", [False, True])
def test_a_replay_makes_the_runs_of_a_processor_on_one_node_to_the_bit(*, streams: bool) -> None:
    topics = streams_of(SEVERAL) if streams else {}
    replay = Replay(SEVERAL, streams=topics)
    made = [each for read in READS for each in replay.take(read)] + replay.finish()
    expected = on_one_node(SEVERAL, READS, topics)
    assert in_order(made) == expected
    assert {each.name for each in expected if each.payload is not None} == BY_NAME.keys()
    assert {each.kind for each in expected} == {"", "error"}
    assert any(each.log for each in expected)
    assert any(each.payload is None and not each.kind for each in expected)


def test_macros_that_use_macros_go_together_and_no_others() -> None:
    sets = [sorted(each.name for each in together.definitions) for together in sets_of(SEVERAL)]
    chain = ["tempC", "twice", "warm"]
    assert sorted(sets) == sorted([chain, *[[name] for name in BY_NAME if name not in chain]])


def test_a_macro_that_looks_at_all_results_goes_with_all_others() -> None:
    (together,) = sets_of([*SEVERAL, definition_of({"name": "of/all", "code": "Noctua.topic('Noctua/+')"})])
    assert len(together.definitions) == len(SEVERAL) + 1


def test_macros_in_a_circle_and_of_one_name_are_refused() -> None:
    one = definition_of({"name": "a", "code": "Noctua.topic('Noctua/b')"})
    with pytest.raises(BadMacro, match="b -> a -> b"):
        sets_of([one, definition_of({"name": "b", "code": "Noctua.topic('Noctua/a')"})])
    with pytest.raises(BadMacro, match="two macros"):
        sets_of([BY_NAME["tempC"], BY_NAME["tempC"]])


def test_parts_give_what_all_macros_together_give() -> None:
    work = Work(tuple(sets_of(SEVERAL)))
    assert made_of([*ran(work, iter(by_parts(work, READS)))]) == on_one_node(SEVERAL, READS)


@pytest.mark.parametrize("name", ["tempC", "average", "weighted", "where", "newest", "wrong", "dice", "py"])
def test_slices_give_what_one_go_gives(name: str) -> None:
    times = sorted({read.time for read in READS})
    work = cut(BY_NAME[name], [times[3], times[len(times) // 3], times[len(times) // 3] + 1, times[-2]])
    assert made_of([*ran(work, iter(by_parts(work, READS)))]) == on_one_node([BY_NAME[name]], READS)


@pytest.mark.parametrize(
    ("definition", "told"), [(BY_NAME["counted"], [True, {}]), (SEARCHING, [False, {"search": ["home/rear_temp"]}])]
)
def test_a_slice_says_that_its_macro_keeps_state_or_names_what_its_code_does_not_show(
    definition: Definition, told: list[object]
) -> None:
    work = cut(definition, [READS[len(READS) // 2].time])
    ended = [row[ENDED] for batch in ran(work, iter(by_parts(work, READS))) for row in batch.to_pylist()]
    assert [cbor2.loads(each)[:2] for each in ended if each] == [told] * 2


def test_what_a_run_names_first_is_found_in_what_came_before() -> None:
    remembering = Replay([SEARCHING], remember=True)
    made = [each for read in READS for each in remembering.take(read)]
    found = next(each for each in made if each.payload not in (None, b"0"))
    before = [read for read in READS if read.topic == "home/rear_temp" and read.time <= found.time]
    assert len(found.inputs) == min(3, len(before))
    assert remembering.found()


@pytest.mark.parametrize("name", ["pairs", "often", "warm"])
def test_only_one_macro_that_runs_on_every_arrival_is_cut(name: str) -> None:
    together = next(each for each in sets_of(SEVERAL) if BY_NAME[name] in each.definitions)
    assert not can_be_cut(together, 2)
    assert can_be_cut(sets_of([BY_NAME["weighted"]])[0], 2)


def test_what_looks_back_on_too_much_is_not_cut() -> None:
    (together,) = sets_of([definition_of({"name": "long", "code": "Noctua.topic('a', {limit: 100000}).length"})])
    assert can_be_cut(together, 5)
    assert not can_be_cut(together, 6)


def test_streams_whose_numbers_do_not_rise_from_slice_to_slice_are_not_cut() -> None:
    assert is_sound([{b"a": (1, 4), b"b": (1, 1)}, {}, {b"a": (5, 9)}])
    assert not is_sound([{b"a": (1, 4)}, {}, {b"a": (4, 9)}])


def test_a_slice_looks_back_on_the_newest_of_all_before_it() -> None:
    reads = [Read("a", BEGIN + at * SECOND, b"s", at + 1, 0, b"%d" % at) for at in range(6)]
    together = Together(
        sets_of([definition_of({"name": "m", "code": "Noctua.topic('a', {limit: 3})"})])[0].definitions, (("a", 3),)
    )
    looks = looked_back_on(together, [{"a": reads[:1]}, {}, {"a": reads[1:3]}, {"a": reads[3:6]}])
    assert looks == [{"a": each} for each in ([], reads[:1], reads[:1], reads[:3])]


def test_a_replay_goes_on_where_another_stood() -> None:
    streams = streams_of(SEVERAL)
    left = Left()
    made: list[Made] = []
    replay = Replay([])
    for low in range(0, len(READS), 23):
        replay = Replay(SEVERAL, streams=streams, left=Left.decode(left.encode()))
        made += [each for read in READS[low : low + 23] for each in replay.take(read)]
        left = replay.left()
    made += replay.finish()
    assert in_order(made) == on_one_node(SEVERAL, READS, streams)


def test_a_macro_with_another_code_goes_on_as_the_next_version() -> None:
    before = Replay([BY_NAME["counted"]])
    for read in READS:
        before.take(read)
    other = replace(BY_NAME["counted"], code="Noctua.state.n + ' ' + Noctua.topic('home/tempF')")
    after = Replay([other], left=before.left())
    last = max(read.number for read in READS if read.topic == "home/tempF")
    (made,) = after.take(Read("home/tempF", READS[-1].time, stream_of("home/tempF"), last + 1, 0, b"5"))
    runs = sum(read.topic == "home/tempF" for read in READS)
    assert (made.version, made.payload) == (2, b"%d 5" % runs)


def test_what_is_looked_back_on_stays_when_a_set_that_looks_less_far_goes_on_alone() -> None:
    """Something comes for one of two sets, which refer to the same topic: the other one has to find all of its own."""
    deep = definition_of({"name": "deep", "code": "Noctua.topic('a', {limit: 3}).join()"})
    flat = definition_of({"name": "flat", "code": "Noctua.topic('a') + Noctua.topic('b')"})
    sets = sets_of([deep, flat])
    batches = [
        [Read("a", BEGIN + at, b"a", at, 0, b"%d" % at) for at in (1, 2, 3)],
        [Read("b", BEGIN + 4, b"b", 1, 0, b"9")],
        [Read("a", BEGIN + 5, b"a", 4, 0, b"4")],
    ]
    left, made = Left(), list[Made]()
    for batch in batches:
        work = Work(tuple(sets), dict.fromkeys(range(len(sets)), left), stays=True)
        rows = [*ran(work, iter(by_parts(work, batch)))]
        made += made_of(rows)
        ends = [row[ENDED] for each in rows for row in each.to_pylist() if row[ENDED] is not None]
        left = left.with_([Left.decode(cbor2.loads(end)[-1]) for end in ends])
    assert [each.payload for each in made if each.name == "deep"][-1] == b"4,3,2"
    assert [each.value for each in left.samples["a"]] == [2, 3, 4]


def test_what_was_left_and_is_not_readable_is_refused() -> None:
    with pytest.raises(BadConfig, match="left beside the checkpoint"):
        Left.decode(cbor2.dumps(["x"]))


def test_what_is_new_is_found_among_what_other_filters_have() -> None:
    samples = [Sample(f"home/{name}", BEGIN + at, at) for at, name in enumerate("abab")]
    past = Past({"home/+": samples, "home/a": [samples[0], samples[2]]})
    assert past.latest("home/b", 1) == [samples[3]]
    assert past.latest("+/a", 9) == [samples[2], samples[0]]
    past.add(later := Sample("home/b", BEGIN + 9, 9))
    assert past.latest("home/+", 2) == [later, samples[3]]


def test_programs_are_loaded_once_and_only_so_many_are_kept() -> None:
    kept = Kept(JavaScript())
    limits = Limits()
    assert kept.load("Noctua.topic('a')", limits) is kept.load("Noctua.topic('a')", limits)
    assert kept.load("Noctua.topic('a')", Limits(time_ms=7)) is not kept.load("Noctua.topic('a')", limits)
    assert kept.loads == 2
    assert set(ENGINES) == {"javascript", "python"}
    assert len(SEVERAL) < MAX_PROGRAMS


@pytest.mark.parametrize(("letters", "is_posted"), [(6000, True), (7000, True), (7800, False)])
def test_what_a_node_would_cut_is_no_message_here(letters: int, is_posted: bool) -> None:
    """By the rule of nodes, to the byte; the number is taken all the same, for numbers are dense."""
    definition = definition_of({"name": "long", "code": f"Noctua.topic('a') + 'x'.repeat({letters - 1})"})
    panel = GROUP / "Job"
    read = Read("a", BEGIN, stream_of("a"), 1, 0, b"1")
    (made,) = Replay([definition], streams=streams_of([definition], panel)).take(read)
    reading = decode_reading(content_of(made))
    told = Message(b"Noctua/long", made.payload or b"", 1, False, b"", 0, b"", BEGIN, None, 0, _lineage_bytes(reading))
    assert is_large(len(panel.value), told) is not is_posted
    assert (reading.posting is not None, len(reading.payload)) == (is_posted, letters if is_posted else 0)


def _lineage_bytes(reading: Reading) -> bytes:
    assert reading.lineage is not None
    return reading.lineage.encode()
