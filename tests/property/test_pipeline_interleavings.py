"""However batches are cut, and whenever the driver dies or forgets: what is published is what one batch publishes.

Everything is real but Spark and the network: offsets, planner, rows, numbering, packets. A batch is written down before
it is done, as Spark's log does; a driver that dies in the middle has published some of its packets, in any order, and
the next one does the batch again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.columns.readings import SUMMED
from roost.host.stretches import Fetched, Stretch
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import Group, numbered
from roost.pipeline import offsets
from roost.pipeline.driving import Driving
from roost.pipeline.graph import Pipeline
from roost.pipeline.options import SourceOptions
from roost.pipeline.origins import Origins
from roost.pipeline.place import Place, Run, joined
from roost.pipeline.rows import Rows
from roost.pipeline.stages_windows import inputs_of
from roost.pipeline.sums import handed_out
from roost.pipeline.virtual import VirtualPanel
from roost.pipeline.virtual_rows import VirtualRow
from roost.pubsub.consumers.arrival import Arrival, arrival_of
from roost.wire import Data, DigestSigner, make_data
from roost.wire.lineage import InputRange
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

RAW, ROOMS = "/Big/B1/Raw", "/Big/B1/Rooms"
MINUTE = 60 * SECOND
FAR = 10_000 * MINUTE
STREAMS = ("A/x/temp", "A/y/temp", "B/x/temp")
Published = tuple[str, int, int, float]  # stream, number, event time, value


def pipeline(key: str, deadline_s: int) -> Pipeline:
    """Two stages: of windows, and of readings one by one."""
    draft = Pipeline("hall").stage("rooms").read(RAW, window="1m", key=key, deadline=f"{deadline_s}s")
    rooms = draft.aggregate(sum="sum").publish(ROOMS, "calc")
    return rooms.stage("twice").read(RAW).map("value * 2").publish(ROOMS, "calc")


class Repo:
    """What has arrived of the raw group, and what is published: the driver's view, the tasks' reader, the sink."""

    def __init__(self) -> None:
        self.raw: dict[str, dict[int, tuple[int, bytes]]] = defaultdict(dict)
        self.published: dict[Name, Data] = {}

    def arrive(self, reading: Published) -> None:
        stream, number, time_ns, value = reading
        name = numbered(Name.parse(f"{RAW}/{stream}"), number)
        content = Reading(time_ns, SENML_CBOR, encode_values([Value(value, "W")])).encode()
        self.raw[stream][number] = (time_ns, make_data(name, content, DigestSigner()).wire)

    def publish(self, packets: Sequence[Data]) -> None:
        for data in packets:
            held = self.published.setdefault(data.name, data)
            assert held.wire == data.wire, f"another content under {data.name}"

    def ask(self, group: str, streams: Sequence[str]) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for arrival in self.results():
            stream = str(arrival.stream)[len(group) + 1 :]
            if stream in streams:
                found[stream] = max(found.get(stream, (0, 0)), (arrival.number, arrival.event_time))
        return found

    def results(self) -> Iterator[Arrival]:
        for name, data in self.published.items():
            yield arrival_of(name.prefix(-1), name.at(-1).number(), data, 0)

    def numbers(self) -> Mapping[str, int]:
        return {stream: max(held) for stream, held in self.raw.items()}

    def holes(self) -> Mapping[str, Sequence[Run]]:
        return {
            stream: joined((number, number) for number in range(1, max(held)) if number not in held)
            for stream, held in self.raw.items()
        }

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        return {
            stream: min((number for number, (time, _) in held.items() if time >= time_ns), default=max(held) + 1)
            for stream, held in self.raw.items()
        }

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        return {number: time for number, (time, _) in self.raw[stream].items() if low <= number <= high}

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Fetched]:
        for stream, low, high in stretches:
            held = self.raw[str(stream)[len(RAW) + 1 :]]
            yield Fetched(stream, [(number, held[number][1]) for number in range(low, high + 1)])


class Driver:
    """One life of the job's driver: its memory goes with it."""

    def __init__(self, job: Pipeline, repo: Repo) -> None:
        self.now = 0
        self._repo = repo
        self._options = SourceOptions.read(
            {"inputs": json.dumps([json.loads(each.to_json()) for each in inputs_of(job.stages)])}
        )
        self._driving = Driving(self._options, lambda *_: repo, lambda: self.now)
        self._origins = Origins(job, repo.ask)
        place = Group.at(Name.parse(ROOMS)).panel("calc")
        self._panels = {
            stage.name: VirtualPanel(place, lambda _: DigestSigner(), job=job.job(stage), program=job.program(stage))
            for stage in job.stages
        }

    def begin(self) -> Mapping[str, Place]:
        return self._driving.begin()

    def plan(self, place: Mapping[str, Place], limit: int | None) -> Mapping[str, Place]:
        return self._driving.advance(place, limit)

    def packets(self, start: Mapping[str, Place], end: Mapping[str, Place]) -> list[Data]:
        """What a batch makes."""
        inputs = {wanted.name: wanted for wanted in self._options.inputs}
        rows = Rows(inputs, windowed=True)
        made: dict[tuple[str, int, int | None], list[dict[str, Any]]] = defaultdict(list)
        found: list[Data] = []
        for share in self._driving.partitions(start, end):
            read = handed_out(rows.read(share, self._repo), inputs)
            for row in (row for batch in read for row in batch.to_pylist()):
                if row["quality"] == SUMMED:
                    summed = made[row["key"], row["window"], row["correction"]]
                    assert row["stream"] not in {each["stream"] for each in summed}
                    summed.append(row)
                elif row["event_time"] is not None:
                    found.append(self._panels["twice"].packet(_twice(row)))
        return found + [self._panels["rooms"].packet(row) for row in self._numbered(made)]

    def _numbered(self, made: Mapping[tuple[str, int, int | None], list[dict[str, Any]]]) -> Iterator[VirtualRow]:
        keys = sorted(made, key=lambda each: (each[0], each[1], each[2] or 0))
        outputs = [f"{key.replace('/', '-')}/sum" for key, _, _ in keys]
        table = pa.table(
            {
                "stage": pa.array(["rooms"] * len(keys), pa.string()),
                "output": pa.array(outputs, pa.string()),
                "number": pa.array([window for _, window, _ in keys], pa.int64()),
                "correction": pa.array([correction for _, _, correction in keys], pa.int64()),
                "at": pa.array(range(len(keys)), pa.int64()),
            }
        )
        for each in self._origins.numbered(table).to_pylist():
            key = keys[each["at"]]
            yield _summed(each["output"], each["number"], key[1], key[2], made[key])


