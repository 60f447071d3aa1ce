"""From two places to rows, without Spark and without a repo: what a task gives for what the driver planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pytest

from roost.columns.readings import READINGS, WINDOWED
from roost.errors import BadConfig, Unreachable
from roost.host.stretches import Fetched, Stretch
from roost.machine import SECOND
from roost.naming import Name
from roost.naming.building import numbered
from roost.pipeline.driving import Driving, Narrow
from roost.pipeline.options import SourceOptions
from roost.pipeline.place import Run, joined
from roost.pipeline.rows import Rows
from roost.wire import DigestSigner, make_data
from roost.wire.reading import SENML_CBOR, Reading
from roost.wire.senml import Value, encode_values

GROUP = "/Big/B1/Raw"
MINUTE = 60 * SECOND


class Repo:
    """A repo that holds some readings, and both sides of what can be asked of it."""

    def __init__(self) -> None:
        self.held: dict[str, dict[int, tuple[int, bytes]]] = {}
        self.dropped: set[int] = set()
        self.asked: list[Stretch] = []

    def put(self, stream: str, number: int, time_ns: int, value: float, *more: Value) -> None:
        name = numbered(Name.parse(f"{GROUP}/{stream}"), number)
        content = Reading(time_ns, SENML_CBOR, encode_values([Value(value, "W"), *more])).encode()
        self.held.setdefault(stream, {})[number] = (time_ns, make_data(name, content, DigestSigner()).wire)

    def numbers(self) -> Mapping[str, int]:
        return {stream: max(held) for stream, held in self.held.items()}

    def holes(self) -> Mapping[str, Sequence[Run]]:
        return {
            stream: joined((n, n) for n in range(1, max(held)) if n not in held and n not in self.dropped)
            for stream, held in self.held.items()
        }

    def boundaries(self, time_ns: int) -> Mapping[str, int]:
        return {
            stream: min((number for number, (time, _) in held.items() if time >= time_ns), default=max(held) + 1)
            for stream, held in self.held.items()
        }

    def times(self, stream: str, low: int, high: int) -> Mapping[int, int]:
        return {number: time for number, (time, _) in self.held[stream].items() if low <= number <= high}

    def read(self, stretches: Sequence[Stretch]) -> Iterator[Fetched]:
        for stretch in stretches:
            self.asked.append(stretch)
            held = self.held[str(stretch.stream)[len(GROUP) + 1 :]]
            span = range(stretch.low, stretch.high + 1)
            yield Fetched(
                stretch.stream,
                [(number, held[number][1]) for number in span if number in held],
                dropped=[(number, number) for number in span if number in self.dropped],
                missing=[number for number in span if number not in held and number not in self.dropped],
            )


def _table(repo: Repo, **options: str) -> pa.Table:
    read = SourceOptions.read({"group": GROUP, **options})
    driving = Driving(read, lambda *_: repo, lambda: 10 * MINUTE)
    rows = Rows({wanted.name: wanted for wanted in read.inputs}, read.windowed, read.lost)
    batches = [batch for share in driving.stretch(Narrow()) for batch in rows.read(share, repo)]
    return pa.Table.from_batches(batches, WINDOWED if read.windowed else READINGS)


def _repo(*numbers: int) -> Repo:
    repo = Repo()
    for number in numbers:
        repo.put("P1/d/power", number, number * 20 * SECOND, float(number))
    return repo


def test_every_reading_is_a_row() -> None:
    assert _table(_repo(1, 2, 3)).select(["seq", "value", "device"]).to_pylist() == [
        {"seq": number, "value": float(number), "device": "d"} for number in (1, 2, 3)
    ]


def test_a_hole_is_left_for_later_and_what_is_dropped_is_no_row() -> None:
    repo = _repo(2, 3, 5)
    repo.dropped = {1}
    assert _table(repo).column("seq").to_pylist() == [2, 3, 5]
    assert [(stretch.low, stretch.high) for stretch in repo.asked] == [(2, 3), (5, 5)]


def test_a_window_counts_what_is_missing_where_the_reading_behind_it_is() -> None:
    rows = _table(_repo(1, 2, 4, 6, 7), window="1m").to_pylist()
    found = [(row["window"], row["seq"], row["quality"], row["expected"], row["received"]) for row in rows]
    assert found == [
        (0, 1, "good", 1, 1),
        (0, 2, "good", 1, 1),
        (1, 3, "missing", 1, 0),
        (1, 4, "good", 1, 1),
        (2, 5, "missing", 1, 0),
        (2, 6, "good", 1, 1),
        (2, 7, "good", 1, 1),
        (2, 0, "open", 0, 0),
    ]


def test_a_window_without_a_reading_is_a_row_that_says_so() -> None:
    repo = Repo()
    repo.put("P1/d/power", 1, 1, 1.0)
    repo.put("P1/d/power", 2, 3 * MINUTE, 2.0)
    rows = _table(repo, window="1m").to_pylist()
    assert [(row["window"], row["quality"]) for row in rows if row["seq"] == 0] == [
        (1, "quiet"),
        (2, "quiet"),
        (3, "open"),
    ]


def test_what_was_announced_and_nobody_has_any_more_stops_the_query_or_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo = _repo(1, 3)
    monkeypatch.setattr(repo, "holes", dict)  # the driver was told that all is there
    with pytest.raises(Unreachable, match="lost=missing"):
        _table(repo)
    assert _table(repo, lost="missing").column("quality").to_pylist() == ["good", "good", "missing"]


def test_an_unknown_word_for_what_is_lost_is_refused() -> None:
    with pytest.raises(BadConfig, match="lost"):
        SourceOptions.read({"group": GROUP, "lost": "never mind"})


def test_a_correction_stands_in_place_of_what_it_corrects() -> None:
    repo = _repo(1, 4)
    repo.put("P1/d/power.corrections", 1, 20 * SECOND, 98.0, Value(1, name="corrects"))
    repo.put("P1/d/power.corrections", 2, 20 * SECOND, 99.0, Value(1, name="corrects"))
    rows = _table(repo, window="1m", subscribe="+/+/power").to_pylist()
    assert [(row["stream"].rsplit("/", 1)[1], row["seq"], row["value"], row["metric"]) for row in rows[:2]] == [
        ("power.corrections", 2, 99.0, "power"),
        ("power", 2, None, "power"),
    ]


def test_a_correction_that_cannot_be_had_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    repo = _repo(1, 4)
    repo.put("P1/d/power.corrections", 1, 20 * SECOND, 98.0, Value(1, name="corrects"))
    held = repo.held["P1/d/power.corrections"]
    read = repo.read

    def losing(stretches: Sequence[Stretch]) -> Iterator[Fetched]:
        held.clear()  # between planning and reading
        return read(stretches)

    monkeypatch.setattr(repo, "read", losing)
    with pytest.raises(Unreachable, match=r"power\.corrections: no repo gives 1"):
        _table(repo, window="1m", subscribe="+/+/power")


def test_a_long_read_in_windows_comes_in_parts_and_gives_the_same() -> None:
    repo = _repo(*range(1, 25))
    whole, parts = (_table(repo, window="1m", maxRowsPerTrigger=most) for most in ("100", "3"))
    assert max(high - low + 1 for _, low, high in repo.asked[1:]) == 3
    assert parts.drop_columns(["arrival_time"]).equals(whole.drop_columns(["arrival_time"]))


def test_a_few_packets_of_many_streams_are_rows_like_any_other() -> None:
    repo = Repo()
    for stream in range(20):
        repo.put(f"P1/d{stream}/power", 1, SECOND, float(stream))
    for number in range(1, 50):
        repo.put("P2/long/power", number, number * SECOND, float(number))
    found = _table(repo)
    assert sorted(found.column("value").to_pylist()) == sorted([*map(float, range(20)), *map(float, range(1, 50))])


def test_corrections_of_windows_before_the_first_number_stand_for_themselves() -> None:
    repo = Repo()
    repo.put("P1/d/power", 1, 130 * SECOND, 1.0)
    repo.put("P1/d/power", 2, 190 * SECOND, 2.0)
    for number, (time_s, value) in enumerate([(70, 7.0), (10, 5.0), (70, 8.0)], 1):
        repo.put("P1/d/power.corrections", number, time_s * SECOND, value, Value(0, name="corrects"))
    rows = _table(repo, window="1m", subscribe="+/+/power").to_pylist()
    assert [(row["window"], row["value"]) for row in rows if row["value"]] == [(0, 5.0), (1, 8.0), (2, 1.0), (3, 2.0)]