def _twice(row: dict[str, Any]) -> VirtualRow:
    output = f"{row['panel']}-{row['device']}/twice"
    inputs = (InputRange(Name.parse(row["stream"]), row["seq"], row["seq"]),)
    return VirtualRow(output, row["seq"], _ns(row["event_time"]), row["value"] * 2, inputs)


def _summed(output: str, number: int, window: int, correction: int | None, rows: list[dict[str, Any]]) -> VirtualRow:
    rows = sorted(rows, key=lambda row: str(row["stream"]))
    values = [row["sum"] for row in rows if row["sum"] is not None]
    inputs = [InputRange(Name.parse(row["stream"]), row["low"], row["high"]) for row in rows if row["low"]]
    if not inputs:  # nobody has anything: the streams are named all the same
        inputs = [InputRange(Name.parse(row["stream"]), 1, 1) for row in rows]
    expected, received = (sum(row[name] for row in rows) for name in ("expected", "received"))
    return VirtualRow(
        output,
        number,
        window * MINUTE,
        sum(values, Decimal()) if values else None,
        tuple(inputs),
        correction=correction,
        expected=expected,
        received=received,
        missing=expected - received,
        open=sum(row["open"] for row in rows),
    )


def _ns(time: datetime) -> int:
    return round(time.timestamp()) * SECOND


def finish(driver: Driver, repo: Repo, place: Mapping[str, Place], limit: int | None = None) -> None:
    """Go on until there is nothing left, long after the last deadline."""
    driver.now = FAR
    driver.plan(place, limit)  # deadlines count from when it has heard of windows, which a new one has not
    driver.now = 2 * FAR
    for _ in range(500):
        following = driver.plan(place, limit)
        if following == place:
            return
        repo.publish(driver.packets(place, following))
        place = following
    raise AssertionError("it never comes to rest")


class Life:
    """A job that is killed and started again, with a checkpoint."""

    def __init__(self, data: st.DataObject, job: Pipeline, repo: Repo) -> None:
        self._data = data
        self._job = job
        self._repo = repo
        self.driver = Driver(job, repo)
        self.place: Mapping[str, Place] = self.driver.begin()

    def step(self, now: int) -> None:
        """One batch, of some size; perhaps it is tried several times."""
        self.driver.now = now
        limit = self._data.draw(st.sampled_from([None, 1, 4, 9]), label="most rows")
        following = self.driver.plan(self.place, limit)
        while self._data.draw(st.booleans(), label="dies"):
            packets = self._data.draw(st.permutations(self.driver.packets(self.place, following)))
            self._repo.publish(packets[: self._data.draw(st.integers(0, len(packets)))])
            self.restart(now)
            following = offsets.from_json(json.loads(offsets.text(following)))
        self._repo.publish(self.driver.packets(self.place, following))
        self.place = following

    def restart(self, now: int) -> None:
        """A new driver, which has what is in the checkpoint."""
        self.driver = Driver(self._job, self._repo)
        self.driver.now = now
        self.place = offsets.from_json(json.loads(offsets.text(self.place)))

    def forget(self) -> None:
        """A new driver without the checkpoint."""
        self.driver = Driver(self._job, self._repo)
        self.place = self.driver.begin()


@st.composite
def histories(draw: st.DrawFn) -> list[Published]:
    """All that is published, by stream: numbers from 1 on with rising times."""
    published: list[Published] = []
    for stream in STREAMS:
        time_s = draw(st.integers(0, 240))
        for number in range(1, draw(st.integers(1, 9)) + 1):
            value = draw(st.integers(-(10**6), 10**6)) / 1000
            published.append((stream, number, time_s * SECOND, value))
            time_s += draw(st.sampled_from([0, 7, 30, 61, 200]))
    return published


@settings(max_examples=60, deadline=None)
@given(data=st.data(), published=histories(), key=st.sampled_from(["{device}", "{panel}", "{metric}"]))
def test_any_batches_and_restarts_publish_what_one_batch_over_everything_does(
    data: st.DataObject, published: list[Published], key: str
) -> None:
    job = pipeline(key, deadline_s=9_000 * 60)
    whole = Repo()
    for reading in published:
        whole.arrive(reading)
    reference = Driver(job, whole)
    finish(reference, whole, reference.begin())

    repo = Repo()
    rest = [reading for reading in published if reading[1] > 1]
    for reading in published:
        if reading[1] == 1:  # a stream that is not known yet is not waited for
            repo.arrive(reading)
    life = Life(data, job, repo)
    while rest:
        # Each stream in order, the streams in any order.
        streams = sorted({reading[0] for reading in rest})
        for stream in data.draw(st.lists(st.sampled_from(streams), max_size=6)):
            following = next((reading for reading in rest if reading[0] == stream), rest[0])
            rest.remove(following)
            repo.arrive(following)
            if not rest:
                break
        life.step(now=FAR // 2)
        if data.draw(st.sampled_from([False, False, True]), label="forgets"):
            life.forget()
    if data.draw(st.booleans()):
        life.forget()
    finish(life.driver, repo, life.place, data.draw(st.sampled_from([None, 1, 5])))
    assert {name: held.wire for name, held in repo.published.items()} == {
        name: held.wire for name, held in whole.published.items()
    }


@settings(max_examples=60, deadline=None)
@given(data=st.data(), published=histories(), key=st.sampled_from(["{device}", "{panel}", "{metric}"]))
def test_late_readings_and_restarts_never_publish_another_content_and_end_up_exact(
    data: st.DataObject, published: list[Published], key: str
) -> None:
    job = pipeline(key, deadline_s=data.draw(st.sampled_from([0, 5, 90])))
    repo = Repo()
    arrivals = sorted(published, key=lambda one: one[2] + data.draw(st.sampled_from([0, 1, 70, 200])) * SECOND)
    repo.arrive(arrivals.pop(0))
    life, now = Life(data, job, repo), 0
    while arrivals:
        for reading in arrivals[: data.draw(st.integers(1, 5))]:
            repo.arrive(reading)
            now = max(now, reading[2])
            arrivals.pop(0)
        now += data.draw(st.integers(0, 90)) * SECOND
        life.step(now)
    finish(life.driver, repo, life.place)

    corrections: dict[str, list[int]] = defaultdict(list)
    for each in repo.results():
        if str(each.stream).endswith(".corrections"):
            corrections[str(each.stream)].append(each.number)
    assert all(sorted(numbers) == [*range(1, len(numbers) + 1)] for numbers in corrections.values())
    final = _final(repo)
    truth: dict[tuple[str, int], list[float]] = defaultdict(list)
    for stream, _, time_ns, value in published:
        parts = dict(zip(("panel", "device", "metric"), stream.split("/"), strict=True))
        truth[key.format_map(parts), time_ns // MINUTE].append(value)
    firsts: dict[str, int] = {}
    for output, window in final:
        firsts[output] = min(window, firsts.get(output, window))
    for (output, window), values in truth.items():
        if window >= firsts[output]:  # earlier ones have no number
            count, total = final[output, window]
            assert (count, total) == (len(values), float(sum(Decimal(str(value)) for value in values)))
    twice = {(str(each.stream), each.number) for each in repo.results() if str(each.stream).endswith("/twice")}
    names = {f"{ROOMS}/calc/{'-'.join(stream.split('/')[:2])}/twice" for stream, *_ in published}
    assert twice == {(name, number) for name in names for number in _numbers(name, published)}


def _numbers(name: str, published: list[Published]) -> set[int]:
    return {number for stream, number, *_ in published if name.endswith(f"/{'-'.join(stream.split('/')[:2])}/twice")}


def _final(repo: Repo) -> dict[tuple[str, int], tuple[int, float | None]]:
    """By output and window, the last version of what is published: how many were received, and their sum."""
    found: dict[tuple[str, int], tuple[int, int, float | None]] = {}
    for each in repo.results():
        _, output, metric = str(each.stream)[len(ROOMS) + 1 :].split("/")
        if metric.startswith("sum"):
            version = each.number if metric.endswith(".corrections") else 0
            counts = {value.name: value.value for value in each.values if value.name}
            value = each.value if not each.values[0].name else None
            entry = (version, int(str(counts["received"])), None if value is None else float(str(value)))
            at = (output, each.event_time // MINUTE)
            found[at] = max(found.get(at, (-1, 0, None)), entry, key=lambda one: one[0])
    return {at: (received, value) for at, (_, received, value) in found.items()}
